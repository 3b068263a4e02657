//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package embedded

import "context"

// Server is a running private PostgreSQL. There is none on this platform.
type Server struct{}

// Start returns [ErrUnsupported] on this platform.
func Start(context.Context, Config) (*Server, error) { return nil, ErrUnsupported }

// ConnString returns "".
func (*Server) ConnString() string { return "" }

// ConnStringFor returns "".
func (*Server) ConnStringFor(string) string { return "" }

// PID returns 0.
func (*Server) PID() int { return 0 }

// Dir returns "".
func (*Server) Dir() string { return "" }

// Done returns nil.
func (*Server) Done() <-chan struct{} { return nil }

// Close returns nil.
func (*Server) Close(context.Context) error { return nil }

func smallSharedMemory() bool { return false }

// Remove returns [ErrUnsupported] on this platform.
func Remove(context.Context, string) error { return ErrUnsupported }
