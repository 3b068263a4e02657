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
	"github.com/memkernel/memkernel/kernel/model"
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

// panicking panics wherever it is asked, once it is armed.
type panicking struct {
	kernel.HookDefaults

	armed atomic.Bool
	asked atomic.Int64
}

func (p *panicking) panic() {
	if p.armed.Load() {
		p.asked.Add(1)
		panic("not for anybody's eyes")
	}
}

func (p *panicking) Info() model.Info {
	p.panic()
	return model.Info{Name: "panicking", Revision: "1", Dim: 2}
}

func (*panicking) Embed(context.Context, []string) ([][]float32, error) {
	return [][]float32{{1, 0}}, nil
}

func (p *panicking) SyscallBegin(context.Context, kernel.Op) context.Context {
	p.panic()
	return nil
}
func (p *panicking) SyscallEnd(context.Context, kernel.SyscallInfo) { p.panic() }
func (p *panicking) ModelCall(context.Context, kernel.ModelInfo)    { p.panic() }
func (p *panicking) DriverPlan(context.Context, kernel.DriverInfo)  { p.panic() }
func (p *panicking) Name() string                                   { return "panicking" }
func (p *panicking) Prefetch(driver.Query) driver.Prefetch {
	p.panic()
	return driver.Prefetch{Lexical: 10}
}

func (p *panicking) Plan(ctx context.Context, view driver.ScopedView, _ driver.Query) (driver.Plan, error) {
	p.panic()
	return driver.Plan{Items: shown(ctx, view)}, nil
}

// TestGuardPanics: a plugged-in part that panics costs what it was to do, says nothing of the
// value that it panicked with, and leaves one row like any other end.
func TestGuardPanics(t *testing.T) {
	t.Parallel()
	t.Run("model", func(t *testing.T) {
		t.Parallel()
		p := &panicking{}
		k := kerneltest.Open(t, kernel.WithEmbedder(p))
		who := k.Key("acme/eng", kernel.RoleMember)
		p.armed.Store(true)
		for op, call := range map[kernel.Op]func() error{
			"write":  func() error { return second(k.Write(t.Context(), who, kernel.WriteRequest{Text: "Boom."})) },
			"search": func() error { return second(k.Search(t.Context(), who, kernel.SearchRequest{Query: "boom"})) },
		} {
			k.RequireAudit(t, op, "error", func() {
				require.EqualError(t, call(), string(op)+": internal error")
			}, "reason=internal")
		}
		require.Zero(t, sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM memkernel.memory_objects`))
	})
	t.Run("hook", func(t *testing.T) {
		t.Parallel()
		p := &panicking{}
		k := kerneltest.Open(t, kernel.WithHooks(p))
		who := k.Key("acme/eng", kernel.RoleMember)
		p.armed.Store(true)
		k.RequireAudit(t, "write", "ok", func() { must(k.Write(t.Context(), who, kernel.WriteRequest{Text: "Boom."})) })
		k.RequireAudit(t, "search", "ok", func() { must(k.Search(t.Context(), who, kernel.SearchRequest{Query: "boom"})) })
		require.Equal(t, int64(7), p.asked.Load(), "begin, end and model of both, and the plan")
	})
	t.Run("driver", func(t *testing.T) {
		t.Parallel()
		p := &panicking{}
		k := kerneltest.Open(t, kernel.WithDrivers(p))
		who := k.Key("acme/eng", kernel.RoleMember)
		must(k.Write(t.Context(), who, kernel.WriteRequest{Text: "Boom."}))
		p.armed.Store(true)
		k.RequireAudit(t, "search", "ok", func() {
			must(k.Search(t.Context(), who, kernel.SearchRequest{Query: "boom", Driver: "panicking"}))
		}, "driver_fallback=panicking->baseline", "fallback_reason=panic")
		require.Equal(t, int64(2), p.asked.Load(), "before the gate, and behind it")
	})
}
