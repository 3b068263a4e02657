package kernel_test

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/driver"
	"github.com/memkernel/memkernel/kernel"
)

// TestHostileDriverBlocks: a driver that hangs costs its callers DriverTimeout, and only so
// many goroutines; other drivers and other callers are not affected.
func TestHostileDriverBlocks(t *testing.T) {
	t.Parallel()
	released := make(chan struct{})
	var mu sync.Mutex
	entered := 0
	s := newStage(t, func(context.Context, driver.ScopedView, driver.Query) (driver.Plan, error) {
		mu.Lock()
		entered++
		mu.Unlock()
		hangIn(released)
		return driver.Plan{}, nil
	}, kernel.WithLimits(kernel.Limits{DriverTimeout: 500 * time.Millisecond, DriverFailures: 1000}))
	search := func(driver string) *kernel.SearchReply {
		reply, err := s.Search(t.Context(), s.dana, kernel.SearchRequest{Query: question, Driver: driver})
		if err != nil || len(reply.Items) != len(s.own) {
			t.Error(err, reply)
		}
		return reply
	}
	const most = 16
	together(2*most, func(i int) {
		if i%2 == 1 {
			if reply := search("baseline"); len(reply.Fallbacks) > 0 {
				t.Error(reply.Fallbacks)
			}
		} else if reply := search("hostile"); len(reply.Fallbacks) != 1 || reply.Fallbacks[0].Reason != "timeout" {
			t.Error(reply.Fallbacks)
		}
	})
	for range 3 {
		s.requireFallback(t, "busy")
	}
	mu.Lock()
	require.Equal(t, most, entered, "the driver was asked while full")
	mu.Unlock()
	require.Equal(t, most, goroutinesIn("kernel_test.hangIn"))
	// When it comes back, nothing of it is left, and it is asked again.
	close(released)
	require.Eventually(t, func() bool { return goroutinesIn("kernel_test.hangIn") == 0 }, 20*time.Second, time.Millisecond)
	require.Eventually(t, func() bool {
		reply, err := s.Search(t.Context(), s.dana, kernel.SearchRequest{Query: question, Driver: "hostile"})
		require.NoError(t, err)
		return len(reply.Fallbacks) == 0
	}, 20*time.Second, time.Millisecond)
}

// hangIn waits, whatever a context says.
func hangIn(released chan struct{}) { <-released }

// goroutinesIn counts the goroutines that are inside all of the functions.
func goroutinesIn(functions ...string) int {
	stacks := make([]byte, 16<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	n := 0
	for stack := range strings.SplitSeq(string(stacks), "\n\n") {
		inside, _, _ := strings.Cut(stack, "created by ")
		if !slices.ContainsFunc(functions, func(f string) bool { return !strings.Contains(inside, f) }) {
			n++
		}
	}
	return n
}

// TestManyPlansAtOnce: as many callers as there are may be in a healthy driver at the same
// time; only those that were given up count as stuck.
func TestManyPlansAtOnce(t *testing.T) {
	t.Parallel()
	const n = 64
	var inside sync.WaitGroup
	inside.Add(n)
	s := newStage(t, func(ctx context.Context, view driver.ScopedView, _ driver.Query) (driver.Plan, error) {
		inside.Done()
		inside.Wait()
		return driver.Plan{Items: shown(ctx, view)}, nil
	}, kernel.WithLimits(kernel.Limits{DriverTimeout: time.Minute}))
	together(n, func(int) {
		reply, err := s.Search(t.Context(), s.dana, kernel.SearchRequest{Query: question, Driver: "hostile"})
		if err != nil || len(reply.Fallbacks) > 0 || len(reply.Items) != 2 {
			t.Error(err, reply)
		}
	})
}
