package kernel_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
)

// TestWarmWriteIsDecidedOnOnePolicy: a write that was allowed by a policy of before is not let
// through because another call has learnt of the new one meanwhile.
func TestWarmWriteIsDecidedOnOnePolicy(t *testing.T) {
	t.Parallel()
	var during func()
	model := &kerneltest.Embedder{InProcess: true, OnEmbed: func(context.Context, []string) error {
		if f := during; f != nil {
			during = nil
			f()
		}
		return nil
	}}
	b := newWarmBench(t, kernel.WithEmbedder(model))
	b.put(t, "acme", kernel.Policy{Write: kernel.WritePolicy{Denied: true}})
	during = func() { must(b.Stats(t.Context(), b.who, kernel.StatsRequest{})) }
	err := second(b.Write(t.Context(), b.who, kernel.WriteRequest{Text: "Nobody may say this."}))
	require.ErrorIs(t, err, kernel.ErrForbidden)
	require.Zero(t, sqlValue[int](t, b.Pool, `SELECT count(*)::int FROM memkernel.memory_objects WHERE text = 'Nobody may say this.'`))
}

// TestWarmSearchIsDecidedOnOnePolicy is the same for what may be on record, and for rates.
func TestWarmSearchIsDecidedOnOnePolicy(t *testing.T) {
	t.Parallel()
	var during func()
	model := &kerneltest.Embedder{InProcess: true, OnEmbed: func(context.Context, []string) error {
		if f := during; f != nil {
			during = nil
			f()
		}
		return nil
	}}
	b := newWarmBench(t, kernel.WithEmbedder(model))
	b.put(t, "acme", kernel.Policy{Sensitive: true})
	during = func() { must(b.Stats(t.Context(), b.who, kernel.StatsRequest{})) }
	row := b.RequireSearch(t)
	require.Empty(t, row.Purpose)
}

func (b *warmBench) RequireSearch(t *testing.T) kernel.AuditEvent {
	t.Helper()
	must(b.Search(t.Context(), b.who, kernel.SearchRequest{Query: "kiln"}))
	var last kernel.AuditEvent
	for _, e := range b.Audit() {
		if e.Op == "search" {
			last = e
		}
	}
	return last
}

// TestWarmKeepsSecrets: a query that policy keeps out of the log stays out of it, also from a
// kernel that knew another policy and whose search cannot be answered at once.
func TestWarmKeepsSecrets(t *testing.T) {
	t.Parallel()
	long := "kiln"
	for len(long) <= 5<<10 {
		long += " kiln"
	}
	for name, tc := range map[string]struct {
		opts []kernel.Option
		req  kernel.SearchRequest
	}{
		"a remote model":   {[]kernel.Option{kernel.WithEmbedder(&kerneltest.Embedder{})}, kernel.SearchRequest{Query: "kiln"}},
		"another driver":   {nil, kernel.SearchRequest{Query: "kiln", Driver: "nosuch"}},
		"a long query":     {nil, kernel.SearchRequest{Query: long}},
		"nothing is there": {nil, kernel.SearchRequest{Query: "zebra", Kinds: []kernel.Kind{"goal"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newWarmBench(t, tc.opts...)
			b.put(t, "acme", kernel.Policy{Sensitive: true})
			_ = second(b.Search(t.Context(), b.who, tc.req))
			rows := b.Audit()
			require.Equal(t, kernel.Op("search"), rows[len(rows)-1].Op)
			require.Empty(t, rows[len(rows)-1].Purpose)
		})
	}
}

// TestWarmSecretCancelled: nor does a call that is cut short leave the query of a sensitive
// namespace.
func TestWarmSecretCancelled(t *testing.T) {
	t.Parallel()
	var cancel context.CancelFunc
	model := &kerneltest.Embedder{InProcess: true, OnEmbed: func(context.Context, []string) error {
		if cancel != nil {
			cancel()
		}
		return nil
	}}
	b := newWarmBench(t, kernel.WithEmbedder(model))
	b.put(t, "acme", kernel.Policy{Sensitive: true})
	var ctx context.Context
	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	require.ErrorIs(t, second(b.Search(ctx, b.who, kernel.SearchRequest{Query: "kiln"})), context.Canceled)
	rows := b.Audit()
	require.Equal(t, kernel.Op("search"), rows[len(rows)-1].Op)
	require.Empty(t, rows[len(rows)-1].Purpose)
}
