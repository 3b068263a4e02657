package kernel_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
)

// limited returns a kernel and a caller under a policy that limits operations.
func limited(t *testing.T, limits map[kernel.Op]kernel.RateLimit, opts ...kernel.Option) (*kerneltest.Kit, kernel.Identity, func(map[kernel.Op]kernel.RateLimit)) {
	t.Helper()
	k := kerneltest.Open(t, opts...)
	owner, dana := k.Key("acme", kernel.RoleOwner), k.Key("acme/eng", kernel.RoleMember)
	put := func(limits map[kernel.Op]kernel.RateLimit) {
		must(k.Policies().Put(t.Context(), owner, kernel.PutPolicyRequest{Policy: kernel.Policy{RateLimits: limits}}))
	}
	put(limits)
	return k, dana, put
}

// stats makes the cheapest of calls and returns how long to wait, 0 if it went through.
func stats(t *testing.T, k *kerneltest.Kit, who kernel.Identity) time.Duration {
	t.Helper()
	_, err := k.Stats(t.Context(), who, kernel.StatsRequest{})
	if err == nil {
		return 0
	}
	var limit *kernel.RateLimitError
	require.ErrorAs(t, err, &limit)
	require.ErrorIs(t, err, kernel.ErrRateLimited)
	require.Positive(t, limit.RetryAfter)
	return limit.RetryAfter
}

func TestRateLimitBurstAndRefill(t *testing.T) {
	t.Parallel()
	k, dana, _ := limited(t, map[kernel.Op]kernel.RateLimit{"stats": {PerSecond: 2, Burst: 3}})
	for range 3 {
		require.Zero(t, stats(t, k, dana))
	}
	for range 5 { // a refusal costs nothing
		require.Equal(t, 500*time.Millisecond, stats(t, k, dana))
	}
	k.Clock.Advance(200 * time.Millisecond)
	require.Equal(t, 300*time.Millisecond, stats(t, k, dana))
	k.Clock.Advance(300 * time.Millisecond)
	require.Zero(t, stats(t, k, dana))
	require.Equal(t, 500*time.Millisecond, stats(t, k, dana))
	k.Clock.Advance(time.Hour) // never more than a burst
	for range 3 {
		require.Zero(t, stats(t, k, dana))
	}
	require.NotZero(t, stats(t, k, dana))
	// Another operation is not limited.
	for range 10 {
		must(k.Search(t.Context(), dana, kernel.SearchRequest{Query: "x"}))
	}
}

// TestRateLimitRetryAfterIsHonest: whoever waits as long as told gets through, and not much
// sooner, whatever the rate.
func TestRateLimitRetryAfterIsHonest(t *testing.T) {
	t.Parallel()
	for _, rate := range []float64{3, 7, 10, 13.7, 0.3, 1.1, 999, 1000, 123456.7} {
		k, dana, _ := limited(t, map[kernel.Op]kernel.RateLimit{"stats": {PerSecond: rate, Burst: 1}})
		require.Zero(t, stats(t, k, dana))
		for range 50 {
			wait := stats(t, k, dana)
			require.NotZero(t, wait)
			require.InDelta(t, 1/rate, wait.Seconds(), 0.001, "more than a millisecond off")
			k.Clock.Advance(wait)
			require.Zero(t, stats(t, k, dana), "it waited %s at %v a second", wait, rate)
		}
	}
}

func TestRateLimitPerKey(t *testing.T) {
	t.Parallel()
	k, dana, _ := limited(t, map[kernel.Op]kernel.RateLimit{"*": {PerSecond: 1, Burst: 1}})
	sam, cred := k.Credential("acme/eng", kernel.RoleMember)
	require.Zero(t, stats(t, k, dana))
	require.NotZero(t, stats(t, k, dana))
	require.Zero(t, stats(t, k, sam), "a colleague has a bucket of his own")
	again := must(k.Authenticate(t.Context(), cred.Secret))
	require.NotZero(t, stats(t, k, again), "the key counts, not the login")
	must(k.Search(t.Context(), dana, kernel.SearchRequest{Query: "x"})) // a bucket per operation
	require.ErrorIs(t, second(k.Search(t.Context(), dana, kernel.SearchRequest{Query: "x"})), kernel.ErrRateLimited)
}

func TestRateLimitAtOnce(t *testing.T) {
	t.Parallel()
	const burst = 5
	k, dana, _ := limited(t, map[kernel.Op]kernel.RateLimit{"stats": {PerSecond: 1, Burst: burst}})
	together(40, func(int) {
		if _, err := k.Stats(t.Context(), dana, kernel.StatsRequest{}); err != nil && !errors.Is(err, kernel.ErrRateLimited) {
			t.Error(err)
		}
	})
	require.Equal(t, map[kernel.AuditResult]int{"ok": burst, "denied": 40 - burst}, auditRows(k, "stats"))
}

// TestRateLimitClockGoesBackwards: it gives nothing away and locks nobody out for longer than
// it takes to refill.
func TestRateLimitClockGoesBackwards(t *testing.T) {
	t.Parallel()
	k, dana, _ := limited(t, map[kernel.Op]kernel.RateLimit{"stats": {PerSecond: 1, Burst: 2}})
	require.Zero(t, stats(t, k, dana))
	require.Zero(t, stats(t, k, dana))
	k.Clock.Advance(-24 * time.Hour)
	for range 3 {
		wait := stats(t, k, dana)
		require.Positive(t, wait)
		require.LessOrEqual(t, wait, time.Second)
	}
	k.Clock.Advance(time.Second)
	require.Zero(t, stats(t, k, dana))
	require.NotZero(t, stats(t, k, dana))
}

// TestRateLimitPolicyChange takes effect with the next call; what was spent stays spent.
func TestRateLimitPolicyChange(t *testing.T) {
	t.Parallel()
	k, dana, put := limited(t, nil)
	for range 20 {
		require.Zero(t, stats(t, k, dana))
	}
	put(map[kernel.Op]kernel.RateLimit{"stats": {PerSecond: 1, Burst: 2}})
	require.Zero(t, stats(t, k, dana))
	require.Zero(t, stats(t, k, dana))
	require.Equal(t, time.Second, stats(t, k, dana))
	put(map[kernel.Op]kernel.RateLimit{"stats": {PerSecond: 10, Burst: 2}})
	require.Equal(t, 100*time.Millisecond, stats(t, k, dana))
	put(map[kernel.Op]kernel.RateLimit{"stats": {PerSecond: 1, Burst: 50}})
	require.Equal(t, time.Second, stats(t, k, dana), "a bigger bucket is not a full one")
	k.Clock.Advance(time.Minute)
	for range 50 {
		require.Zero(t, stats(t, k, dana))
	}
	k.Clock.Advance(40 * time.Second)
	put(map[kernel.Op]kernel.RateLimit{"stats": {PerSecond: 1, Burst: 1}})
	require.Zero(t, stats(t, k, dana))
	require.NotZero(t, stats(t, k, dana), "a smaller one holds less")
	put(nil)
	for range 20 {
		require.Zero(t, stats(t, k, dana))
	}
}

// TestRateLimitForgets: with more callers than are remembered, a caller may be forgotten and
// begin anew, and that is all.
func TestRateLimitForgets(t *testing.T) {
	t.Parallel()
	k, _, _ := limited(t, map[kernel.Op]kernel.RateLimit{"stats": {PerSecond: 0.001, Burst: 1}},
		kernel.WithLimits(kernel.Limits{MaxCallers: 2}))
	var callers []kernel.Identity
	for range 5 {
		callers = append(callers, k.Key("acme/eng", kernel.RoleMember))
	}
	for _, who := range callers {
		require.Zero(t, stats(t, k, who))
		require.NotZero(t, stats(t, k, who), "the last one is remembered")
	}
	remembered := 0
	for _, who := range callers {
		if _, err := k.Stats(t.Context(), who, kernel.StatsRequest{}); err != nil {
			remembered++
		}
	}
	require.LessOrEqual(t, remembered, 2)
}
