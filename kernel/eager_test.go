package kernel_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/internal/pgtest"
	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
	"github.com/memkernel/memkernel/kernel/mem"
)

// TestWarmAndColdAreOnRecordAlike: which way a call took cannot be told from its row.
func TestWarmAndColdAreOnRecordAlike(t *testing.T) {
	t.Parallel()
	w := newWarmBench(t)
	cold := kerneltest.OpenOn(t, w.Pool, kernel.WithClock(w.other.Clock.Now)) // its first calls take the long way
	record := func(k *kerneltest.Kit, text string) (rows []kernel.AuditEvent) {
		before := len(k.Audit())
		must(k.Read(t.Context(), w.who, kernel.ReadRequest{ID: w.id}))
		must(k.Search(t.Context(), w.who, kernel.SearchRequest{Query: "kiln", K: 1}))
		must(k.Search(t.Context(), w.who, kernel.SearchRequest{Query: "kiln", K: 1, Sensitive: true}))
		must(k.Search(t.Context(), w.who, kernel.SearchRequest{Query: "kiln", Kinds: []kernel.Kind{mem.KindGoal}}))
		must(k.Write(t.Context(), w.who, kernel.WriteRequest{Text: text}))
		for _, e := range k.Audit()[before:] {
			e.Seq, e.Call = 0, kernel.ID{}
			if e.Op == "write" {
				e.MemoryID = kernel.ID{}
			}
			rows = append(rows, e)
		}
		return rows
	}
	hits := func() int {
		return sqlValue[int](t, w.Pool, `SELECT hits::int FROM memkernel.memory_access WHERE memory_id = $1`, w.id.String())
	}
	start := hits()
	long := record(cold, "Long.")
	middle := hits()
	eager := record(w.Kit, "Eager.")
	require.Equal(t, long, eager)
	require.Len(t, eager, 5)
	require.Equal(t, middle-start, hits()-middle)
}

// TestWarmWriteNeedsItsNamespace: a namespace that does not stand any more where the kernel
// knew it to, as after a restore, is looked up again, and the write is found.
func TestWarmWriteNeedsItsNamespace(t *testing.T) {
	t.Parallel()
	w := newWarmBench(t)
	sqlExec(t, w.Pool, `DELETE FROM memkernel.namespaces WHERE path = 'acme/eng'`)
	id := must(w.Write(t.Context(), w.who, kernel.WriteRequest{Text: "A lantern hangs in the yard."})).Stored[0]
	found := must(w.Search(t.Context(), w.who, kernel.SearchRequest{Query: "lantern"})).Items
	require.Len(t, found, 1)
	require.Equal(t, id, found[0].Memory.ID)
}

// TestWarmLate: a call that waits for others longer than Limits.AuditTimeout is an outage, one
// whose caller has no more time is that.
func TestWarmLate(t *testing.T) {
	t.Parallel()
	w := newWarmBench(t)
	late := kerneltest.OpenOn(t, w.Pool, kernel.WithClock(w.other.Clock.Now), kernel.WithLimits(kernel.Limits{AuditTimeout: 200 * time.Millisecond}))
	must(late.Search(t.Context(), w.who, kernel.SearchRequest{Query: "kiln"}))
	tx := begin(t, w.Kit)
	_, err := tx.Exec(t.Context(), `LOCK TABLE memkernel.memory_objects IN ACCESS EXCLUSIVE MODE`)
	require.NoError(t, err)
	_, err = late.Read(t.Context(), w.who, kernel.ReadRequest{ID: w.id})
	require.ErrorIs(t, err, kernel.ErrUnavailable)
	require.NotContains(t, err.Error(), "batch")
	require.Contains(t, lastAudit(w.Kit).Detail, "reason=unavailable")

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = w.Read(ctx, w.who, kernel.ReadRequest{ID: w.id})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NoError(t, tx.Rollback(t.Context()))
	require.Contains(t, lastAudit(w.Kit).Detail, "reason=cancelled")
}

// TestErrorsNameNothing: what an outage tells a caller names no user, address, table or code.
func TestErrorsNameNothing(t *testing.T) {
	t.Parallel()
	w := newWarmBench(t)
	wire, pool := pgtest.OpenWire(t, w.Pool)
	k := kerneltest.OpenOn(t, pool, kernel.WithClock(w.other.Clock.Now), kernel.WithLimits(kernel.Limits{AuditTimeout: time.Second}))
	for op := range everyCall(k, w.who, w.id) {
		pool.Reset()
		wire.Arm(1, pgtest.CutBefore)
		err := everyCall(k, w.who, w.id)[op](t.Context())
		wire.Disarm()
		if err == nil {
			continue
		}
		requireNamesNothing(t, err, op)
	}
}

func requireNamesNothing(t *testing.T, err error, op kernel.Op) {
	t.Helper()
	for _, sign := range []string{"user=", "host=", "database=", "SQLSTATE", "memkernel.", "dial", "/", "EOF", "river", "job"} {
		require.NotContains(t, err.Error(), sign, op)
	}
}
