//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package embedded

import (
	"context"
	"net/url"
	"os"
	"strings"
	"sync"
)

// Server is a running private PostgreSQL. Its methods may be called concurrently.
type Server struct {
	dir       string
	socketDir string
	tempDirs  []string // removed on Close
	proc      *process
	owner     *os.File // holds ownerLock

	closeOnce sync.Once
	closed    chan struct{}
	closeErr  error
}

// ConnString returns the connection URL of the database [Database], as superuser [Role]. It
// stays valid until Close; a later Start of the same directory usually, but not always,
// yields the same.
func (s *Server) ConnString() string { return s.ConnStringFor(Database) }

// ConnStringFor returns the connection URL of another database of the same server. The
// database need not exist.
func (s *Server) ConnStringFor(database string) string {
	// sslmode is given because a PGSSLMODE in the environment would otherwise be applied.
	query := url.Values{"host": {s.socketDir}, "port": {socketPort}, "sslmode": {"disable"}}
	u := url.URL{Scheme: "postgres", User: url.User(Role), Path: "/" + database, RawQuery: query.Encode()}
	return u.String()
}

// PID returns the process id of the postmaster. After Close it is the id it had.
func (s *Server) PID() int { return s.proc.cmd.Process.Pid }

// Dir returns the cluster directory.
func (s *Server) Dir() string { return s.dir }

// Done is closed when the server has ended, by Close or by itself. After an unexpected end
// Close must still be called before the directory can be started again.
func (s *Server) Done() <-chan struct{} { return s.proc.done }

// Close disconnects all clients, shuts the server down, and gives the directory up; an
// ephemeral one is removed. When ctx is done before the shutdown is complete, the server is
// stopped without a checkpoint (the next start recovers; nothing committed is lost) and an
// error is returned. If the server had ended by itself with a failure, that failure is
// returned. Later and concurrent calls wait for the first and return its result.
func (s *Server) Close(ctx context.Context) error {
	s.closeOnce.Do(func() {
		s.closeErr = s.proc.stop(ctx)
		if err := s.release(); s.closeErr == nil {
			s.closeErr = err
		}
		close(s.closed)
	})
	<-s.closed
	return s.closeErr
}

func (s *Server) release() error {
	var first error
	for _, dir := range s.tempDirs {
		if err := os.RemoveAll(dir); first == nil {
			first = err
		}
	}
	unlock(s.owner)
	return first
}

// logTail returns the end of the server's log for an error message.
func logTail(path string, from int64) string {
	f, err := os.Open(path) //nolint:gosec // the cluster's own log
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	fi, err := f.Stat()
	if err != nil {
		return ""
	}
	const limit = 8 << 10
	buf := make([]byte, min(limit, max(0, fi.Size()-from)))
	n, _ := f.ReadAt(buf, fi.Size()-int64(len(buf)))
	return tail(strings.ToValidUTF8(string(buf[:n]), "?"))
}
