//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// What a cluster directory holds beside the lock files. Only data and the socket directory
// belong to the account the server runs as. Everything this process writes lies outside
// them, so that root never writes where an unprivileged user could have put a symbolic link.
const (
	dataDir     = "data"
	initPrefix  = "data.init-"
	socketName  = "run"
	configFile  = "postgresql.conf"
	hbaFile     = "pg_hba.conf"
	identFile   = "pg_ident.conf"
	logFile     = "server.log"
	marker      = "ephemeral" // present in directories that Close may remove
	maxLogBytes = 8 << 20
)

// openDir creates the cluster directory or checks an existing one.
func openDir(dir string, a account, ephemeral bool) error {
	if err := makeDir(dir, a.dirMode()); err != nil {
		return err
	}
	fi, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("embedded: %w", err)
	}
	if !ownedByUs(fi) {
		return fmt.Errorf("embedded: %s belongs to another user", dir)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("embedded: %w", err)
	}
	if len(entries) > 0 {
		if _, err := os.Lstat(filepath.Join(dir, ownerLock)); err != nil {
			return fmt.Errorf("embedded: %s is not empty and not a cluster directory", dir)
		}
		_, err := os.Lstat(filepath.Join(dir, marker))
		_, dataErr := os.Lstat(filepath.Join(dir, dataDir))
		if ephemeral && err != nil && dataErr == nil {
			return fmt.Errorf("embedded: %s holds a lasting cluster, which an ephemeral server would remove", dir)
		}
		if !ephemeral && err == nil {
			return fmt.Errorf("embedded: %s belongs to an ephemeral cluster, which was written without fsync; remove it or choose another directory", dir)
		}
	}
	if err := os.Chmod(dir, a.dirMode()); err != nil {
		return fmt.Errorf("embedded: %w", err)
	}
	return nil
}

// clusterVersion returns the major version that created the cluster, 0 if there is none.
func clusterVersion(dir string) (int, error) {
	text, err := os.ReadFile(filepath.Join(dir, dataDir, "PG_VERSION")) //nolint:gosec // the cluster's own file
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("embedded: %w", err)
	}
	v, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, fmt.Errorf("embedded: %s: PG_VERSION is %q", dir, tail(string(text)))
	}
	return v, nil
}

// createCluster runs initdb in a directory beside the final one and renames it when it is
// complete, so that an interrupted run leaves nothing that looks like a cluster.
func createCluster(ctx context.Context, dir string, a account, b binaries, ephemeral bool) error {
	stale, _ := filepath.Glob(filepath.Join(dir, initPrefix+"*"))
	for _, path := range stale {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("embedded: remove an unfinished cluster: %w", err)
		}
	}
	tmp, err := os.MkdirTemp(dir, initPrefix)
	if err != nil {
		return fmt.Errorf("embedded: %w", err)
	}
	defer func() { _ = os.RemoveAll(tmp) }() // gone after the rename
	if err := a.own(tmp); err != nil {
		return err
	}
	args := []string{
		"-D", tmp, "-U", Role, "--encoding=UTF8", "--locale=C", "--lc-messages=C",
		"--auth-local=trust", "--auth-host=reject", "--no-instructions",
	}
	if ephemeral {
		args = append(args, "--no-sync")
	}
	cmd := command(ctx, serverEnv(a, b, dir), filepath.Join(b.dir, "initdb"), args...)
	cmd.SysProcAttr.Credential = a.credential()
	if _, err := run(ctx, cmd); err != nil {
		return err
	}
	if err := os.Rename(tmp, filepath.Join(dir, dataDir)); err != nil {
		return fmt.Errorf("embedded: %w", err)
	}
	return syncDir(dir)
}

func syncDir(dir string) error {
	f, err := os.Open(dir) //nolint:gosec // the cluster directory
	if err != nil {
		return fmt.Errorf("embedded: %w", err)
	}
	defer func() { _ = f.Close() }()
	if err := f.Sync(); err != nil {
		return fmt.Errorf("embedded: %w", err)
	}
	return nil
}

// clearStalePID removes a postmaster.pid whose process cannot be the postmaster. PostgreSQL
// does so itself when no process has that id, but ids are reused, above all in containers,
// and then it would refuse to start. The caller holds serverLock, so no server that this
// package started is alive; one started by hand is recognised by its command line.
func clearStalePID(dir string) error {
	path := filepath.Join(dir, dataDir, "postmaster.pid")
	text, err := os.ReadFile(path) //nolint:gosec // the cluster's own file
	if err != nil {
		return nil //nolint:nilerr // there is none
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(first))
	switch {
	case err != nil: // an unfinished file, which PostgreSQL refuses
	case serves(pid, dir):
		return &InUseError{Dir: dir, PID: pid}
	case !alive(pid):
		return nil // PostgreSQL removes it, once it has made sure that no backend is left
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("embedded: %w", err)
	}
	return nil
}

// openLog opens the server's log for appending, starting a new one when it has grown large.
func openLog(dir string) (f *os.File, size int64, err error) {
	path := filepath.Join(dir, logFile)
	if fi, err := os.Stat(path); err == nil && fi.Size() > maxLogBytes {
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, 0, fmt.Errorf("embedded: %w", err)
		}
	}
	f, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND|syscall.O_NOFOLLOW, 0o600) //nolint:gosec // own directory
	if err != nil {
		return nil, 0, fmt.Errorf("embedded: %w", err)
	}
	if fi, err := f.Stat(); err == nil {
		size = fi.Size()
	}
	return f, size, nil
}

// writeFile replaces a file that the server's account must be able to read. The rename keeps
// a reader from seeing half of it.
func writeFile(path, text string) error {
	tmp := path + ".new"
	if err := os.WriteFile(tmp, []byte(text), 0o600); err != nil {
		return fmt.Errorf("embedded: %w", err)
	}
	if err := os.Chmod(tmp, 0o644); err != nil { //nolint:gosec // no secrets inside, and the directory is closed to others
		return fmt.Errorf("embedded: %w", err)
	}
	if err := os.Rename(tmp, path); err != nil {
		return fmt.Errorf("embedded: %w", err)
	}
	return nil
}
