//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const tempPrefix = "memkernel-pg-"

// newTempCluster creates and locks the directory of a temporary cluster, after removing what
// killed processes left of theirs.
func newTempCluster(ctx context.Context, a account) (string, *os.File, error) {
	for _, base := range []string{os.TempDir(), "/tmp"} {
		if !a.canEnter(ctx, base) {
			continue
		}
		removeLeftovers(base)
		// A cleaner that sees the directory before it is locked may remove it; then there is
		// nothing to lock, and we try again.
		for range 5 {
			dir, err := os.MkdirTemp(base, tempPrefix)
			if err != nil {
				return "", nil, fmt.Errorf("embedded: %w", err)
			}
			if err := os.Chmod(dir, a.dirMode()); err != nil {
				return "", nil, fmt.Errorf("embedded: %w", err)
			}
			owner, err := lockOwner(dir)
			if err != nil {
				continue
			}
			if !sameFile(owner, filepath.Join(dir, ownerLock)) {
				unlock(owner)
				continue
			}
			if err := writeFile(filepath.Join(dir, marker), ""); err != nil {
				unlock(owner)
				return "", nil, err
			}
			return dir, owner, nil
		}
	}
	if ctx.Err() != nil {
		return "", nil, fmt.Errorf("embedded: start: %w", context.Cause(ctx))
	}
	return "", nil, errors.New("embedded: no temporary directory that the server's account can use")
}

func sameFile(f *os.File, path string) bool {
	x, err1 := f.Stat()
	y, err2 := os.Lstat(path)
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}

// removeLeftovers removes temporary clusters that have neither an owner nor a server. It
// ignores failures: this is housekeeping, and the next run tries again.
func removeLeftovers(base string) {
	dirs, _ := filepath.Glob(filepath.Join(base, tempPrefix+"*"))
	for _, dir := range dirs {
		if fi, err := os.Lstat(dir); err != nil || !fi.IsDir() || !ownedByUs(fi) {
			continue
		}
		removeLeftover(dir)
	}
}

func removeLeftover(dir string) {
	if _, err := os.Lstat(filepath.Join(dir, ownerLock)); err != nil {
		// Being made this very moment, or left behind by a process killed in that moment.
		if fi, err := os.Lstat(dir); err == nil && time.Since(fi.ModTime()) > time.Hour { //nolint:forbidigo // compared with a file's time
			_ = os.RemoveAll(dir)
		}
		return
	}
	owner, err := tryLock(filepath.Join(dir, ownerLock))
	if err != nil {
		return
	}
	defer unlock(owner)
	server, err := tryLock(filepath.Join(dir, serverLock))
	if err != nil {
		if pid := readPID(filepath.Join(dir, serverLock)); errors.Is(err, errLocked) && serves(pid, dir) {
			_ = syscall.Kill(pid, syscall.SIGINT) // a later run removes the directory
		}
		return
	}
	defer unlock(server)
	if text, err := os.ReadFile(filepath.Join(dir, socketRecord)); err == nil { //nolint:gosec // written by makeSocketDir
		removeSocketDir(string(text))
	}
	_ = os.RemoveAll(dir)
}
