//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// account is the user the server runs as.
type account struct {
	uid, gid uint32
	// drop is set when the current user is root: initdb and postgres refuse to run as root.
	drop bool
	// unknown is set when the user has no passwd entry, as in a container started with a bare
	// uid. initdb refuses such a user unless it is shown an entry.
	unknown bool
}

// pickAccount chooses the account for the cluster in dir, which may not exist yet.
func pickAccount(name, dir string) (account, error) {
	if uid := os.Geteuid(); uid != 0 {
		_, err := user.LookupId(strconv.Itoa(uid))
		return account{uid: uint32(uid), gid: uint32(os.Getegid()), unknown: err != nil}, nil //nolint:gosec // ids fit
	}
	owner, found := dataOwner(dir)
	if name != "" {
		a, err := lookup(name)
		if err != nil {
			return account{}, fmt.Errorf("embedded: Config.User: %w", err)
		}
		if found && owner.uid != a.uid {
			return account{}, fmt.Errorf("embedded: the cluster in %s belongs to uid %d, not to Config.User %q", dir, owner.uid, name)
		}
		return a, nil
	}
	if found {
		return owner, nil
	}
	for _, name := range []string{"memkernel", "postgres", "nobody"} {
		if a, err := lookup(name); err == nil {
			return a, nil
		}
	}
	return account{}, errors.New("embedded: PostgreSQL does not run as root and there is no other account to run it as; set Config.User")
}

func lookup(name string) (account, error) {
	u, err := user.Lookup(name)
	if err != nil {
		return account{}, fmt.Errorf("look up user: %w", err)
	}
	uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
	if err := errors.Join(err1, err2); err != nil {
		return account{}, fmt.Errorf("user %s: %w", name, err)
	}
	if uid == 0 {
		return account{}, fmt.Errorf("user %s is root", name)
	}
	return account{uid: uint32(uid), gid: uint32(gid), drop: true}, nil
}

// dataOwner returns the owner of an existing cluster.
func dataOwner(dir string) (account, bool) {
	if dir == "" {
		return account{}, false
	}
	fi, err := os.Lstat(filepath.Join(dir, dataDir))
	if err != nil || !fi.IsDir() {
		return account{}, false
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok || st.Uid == 0 {
		return account{}, false
	}
	_, err = user.LookupId(strconv.FormatUint(uint64(st.Uid), 10))
	return account{uid: st.Uid, gid: st.Gid, drop: true, unknown: err != nil}, true
}

func (a account) credential() *syscall.Credential {
	if !a.drop {
		return nil
	}
	return &syscall.Credential{Uid: a.uid, Gid: a.gid}
}

// own hands path to the account.
func (a account) own(path string) error {
	if !a.drop {
		return nil
	}
	if err := os.Lchown(path, int(a.uid), int(a.gid)); err != nil {
		return fmt.Errorf("embedded: hand %s to uid %d: %w", path, a.uid, err)
	}
	return nil
}

// dirMode is the mode of directories that the account must pass through.
func (a account) dirMode() os.FileMode {
	if a.drop {
		return 0o711
	}
	return 0o700
}

// canEnter reports whether the account can pass through every directory down to dir. It
// asks the system instead of reading mode bits, which do not tell the whole truth (access
// control lists, security modules).
func (a account) canEnter(ctx context.Context, dir string) bool {
	if !a.drop {
		return true
	}
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", `cd -- "$1"`, "sh", dir) //nolint:gosec // dir is an argument, not code
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: a.credential()}
	return cmd.Run() == nil
}

// makeDir creates dir and what is missing above it. Modes are set explicitly because root's
// umask may close directories that the unprivileged server must pass through.
func makeDir(dir string, mode os.FileMode) error {
	if fi, err := os.Stat(dir); err == nil {
		if !fi.IsDir() {
			return fmt.Errorf("embedded: %s is not a directory", dir)
		}
		return nil
	}
	if parent := filepath.Dir(dir); parent != dir {
		if err := makeDir(parent, mode); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		if errors.Is(err, os.ErrExist) {
			return nil
		}
		return fmt.Errorf("embedded: create directory: %w", err)
	}
	if err := os.Chmod(dir, mode); err != nil {
		return fmt.Errorf("embedded: create directory: %w", err)
	}
	return nil
}

// ownedByUs reports whether the file belongs to the current user.
func ownedByUs(fi os.FileInfo) bool {
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

func ownedByRoot(fi os.FileInfo) bool {
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && st.Uid == 0
}
