//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package embedded_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel/embedded"
)

func TestRestartKeepsData(t *testing.T) {
	t.Parallel()
	dir := clusterDir(t)
	s := start(t, embedded.Config{Dir: dir})
	exec1(t, s.ConnString(), `CREATE EXTENSION vector`)
	exec1(t, s.ConnString(), `CREATE TABLE kept AS SELECT '[1,2]'::vector AS v`)
	require.Equal(t, "on", query1(t, s.ConnString(), `SHOW fsync`))
	require.Empty(t, query1(t, s.ConnString(), `SHOW listen_addresses`))
	require.NoError(t, s.Close(t.Context()))
	<-s.Done()
	require.True(t, gone(s.PID()))

	s = start(t, embedded.Config{Dir: dir, Settings: map[string]string{"work_mem": "7MB", "fsync": "off"}})
	require.Equal(t, "[1,2]", query1(t, s.ConnString(), `SELECT v::text FROM kept`))
	require.Equal(t, "7MB", query1(t, s.ConnString(), `SHOW work_mem`))
	require.Equal(t, "off", query1(t, s.ConnString(), `SHOW fsync`))
	require.Equal(t, embedded.Database, query1(t, s.ConnString(), `SELECT current_database()`))
	require.Equal(t, embedded.Role, query1(t, s.ConnString(), `SELECT current_user`))
	require.Equal(t, "template1", query1(t, s.ConnStringFor("template1"), `SELECT current_database()`))
}

func TestCloseIsIdempotent(t *testing.T) {
	t.Parallel()
	s := start(t, embedded.Config{Ephemeral: true})
	conn, err := pgx.Connect(t.Context(), s.ConnString()) // does not hold up the shutdown
	require.NoError(t, err)
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	var wg sync.WaitGroup
	for range 5 {
		wg.Go(func() {
			if err := s.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.NoError(t, s.Close(t.Context()))
}

func TestCloseByForce(t *testing.T) {
	t.Parallel()
	dir := clusterDir(t)
	s := start(t, embedded.Config{Dir: dir})
	exec1(t, s.ConnString(), `CREATE TABLE kept AS SELECT 1`)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := s.Close(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.True(t, gone(s.PID()))
	s = start(t, embedded.Config{Dir: dir})
	require.Equal(t, "1", query1(t, s.ConnString(), `SELECT count(*)::text FROM kept`))
}

func TestSecondOwner(t *testing.T) {
	t.Parallel()
	dir := clusterDir(t)
	s := start(t, embedded.Config{Dir: dir})
	var inUse *embedded.InUseError
	_, err := embedded.Start(t.Context(), embedded.Config{Dir: dir})
	require.ErrorAs(t, err, &inUse)
	require.Equal(t, os.Getpid(), inUse.PID)
	require.ErrorAs(t, embedded.Remove(t.Context(), dir), &inUse)
	require.NoError(t, s.Close(t.Context()))

	h := startHelper(t, helperConfig{Dir: dir}, 0)
	require.Empty(t, h.report(t).Error)
	_, err = embedded.Start(t.Context(), embedded.Config{Dir: dir})
	require.ErrorAs(t, err, &inUse)
	require.Equal(t, h.cmd.Process.Pid, inUse.PID)
	require.Contains(t, err.Error(), dir)
}

func TestLongDir(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(openDir(t), strings.Repeat("long/", 30), "with space, comma and 'quote'")
	s := start(t, embedded.Config{Dir: dir})
	require.Equal(t, "1", query1(t, s.ConnString(), `SELECT '1'`))
	sockets := query1(t, s.ConnString(), `SHOW unix_socket_directories`)
	require.NotContains(t, sockets, "long")
	require.NoError(t, s.Close(t.Context()))
	require.NoDirExists(t, sockets)

	// What a killed owner leaves outside the cluster goes with the next start.
	h := startHelper(t, helperConfig{Dir: dir}, 0)
	r := h.report(t)
	require.Empty(t, r.Error)
	old := query1(t, r.URL, `SHOW unix_socket_directories`)
	h.kill(t)
	start(t, embedded.Config{Dir: dir})
	require.NoDirExists(t, old)
}

func TestEphemeral(t *testing.T) {
	t.Parallel()
	h := startHelper(t, helperConfig{Ephemeral: true}, 0)
	r := h.report(t)
	require.Empty(t, r.Error)
	s := start(t, embedded.Config{Ephemeral: true})
	require.DirExists(t, r.Dir, "in use")
	require.Equal(t, "off", query1(t, s.ConnString(), `SHOW fsync`))
	require.NoError(t, s.Close(t.Context()))
	require.NoDirExists(t, s.Dir())

	h.kill(t)
	// What it leaves goes with the next start after it has stopped, which follows its owner's end.
	eventually(t, "the orphaned server to stop", func() bool { return gone(r.PID) })
	s = start(t, embedded.Config{Ephemeral: true})
	require.NoError(t, s.Close(t.Context()))
	require.NoDirExists(t, r.Dir)
}

func TestEphemeralWithDir(t *testing.T) {
	t.Parallel()
	dir := clusterDir(t)
	h := startHelper(t, helperConfig{Dir: dir, Ephemeral: true}, 0)
	r := h.report(t)
	require.Empty(t, r.Error)
	exec1(t, r.URL, `CREATE TABLE lost AS SELECT 1`)
	h.kill(t)
	_, err := embedded.Start(t.Context(), embedded.Config{Dir: dir})
	require.ErrorContains(t, err, "ephemeral")
	s := start(t, embedded.Config{Dir: dir, Ephemeral: true})
	require.Equal(t, "t", query1(t, s.ConnString(), `SELECT (to_regclass('lost') IS NULL)::text::char`))
	require.NoError(t, s.Close(t.Context()))
	require.NoDirExists(t, dir)

	s = start(t, embedded.Config{Dir: dir})
	require.NoError(t, s.Close(t.Context()))
	_, err = embedded.Start(t.Context(), embedded.Config{Dir: dir, Ephemeral: true})
	require.ErrorContains(t, err, "lasting")
	require.DirExists(t, filepath.Join(dir, "data"))
	require.NoError(t, embedded.Remove(t.Context(), dir))
	require.NoDirExists(t, dir)
	require.NoError(t, embedded.Remove(t.Context(), dir))
}

// TestServerStartedByHand finds a server on the cluster that this package knows nothing of.
func TestForeignDir(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "letter.txt"), nil, 0o600))
	_, err := embedded.Start(t.Context(), embedded.Config{Dir: dir})
	require.ErrorContains(t, err, "not a cluster directory")
	require.ErrorContains(t, embedded.Remove(t.Context(), dir), "not a cluster directory")
	require.FileExists(t, filepath.Join(dir, "letter.txt"))
}

func TestOtherUsersCannotConnect(t *testing.T) {
	t.Parallel()
	needRoot(t)
	for _, dir := range []string{clusterDir(t), filepath.Join(openDir(t), strings.Repeat("long/", 30))} {
		s := start(t, embedded.Config{Dir: dir})
		h := startHelper(t, helperConfig{Connect: s.ConnString()}, 54321)
		require.Contains(t, h.report(t).Error, "permission denied")
	}
}

func TestClosedParentDirectory(t *testing.T) {
	t.Parallel()
	needRoot(t)
	dir := openDir(t)
	require.NoError(t, os.Chmod(dir, 0o700))
	_, err := embedded.Start(t.Context(), embedded.Config{Dir: filepath.Join(dir, "cluster")})
	require.ErrorContains(t, err, "cannot enter")
}

func TestUnknownUser(t *testing.T) {
	t.Parallel()
	needRoot(t)
	_, err := embedded.Start(t.Context(), embedded.Config{Dir: clusterDir(t), User: "no-such-user"})
	require.ErrorContains(t, err, "Config.User")
	_, err = embedded.Start(t.Context(), embedded.Config{Dir: clusterDir(t), User: "root"})
	require.ErrorContains(t, err, "root")
}

func TestLogHoldsNoStatements(t *testing.T) {
	t.Parallel()
	dir := clusterDir(t)
	s := start(t, embedded.Config{Dir: dir})
	conn, err := pgx.Connect(t.Context(), s.ConnString())
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), `SELECT 'secret memory'::int`)
	require.Error(t, err)
	_, err = conn.Exec(t.Context(), `SELECT $1::text::int`, "secret parameter")
	require.Error(t, err)
	_, err = conn.Exec(t.Context(), `DO $$BEGIN RAISE WARNING 'secret warning'; END$$`)
	require.NoError(t, err)
	require.NoError(t, conn.Close(t.Context()))
	require.NoError(t, s.Close(t.Context()))
	text, err := os.ReadFile(filepath.Join(dir, "server.log"))
	require.NoError(t, err)
	require.Contains(t, string(text), "ready to accept connections")
	require.NotContains(t, string(text), "secret")
}
