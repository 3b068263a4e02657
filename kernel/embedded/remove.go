//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Remove deletes the cluster in dir and all its data. A server whose owner was killed is
// stopped first. It fails with an [InUseError] if the cluster has an owner, and refuses a
// directory that is not a cluster's. Removing one that does not exist does nothing.
func Remove(ctx context.Context, dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("embedded: %w", err)
	}
	if _, err := os.Lstat(dir); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if resolved, err := filepath.EvalSymlinks(dir); err == nil {
		dir = resolved
	}
	if _, err := os.Lstat(filepath.Join(dir, ownerLock)); err != nil {
		return fmt.Errorf("embedded: %s is not a cluster directory", dir)
	}
	owner, err := lockOwner(dir)
	if err != nil {
		return err
	}
	defer unlock(owner)
	server, err := awaitOldServer(ctx, dir)
	if err != nil {
		return err
	}
	defer unlock(server)
	if text, err := os.ReadFile(filepath.Join(dir, socketRecord)); err == nil { //nolint:gosec // written by makeSocketDir
		removeSocketDir(string(text))
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("embedded: %w", err)
	}
	return nil
}
