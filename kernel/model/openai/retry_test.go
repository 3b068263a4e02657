package openai_test

import (
	"errors"
	"math"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel/model/openai"
)

func TestRateLimitedThenServed(t *testing.T) {
	t.Parallel()
	limited := apiErr("Rate limit reached for chat-model", "requests", "", "rate_limit_exceeded")
	now := newClock().Now()
	for _, c := range []struct {
		name    string
		headers []string
		atLeast time.Duration
	}{
		{"seconds", []string{"Retry-After", "7"}, 7 * time.Second},
		{"date", []string{"Retry-After", now.Add(9 * time.Second).Format(http.TimeFormat)}, 9 * time.Second},
		{"milliseconds, of Azure", []string{"Retry-After-Ms", "1500", "Retry-After", "2"}, 1500 * time.Millisecond},
		{"nothing", nil, 0},
		{"nonsense", []string{"Retry-After", "soon"}, 0},
		{"past", []string{"Retry-After", now.Add(-time.Hour).Format(http.TimeFormat)}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, nil, body(429, limited, c.headers...), says(`{}`))
			_, err := b.llm(t).Complete(t.Context(), ask("x"))
			require.NoError(t, err)
			assert.Len(t, b.seen(), 2)
			require.Len(t, b.clock.slept(), 1)
			slept := b.clock.slept()[0]
			assert.GreaterOrEqual(t, slept, c.atLeast)
			assert.LessOrEqual(t, slept, c.atLeast+openai.DefaultBackoff, "and a random time, so that not all return at once")
		})
	}
}

func TestRetryAfterBeyondTheCap(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, body(429, "", "Retry-After", "86400"), says(`{}`))
	_, err := b.llm(t).Complete(t.Context(), ask("x"))
	require.ErrorIs(t, err, openai.ErrRateLimited)
	var api *openai.APIError
	require.ErrorAs(t, err, &api)
	assert.Equal(t, 24*time.Hour, api.RetryAfter, "the caller learns when")
	assert.Len(t, b.seen(), 1, "not asked again before it wants to be")
	assert.Empty(t, b.clock.slept())
}

func TestRetryAfterOfFailures(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, body(503, "", "Retry-After", "30"), vectorsOf)
	_, err := b.embedder(t).Embed(t.Context(), []string{"a"})
	require.NoError(t, err)
	assert.GreaterOrEqual(t, b.clock.slept()[0], 30*time.Second)
}

func TestStormOfFailures(t *testing.T) {
	t.Parallel()
	for _, status := range []int{500, 502, 503, 504, 520, 529} {
		b := setup(t, func(c *openai.Config) { c.Attempts = 6 }, body(status, "<html>upstream</html>"))
		_, err := b.embedder(t).Embed(t.Context(), []string{"a"})
		require.ErrorIs(t, err, openai.ErrUnavailable)
		require.ErrorContains(t, err, "attempt 6")
		assert.Len(t, b.seen(), 6)
		slept := b.clock.slept()
		require.Len(t, slept, 5)
		for i, d := range slept {
			assert.Less(t, d, openai.DefaultBackoff<<i, "wait %d", i)
		}
	}
}

func TestFinalAnswers(t *testing.T) {
	t.Parallel()
	for _, status := range []int{400, 401, 402, 403, 404, 405, 408, 409, 413, 415, 418, 422, 501} {
		b := setup(t, nil, body(status, apiErr("no", "some_type", "", "")))
		_, err := b.embedder(t).Embed(t.Context(), []string{"a"})
		var api *openai.APIError
		require.ErrorAs(t, err, &api, status)
		assert.Equal(t, status, api.Status)
		assert.Equal(t, "some_type", api.Code)
		assert.NotErrorIs(t, err, openai.ErrRateLimited)
		assert.Len(t, b.seen(), 1, status)
	}
}

func TestQuotaIsFinal(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, body(429, apiErr("You exceeded your current quota", "insufficient_quota", "", "insufficient_quota")))
	_, err := b.embedder(t).Embed(t.Context(), []string{"a"})
	require.ErrorIs(t, err, openai.ErrRateLimited)
	assert.ErrorContains(t, err, "insufficient_quota")
	assert.Len(t, b.seen(), 1, "no wait fills an account")
}

func TestErrorsInsideAnswers(t *testing.T) {
	t.Parallel()
	b := setup(t, nil,
		body(200, `{"error":{"message":"Rate limit exceeded","code":429}}`),
		body(200, `{"id":"x","choices":[{"index":0,"finish_reason":"error","message":{"role":"assistant","content":"{\"fa"},"error":{"code":502,"message":"Provider returned error"}}]}`),
		body(200, `{"error":{"message":"overloaded","code":"overloaded"},"choices":null}`),
		says(`{}`))
	got, err := b.llm(t).Complete(t.Context(), ask("x"))
	require.NoError(t, err)
	assert.Equal(t, `{}`, string(got.JSON))
	assert.Len(t, b.seen(), 4)

	b = setup(t, nil, body(200, `{"error":{"message":"no such model","code":404}}`))
	_, err = b.embedder(t).Embed(t.Context(), []string{"a"})
	var api *openai.APIError
	require.ErrorAs(t, err, &api)
	assert.Equal(t, 404, api.Status)
	assert.Len(t, b.seen(), 1)
}

func TestWait(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *openai.Config) { c.Backoff, c.MaxBackoff = time.Second, 10*time.Second }, vectorsOf)
	longest := map[int]time.Duration{}
	distinct := map[time.Duration]bool{}
	for range 400 {
		for _, n := range []int{1, 2, 3, 4, 5, 40, 63, 64, 1000, math.MaxInt} {
			d, ok := b.Wait(n, errors.New("x"))
			require.True(t, ok)
			require.GreaterOrEqual(t, d, time.Duration(0))
			longest[n] = max(longest[n], d)
			distinct[d] = true
		}
	}
	for n, ceiling := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 3: 4 * time.Second, 4: 8 * time.Second, 5: 10 * time.Second, 40: 10 * time.Second, 63: 10 * time.Second, 64: 10 * time.Second, 1000: 10 * time.Second, math.MaxInt: 10 * time.Second} {
		assert.Less(t, longest[n], ceiling, n)
		assert.Greater(t, longest[n], ceiling/2, "%d: the whole range is used", n)
	}
	assert.Greater(t, len(distinct), 1000)
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"":                                 0,
		"0":                                0,
		"-5":                               0,
		"3":                                3 * time.Second,
		" 3 ":                              3 * time.Second,
		"0.25":                             250 * time.Millisecond,
		"1e300":                            math.MaxInt64,
		"NaN":                              0,
		"Inf":                              math.MaxInt64,
		"Fri, 02 Jan 2026 03:04:15 GMT":    10 * time.Second,
		"Friday, 02-Jan-26 03:04:15 GMT":   10 * time.Second,
		"Fri, 02 Jan 2026 03:04:00 GMT":    0,
		"Fri, 02 Jan 2026 03:04:15 +0100!": 0,
	} {
		assert.Equal(t, want, openai.RetryAfter(http.Header{"Retry-After": {value}}, now), "%q", value)
	}
}

func FuzzRetryAfter(f *testing.F) {
	f.Add("3", "4")
	f.Add("", "Fri, 02 Jan 2026 03:04:15 GMT")
	f.Fuzz(func(t *testing.T, ms, value string) {
		got := openai.RetryAfter(http.Header{"Retry-After-Ms": {ms}, "Retry-After": {value}}, time.Unix(1e9, 0))
		if got < 0 {
			t.Errorf("%q, %q: %v", ms, value, got)
		}
	})
}
