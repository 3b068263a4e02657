package kernel_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
)

// TestIdempotencyReplay: the first reply comes back, whatever has happened meanwhile, and
// nothing is done again.
func TestIdempotencyReplay(t *testing.T) {
	t.Parallel()
	for name, model := range models {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := model()
			k := kerneltest.Open(t, kernel.WithEmbedder(m))
			ctx := t.Context()
			dana := k.Key("acme/eng", kernel.RoleMember)
			old := must(k.Write(ctx, dana, kernel.WriteRequest{Text: "The pass is open."})).Stored[0]
			m.Fail(kerneltest.ErrFake)
			for _, req := range []kernel.WriteRequest{
				{Text: "Snow on the pass.", IdempotencyKey: "stored", EventTime: k.Clock.Now()},
				{Text: "The pass is closed.", IdempotencyKey: "superseded", Supersedes: old},
				{Text: "Snow on the pass.", IdempotencyKey: "deduplicated"},
			} {
				first := must(k.Write(ctx, dana, req))
				require.False(t, first.Replayed)
				// Meanwhile it is told the other way round.
				for _, id := range append(first.Stored, first.Deduplicated...) {
					must(k.Retract(ctx, dana, kernel.RetractRequest{ID: id}))
				}
				k.Clock.Advance(time.Hour)
				calls, before := m.Calls(), tableCounts(t, k)
				k.RequireAudit(t, "write", "ok", func() {
					again := must(k.Write(ctx, dana, req))
					require.True(t, again.Replayed)
					again.Replayed = false
					require.Equal(t, first, again)
				}, "replay=true")
				after := tableCounts(t, k)
				before["audit_log"]++
				require.Equal(t, before, after)
				require.Equal(t, calls, m.Calls(), "the model was asked again")
				if first.Stored == nil {
					continue
				}
				require.Equal(t, []kernel.Brownout{kernel.BrownoutEmbedder}, first.Degraded, "also what was missing")
				if req.IdempotencyKey == "stored" { // for the duplicate to come
					must(k.Write(ctx, dana, kernel.WriteRequest{Text: req.Text}))
				}
			}
			requireSound(t, k.Pool)
		})
	}
}

// TestIdempotencyOtherRequest: a key belongs to the request that it came with first.
func TestIdempotencyOtherRequest(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	ctx := t.Context()
	dana := k.Key("acme/eng", kernel.RoleMember)
	target := must(k.Write(ctx, dana, kernel.WriteRequest{Text: "The pass is open."})).Stored[0]
	must(k.Write(ctx, dana, kernel.WriteRequest{Text: "Snow on the pass.", IdempotencyKey: "1"}))
	before := tableCounts(t, k)
	others := []kernel.WriteRequest{
		{Text: "Rain on the pass."},
		{Text: "snow on the pass."}, // says the same, is not the same
		{Text: "Snow on the pass.", Kind: "opinion"},
		{Text: "Snow on the pass.", Source: "radio"},
		{Text: "Snow on the pass.", EventTime: k.Clock.Now()},
		{Text: "Snow on the pass.", Supersedes: target},
	}
	for _, req := range others {
		req.IdempotencyKey = "1"
		k.RequireAudit(t, "write", "error", func() {
			err := second(k.Write(ctx, dana, req))
			require.ErrorIs(t, err, kernel.ErrConflict)
			require.ErrorContains(t, err, "idempotency key")
		}, "reason=conflict")
	}
	before["audit_log"] += len(others)
	require.Equal(t, before, tableCounts(t, k))
	require.True(t, must(k.Write(ctx, dana, kernel.WriteRequest{Text: "Snow on the pass.", IdempotencyKey: "1", Kind: "fact"})).Replayed,
		"the default spelt out is the same request")
}

// TestIdempotencyPerCaller: a key says nothing about another caller's, not even one of the
// same namespace.
func TestIdempotencyPerCaller(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	ctx := t.Context()
	req := func(text string) kernel.WriteRequest { return kernel.WriteRequest{Text: text, IdempotencyKey: "1"} }
	dana, cred := k.Credential("acme/eng", kernel.RoleMember)
	first := must(k.Write(ctx, dana, req("Snow on the pass.")))
	require.Len(t, first.Stored, 1)
	sam := must(k.Write(ctx, k.Key("acme/eng", kernel.RoleMember), req("Rain on the pass.")))
	require.Len(t, sam.Stored, 1)
	require.False(t, sam.Replayed)
	require.Equal(t, first.Stored, must(k.Write(ctx, k.Key("acme/eng", kernel.RoleMember), req("Snow on the pass."))).Deduplicated,
		"a duplicate, not a replay")
	require.Len(t, must(k.Write(ctx, k.Key("acme/sales", kernel.RoleMember), req("Hail on the pass."))).Stored, 1)
	require.True(t, must(k.Write(ctx, must(k.Authenticate(ctx, cred.Secret)), req("Snow on the pass."))).Replayed, "the key counts, not the login")
	requireSound(t, k.Pool)
}

// TestIdempotencyAtOnce: of the same request many times at once one is carried out, also with
// a model that keeps them all waiting between their raw input and their commit.
func TestIdempotencyAtOnce(t *testing.T) {
	t.Parallel()
	for name, model := range models {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const n = 24
			m := model()
			var inside atomic.Int32
			all := make(chan struct{})
			m.OnEmbed = func(ctx context.Context, _ []string) error {
				if inside.Add(1) == n { // none can be answered before all are here
					close(all)
				}
				select {
				case <-all:
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			k := kerneltest.Open(t, kernel.WithEmbedder(m))
			dana := k.Key("acme/eng", kernel.RoleMember)
			req := kernel.WriteRequest{Text: "Snow on the pass.", IdempotencyKey: "1"}
			var replies [n]*kernel.WriteReply
			together(n, func(i int) {
				var err error
				if replies[i], err = k.Write(t.Context(), dana, req); err != nil {
					t.Error(err)
				}
			})
			require.False(t, t.Failed())
			first := 0
			for _, r := range replies {
				require.Equal(t, replies[0].Stored, r.Stored)
				require.Equal(t, replies[0].Capture, r.Capture)
				if !r.Replayed {
					first++
				}
			}
			require.Equal(t, 1, first)
			counts := tableCounts(t, k)
			require.Equal(t, 1, counts["memory_objects"])
			require.Equal(t, 1, counts["captures"])
			require.Equal(t, map[kernel.AuditResult]int{"ok": n}, auditRows(k, "write"))
			requireSound(t, k.Pool)
		})
	}
}

// TestIdempotencyAfterCrash: the process ended between raw input and commit. A retry carries
// on from the raw input; what another request claims to be a retry is refused.
func TestIdempotencyAfterCrash(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	m := &kerneltest.Embedder{OnEmbed: func(ctx context.Context, _ []string) error {
		close(hang)
		<-ctx.Done()
		return ctx.Err()
	}}
	crashed := kerneltest.Open(t, kernel.WithEmbedder(m))
	dana := crashed.Key("acme/eng", kernel.RoleMember)
	req := kernel.WriteRequest{Text: "Snow on the pass.", IdempotencyKey: "1"}
	ctx, crash := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- second(crashed.Write(ctx, dana, req)) }()
	<-hang
	crash()
	require.ErrorIs(t, <-done, context.Canceled)
	require.Equal(t, "pending", sqlValue[string](t, crashed.Pool, `SELECT state FROM memkernel.captures`))

	k := kerneltest.OpenOn(t, crashed.Pool, kernel.WithEmbedder(&kerneltest.Embedder{}))
	k.RequireAudit(t, "write", "error", func() {
		other := req
		other.Text = "Rain on the pass."
		require.ErrorIs(t, second(k.Write(t.Context(), dana, other)), kernel.ErrConflict)
	}, "reason=conflict")
	first := must(k.Write(t.Context(), dana, req))
	require.Len(t, first.Stored, 1)
	require.False(t, first.Replayed)
	require.Equal(t, first.Capture.String(), sqlValue[string](t, k.Pool, `SELECT id::text FROM memkernel.captures WHERE state = 'done'`))
	require.Equal(t, 1, tableCounts(t, k)["captures"])
	require.True(t, must(k.Write(t.Context(), dana, req)).Replayed)
	requireSound(t, k.Pool)
}
