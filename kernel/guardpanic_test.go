package kernel_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/driver"
	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
	"github.com/memkernel/memkernel/kernel/model"
)

// countedClock panics at a reading to come.
type countedClock struct {
	*kerneltest.Clock

	panicIn atomic.Int64
}

func (c *countedClock) now() time.Time {
	if c.panicIn.Add(-1) == 0 {
		panic("not for anybody's eyes")
	}
	return c.Now()
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

func (p *panicking) Embed(context.Context, []string) ([][]float32, error) {
	p.panic()
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
	t.Run("clock", func(t *testing.T) {
		t.Parallel()
		clock := &countedClock{Clock: kerneltest.NewClock()}
		k := kerneltest.Open(t, kernel.WithClock(clock.now))
		who := k.Key("acme/eng", kernel.RoleMember)
		k.RequireAudit(t, "write", "error", func() {
			clock.panicIn.Store(3) // the first two readings begin the call, the next is the model's
			require.EqualError(t, second(k.Write(t.Context(), who, kernel.WriteRequest{Text: "Boom."})), "write: internal error")
		}, "reason=internal")
		require.Zero(t, sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM memkernel.memory_objects`))
	})
	t.Run("model", func(t *testing.T) {
		t.Parallel()
		p := &panicking{}
		k := kerneltest.Open(t, kernel.WithEmbedder(p))
		p.armed.Store(true)
		requireDegraded(t, k, k.Key("acme/eng", kernel.RoleMember))
		require.Equal(t, int64(3), p.asked.Load(), "for vectors, not for what it is")
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
		require.Equal(t, int64(1), p.asked.Load())
	})
}
