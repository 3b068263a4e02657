// Package embedded runs a private PostgreSQL with pgvector as a child process, for hosts
// that have no database of their own.
//
// [Start] finds or provisions the binaries, creates a cluster in [Config.Dir] if there is
// none, and returns once the server accepts connections. The server lives exactly as long
// as the process that started it: [Server.Close] stops it, and on Linux the kernel stops it
// when that process dies without calling Close. A cluster has one owner at a time; a second
// one gets an [InUseError] naming the first.
//
// # Who may connect
//
// The server listens on no network address, only on a unix socket. The socket and the directory
// that holds it have mode 0700 and belong to the user the server runs as, and pg_hba.conf admits
// local connections with method trust and nothing else. So those who may connect are those who may
// read the data files anyway: that user and root. A password would add nothing against them (they
// could edit pg_hba.conf), and peer authentication would fail for the two callers that matter here:
// root, whose server runs as another user, and a user without a passwd entry.
//
// # What is logged
//
// The server's log is kept at level LOG without statements, parameters and details, because
// a failing statement may carry memory text.
//
// # Versions
//
// PostgreSQL 15 or newer and pgvector 0.7 or newer. A cluster stays with the major version
// that created it; this package does not upgrade clusters.
//
// This package never sends SQL. It opens a connection only to learn that the server is ready.
package embedded
