//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package kernel_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/embedded"
	"github.com/memkernel/memkernel/kernel/kerneltest"
)

// durableServer is a server that syncs to disk, unlike the one that the other tests share.
func durableServer(t *testing.T, dir string) (*embedded.Server, *pgxpool.Pool) {
	t.Helper()
	server, err := embedded.Start(t.Context(), embedded.Config{Dir: dir})
	require.NoError(t, err)
	t.Cleanup(func() { _ = server.Close(context.WithoutCancel(t.Context())) })
	pool, err := pgxpool.New(t.Context(), server.ConnString()+"&pool_max_conns=8")
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	require.NoError(t, kernel.Migrate(t.Context(), pool))
	return server, pool
}

// ledger is what the kernel has acknowledged.
type ledger struct {
	mu    sync.Mutex
	texts map[kernel.ID]string
	ended map[kernel.ID]string // by how it ended
	n     map[kernel.Op]int
	total atomic.Int64
}

func (l *ledger) note(op kernel.Op, id kernel.ID, text string, ended kernel.ID, how string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n[op]++
	if text != "" {
		l.texts[id] = text
	}
	if how != "" {
		l.ended[ended] = how
	}
	l.total.Add(1)
}

// storm writes, replaces, repeats and retracts until the database is gone.
func storm(ctx context.Context, k *kerneltest.Kit, who kernel.Identity, name string, l *ledger) error {
	var last kernel.ID
	for i := 0; ; i++ {
		text := fmt.Sprintf("Worker %s has done %d.", name, i)
		switch i % 4 {
		case 1:
			r, err := k.Write(ctx, who, kernel.WriteRequest{Text: text, Supersedes: last})
			if err != nil {
				return err
			}
			l.note("write", r.Stored[0], text, last, "superseded")
			last = r.Stored[0]
		case 2:
			r, err := k.Write(ctx, who, kernel.WriteRequest{Text: fmt.Sprintf("worker %s has done %d.", name, i-1)})
			if err != nil {
				return err
			}
			l.note("write", r.Deduplicated[0], "", kernel.ID{}, "")
		case 3:
			if _, err := k.Retract(ctx, who, kernel.RetractRequest{ID: last}); err != nil {
				return err
			}
			l.note("retract", last, "", last, "retracted")
		default:
			r, err := k.Write(ctx, who, kernel.WriteRequest{Text: text})
			if err != nil {
				return err
			}
			last = r.Stored[0]
			l.note("write", last, text, kernel.ID{}, "")
		}
	}
}

// TestKilledDatabase kills the database without warning in the middle of a storm of writes:
// first its main process, which the others outlive by a moment, then all at once.
func TestKilledDatabase(t *testing.T) {
	t.Parallel()
	// Not t.TempDir: the server may run as another user.
	base, err := os.MkdirTemp("/tmp", "mkcrash-") //nolint:usetesting // as said above
	require.NoError(t, err)
	require.NoError(t, os.Chmod(base, 0o755))
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	dir := filepath.Join(base, "pg")
	l := &ledger{texts: map[kernel.ID]string{}, ended: map[kernel.ID]string{}, n: map[kernel.Op]int{}}
	for round, killAll := range []bool{false, true} {
		server, pool := durableServer(t, dir)
		require.Equal(t, "on", sqlValue[string](t, pool, `SHOW fsync`))
		k := kerneltest.OpenOn(t, pool)
		if round == 1 {
			l.check(t, k)
		}
		who := stormer(t, k, round)
		runStorm(t, k, who, strconv.Itoa(round), l, func() { kill(t, server, pool, killAll) })
		require.Error(t, server.Close(t.Context()), "it did not end by itself")
		pool.Close()
	}
	_, pool := durableServer(t, dir)
	l.check(t, kerneltest.OpenOn(t, pool))
}

// stormer makes a tenant per round, since the kit of one round knows nothing of the last.
func stormer(t *testing.T, k *kerneltest.Kit, round int) kernel.Identity {
	t.Helper()
	return k.Key(fmt.Sprintf("acme%d/eng", round), kernel.RoleMember)
}

// runStorm lets writers loose, strikes after a while, and returns when all have noticed.
func runStorm(t *testing.T, k *kerneltest.Kit, who kernel.Identity, name string, l *ledger, strike func()) {
	t.Helper()
	const workers, enough = 8, 250
	from := l.total.Load()
	var struck sync.Once
	together(workers+1, func(i int) {
		if i == workers {
			for l.total.Load() < from+enough && !t.Failed() {
				if err := k.Pool.Ping(t.Context()); err != nil { // paces the loop
					t.Error(err)
				}
			}
			struck.Do(strike)
			return
		}
		if err := storm(t.Context(), k, who, fmt.Sprint(name, ".", i), l); err != nil {
			require.ErrorIs(t, err, kernel.ErrUnavailable)
		}
	})
}

// kill kills the postmaster, or with all every process of the server.
func kill(t *testing.T, server *embedded.Server, pool *pgxpool.Pool, all bool) {
	t.Helper()
	pids := []int{server.PID()}
	if all {
		rows, err := pool.Query(t.Context(), `SELECT pid FROM pg_stat_activity`)
		require.NoError(t, err)
		others, err := pgx.CollectRows(rows, pgx.RowTo[int])
		require.NoError(t, err)
		pids = append(pids, others...)
	}
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// check compares the database with what was acknowledged. What was not may be there as well,
// as a whole and with its audit row, which is among the invariants.
func (l *ledger) check(t *testing.T, k *kerneltest.Kit) {
	t.Helper()
	requireSound(t, k.Pool)
	rows, err := k.Pool.Query(t.Context(), `SELECT id::text, text, coalesce(end_reason, '') FROM memkernel.memory_objects`)
	require.NoError(t, err)
	texts, ended := map[string]string{}, map[string]string{}
	var id, text, how string
	_, err = pgx.ForEachRow(rows, []any{&id, &text, &how}, func() error {
		texts[id], ended[id] = text, how
		return nil
	})
	require.NoError(t, err)
	for id, text := range l.texts {
		require.Equal(t, text, texts[id.String()], "an acknowledged write is gone")
	}
	for id, how := range l.ended {
		require.Equal(t, how, ended[id.String()], "an acknowledged change is gone")
	}
	for op, n := range l.n {
		have := auditRows(k, op)["ok"]
		require.GreaterOrEqual(t, have, n, "an acknowledged call has no audit row")
		require.LessOrEqual(t, have, n+16, "more calls are on record than were made")
	}
}
