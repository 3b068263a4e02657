//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// awaitReady waits until the server accepts connections, which after a crash includes its
// recovery. It fails when the server ends or ctx is done.
func (s *Server) awaitReady(ctx context.Context) error {
	config, err := pgconn.ParseConfig(s.ConnString())
	if err != nil {
		return fmt.Errorf("embedded: %w", err)
	}
	config.ConnectTimeout = 5 * time.Second
	for {
		conn, err := pgconn.ConnectConfig(ctx, config)
		if err == nil {
			_ = conn.Close(ctx)
			return nil
		}
		select {
		case <-s.proc.done:
			return errors.New("embedded: the server ended during its start")
		case <-ctx.Done():
			return fmt.Errorf("embedded: start: %w", context.Cause(ctx))
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// awaitOldServer takes serverLock, which is free unless an earlier server of this directory
// still has a living process. Its owner is gone, since we are the owner now, so it is told
// to stop, with growing emphasis.
func awaitOldServer(ctx context.Context, dir string) (*os.File, error) {
	path := filepath.Join(dir, serverLock)
	steps := []struct {
		sig   syscall.Signal
		grace time.Duration
	}{
		{syscall.SIGINT, 20 * time.Second}, // may have to write a checkpoint
		{syscall.SIGQUIT, 5 * time.Second},
		{syscall.SIGKILL, 5 * time.Second},
	}
	for _, step := range steps {
		f, err := tryLock(path)
		if !errors.Is(err, errLocked) {
			return f, err
		}
		if pid := readPID(path); serves(pid, dir) {
			_ = syscall.Kill(pid, step.sig)
		} else {
			// The postmaster was killed. Its backends notice and leave at once unless they are
			// busy, and there is nothing that a busy one could still commit.
			step.grace = time.Second
		}
		if step.sig != syscall.SIGINT {
			for _, pid := range serverProcesses(filepath.Join(dir, dataDir)) {
				_ = syscall.Kill(pid, step.sig)
			}
		}
		waitCtx, cancel := context.WithTimeout(ctx, step.grace)
		f, err = waitLock(waitCtx, path, nil)
		cancel()
		if err == nil {
			return f, nil
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("embedded: wait for the old server: %w", context.Cause(ctx))
		}
	}
	return nil, &InUseError{Dir: dir, PID: readPID(path)}
}

// serves reports whether the process is the postmaster of the cluster in dir, and not another
// that was given its number, nor a zombie.
func serves(pid int, dir string) bool {
	return pid > 1 && alive(pid) && strings.Contains(commandLine(pid), filepath.Join(dir, dataDir))
}
