//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package embedded

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// command prepares a helper program (initdb, apt-get, dpkg). The program gets a process
// group of its own, and cancelling ctx kills the group: initdb and apt-get have children.
func command(ctx context.Context, env []string, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...) //nolint:gosec // constant names, or an installation's own programs
	cmd.Env = env
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(cmd.SysProcAttr, syscall.SIGKILL)
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 2 * time.Second
	return cmd
}

// run runs cmd and returns its standard output. A failure is a *StartError with the end of
// what the program wrote.
func run(ctx context.Context, cmd *exec.Cmd) (string, error) {
	var all syncBuffer
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = io.MultiWriter(&out, &all), &all
	// The signal of dieWithParent is sent when the thread that forked ends, not the process.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := cmd.Run()
	if err == nil {
		return out.String(), nil
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return "", &StartError{Program: filepath.Base(cmd.Path), Output: tail(all.String()), Err: err}
}

// syncBuffer collects standard output and standard error, which are copied by a goroutine
// each.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p) //nolint:wrapcheck // never fails
}

// String is for when the writers have ended.
func (b *syncBuffer) String() string { return b.buf.String() }

// tail returns the last lines of a program's output, on one line.
func tail(s string) string {
	const maxLines, maxBytes = 12, 1500
	lines := strings.Split(strings.TrimSpace(s), "\n")
	if len(lines) > maxLines {
		lines = lines[len(lines)-maxLines:]
	}
	s = strings.Join(lines, " | ")
	if len(s) > maxBytes {
		s = "..." + s[len(s)-maxBytes:]
	}
	return s
}

// serverEnv is the whole environment of initdb and postgres. The host's own environment is
// not passed on: it may hold secrets, and variables such as PGDATA that would mislead them.
func serverEnv(a account, b binaries, dir string) []string {
	env := []string{"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", "LANG=C", "HOME=/"}
	if a.unknown && b.wrapper != "" {
		env = append(env,
			"MEMKERNEL_PRELOAD="+b.wrapper,
			"NSS_WRAPPER_PASSWD="+filepath.Join(dir, passwdFile),
			"NSS_WRAPPER_GROUP="+filepath.Join(dir, groupFile))
	}
	return env
}

const (
	passwdFile = "passwd"
	groupFile  = "group"
)

// writePasswd writes the entries that are shown to programs of a user without any. They hold
// nothing secret.
func writePasswd(a account, dir string) error {
	passwd := fmt.Sprintf("%s:x:%d:%d::/:/bin/sh\n", Role, a.uid, a.gid)
	group := fmt.Sprintf("%s:x:%d:\n", Role, a.gid)
	if err := writeFile(filepath.Join(dir, passwdFile), passwd); err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, groupFile), group)
}
