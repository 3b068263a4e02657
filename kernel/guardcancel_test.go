package kernel_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/driver"
	"github.com/memkernel/memkernel/internal/pgtest"
	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
)

// TestGuardCancelledBefore: a call that nobody waits for any more is not made, and is on record.
func TestGuardCancelledBefore(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	who := k.Key("acme/eng", kernel.RoleOwner)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	for op, call := range everyCall(k, who, someID()) {
		for _, ctx := range []context.Context{cancelled, late} {
			k.RequireAudit(t, op, "error", func() {
				err := call(ctx)
				require.ErrorIs(t, err, ctx.Err(), op)
				var opErr *kernel.OpError
				require.ErrorAs(t, err, &opErr, op)
			}, "reason=cancelled")
		}
	}
	require.Zero(t, sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM memkernel.captures`))
}

// TestGuardCancelledDuring: the caller goes while its model is asked. What was said is kept.
func TestGuardCancelledDuring(t *testing.T) {
	t.Parallel()
	var cancel context.CancelFunc
	k := kerneltest.Open(t, kernel.WithEmbedder(&kerneltest.Embedder{OnEmbed: func(context.Context, []string) error {
		cancel()
		return nil
	}}))
	who := k.Key("acme/eng", kernel.RoleMember)
	for op, call := range map[kernel.Op]func(context.Context) error{
		"write": func(ctx context.Context) error {
			return second(k.Write(ctx, who, kernel.WriteRequest{Text: "Gone for lunch."}))
		},
		"search": func(ctx context.Context) error {
			return second(k.Search(ctx, who, kernel.SearchRequest{Query: "lunch"}))
		},
	} {
		k.RequireAudit(t, op, "error", func() {
			var ctx context.Context
			ctx, cancel = context.WithCancel(t.Context())
			require.ErrorIs(t, call(ctx), context.Canceled, op)
		}, "reason=cancelled")
	}
	require.Zero(t, sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM memkernel.memory_objects`))
	require.Equal(t, "Gone for lunch.", sqlValue[string](t, k.Pool, `SELECT content FROM memkernel.captures WHERE state = 'pending'`))
	requireSound(t, k.Pool)
}

// TestGuardDeadline: the caller's time runs out while a model, or a driver, takes its own.
func TestGuardDeadline(t *testing.T) {
	t.Parallel()
	wait := func(ctx context.Context) { <-ctx.Done() }
	slow := namedDriver{"slow", func(ctx context.Context, _ driver.ScopedView) []driver.Ranked {
		wait(ctx)
		return nil
	}}
	k := kerneltest.Open(t, kernel.WithDrivers(slow), kernel.WithEmbedder(&kerneltest.Embedder{OnEmbed: func(ctx context.Context, _ []string) error {
		wait(ctx)
		return ctx.Err()
	}}))
	who := k.Key("acme/eng", kernel.RoleMember)
	for name, call := range map[string]func(context.Context) error{
		"write": func(ctx context.Context) error {
			return second(k.Write(ctx, who, kernel.WriteRequest{Text: "Too late."}))
		},
		"search": func(ctx context.Context) error {
			return second(k.Search(ctx, who, kernel.SearchRequest{Query: "late"}))
		},
		"search by the driver": func(ctx context.Context) error {
			return second(k.Search(ctx, who, kernel.SearchRequest{Query: "late", Driver: "slow"}))
		},
	} {
		op, _, _ := strings.Cut(name, " ")
		k.RequireAudit(t, kernel.Op(op), "error", func() {
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			require.ErrorIs(t, call(ctx), context.DeadlineExceeded, name)
		}, "reason=cancelled")
	}
}

// batchTracer calls a function when a number of batches have been answered.
type batchTracer struct {
	left atomic.Int64
	then atomic.Value // of func()
}

func (b *batchTracer) after(batches int64, then func()) {
	b.then.Store(then)
	b.left.Store(batches)
}

func (*batchTracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}
func (*batchTracer) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
func (*batchTracer) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}
func (*batchTracer) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (b *batchTracer) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {
	if b.left.Add(-1) == 0 {
		b.then.Load().(func())()
	}
}

// TestGuardCancelledAfter: the caller goes when the work is done and not yet on record. It is
// recorded all the same: a caller cannot erase its trace.
func TestGuardCancelledAfter(t *testing.T) {
	t.Parallel()
	config := pgtest.Open(t).Config()
	tracer := &batchTracer{}
	config.ConnConfig.Tracer = tracer
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	k := kerneltest.OpenOn(t, pool)
	who := k.Key("acme/eng", kernel.RoleMember)
	id := must(k.Write(t.Context(), who, kernel.WriteRequest{Text: "Back from lunch."})).Stored[0]
	for op, call := range map[kernel.Op]struct {
		batches int64 // the gate's, and the write's own
		call    func(context.Context) error
	}{
		"read":  {1, func(ctx context.Context) error { return second(k.Read(ctx, who, kernel.ReadRequest{ID: id})) }},
		"stats": {1, func(ctx context.Context) error { return second(k.Stats(ctx, who, kernel.StatsRequest{})) }},
		"write": {2, func(ctx context.Context) error {
			return second(k.Write(ctx, who, kernel.WriteRequest{Text: "Or not."}))
		}},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		before := len(k.Audit())
		tracer.after(call.batches, cancel)
		require.NoError(t, call.call(ctx), op)
		require.ErrorIs(t, ctx.Err(), context.Canceled, "it was cancelled meanwhile")
		rows := k.Audit()[before:]
		require.Len(t, rows, 1)
		require.Equal(t, op, rows[0].Op)
		require.Equal(t, kernel.AuditResult("ok"), rows[0].Result)
	}
	requireSound(t, k.Pool)
}
