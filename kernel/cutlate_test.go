package kernel_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/internal/pgtest"
	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
)

// The tests of this file cut a connection whose server process has the whole transaction,
// commit included, and waits for a lock in the middle of it: it goes on when nobody waits for
// its answer any more.

// Locks that a write runs into before and after its audit row.
const (
	lockTenant    = `SELECT FROM memkernel.tenants WHERE tenant = 'acme' FOR UPDATE`
	lockNamespace = `SELECT FROM memkernel.namespaces WHERE path = 'acme/eng' FOR UPDATE`
)

func holdLock(t *testing.T, conn *pgx.Conn, lock string) pgx.Tx {
	t.Helper()
	tx, err := conn.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), lock)
	require.NoError(t, err)
	return tx
}

// lateWrite starts a write that waits for the lock and cuts its connection.
func lateWrite(t *testing.T, b *cutBench, lock string) (held pgx.Tx, watch *pgx.Conn, done chan error) {
	t.Helper()
	watch = sideConn(t, b.whole)
	held = holdLock(t, sideConn(t, b.whole), lock)
	done = make(chan error, 1)
	go func() {
		_, err := b.Write(t.Context(), b.who, kernel.WriteRequest{Text: "Late."})
		done <- err
	}()
	awaitBlocked(t, watch, 1)
	b.wire.CutAll()
	return held, watch, done
}

// TestCutBeforeLateAuditRow: the call finds that it has no audit row, records its failure, and
// the transaction that comes late must not store what nobody was told of.
func TestCutBeforeLateAuditRow(t *testing.T) {
	t.Parallel()
	b := newCutBench(t)
	held, _, done := lateWrite(t, b, lockTenant)
	require.ErrorIs(t, <-done, kernel.ErrUnavailable)
	require.NoError(t, held.Commit(t.Context()))
	b.wire.Disarm()
	require.Zero(t, b.count(t, countText, "Late."))
	row := lastAudit(b.whole)
	require.Equal(t, kernel.AuditResult("error"), row.Result)
	require.Equal(t, map[kernel.AuditResult]int{"ok": 1, "error": 1}, auditRows(b.whole, "write"))
	requireSound(t, b.whole.Pool)
}

// TestCutBeforeLateKey is the same for a key, whose secret nobody has got.
func TestCutBeforeLateKey(t *testing.T) {
	t.Parallel()
	b := newCutBench(t)
	watch, held := sideConn(t, b.whole), holdLock(t, sideConn(t, b.whole), lockTenant)
	done := make(chan error, 1)
	go func() {
		_, err := b.Keys().Create(t.Context(), b.who, kernel.KeyRequest{Actor: "user:late", Role: kernel.RoleMember})
		done <- err
	}()
	awaitBlocked(t, watch, 1)
	b.wire.CutAll()
	require.ErrorIs(t, <-done, kernel.ErrUnavailable)
	require.NoError(t, held.Commit(t.Context()))
	b.wire.Disarm()
	require.Zero(t, b.count(t, `SELECT count(*)::int FROM memkernel.api_keys WHERE actor = 'user:late'`))
	requireSound(t, b.whole.Pool)
}

// TestCutAfterLateAuditRow: the call waits for the transaction that holds its audit row and
// answers with what becomes of it.
func TestCutAfterLateAuditRow(t *testing.T) {
	t.Parallel()
	b := newCutBench(t)
	held, watch, done := lateWrite(t, b, lockNamespace)
	awaitBlocked(t, watch, 2) // the write, and the call that asks for its audit row
	require.NoError(t, held.Commit(t.Context()))
	require.NoError(t, <-done)
	b.wire.Disarm()
	require.Equal(t, 1, b.count(t, countText, "Late."))
	require.Equal(t, map[kernel.AuditResult]int{"ok": 2}, auditRows(b.whole, "write"))
	requireSound(t, b.whole.Pool)
}

// TestCutAfterLateAuditRowForTooLong: the call cannot wait for ever and says that it does not
// know; the write and its only audit row still go together.
func TestCutAfterLateAuditRowForTooLong(t *testing.T) {
	t.Parallel()
	b := newCutBench(t, kernel.WithLimits(kernel.Limits{AuditTimeout: 100 * time.Millisecond}))
	held, _, done := lateWrite(t, b, lockNamespace)
	require.ErrorIs(t, <-done, kernel.ErrUnavailable)
	require.NoError(t, held.Commit(t.Context()))
	b.wire.Disarm()
	require.Equal(t, 1, b.count(t, countText, "Late."))
	require.Equal(t, map[kernel.AuditResult]int{"ok": 2}, auditRows(b.whole, "write"))
	requireSound(t, b.whole.Pool)
}

// TestCutByTheCaller: a cancelled context breaks the connection in the same way.
func TestCutByTheCaller(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	dana := k.Key("acme/eng", kernel.RoleMember)
	watch, held := sideConn(t, k), holdLock(t, sideConn(t, k), lockTenant)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := k.Write(ctx, dana, kernel.WriteRequest{Text: "Given up."})
		done <- err
	}()
	awaitBlocked(t, watch, 1)
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	require.NoError(t, held.Commit(t.Context()))
	awaitIdle(t, watch)
	require.Zero(t, sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM memkernel.memory_objects`))
	row := lastAudit(k)
	require.Equal(t, kernel.Op("write"), row.Op)
	require.Equal(t, kernel.AuditResult("error"), row.Result)
	require.Equal(t, "reason=cancelled", row.Detail)
	require.Equal(t, map[kernel.AuditResult]int{"error": 1}, auditRows(k, "write"))
	requireSound(t, k.Pool)
}

// awaitIdle returns once no other backend of the database is at work.
func awaitIdle(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	require.Eventually(t, func() bool {
		var busy int
		err := conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid() AND state <> 'idle'`).Scan(&busy)
		require.NoError(t, err)
		return busy == 0
	}, 20*time.Second, time.Millisecond)
}

// lastAudit returns the newest audit row.
func lastAudit(k *kerneltest.Kit) kernel.AuditEvent {
	rows := k.Audit()
	return rows[len(rows)-1]
}

// TestCutAndNoServer: the server cannot be reached after the cut, so the call cannot learn
// what happened. It says so, and what happened is all or nothing.
func TestCutAndNoServer(t *testing.T) {
	t.Parallel()
	b := newCutBench(t)
	stored := 0
	try := func(text string, arm func()) []byte {
		b.Pool.Reset()
		before := len(b.whole.Audit())
		arm()
		_, err := b.Write(t.Context(), b.who, kernel.WriteRequest{Text: text})
		seen := b.wire.Disarm()
		done := b.count(t, countText, text)
		rows := b.whole.Audit()[before:]
		require.Len(t, rows, done, "an audit row if and only if the memory is there")
		if err != nil {
			require.ErrorIs(t, err, kernel.ErrUnavailable)
			stored += done
		}
		return seen
	}
	whole := try("Fact 0 holds.", func() { b.wire.Arm(0, 0) })
	for n := 1; n <= len(whole); n++ {
		seen := try(fmt.Sprintf("Fact %d holds.", n), func() { b.wire.ArmOutage(n, pgtest.CutBefore) })
		if n <= len(seen) && (seen[n-1] == 'S' || seen[n-1] == 'Q') {
			try(fmt.Sprintf("Fact %d is fetched.", n), func() { b.wire.ArmOutage(n, pgtest.CutUnanswered) })
		}
	}
	require.Positive(t, stored, "the answer to the commit itself was never lost")
	requireSound(t, b.whole.Pool)
}
