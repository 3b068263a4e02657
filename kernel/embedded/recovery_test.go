//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package embedded_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel/embedded"
)

func TestKilledPostmaster(t *testing.T) {
	t.Parallel()
	dir := clusterDir(t)
	s := start(t, embedded.Config{Dir: dir})
	exec1(t, s.ConnString(), `CREATE TABLE kept AS SELECT 1`)
	// A backend that is too busy to notice that its postmaster is gone.
	busy, err := pgx.Connect(t.Context(), s.ConnString())
	require.NoError(t, err)
	defer func() { _ = busy.Close(context.WithoutCancel(t.Context())) }()
	_, err = busy.Exec(t.Context(), `DECLARE c CURSOR WITH HOLD FOR SELECT 1`) // no effect but a round trip
	require.NoError(t, err)
	busyDone := make(chan error, 1)
	go func() {
		_, err := busy.Exec(context.WithoutCancel(t.Context()), `SELECT count(*) FROM generate_series(1, 4000000000) a(n) WHERE n % 7 = 8`)
		busyDone <- err
	}()
	eventually(t, "the query to run", func() bool {
		return query1(t, s.ConnString(), `SELECT count(*)::text FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%4000000000%' AND pid <> pg_backend_pid()`) == "1"
	})

	require.NoError(t, syscall.Kill(s.PID(), syscall.SIGKILL))
	<-s.Done()
	var startErr *embedded.StartError
	require.ErrorAs(t, s.Close(t.Context()), &startErr)
	s = start(t, embedded.Config{Dir: dir})
	require.Equal(t, "1", query1(t, s.ConnString(), `SELECT count(*)::text FROM kept`))
	require.Error(t, <-busyDone)
}

func TestParentDeath(t *testing.T) {
	t.Parallel()
	dir := clusterDir(t)
	for range 3 {
		h := startHelper(t, helperConfig{Dir: dir}, 0)
		r := h.report(t)
		require.Empty(t, r.Error)
		exec1(t, r.URL, `CREATE TABLE IF NOT EXISTS kept (n int); INSERT INTO kept VALUES (1)`)
		h.kill(t)
		// No waiting: the next owner copes with the server that is just going down.
		s := start(t, embedded.Config{Dir: dir})
		require.True(t, gone(r.PID))
		require.NotEqual(t, "0", query1(t, s.ConnString(), `SELECT count(*)::text FROM kept`))
		require.NoError(t, s.Close(t.Context()))
	}
	h := startHelper(t, helperConfig{Dir: dir}, 0)
	r := h.report(t)
	h.kill(t)
	if _, err := os.Stat("/proc/self/status"); err == nil { // Linux
		eventually(t, "the server to follow its parent", func() bool { return gone(r.PID) })
		require.Empty(t, embedded.ServerProcesses(filepath.Join(dir, "data")))
	}
	require.NoError(t, embedded.Remove(t.Context(), dir))
}

func TestReusedPID(t *testing.T) {
	t.Parallel()
	dir := clusterDir(t)
	h := startHelper(t, helperConfig{Dir: dir}, 0)
	require.Empty(t, h.report(t).Error)
	pidFile := filepath.Join(dir, "data", "postmaster.pid")
	text, err := os.ReadFile(pidFile)
	require.NoError(t, err)
	h.kill(t)
	s := start(t, embedded.Config{Dir: dir})
	require.NoError(t, s.Close(t.Context()))
	// As after a crash, when the number of the old postmaster has gone to somebody else.
	_, rest, _ := strings.Cut(string(text), "\n")
	write := func(pid int) {
		require.NoError(t, os.WriteFile(pidFile, []byte(strconv.Itoa(pid)+"\n"+rest), 0o600))
		owner, err := os.Stat(filepath.Dir(pidFile))
		require.NoError(t, err)
		st := owner.Sys().(*syscall.Stat_t)
		require.NoError(t, os.Chown(pidFile, int(st.Uid), int(st.Gid)))
	}
	write(1)
	s = start(t, embedded.Config{Dir: dir})
	require.NoError(t, s.Close(t.Context()))
	other := startHelper(t, helperConfig{Ephemeral: true}, 0)
	require.Empty(t, other.report(t).Error)
	write(other.cmd.Process.Pid)
	start(t, embedded.Config{Dir: dir})
}

func TestServerStartedByHand(t *testing.T) {
	t.Parallel()
	dir := clusterDir(t)
	s := start(t, embedded.Config{Dir: dir})
	line, err := os.ReadFile("/proc/" + strconv.Itoa(s.PID()) + "/cmdline")
	if err != nil {
		t.Skip("no /proc to learn the command line from")
	}
	args := strings.Split(strings.TrimRight(string(line), "\x00"), "\x00")
	require.NoError(t, s.Close(t.Context()))
	cmd := exec.Command(args[0], args[1:]...)
	owner, err := os.Stat(filepath.Join(dir, "data"))
	require.NoError(t, err)
	if st := owner.Sys().(*syscall.Stat_t); os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: st.Uid, Gid: st.Gid}}
	}
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGINT)
		_ = cmd.Wait()
	})
	eventually(t, "the server to write its file", func() bool {
		text, _ := os.ReadFile(filepath.Join(dir, "data", "postmaster.pid"))
		return strings.Contains(string(text), "ready")
	})
	var inUse *embedded.InUseError
	_, err = embedded.Start(t.Context(), embedded.Config{Dir: dir})
	require.ErrorAs(t, err, &inUse)
	require.Equal(t, cmd.Process.Pid, inUse.PID)
}

func TestForgottenServerStaysLocked(t *testing.T) {
	t.Parallel()
	dir := clusterDir(t)
	pid := func() int {
		s, err := embedded.Start(t.Context(), embedded.Config{Dir: dir})
		require.NoError(t, err)
		return s.PID()
	}()
	for range 3 {
		runtime.GC()
	}
	var inUse *embedded.InUseError
	_, err := embedded.Start(t.Context(), embedded.Config{Dir: dir})
	require.ErrorAs(t, err, &inUse)
	require.NoError(t, syscall.Kill(pid, syscall.SIGINT))
	eventually(t, "the server to stop", func() bool { return gone(pid) })
}

func TestCancelledStart(t *testing.T) {
	t.Parallel()
	dir := clusterDir(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := embedded.Start(ctx, embedded.Config{Dir: dir})
	require.ErrorIs(t, err, context.Canceled)
	// What an interrupted initdb leaves is not taken for a cluster.
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "data.init-1", "base"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "owner.lock"), nil, 0o600))
	start(t, embedded.Config{Dir: dir})
	left, err := filepath.Glob(filepath.Join(dir, "data.*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestFailedStartLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := clusterDir(t)
	var startErr *embedded.StartError
	_, err := embedded.Start(t.Context(), embedded.Config{Dir: dir, Settings: map[string]string{"shared_buffers": "a lot"}})
	require.ErrorAs(t, err, &startErr)
	require.Contains(t, startErr.Output, "shared_buffers")
	require.Empty(t, embedded.ServerProcesses(filepath.Join(dir, "data")))
	start(t, embedded.Config{Dir: dir})
}
