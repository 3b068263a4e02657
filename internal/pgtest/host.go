//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package pgtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/memkernel/memkernel/kernel/embedded"
)

// The shared server must outlive the test binary that starts it and end with the last one
// that uses it, even if that one is killed. No test binary can see to that, and Go has no
// hook for the end of a test binary that imports a package. So the server is the child of a
// host: the test binary started once more, with this variable set. If the host is killed,
// the server goes down with it.
const envHost = "MEMKERNEL_PGTEST_HOST"

// Messages from the host to the test binary that started it; other lines are progress.
const (
	msgReady  = "ready"
	msgBusy   = "busy"
	msgFailed = "failed: "
)

func init() { //nolint:gochecknoinits // must come before the main function of any test binary
	dir := os.Getenv(envHost)
	if dir == "" {
		return
	}
	_ = os.Unsetenv(envHost)
	out := os.NewFile(3, "starter")
	syscall.CloseOnExec(3)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP) //nolint:forbidigo // a process of its own
	defer stop()
	if err := host(ctx, dir, out); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) //nolint:gocritic // stop matters to nobody any more
	}
	os.Exit(0)
}

// host runs the server until its last user is gone. It reports to out, and closes it.
func host(ctx context.Context, dir string, out io.WriteCloser) error {
	lock, err := openLockFile(filepath.Join(dir, hostFile))
	if err == nil {
		err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		tell(out, msgBusy)
		return nil
	}
	var users *os.File
	if err == nil {
		users, err = openLockFile(filepath.Join(dir, usersFile))
	}
	var server *embedded.Server
	if err == nil {
		server, err = startServer(ctx, dir, out)
	}
	if err != nil {
		tell(out, msgFailed+oneLine(err))
		return err
	}
	defer func() { _, _ = users.Close(), lock.Close() }() // kept until the server is down
	tell(out, msgReady)
	gone := make(chan error, 1)
	go func() { gone <- blockFlock(users) }()
	select {
	case err = <-gone:
	case <-ctx.Done():
		// Asked to stop by hand. New users must find no server.
	case <-server.Done():
		err = errors.New("the server ended by itself; see " + filepath.Join(dir, clusterName))
	}
	_ = os.Remove(filepath.Join(dir, stateFile))
	stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer cancel()
	if err := errors.Join(err, server.Close(stopCtx)); err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, cleanFile), nil)
}

// startServer starts the server, on the cluster of an earlier run if that was shut down
// properly, and publishes its address.
func startServer(ctx context.Context, dir string, progress io.Writer) (*embedded.Server, error) {
	_ = os.Remove(filepath.Join(dir, stateFile))
	cluster := filepath.Join(dir, clusterName)
	config := embedded.Config{
		Dir:      cluster,
		Progress: progress,
		Settings: map[string]string{
			"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off",
			"wal_level": "minimal", "max_wal_senders": "0", "checkpoint_timeout": "1h",
			"max_connections": "500", "autovacuum": "off",
		},
	}
	reusable := os.Remove(filepath.Join(dir, cleanFile)) == nil
	if !reusable {
		if err := embedded.Remove(ctx, cluster); err != nil {
			return nil, err
		}
	}
	server, err := embedded.Start(ctx, config)
	if err != nil && reusable && ctx.Err() == nil {
		// For example made by another version of PostgreSQL.
		if err := embedded.Remove(ctx, cluster); err != nil {
			return nil, err
		}
		server, err = embedded.Start(ctx, config)
	}
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(state{URL: server.ConnString(), PID: os.Getpid()})
	if err == nil {
		err = writeFile(filepath.Join(dir, stateFile), text)
	}
	if err != nil {
		return nil, errors.Join(err, server.Close(ctx))
	}
	return server, nil
}

func tell(out io.WriteCloser, message string) {
	_, _ = io.WriteString(out, message+"\n")
	_ = out.Close()
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

func writeFile(path string, text []byte) error {
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}
