package openai_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel/model/openai"
)

// Kinds of servers that do not finish. Each calls at when it has got so far, and hangs until
// the client hangs up.
func unfinished(at func()) map[string]http.HandlerFunc {
	hang := func(w http.ResponseWriter, r *http.Request, begin string) {
		_, _ = io.Copy(io.Discard, r.Body)
		if begin != "" {
			_, _ = io.WriteString(w, begin)
			_ = http.NewResponseController(w).Flush()
		}
		at()
		<-r.Context().Done()
	}
	return map[string]http.HandlerFunc{
		"no answer":   func(w http.ResponseWriter, r *http.Request) { hang(w, r, "") },
		"half a body": func(w http.ResponseWriter, r *http.Request) { hang(w, r, `{"data":[{"index":0,"embedding":[1,`) },
		"half an error": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(500)
			hang(w, r, `{"error":{`)
		},
		"a slow stream": func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			_, _ = io.WriteString(w, `{"data":[`)
			at()
			for r.Context().Err() == nil { // a byte at a time, without end
				_, _ = io.WriteString(w, " ")
				_ = http.NewResponseController(w).Flush()
			}
		},
	}
}

// serve returns a client of a server of its own, and the clock.
func serve(t *testing.T, h http.HandlerFunc, change func(*openai.Config)) (*clock, *openai.Client) {
	t.Helper()
	b := setup(t, func(c *openai.Config) {
		server := newServer(t, h)
		c.BaseURL, c.HTTPClient = server.URL, server.Client()
		if change != nil {
			change(c)
		}
	}, vectorsOf)
	return b.clock, b.Client
}

func TestCancelInFlight(t *testing.T) {
	t.Parallel()
	for name := range unfinished(nil) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var attempts atomic.Int32
			_, c := serve(t, unfinished(func() { attempts.Add(1); cancel() })[name], func(c *openai.Config) { c.MaxResponseBytes = 1 << 40 })
			e, err := c.Embedder(openai.EmbedderConfig{Model: "m", Dim: 3})
			require.NoError(t, err)
			got, err := e.Embed(ctx, []string{"a"})
			assert.Equal(t, context.Canceled, err, "the context's error itself")
			assert.Nil(t, got)
			assert.EqualValues(t, 1, attempts.Load(), "not tried again")
		})
	}
}

func TestAttemptTimesOut(t *testing.T) {
	t.Parallel()
	for name := range unfinished(nil) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			over := make(chan context.CancelFunc, 1)
			var attempts atomic.Int32
			clock, c := serve(t, unfinished(func() { attempts.Add(1); (<-over)() })[name], func(c *openai.Config) { c.Attempts = 3; c.MaxResponseBytes = 1 << 40 })
			c.SetTimeout(func(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
				assert.Equal(t, openai.DefaultAttemptTimeout, d)
				ctx, cancel := context.WithCancel(ctx)
				over <- cancel
				return ctx, cancel
			})
			l, err := c.LLM(openai.LLMConfig{Model: "m"})
			require.NoError(t, err)
			_, err = l.Complete(t.Context(), ask("x"))
			require.ErrorIs(t, err, openai.ErrUnavailable)
			if name != "half an error" { // its status is known
				require.ErrorContains(t, err, "no answer in time")
			}
			require.NotErrorIs(t, err, context.Canceled, "the caller has not cancelled")
			require.NotErrorIs(t, err, context.DeadlineExceeded, "nor is its time over")
			assert.EqualValues(t, 3, attempts.Load())
			assert.Len(t, clock.slept(), 2)
		})
	}
}

func TestRealTimeout(t *testing.T) {
	t.Parallel()
	_, c := serve(t, unfinished(func() {})["half a body"], func(c *openai.Config) { c.Attempts, c.AttemptTimeout = 2, time.Millisecond })
	e, err := c.Embedder(openai.EmbedderConfig{Model: "m", Dim: 3})
	require.NoError(t, err)
	_, err = e.Embed(t.Context(), []string{"a"})
	require.ErrorIs(t, err, openai.ErrUnavailable)
	assert.ErrorContains(t, err, "no answer in time")
}

func TestHangThenServed(t *testing.T) {
	t.Parallel()
	over := make(chan context.CancelFunc, 2)
	var later atomic.Bool
	_, c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if !later.Swap(true) {
			unfinished(func() { (<-over)() })["half a body"](w, r)
			return
		}
		_, _ = io.WriteString(w, `{"data":[{"index":0,"embedding":[1,2,3]}]}`)
	}, nil)
	c.SetTimeout(func(ctx context.Context, _ time.Duration) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(ctx)
		over <- cancel
		return ctx, cancel
	})
	e, err := c.Embedder(openai.EmbedderConfig{Model: "m", Dim: 3})
	require.NoError(t, err)
	got, err := e.Embed(t.Context(), []string{"a"})
	require.NoError(t, err)
	assert.Equal(t, [][]float32{{1, 2, 3}}, got)
}

func TestCancelledBefore(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, vectorsOf)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := b.embedder(t).Embed(ctx, []string{"a"})
	assert.Equal(t, context.Canceled, err)
	_, err = b.llm(t).Complete(ctx, ask("x"))
	assert.Equal(t, context.Canceled, err)
	assert.Empty(t, b.seen())
}

func TestCancelledAsTheAnswerComes(t *testing.T) {
	t.Parallel()
	for _, status := range []int{400, 500} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		b := setup(t, func(c *openai.Config) {
			c.HTTPClient = &http.Client{Transport: transport(func(*http.Request) (*http.Response, error) {
				cancel()
				return &http.Response{StatusCode: status, Body: http.NoBody}, nil
			})}
		}, vectorsOf)
		_, err := b.embedder(t).Embed(ctx, []string{"a"})
		assert.Equal(t, context.Canceled, err)
		assert.Empty(t, b.clock.slept())
	}
}

// cancelOn is a log handler that calls back at the line that is written before a wait.
type cancelOn struct {
	slog.Handler
	call func()
}

func (h cancelOn) Enabled(context.Context, slog.Level) bool { return true }

func (h cancelOn) Handle(context.Context, slog.Record) error {
	h.call()
	return nil
}

func TestCancelWhileWaiting(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	b := setup(t, func(c *openai.Config) {
		c.Sleep = nil // the real one
		c.MaxRetryAfter = 48 * time.Hour
		c.Logger = slog.New(cancelOn{slog.DiscardHandler, cancel})
	}, body(429, "", "Retry-After", "86400"))
	_, err := b.embedder(t).Embed(ctx, []string{"a"})
	assert.Equal(t, context.Canceled, err, "and not in a day")
	assert.Len(t, b.seen(), 1)
}

func TestRealSleep(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *openai.Config) { c.Sleep, c.Backoff, c.MaxBackoff = nil, 1, 1 }, body(500, ""), vectorsOf)
	_, err := b.embedder(t).Embed(t.Context(), []string{"a"})
	require.NoError(t, err)
}

func TestSleepThatFails(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *openai.Config) {
		c.Sleep = func(context.Context, time.Duration) error { return errors.New("no clock") }
	}, body(500, ""))
	_, err := b.embedder(t).Embed(t.Context(), []string{"a"})
	require.ErrorIs(t, err, openai.ErrUnavailable, "what failed first is what is told")
	assert.Len(t, b.seen(), 1)
}

func TestNoWaitBeyondTheDeadline(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *openai.Config) { c.Now = time.Now }, body(429, "", "Retry-After", "50"))
	ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
	defer cancel()
	_, err := b.embedder(t).Embed(ctx, []string{"a"})
	require.ErrorIs(t, err, openai.ErrRateLimited, "told now, not when the caller's time is over")
	assert.Empty(t, b.clock.slept())
}
