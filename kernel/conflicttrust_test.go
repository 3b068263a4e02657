package kernel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/mem"
)

// TestTrustIsNotLost: what is said again with more trust takes the place of what was said before, in
// whichever way it is written; with as much or less it is a duplicate.
func TestTrustIsNotLost(t *testing.T) {
	t.Parallel()
	plain := func(text string, _ kernel.ID) kernel.WriteRequest { return kernel.WriteRequest{Text: text} }
	for name, request := range map[string]func(text string, old kernel.ID) kernel.WriteRequest{
		"said again": plain,
		"other white space": func(string, kernel.ID) kernel.WriteRequest {
			return kernel.WriteRequest{Text: "Ana lives in  Bern."}
		},
		"named": func(text string, old kernel.ID) kernel.WriteRequest {
			return kernel.WriteRequest{Text: text, Supersedes: old}
		},
		"refreshed": func(text string, _ kernel.ID) kernel.WriteRequest {
			return kernel.WriteRequest{Text: text, ContentKey: "ana"}
		},
		"bound": func(text string, _ kernel.ID) kernel.WriteRequest {
			return kernel.WriteRequest{Text: text, ContentKey: "other"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newContested(t)
			ctx := t.Context()
			const text = "Ana lives in Bern."
			old := c.writeAs(t, c.agent, kernel.WriteRequest{Text: text, ContentKey: "ana"})
			again := func(who kernel.Identity, old kernel.ID) *kernel.WriteReply {
				t.Helper()
				c.Clock.Advance(time.Second)
				req := request(text, old)
				req.Verbatim = true
				return must(c.Write(ctx, who, req))
			}
			require.Equal(t, []kernel.ID{old}, again(c.agent, old).Deduplicated, "as much trust")
			document := again(c.reader, old)
			require.Empty(t, document.Deduplicated)
			require.Equal(t, []kernel.ID{old}, document.Superseded)
			person := again(c.dana, old)
			require.Equal(t, document.Stored, person.Superseded, "what is current of what was named")
			stated := person.Stored[0]
			for _, who := range []kernel.Identity{c.agent, c.reader, c.dana} {
				require.Equal(t, person.Stored, again(who, old).Deduplicated, "by %s", who.Actor())
			}
			require.Equal(t, []kernel.ID{stated}, c.found(t, "Ana"))
			require.Equal(t, mem.ProvenanceManual, c.read(t, stated).Provenance)
			require.Len(t, must(c.History(ctx, c.dana, kernel.HistoryRequest{ID: old})).Memories, 3)
			requireSound(t, c.Pool)
			c.write(t, c.agent, "Ana lives in Rome.")
			c.settle(t)
			require.Equal(t, []kernel.ID{stated}, c.found(t, "Ana"), "an agent's word does not close what a person stated")
			require.Len(t, c.cases(t, ""), 1)
			requireSound(t, c.Pool)
		})
	}
	t.Run("raw input states nothing", func(t *testing.T) {
		t.Parallel()
		c := newContested(t)
		old := c.write(t, c.agent, "Ana lives in Bern.")
		reply := must(c.Write(t.Context(), c.dana, kernel.WriteRequest{Text: "Ana lives in Bern.", Kind: mem.KindRaw}))
		require.Equal(t, []kernel.ID{old}, reply.Deduplicated)
	})
	t.Run("what another one says", func(t *testing.T) {
		t.Parallel()
		c := newContested(t)
		c.write(t, c.agent, "Ana lives in Bern.")
		oslo := c.write(t, c.agent, "Ana lives in Oslo.")
		_, err := c.Write(t.Context(), c.dana, kernel.WriteRequest{Text: "Ana lives in Bern.", Supersedes: oslo})
		require.ErrorIs(t, err, kernel.ErrConflict, "it would be there twice")
		requireSound(t, c.Pool)
	})
}

// TestTrustBeforeCheck: a person who says what an agent said is believed over a document, though the
// agent's word, not checked yet, is not.
func TestTrustBeforeCheck(t *testing.T) {
	t.Parallel()
	c := newContested(t)
	c.write(t, c.reader, "Ana lives in Oslo.")
	c.settle(t)
	agents := c.write(t, c.agent, "Ana lives in Bern.")
	stated := c.write(t, c.dana, "Ana lives in Bern.")
	c.settle(t)
	require.Equal(t, []kernel.ID{stated}, c.found(t, "Ana"))
	require.Equal(t, mem.EndSuperseded, c.read(t, agents).EndReason)
	require.Empty(t, c.cases(t, ""))
	require.Zero(t, c.unchecked(t))
	requireSound(t, c.Pool)
}

// TestTrustInMany: many writes at once and one by one come to the same.
func TestTrustInMany(t *testing.T) {
	t.Parallel()
	c := newContested(t)
	c.SetLLM(nil, "") // with one, writes of the same text are not looked at together
	old := c.write(t, c.agent, "Ana lives in Bern.")
	raw := must(c.Write(t.Context(), c.agent, kernel.WriteRequest{Text: "Ana is tall.", Verbatim: true})).Stored[0]
	reply := must(c.WriteMany(t.Context(), c.dana, kernel.WriteManyRequest{Writes: []kernel.WriteRequest{
		{Text: "Ana lives in Bern.", Verbatim: true},
		{Text: "ana lives in bern.", Verbatim: true},
		{Text: "Ana is tall.", Kind: mem.KindRaw},
		{Text: "Ana sings.", Verbatim: true},
	}}))
	for _, r := range reply.Results {
		require.NoError(t, r.Err)
	}
	require.Equal(t, []kernel.ID{old}, reply.Results[0].Reply.Superseded)
	require.Equal(t, reply.Results[0].Reply.Stored, reply.Results[1].Reply.Deduplicated)
	require.Equal(t, []kernel.ID{raw}, reply.Results[2].Reply.Deduplicated)
	require.Len(t, reply.Results[3].Reply.Stored, 1)
	require.Equal(t, 1, sqlValue[int](t, c.Pool, `SELECT count(*)::int FROM memkernel.audit_log WHERE op = 'write' AND detail LIKE 'stored=1 rejected=0 superseded=1%'`))
	requireSound(t, c.Pool)
}

// TestTrustHeld: what a person says that an agent said is held like anything else, and takes its
// place when it is released, whether the agent's was in sight when it was written or came to be.
func TestTrustHeld(t *testing.T) {
	t.Parallel()
	for _, later := range []bool{false, true} {
		c := newHolding(t, kernel.Policy{})
		agents := c.held(t, c.agent, kernel.WriteRequest{Text: "Ana lives in Bern."})
		if !later {
			c.settle(t)
		}
		stated := c.held(t, c.dana, kernel.WriteRequest{Text: "ana lives in bern."})
		if !later {
			require.Equal(t, []kernel.ID{agents}, c.found(t, "Ana"), "nothing vanishes meanwhile")
		}
		c.settle(t)
		require.Equal(t, []kernel.ID{stated}, c.found(t, "ana"))
		require.Empty(t, c.found(t, "Ana"))
		require.Equal(t, stated, c.read(t, agents).SupersededBy)
		require.Zero(t, c.unchecked(t))
		requireSound(t, c.Pool)
		require.Equal(t, []kernel.ID{stated}, must(c.Write(t.Context(), c.agent, kernel.WriteRequest{Text: "Ana lives in Bern."})).Deduplicated)
	}
}

// TestTrustOverturns: saying it again is a way to replace it, which settles the conflicts about it.
func TestTrustOverturns(t *testing.T) {
	t.Parallel()
	for _, hold := range []bool{false, true} {
		c, from, to := quarrelling(t)
		c.rule(t, kernel.Policy{HoldForReview: hold})
		reply := must(c.Write(t.Context(), c.dana, kernel.WriteRequest{Text: "Ana lives in Oslo.", Verbatim: true}))
		require.Len(t, reply.Stored, 1)
		if hold {
			require.Empty(t, c.cases(t, kernel.ConflictOverturned), "not before it is released")
		} else {
			require.Equal(t, []kernel.ID{to}, reply.Superseded)
			done := c.cases(t, kernel.ConflictOverturned)
			require.Len(t, done, 1)
			require.Equal(t, c.dana.Actor(), done[0].ResolvedBy)
		}
		c.settle(t)
		require.Len(t, c.cases(t, kernel.ConflictOverturned), 1)
		require.Equal(t, reply.Stored, c.found(t, "Ana"))
		open := c.cases(t, "")
		require.Len(t, open, 1, "it contradicts what the person said, too")
		require.Equal(t, from, open[0].From.ID)
		require.Equal(t, reply.Stored[0], open[0].To.ID)
		require.Zero(t, c.unchecked(t))
		requireSound(t, c.Pool)
	}
}
