//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A cluster directory has two lock files, because two questions must be told apart.
//
//   - ownerLock: is there a process that manages this cluster? Held by that process.
//   - serverLock: does any process of the server still live? Its descriptor is inherited by
//     the postmaster and by every backend, so the lock is free only when the last one is gone,
//     whatever happened to the process that started them. Process ids could not say that:
//     they are reused, and backends outlive a killed postmaster for a moment.
//
// Both contain a process id in text: the owner's, and the postmaster's. The files are never
// deleted while the directory lives, since a lock on a deleted file protects nothing.
const (
	ownerLock  = "owner.lock"
	serverLock = "server.lock"
)

// pollInterval is how often a lock is tried that another process holds: flock itself cannot
// be cancelled.
const pollInterval = 20 * time.Millisecond

var errLocked = errors.New("locked by another process")

// tryLock opens path, creating it if need be, and locks it. It returns errLocked if another
// open file has the lock.
func tryLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600) //nolint:gosec // in the directory that is locked
	if err != nil {
		return nil, fmt.Errorf("open lock file: %w", err)
	}
	if err := flock(f, syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errLocked
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return f, nil
}

// waitLock is tryLock that waits until ctx is done. Before the first wait it calls waiting.
func waitLock(ctx context.Context, path string, waiting func()) (*os.File, error) {
	for first := true; ; first = false {
		f, err := tryLock(path)
		if !errors.Is(err, errLocked) {
			return f, err
		}
		if first && waiting != nil {
			waiting()
		}
		if err := pause(ctx, pollInterval); err != nil {
			return nil, err
		}
	}
}

// unlock releases the lock even if a child that is just being forked holds a copy of the
// descriptor; closing alone would not.
func unlock(f *os.File) {
	_ = flock(f, syscall.LOCK_UN)
	_ = f.Close()
}

func flock(f *os.File, how int) error {
	for {
		err := syscall.Flock(int(f.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			return err //nolint:wrapcheck // the caller adds the path
		}
	}
}

func writePID(f *os.File, pid int) error {
	if err := f.Truncate(0); err != nil {
		return fmt.Errorf("write lock file: %w", err)
	}
	if _, err := f.WriteAt([]byte(strconv.Itoa(pid)+"\n"), 0); err != nil {
		return fmt.Errorf("write lock file: %w", err)
	}
	return nil
}

// readPID returns the process id a lock file contains, 0 if there is none.
func readPID(path string) int {
	text, err := os.ReadFile(path) //nolint:gosec // a lock file in the cluster's own directory
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid <= 1 {
		return 0
	}
	return pid
}

// pause waits for d or until ctx is done.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}
