//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// waitFlock opens and locks a file, exclusively or shared, waiting until ctx is done. It
// polls because flock cannot be cancelled. The lock is held until the file is closed, by the
// end of the process at the latest.
func waitFlock(ctx context.Context, path string, how int) (*os.File, error) {
	f, err := openLockFile(path)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			_ = f.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if err := pause(ctx, 5*time.Millisecond); err != nil {
			_ = f.Close()
			return nil, fmt.Errorf("wait for %s: %w", path, err)
		}
	}
}

// blockFlock waits for an exclusive lock in the kernel: it gets it at the very moment the
// last holder is gone.
func blockFlock(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		if !errors.Is(err, syscall.EINTR) {
			return err //nolint:wrapcheck // the caller adds the path
		}
	}
}

func openLockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600) //nolint:gosec // our own directory
	if err != nil {
		return nil, fmt.Errorf("open lock file: %w", err)
	}
	return f, nil
}
