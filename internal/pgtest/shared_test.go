//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package pgtest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/internal/pgtest"
)

// The tests of this file use a shared directory of their own, and test binaries of their own:
// this one, run again with participantEnv set.
const participantEnv = "MEMKERNEL_PGTEST_PARTICIPANT"

// TestParticipant is not a test but what the processes started by the others do: open a
// database, report, and use it until standard input ends.
func TestParticipant(t *testing.T) { //nolint:paralleltest // alone in its process
	if os.Getenv(participantEnv) == "" {
		t.Skip("runs in a process of its own")
	}
	db := pgtest.Open(t)
	report := participantReport{Database: text(t, db, `SELECT current_database()::text`)}
	report.Server = db.Config().ConnConfig.Host
	report.Started = text(t, db, `SELECT pg_postmaster_start_time()::text`)
	report.Postmaster = text(t, db, `SELECT split_part(pg_read_file('postmaster.pid'), E'\n', 1)`)
	require.NoError(t, json.NewEncoder(os.Stdout).Encode(report))
	_, _ = io.Copy(io.Discard, os.Stdin)
	require.NoError(t, db.Ping(t.Context()))
}

type participantReport struct{ Database, Server, Started, Postmaster string }

type participant struct {
	participantReport

	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines *bufio.Reader
}

func startParticipant(t *testing.T, dir string) *participant {
	t.Helper()
	p := &participant{cmd: exec.Command(os.Args[0], "-test.run=^TestParticipant$")}
	p.cmd.Env = append(os.Environ(), participantEnv+"=1", pgtest.EnvDir+"="+dir, pgtest.EnvURL+"=")
	p.cmd.Stderr = os.Stderr
	var err error
	p.stdin, err = p.cmd.StdinPipe()
	require.NoError(t, err)
	out, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	p.lines = bufio.NewReader(out)
	require.NoError(t, p.cmd.Start())
	t.Cleanup(func() {
		if p.cmd.ProcessState == nil {
			_ = p.cmd.Process.Kill()
			_ = p.cmd.Wait()
		}
	})
	return p
}

func (p *participant) report(t *testing.T) {
	t.Helper()
	line, err := p.lines.ReadBytes('\n')
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(line, &p.participantReport), string(line))
}

func (p *participant) finish(t *testing.T) {
	t.Helper()
	require.NoError(t, p.stdin.Close())
	_, _ = io.Copy(io.Discard, p.lines)
	require.NoError(t, p.cmd.Wait())
}

func (p *participant) kill(t *testing.T) {
	t.Helper()
	require.NoError(t, p.cmd.Process.Kill())
	_ = p.cmd.Wait()
}

// sharedDir is a directory that the server's account may enter, unlike t.TempDir.
func sharedDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(os.TempDir(), "mkp-") //nolint:usetesting // closed to other users
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return filepath.Join(dir, "shared")
}

// down waits until the server is gone, with all its processes: the host's lock is released
// when the host ends, which is after that.
func down(t *testing.T, dir string, p *participant) {
	t.Helper()
	pid, err := strconv.Atoi(p.Postmaster)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		f, err := os.OpenFile(filepath.Join(dir, "host.lock"), os.O_RDWR, 0)
		if err != nil {
			return false
		}
		defer func() { _ = f.Close() }()
		return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
	}, 20*time.Second, 5*time.Millisecond)
	err = syscall.Kill(pid, 0)
	require.ErrorIs(t, err, syscall.ESRCH, "the host has reaped the postmaster")
	_, err = os.Stat(filepath.Join(dir, "state.json"))
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestProcessesShareOneServer(t *testing.T) {
	t.Parallel()
	dir := sharedDir(t)
	a, b, c := startParticipant(t, dir), startParticipant(t, dir), startParticipant(t, dir)
	for _, p := range []*participant{a, b, c} {
		p.report(t)
	}
	require.Equal(t, a.Postmaster, b.Postmaster)
	require.Equal(t, a.Started, c.Started)
	require.NotEqual(t, a.Database, b.Database)

	// The first to end was perhaps the one that started the server.
	a.finish(t)
	b.kill(t)
	d := startParticipant(t, dir)
	d.report(t)
	require.Equal(t, c.Started, d.Started)
	c.finish(t)
	d.finish(t)
	down(t, dir, d)

	// A later run finds the cluster as it was left, but for the killed one's database.
	e := startParticipant(t, dir)
	e.report(t)
	require.NotEqual(t, d.Started, e.Started)
	conn, err := pgx.Connect(t.Context(), "host="+e.Server+" user=memkernel dbname=postgres sslmode=disable")
	require.NoError(t, err)
	var left int
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_database WHERE datname = $1`, b.Database).Scan(&left))
	require.Zero(t, left)
	require.NoError(t, conn.Close(t.Context()))
	e.finish(t)
	down(t, dir, e)
}

func TestAllParticipantsKilled(t *testing.T) {
	t.Parallel()
	dir := sharedDir(t)
	a, b := startParticipant(t, dir), startParticipant(t, dir)
	a.report(t)
	b.report(t)
	a.kill(t)
	b.kill(t)
	down(t, dir, a)
}

// TestStarterKilledEarly kills a test binary while its host starts the server.
func TestStarterKilledEarly(t *testing.T) {
	t.Parallel()
	dir := sharedDir(t)
	a := startParticipant(t, dir)
	require.Eventually(t, func() bool {
		_, err := os.Stat(filepath.Join(dir, "cluster", "owner.lock"))
		return err == nil
	}, 20*time.Second, time.Millisecond)
	a.kill(t)
	b := startParticipant(t, dir)
	b.report(t)
	b.finish(t)
	down(t, dir, b)
}

// TestHostKilled loses the server under its users. The next run starts over.
func TestHostKilled(t *testing.T) {
	t.Parallel()
	dir := sharedDir(t)
	a := startParticipant(t, dir)
	a.report(t)
	var state struct{ PID int }
	content, err := os.ReadFile(filepath.Join(dir, "state.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(content, &state))
	require.NoError(t, syscall.Kill(state.PID, syscall.SIGKILL))
	b := startParticipant(t, dir)
	b.report(t)
	require.NotEqual(t, a.Started, b.Started)
	b.finish(t)
	a.kill(t)
	down(t, dir, b)
}

// TestServerKilled loses the server and not its host.
func TestServerKilled(t *testing.T) {
	t.Parallel()
	dir := sharedDir(t)
	a := startParticipant(t, dir)
	a.report(t)
	pid, err := strconv.Atoi(a.Postmaster)
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	b := startParticipant(t, dir)
	b.report(t)
	require.NotEqual(t, a.Started, b.Started)
	a.kill(t)
	b.finish(t)
	down(t, dir, b)
}

// TestExternalServer uses a server that this package did not start.
func TestExternalServer(t *testing.T) {
	t.Parallel()
	dir, unused := sharedDir(t), sharedDir(t)
	a := startParticipant(t, dir)
	a.report(t)
	for _, url := range []string{
		"postgres://memkernel@/postgres?sslmode=disable&host=" + a.Server,
		"host=" + a.Server + " user=memkernel dbname=postgres sslmode=disable",
	} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestParticipant$")
		cmd.Env = append(os.Environ(), participantEnv+"=1", pgtest.EnvDir+"="+unused, pgtest.EnvURL+"="+url)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		require.Contains(t, string(out), a.Started)
	}
	_, err := os.Stat(unused)
	require.True(t, errors.Is(err, fs.ErrNotExist))
	a.finish(t)
	down(t, dir, a)
}

func TestSharedDirOfSomebodyElse(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root to act as another user")
	}
	dir := sharedDir(t)
	require.NoError(t, os.Mkdir(dir, 0o755))
	require.NoError(t, os.Chown(dir, 54323, 54323))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestParticipant$")
	cmd.Env = append(os.Environ(), participantEnv+"=1", pgtest.EnvDir+"="+dir, pgtest.EnvURL+"=")
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "belongs to somebody else")
}
