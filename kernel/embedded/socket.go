package embedded

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// socketPort is part of the socket's name; nothing listens on a port.
const socketPort = "5432"

// maxSocketPath is the shortest limit among the supported systems (104 bytes with the
// terminating zero, 108 on Linux).
const maxSocketPath = 103

var plainPath = regexp.MustCompile(`^[A-Za-z0-9/._+@-]+$`)

// fitsSocket reports whether a socket can live in dir: its path must be short, and free of
// characters that separate directories in PostgreSQL's or a client's list of hosts.
func fitsSocket(dir string) bool {
	return len(dir)+len("/.s.PGSQL."+socketPort) <= maxSocketPath && plainPath.MatchString(dir)
}

// tempSocketDir creates a directory for the socket outside a cluster whose path is unfit. Its
// name is random and its mode 0700, so nobody can prepare or enter it.
// usable reports whether the server's account can reach a directory: one in
// XDG_RUNTIME_DIR, for example, is closed to every other user.
func tempSocketDir(usable func(dir string) bool) (string, error) {
	var last error
	for _, base := range []string{os.Getenv("XDG_RUNTIME_DIR"), os.TempDir(), "/tmp"} {
		if !filepath.IsAbs(base) || !fitsSocket(filepath.Join(base, socketPrefix+"0123456789")) || !usable(base) {
			continue
		}
		dir, err := os.MkdirTemp(base, socketPrefix)
		if err == nil {
			return dir, nil
		}
		last = err
	}
	if last == nil {
		last = errors.New("the temporary directories are closed to the server, or their paths too long")
	}
	return "", fmt.Errorf("embedded: no place for a socket whose path is at most %d bytes: %w", maxSocketPath, last)
}

const socketPrefix = "memkernel-s-"

// removeSocketDir removes a directory that tempSocketDir made.
func removeSocketDir(dir string) {
	if strings.HasPrefix(filepath.Base(dir), socketPrefix) {
		_ = os.RemoveAll(dir)
	}
}
