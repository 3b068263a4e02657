package kernel_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/driver"
	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
	"github.com/memkernel/memkernel/kernel/mem"
)

// failing is a stage whose driver does what plan says at the time, and counts how often it is asked.
type failing struct {
	*stage

	plan  func(context.Context, driver.ScopedView) (driver.Plan, error)
	asked int
}

func newFailing(t *testing.T, limits kernel.Limits, opts ...kernel.Option) *failing {
	t.Helper()
	f := &failing{}
	f.stage = newStage(t, func(ctx context.Context, view driver.ScopedView, _ driver.Query) (driver.Plan, error) {
		f.asked++
		return f.plan(ctx, view)
	}, append(opts, kernel.WithLimits(limits))...)
	return f
}

func (f *failing) down(context.Context, driver.ScopedView) (driver.Plan, error) {
	return driver.Plan{}, fmt.Errorf("engine: %w", mem.ErrUnavailable)
}

func (f *failing) up(ctx context.Context, view driver.ScopedView) (driver.Plan, error) {
	return driver.Plan{Items: shown(ctx, view)}, nil
}

func (f *failing) requireRanked(t *testing.T) {
	t.Helper()
	reply := f.ask(t, kernel.SearchRequest{})
	require.Empty(t, reply.Fallbacks)
	require.Equal(t, "hostile", reply.Driver)
}

// TestBreakerOpens: after so many searches in a row whose driver did not answer, it is not asked any
// more for this tenant, and for every other it is.
func TestBreakerOpens(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(context.Context, driver.ScopedView) (driver.Plan, error){
		"unavailable": (*failing)(nil).down,
		"its network": func(context.Context, driver.ScopedView) (driver.Plan, error) {
			return driver.Plan{}, fmt.Errorf("engine: %w", &net.OpError{Op: "dial", Err: errors.New("refused")})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFailing(t, kernel.Limits{DriverFailures: 3, DriverPause: time.Hour})
			other := f.Key("umbrella", kernel.RoleMember)
			f.plan = fail
			for range 2 {
				f.requireFallback(t, "error")
			}
			f.plan = f.up
			f.requireRanked(t)
			f.plan = fail
			for range 3 { // the two before the answer do not count any more
				f.requireFallback(t, "error")
			}
			asked := f.asked
			f.plan = f.up
			for range 3 {
				f.requireFallback(t, "open")
			}
			require.Equal(t, asked, f.asked)
			require.Empty(t, must(f.Search(t.Context(), other, kernel.SearchRequest{Query: question, Driver: "hostile"})).Fallbacks)
			require.Equal(t, asked+1, f.asked)
		})
	}
}

func TestBreakerOpensOnTimeouts(t *testing.T) {
	t.Parallel()
	f := newFailing(t, kernel.Limits{DriverFailures: 2, DriverPause: time.Hour, DriverTimeout: 50 * time.Millisecond})
	f.plan = func(ctx context.Context, _ driver.ScopedView) (driver.Plan, error) {
		<-ctx.Done()
		return driver.Plan{}, ctx.Err()
	}
	f.requireFallback(t, "timeout")
	f.requireFallback(t, "timeout")
	f.requireFallback(t, "open")
}

// TestBreakerCloses: one search tries; while it does, no other. An answer closes, a failure opens
// again.
func TestBreakerCloses(t *testing.T) {
	t.Parallel()
	f := newFailing(t, kernel.Limits{DriverFailures: 1, DriverPause: 1}) // it is over at once
	f.plan = f.down
	f.requireFallback(t, "error")
	f.requireFallback(t, "error") // the try
	require.Equal(t, 2, f.asked)
	f.plan = func(ctx context.Context, view driver.ScopedView) (driver.Plan, error) {
		// While this one tries.
		reply, err := f.Search(ctx, f.dana, kernel.SearchRequest{Query: question, Driver: "hostile"})
		if err != nil || len(reply.Fallbacks) != 1 || reply.Fallbacks[0].Reason != "open" {
			t.Error(reply, err)
		}
		return f.up(ctx, view)
	}
	reply := must(f.Search(t.Context(), f.dana, kernel.SearchRequest{Query: question, Driver: "hostile"}))
	require.Equal(t, "hostile", reply.Driver)
	require.Equal(t, 3, f.asked)
	f.plan = f.up
	f.requireRanked(t)
}

// TestBreakerAndTheKernelsOwnModel: the embedding model is down, and not the driver.
func TestBreakerAndTheKernelsOwnModel(t *testing.T) {
	t.Parallel()
	model := &kerneltest.Embedder{}
	f := newFailing(t, kernel.Limits{DriverFailures: 1, DriverPause: time.Hour}, kernel.WithEmbedder(model))
	f.plan = func(ctx context.Context, view driver.ScopedView) (driver.Plan, error) {
		if _, err := view.Embed(ctx, question); err != nil {
			return driver.Plan{}, err
		}
		return f.up(ctx, view)
	}
	model.OnEmbed = func(context.Context, []string) error { return mem.ErrUnavailable }
	reply := must(f.Search(t.Context(), f.dana, kernel.SearchRequest{Query: question, Driver: "hostile"}))
	require.Equal(t, "error", reply.Fallbacks[0].Reason)
	model.OnEmbed = nil
	f.requireRanked(t)
}

// TestBreakerAtOnce: whatever comes in together, what opens a breaker stays, and it is told once.
func TestBreakerAtOnce(t *testing.T) {
	t.Parallel()
	var log logBuffer
	s := newStage(t, func(ctx context.Context, view driver.ScopedView, _ driver.Query) (driver.Plan, error) {
		return (*failing)(nil).down(ctx, view)
	}, kernel.WithLimits(kernel.Limits{DriverFailures: 4, DriverPause: time.Hour}), kernel.WithLogger(log.logger()))
	together(32, func(int) {
		if _, err := s.Search(t.Context(), s.dana, kernel.SearchRequest{Query: question, Driver: "hostile"}); err != nil {
			t.Error(err)
		}
	})
	s.requireFallback(t, "open")
	require.Equal(t, 1, strings.Count(log.String(), "driver is not asked for a while"))
}

// TestBusyIsTheTenantsOwn: calls of one tenant that hang keep no other from the driver.
func TestBusyIsTheTenantsOwn(t *testing.T) {
	t.Parallel()
	released := make(chan struct{})
	defer close(released)
	var hang atomic.Bool
	hang.Store(true)
	s := newStage(t, func(ctx context.Context, view driver.ScopedView, _ driver.Query) (driver.Plan, error) {
		if hang.Load() {
			hangIn(released)
		}
		return driver.Plan{Items: shown(ctx, view)}, nil
	}, kernel.WithLimits(kernel.Limits{DriverTimeout: 200 * time.Millisecond, DriverFailures: 1000}))
	other := s.Key("umbrella", kernel.RoleMember)
	together(16, func(int) {
		if _, err := s.Search(t.Context(), s.dana, kernel.SearchRequest{Query: question, Driver: "hostile"}); err != nil {
			t.Error(err)
		}
	})
	s.requireFallback(t, "busy")
	hang.Store(false)
	require.Empty(t, must(s.Search(t.Context(), other, kernel.SearchRequest{Query: question, Driver: "hostile"})).Fallbacks)
}

// TestBreakerCountsOutagesOnly: what may be the fault of the question, the caller or the kernel takes
// the driver from nobody.
func TestBreakerCountsOutagesOnly(t *testing.T) {
	t.Parallel()
	f := newFailing(t, kernel.Limits{DriverFailures: 1, DriverPause: time.Hour})
	f.plan = func(context.Context, driver.ScopedView) (driver.Plan, error) { panic("poisoned") }
	f.requireFallback(t, "panic")
	f.plan = func(context.Context, driver.ScopedView) (driver.Plan, error) {
		return driver.Plan{}, errors.New("no such word")
	}
	f.requireFallback(t, "error")
	f.plan = func(context.Context, driver.ScopedView) (driver.Plan, error) {
		return driver.Plan{Items: propose([]kernel.ID{someID()}, 1)}, nil
	}
	f.requireFallback(t, "violation", "driver_violations=1")
	ctx, cancel := context.WithCancel(t.Context())
	f.plan = func(ctx context.Context, view driver.ScopedView) (driver.Plan, error) {
		cancel()
		<-ctx.Done()
		return f.down(ctx, view)
	}
	_, err := f.Search(ctx, f.dana, kernel.SearchRequest{Query: question, Driver: "hostile"})
	require.ErrorIs(t, err, context.Canceled)
	f.plan = f.up
	f.requireRanked(t)
}
