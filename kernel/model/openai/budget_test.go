package openai_test

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel/model/openai"
)

func TestBudgetIsChargedWhatWasUsed(t *testing.T) {
	t.Parallel()
	d := budgetOf(t, 1_000_000, newClock())
	b := setup(t, func(c *openai.Config) { c.Budget = d }, says(`{}`), vectorsOf)
	_, err := b.llm(t).For("acme").Complete(t.Context(), ask("x"))
	require.NoError(t, err)
	requireUsed(t, d, "acme", 19, 0)
	_, err = b.embedder(t).For("acme").Embed(t.Context(), []string{"a", "b"})
	require.NoError(t, err)
	requireUsed(t, d, "acme", 29, 0)
	_, err = b.embedder(t).Embed(t.Context(), []string{"a"})
	require.NoError(t, err)
	requireUsed(t, d, "", 5, 0)
}

// TestBudgetByOutcome says what an attempt costs that did not end well.
func TestBudgetByOutcome(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("x", 100)
	const most = 108 // a token a byte, and what marks a text's ends
	for _, c := range []struct {
		name   string
		answer respond
		want   int64
	}{
		{"refused", body(400, apiErr("no", "", "", "")), 0},
		{"rate limited", body(429, ""), 0},
		{"failed", body(500, ""), 0},
		{"gateway gave up waiting", body(504, ""), most},
		{"failed inside an answer", body(200, `{"error":{"code":500}}`), 0},
		{"malformed, counted", body(200, `{"data":[{"index":0,"embedding":[1]}],"usage":{"prompt_tokens":40}}`), 40},
		{"malformed, not counted", body(200, `{"data":[{"index":0,"embedding":[1]}]}`), most},
		{"no JSON", body(200, "hello"), most},
		{"not counted", body(200, `{"data":[{"index":0,"embedding":[1,2,3]}]}`), most},
		{"counted below nothing", body(200, `{"data":[{"index":0,"embedding":[1,2,3]}],"usage":{"prompt_tokens":-5}}`), most},
		{"more than announced", body(200, `{"data":[{"index":0,"embedding":[1,2,3]}],"usage":{"prompt_tokens":5000}}`), 5000},
		{"half an answer", func(w http.ResponseWriter, _ *exchanged) { send(w, 200, "{", "Content-Length", "100") }, most},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := budgetOf(t, 1_000_000, newClock())
			b := setup(t, func(cfg *openai.Config) { cfg.Budget, cfg.Attempts = d, 1 }, c.answer)
			_, _ = b.embedder(t).For("acme").Embed(t.Context(), []string{text})
			requireUsed(t, d, "acme", c.want, 0)
		})
	}
}

func TestBudgetOfAnswersThatAreNone(t *testing.T) {
	t.Parallel()
	for _, text := range []string{completion("", "stop", "no"), completion("{", "length", ""), completion("", "stop", "")} {
		d := budgetOf(t, 1_000_000, newClock())
		b := setup(t, func(c *openai.Config) { c.Budget = d }, body(200, text))
		_, err := b.llm(t).For("acme").Complete(t.Context(), ask("x"))
		require.Error(t, err)
		requireUsed(t, d, "acme", 19, 0)
	}
}

func TestBudgetWhenNobodyListens(t *testing.T) {
	t.Parallel()
	server := newServer(t, nil)
	server.Close()
	d := budgetOf(t, 1_000_000, newClock())
	b := setup(t, func(c *openai.Config) { c.Budget, c.BaseURL = d, server.URL }, vectorsOf)
	_, err := b.embedder(t).For("acme").Embed(t.Context(), []string{"a"})
	require.ErrorIs(t, err, openai.ErrUnavailable)
	requireUsed(t, d, "acme", 0, 0)
}

func TestBudgetWhenTheServerIsNotTrusted(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(nil)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	d := budgetOf(t, 1_000_000, newClock())
	b := setup(t, func(c *openai.Config) { c.Budget, c.BaseURL, c.HTTPClient = d, server.URL, nil }, vectorsOf)
	_, err := b.embedder(t).For("acme").Embed(t.Context(), []string{"a"})
	require.ErrorIs(t, err, openai.ErrUnavailable)
	require.ErrorContains(t, err, "certificate")
	requireUsed(t, d, "acme", 0, 0)
}

func TestBudgetWhenTheNameIsUnknown(t *testing.T) {
	t.Parallel()
	d := budgetOf(t, 1_000_000, newClock())
	b := setup(t, func(c *openai.Config) {
		c.Budget = d
		c.HTTPClient = &http.Client{Transport: transport(func(*http.Request) (*http.Response, error) {
			return nil, &net.DNSError{Err: "no such host", Name: "host.invalid", IsNotFound: true}
		})}
	}, vectorsOf)
	_, err := b.embedder(t).For("acme").Embed(t.Context(), []string{"a"})
	require.ErrorIs(t, err, openai.ErrUnavailable)
	require.ErrorContains(t, err, "no such host")
	requireUsed(t, d, "acme", 0, 0)
}

func TestBudgetOfCancelledCall(t *testing.T) {
	t.Parallel()
	d := budgetOf(t, 1_000_000, newClock())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, c := serve(t, unfinished(cancel)["no answer"], func(c *openai.Config) { c.Budget = d })
	l, err := c.LLM(openai.LLMConfig{Model: "m", AssumedAnswer: 500})
	require.NoError(t, err)
	_, err = l.For("acme").Complete(ctx, ask("x"))
	require.Equal(t, context.Canceled, err)
	spent, reserved := d.Used("acme")
	assert.Zero(t, reserved, "settled though the context has ended")
	assert.Greater(t, spent, int64(500), "the server may charge for it")
	assert.Less(t, spent, int64(1000))
}

func TestBudgetExhausted(t *testing.T) {
	t.Parallel()
	c := newClock()
	d := budgetOf(t, 1000, c)
	b := setup(t, func(cfg *openai.Config) { cfg.Budget = d }, vectorsOf)
	e := b.embedder(t).For("acme")
	ask := []string{strings.Repeat("x", 900)}
	calls := 0
	for ; ; calls++ {
		_, err := e.Embed(t.Context(), ask)
		if err != nil {
			require.ErrorIs(t, err, openai.ErrBudget)
			var full *openai.BudgetError
			require.ErrorAs(t, err, &full)
			assert.Equal(t, "acme", full.Tenant)
			break
		}
	}
	assert.Len(t, b.seen(), calls, "what is refused is not sent")
	assert.Empty(t, b.clock.slept(), "and not tried again")
	spent, _ := d.Used("acme")
	assert.LessOrEqual(t, spent, int64(1000))

	_, err := b.embedder(t).For("other").Embed(t.Context(), ask)
	require.NoError(t, err, "another tenant's budget is untouched")
	c.Advance(24 * time.Hour)
	_, err = e.Embed(t.Context(), ask)
	require.NoError(t, err, "a new day")
}

func TestBudgetExhaustedBetweenAttempts(t *testing.T) {
	t.Parallel()
	d := budgetOf(t, 300, newClock())
	b := setup(t, func(c *openai.Config) { c.Budget, c.Attempts = d, 10 }, body(504, ""))
	_, err := b.embedder(t).For("acme").Embed(t.Context(), []string{strings.Repeat("x", 92)})
	require.ErrorIs(t, err, openai.ErrBudget)
	assert.Len(t, b.seen(), 3)
	requireUsed(t, d, "acme", 300, 0)
}

func TestBudgetReservesTheBound(t *testing.T) {
	t.Parallel()
	d := budgetOf(t, 1000, newClock())
	b := setup(t, func(c *openai.Config) { c.Budget = d }, says(`{}`))
	req := ask("x")
	req.MaxTokens = 1000
	_, err := b.llm(t).Complete(t.Context(), req)
	require.ErrorIs(t, err, openai.ErrBudget)
	req.MaxTokens = 400
	_, err = b.llm(t).Complete(t.Context(), req)
	require.NoError(t, err)
}

func TestBudgetIsNotOverrunTogether(t *testing.T) {
	t.Parallel()
	d := budgetOf(t, 5000, newClock())
	var sold atomic.Int64
	b := setup(t, func(c *openai.Config) { c.Budget = d }, func(w http.ResponseWriter, _ *exchanged) {
		sold.Add(700)
		send(w, 200, `{"data":[{"index":0,"embedding":[1,2,3]}],"usage":{"prompt_tokens":700}}`)
	})
	e := b.embedder(t).For("acme")
	var wg sync.WaitGroup
	for range 12 {
		wg.Go(func() {
			for range 4 {
				_, err := e.Embed(t.Context(), []string{strings.Repeat("x", 800)})
				if err != nil && !errors.Is(err, openai.ErrBudget) {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	requireUsed(t, d, "acme", sold.Load(), 0)
	assert.LessOrEqual(t, sold.Load(), int64(5000))
	assert.Positive(t, sold.Load())
}

// contexts is a budget that looks at the contexts it is given.
type contexts struct {
	t       *testing.T
	settled int
}

func (c *contexts) Reserve(ctx context.Context, tenant string, most openai.Cost) (openai.SettleFunc, error) {
	assert.NoError(c.t, ctx.Err())
	assert.Equal(c.t, "acme", tenant)
	assert.Equal(c.t, openai.Cost{Model: "m", PromptTokens: 9}, most)
	return func(ctx context.Context, used openai.Cost) {
		c.settled++
		assert.NoError(c.t, ctx.Err(), "settling must not fail because the caller has gone")
		assert.Equal(c.t, most, used)
	}, nil
}

func TestBudgetSettlesWithoutTheCaller(t *testing.T) {
	t.Parallel()
	d := &contexts{t: t}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, c := serve(t, unfinished(cancel)["half a body"], func(c *openai.Config) { c.Budget = d })
	e, err := c.Embedder(openai.EmbedderConfig{Model: "m", Dim: 3})
	require.NoError(t, err)
	_, err = e.For("acme").Embed(ctx, []string{"a"})
	require.Equal(t, context.Canceled, err)
	assert.Equal(t, 1, d.settled, "exactly once")
}

// brokenBudget fails as a store does.
type brokenBudget struct{ err error }

func (b brokenBudget) Reserve(context.Context, string, openai.Cost) (openai.SettleFunc, error) {
	return nil, b.err
}

func TestBrokenBudgetFailsClosed(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *openai.Config) { c.Budget = brokenBudget{io.ErrClosedPipe} }, vectorsOf)
	_, err := b.embedder(t).Embed(t.Context(), []string{"a"})
	require.ErrorIs(t, err, io.ErrClosedPipe)
	require.NotErrorIs(t, err, openai.ErrBudget)
	assert.Empty(t, b.seen())

	b = setup(t, func(c *openai.Config) { c.Budget = brokenBudget{} }, vectorsOf)
	_, err = b.embedder(t).Embed(t.Context(), []string{"a"})
	require.NoError(t, err, "nothing to settle")
}
