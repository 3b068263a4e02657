package kernel_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/audit"
	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
	"github.com/memkernel/memkernel/kernel/mem"
)

func newHolding(t *testing.T, p kernel.Policy) *contested {
	t.Helper()
	c := newContested(t)
	p.HoldForReview = true
	c.rule(t, p)
	return c
}

// held writes a memory that must be held.
func (c *contested) held(t *testing.T, who kernel.Identity, req kernel.WriteRequest) kernel.ID {
	t.Helper()
	c.Clock.Advance(time.Second)
	req.Verbatim = true
	reply := must(c.Write(t.Context(), who, req))
	require.Len(t, reply.Held, 1)
	require.Equal(t, reply.Stored, reply.Held)
	require.Empty(t, reply.Superseded)
	return reply.Held[0]
}

// TestHoldUntilChecked: a memory is in nobody's sight before it has been checked, and in
// everybody's after.
func TestHoldUntilChecked(t *testing.T) {
	t.Parallel()
	c := newHolding(t, kernel.Policy{})
	ctx := t.Context()
	var id kernel.ID
	row := c.RequireAudit(t, acl.OpWrite, audit.ResultOK, func() {
		id = c.held(t, c.agent, kernel.WriteRequest{Text: "Ana lives in Oslo.", IdempotencyKey: "1"})
	}, "stored=1", "held=1")
	require.Equal(t, id, row.MemoryID)
	again := must(c.Write(ctx, c.agent, kernel.WriteRequest{Text: "Ana lives in Oslo.", IdempotencyKey: "1", Verbatim: true}))
	require.True(t, again.Replayed)
	require.Equal(t, []kernel.ID{id}, again.Held)
	c.requireGone(t, id, "Ana lives in Oslo.")
	requireSound(t, c.Pool)
	stats := must(c.Stats(ctx, c.agent, kernel.StatsRequest{}))
	require.EqualValues(t, 1, stats.Held)
	require.EqualValues(t, 1, stats.Unchecked)
	require.Zero(t, stats.Live)
	c.Clock.Advance(time.Minute)
	require.Equal(t, time.Minute, must(c.Stats(ctx, c.agent, kernel.StatsRequest{})).OldestUnchecked)

	c.settle(t)
	require.Equal(t, []kernel.ID{id}, c.found(t, "Ana"))
	require.Equal(t, "effect=activate reason=no_candidates", c.checkRows()[0].Detail)
	require.Equal(t, id, c.checkRows()[0].MemoryID)
	stats = must(c.Stats(ctx, c.agent, kernel.StatsRequest{}))
	require.Zero(t, stats.Held+stats.Unchecked)
	require.EqualValues(t, 1, stats.Live)
	requireSound(t, c.Pool)
	require.Equal(t, []kernel.ID{id}, must(c.Write(ctx, c.agent, kernel.WriteRequest{Text: "ana lives in oslo."})).Deduplicated)
}

// TestHoldIsPrompt: the job of a held memory is in its write's transaction and runs at once,
// whatever the interval; its arguments are ids.
func TestHoldIsPrompt(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kernel.WithLimits(kernel.Limits{UpkeepInterval: 24 * time.Hour}))
	ctx := t.Context()
	admin := k.Key("acme/eng", kernel.RoleAdmin)
	must(k.Policies().Put(ctx, admin, kernel.PutPolicyRequest{Policy: kernel.Policy{HoldForReview: true}}))
	start(t, k)
	search := func(query string) (n int) {
		for _, item := range must(k.Search(ctx, admin, kernel.SearchRequest{Query: query})).Items {
			n += strings.Count(item.Memory.Text, query)
		}
		return n
	}
	// After the first round, which runs at the start.
	must(k.Write(ctx, admin, kernel.WriteRequest{Text: "The first is a lift."}))
	require.Eventually(t, func() bool { return search("lift") == 1 }, 60*time.Second, 5*time.Millisecond)

	reply := must(k.Write(ctx, admin, kernel.WriteRequest{Text: "The second is a ramp."}))
	require.Len(t, reply.Held, 1)
	require.Eventually(t, func() bool { return search("ramp") == 1 }, 60*time.Second, 5*time.Millisecond)
	require.Contains(t, sqlValue[string](t, k.Pool, `SELECT string_agg(args::text, ' ') FROM memkernel.river_job WHERE kind = 'memkernel_check'`),
		`{"tenant": "acme", "memories": ["`+reply.Held[0].String()+`"]}`)

	order := must(k.WriteAsync(ctx, admin, kernel.WriteRequest{Text: "The third is a crane."}))
	require.Len(t, await(t, k.Kernel, admin, order.Token).Reply.Held, 1)
	require.Eventually(t, func() bool { return search("crane") == 1 }, 60*time.Second, 5*time.Millisecond)

	// What the host rolls back leaves neither memory nor job.
	jobs := func() int {
		return sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM memkernel.river_job WHERE kind = 'memkernel_check'`)
	}
	before := jobs()
	tx := begin(t, k)
	must(k.WithTx(tx).Write(ctx, admin, kernel.WriteRequest{Text: "The fourth is a bridge."}))
	require.NoError(t, tx.Rollback(ctx))
	require.Equal(t, before, jobs())
	tx = begin(t, k)
	must(k.WithTx(tx).Write(ctx, admin, kernel.WriteRequest{Text: "The fifth is a tunnel."}))
	require.NoError(t, tx.Commit(ctx))
	require.Eventually(t, func() bool { return search("tunnel") == 1 }, 60*time.Second, 5*time.Millisecond)
	require.EqualValues(t, 4, must(k.Stats(ctx, admin, kernel.StatsRequest{})).Live)
	requireSound(t, k.Pool)
}

// TestHoldExceptions: what is not held, and why.
func TestHoldExceptions(t *testing.T) {
	t.Parallel()
	c := newHolding(t, kernel.Policy{})
	old := c.held(t, c.dana, kernel.WriteRequest{Text: "Ana lives in Oslo."})
	c.settle(t)
	for name, req := range map[string]kernel.WriteRequest{
		"raw input":             {Text: "Ana: I live in Rome.", Kind: mem.KindRaw},
		"a person's correction": {Text: "Ana lives in Bern.", Supersedes: old},
	} {
		reply := must(c.Write(t.Context(), c.dana, req))
		require.Empty(t, reply.Held, name)
		require.Contains(t, c.found(t, "Ana"), reply.Stored[0], name)
	}
	require.Equal(t, 1, c.unchecked(t), "raw input is never checked")
	off := newHolding(t, kernel.Policy{ConflictReview: mem.ReviewOff})
	reply := must(off.Write(t.Context(), off.agent, kernel.WriteRequest{Text: "Ana lives in Oslo."}))
	require.Empty(t, reply.Held, "nobody would ever look")
	require.Zero(t, off.unchecked(t))
	requireSound(t, c.Pool)
	requireSound(t, off.Pool)
}

// TestHoldTwins: a text that is held is no duplicate. Of two that are held one is released, and
// the other ends in its favour; so does one whose text came to be current in another way.
func TestHoldTwins(t *testing.T) {
	t.Parallel()
	c := newHolding(t, kernel.Policy{})
	first := c.held(t, c.agent, kernel.WriteRequest{Text: "Ana lives in Oslo."})
	second := c.held(t, c.agent, kernel.WriteRequest{Text: "ana lives in  OSLO."})
	require.NotEqual(t, first, second)
	c.settle(t)
	require.Equal(t, []kernel.ID{first}, c.found(t, "Ana"))
	require.Zero(t, c.unchecked(t))
	require.Equal(t, first.String(), sqlValue[string](t, c.Pool, `SELECT superseded_by::text FROM memkernel.memory_objects WHERE id = $1`, second.String()))
	rows := c.checkRows()
	require.Equal(t, second, rows[len(rows)-1].MemoryID)
	require.Equal(t, "effect=close by="+first.String()+" reason=duplicate", rows[len(rows)-1].Detail)
	// Who has the id of it gets to what it has become.
	next := must(c.Write(t.Context(), c.dana, kernel.WriteRequest{Text: "Ana lives in Bern.", Supersedes: second}))
	require.Equal(t, []kernel.ID{first}, next.Superseded)
	requireSound(t, c.Pool)
}

// TestHoldCorrection: a held correction replaces nothing before it is released, and then what
// its writer named, or what that has become.
func TestHoldCorrection(t *testing.T) {
	t.Parallel()
	c := newHolding(t, kernel.Policy{})
	ctx := t.Context()
	old := c.held(t, c.agent, kernel.WriteRequest{Text: "The lift is out of order."})
	c.settle(t)
	first := c.held(t, c.agent, kernel.WriteRequest{Text: "The lift works again.", Supersedes: old})
	second := c.held(t, c.agent, kernel.WriteRequest{Text: "The lift is broken once more.", Supersedes: old})
	require.Equal(t, []kernel.ID{old}, c.found(t, "lift"))
	require.True(t, must(c.Read(ctx, c.agent, kernel.ReadRequest{ID: old})).Memory.Current())
	c.settle(t)
	require.Equal(t, []kernel.ID{second}, c.found(t, "lift"))
	require.Equal(t, first, c.read(t, old).SupersededBy)
	require.Equal(t, second, c.read(t, first).SupersededBy)
	requireSound(t, c.Pool)

	// One that loses against a third memory replaces nothing.
	oslo := c.held(t, c.reader, kernel.WriteRequest{Text: "Ana lives in Oslo."})
	note := c.held(t, c.agent, kernel.WriteRequest{Text: "Ana has moved."})
	c.settle(t)
	bern := c.held(t, c.agent, kernel.WriteRequest{Text: "Ana lives in Bern.", Supersedes: note})
	c.settle(t)
	c.requireGone(t, bern, "Ana lives in Bern.")
	require.ElementsMatch(t, []kernel.ID{oslo, note}, c.found(t, "Ana"))
	requireSound(t, c.Pool)

	// What it was to replace may be retracted meanwhile.
	late := c.held(t, c.agent, kernel.WriteRequest{Text: "Ana has moved twice.", Supersedes: note})
	must(c.Retract(ctx, c.agent, kernel.RetractRequest{ID: note}))
	c.settle(t)
	require.ElementsMatch(t, []kernel.ID{oslo, late}, c.found(t, "Ana"))
	require.Equal(t, mem.EndRetracted, c.read(t, note).EndReason)
	requireSound(t, c.Pool)
}

// TestHoldQuestioned: a held memory stays so while a case about it is open, and as long as
// another one is.
func TestHoldQuestioned(t *testing.T) {
	t.Parallel()
	c := newHolding(t, kernel.Policy{ConflictReview: mem.ReviewAll})
	ctx := t.Context()
	c.judge.contradicts = func(in, _ string) bool { return in == "The lift is fixed." }
	a := c.held(t, c.agent, kernel.WriteRequest{Text: "The lift is broken."})
	b := c.held(t, c.agent, kernel.WriteRequest{Text: "The lift is stuck."})
	c.settle(t)
	in := c.held(t, c.agent, kernel.WriteRequest{Text: "The lift is fixed."})
	c.settle(t)
	require.Zero(t, c.unchecked(t))
	require.Len(t, c.cases(t, ""), 2)
	c.requireGone(t, in, "The lift is fixed.")
	require.EqualValues(t, 2, must(c.Stats(ctx, c.admin, kernel.StatsRequest{})).OpenConflicts)
	require.Zero(t, must(c.Stats(ctx, c.agent, kernel.StatsRequest{})).OpenConflicts)
	requireSound(t, c.Pool)

	resolve := func(to kernel.ID, state kernel.ConflictState) *kernel.ConflictResolveReply {
		return must(c.Conflicts().Resolve(ctx, c.admin, kernel.ConflictResolveRequest{From: in, To: to, State: state}))
	}
	require.Equal(t, &kernel.ConflictResolveReply{}, resolve(a, kernel.ConflictCoexist))
	c.requireGone(t, in, "The lift is fixed.")
	requireSound(t, c.Pool)
	require.Equal(t, &kernel.ConflictResolveReply{Activated: in, Superseded: b}, resolve(b, kernel.ConflictRetracted))
	require.ElementsMatch(t, []kernel.ID{a, in}, c.found(t, "lift"))
	require.Equal(t, in, c.read(t, b).SupersededBy)
	requireSound(t, c.Pool)
}

// TestHoldOverturned: when a person replaces what a held memory was in question for, it is
// checked anew.
func TestHoldOverturned(t *testing.T) {
	t.Parallel()
	c := newHolding(t, kernel.Policy{ConflictReview: mem.ReviewAll})
	oslo := c.held(t, c.agent, kernel.WriteRequest{Text: "Ana lives in Oslo."})
	c.settle(t)
	bern := c.held(t, c.agent, kernel.WriteRequest{Text: "Ana lives in Bern."})
	c.settle(t)
	require.Len(t, c.cases(t, ""), 1)
	next := c.writeAs(t, c.dana, kernel.WriteRequest{Text: "Ana left Oslo.", Supersedes: oslo})
	require.Empty(t, c.cases(t, ""))
	require.Equal(t, c.dana.Actor(), c.cases(t, kernel.ConflictOverturned)[0].ResolvedBy)
	require.Equal(t, 2, c.unchecked(t))
	requireSound(t, c.Pool)
	c.settle(t)
	require.ElementsMatch(t, []kernel.ID{bern, next}, c.found(t, "Ana"))
	requireSound(t, c.Pool)
}

// TestHoldWithdrawn: who wrote a held memory can take it back, and a disputed one; what was not
// counted is not taken off the counters.
func TestHoldWithdrawn(t *testing.T) {
	t.Parallel()
	c := newHolding(t, kernel.Policy{})
	ctx := t.Context()
	id := c.held(t, c.agent, kernel.WriteRequest{Text: "Ana lives in Oslo."})
	require.NotZero(t, must(c.Retract(ctx, c.agent, kernel.RetractRequest{ID: id})).EndedAt)
	requireSound(t, c.Pool)
	c.settle(t)
	require.Empty(t, c.checkRows())
	require.Zero(t, c.unchecked(t))
	c.held(t, c.reader, kernel.WriteRequest{Text: "Ana lives in Rome."})
	c.settle(t)
	disputed := c.held(t, c.agent, kernel.WriteRequest{Text: "Ana lives in Bern."})
	c.settle(t)
	require.Len(t, c.cases(t, ""), 1)
	require.NotZero(t, must(c.Retract(ctx, c.agent, kernel.RetractRequest{ID: disputed})).EndedAt)
	requireSound(t, c.Pool)
	// Whoever names a memory that is out of sight as replaced replaces it, and no more.
	held := c.held(t, c.agent, kernel.WriteRequest{Text: "Eve lives in Bern."})
	reply := must(c.Write(ctx, c.dana, kernel.WriteRequest{Text: "Eve lives in Rome.", Supersedes: held}))
	require.Equal(t, []kernel.ID{held}, reply.Superseded)
	requireSound(t, c.Pool)
}

// TestHoldInTransaction: a host's transaction sees what it has written as others will.
func TestHoldInTransaction(t *testing.T) {
	t.Parallel()
	c := newHolding(t, kernel.Policy{})
	ctx := t.Context()
	require.NoError(t, pgx.BeginFunc(ctx, sideConn(t, c.Kit), func(tx pgx.Tx) error {
		bound := c.WithTx(tx)
		reply, err := bound.Write(ctx, c.agent, kernel.WriteRequest{Text: "Ana lives in Oslo."})
		if err != nil {
			return err
		}
		require.Len(t, reply.Held, 1)
		_, err = bound.Read(context.WithoutCancel(ctx), c.agent, kernel.ReadRequest{ID: reply.Held[0]})
		require.ErrorIs(t, err, kernel.ErrNotFound)
		return nil
	}))
	c.settle(t)
	require.Len(t, c.found(t, "Ana"), 1)
	requireSound(t, c.Pool)
}

// TestHoldRuledMeanwhile: a rule that comes into force while a model thinks holds what is stored
// after it.
func TestHoldRuledMeanwhile(t *testing.T) {
	t.Parallel()
	model := &kerneltest.Embedder{}
	k := kerneltest.Open(t, kernel.WithEmbedder(model))
	owner, dana := k.Key("acme", kernel.RoleOwner), k.Key("acme/eng", kernel.RoleMember)
	for name, write := range map[string]func(text string) *kernel.WriteReply{
		"one": func(text string) *kernel.WriteReply {
			return must(k.Write(t.Context(), dana, kernel.WriteRequest{Text: text}))
		},
		"many": func(text string) *kernel.WriteReply {
			r := must(k.WriteMany(t.Context(), dana, kernel.WriteManyRequest{Writes: []kernel.WriteRequest{{Text: text}}})).Results[0]
			require.NoError(t, r.Err)
			return r.Reply
		},
	} {
		must(k.Policies().Put(t.Context(), owner, kernel.PutPolicyRequest{}))
		require.Empty(t, write("The lift works, says "+name+".").Held, name)
		model.OnEmbed = func(ctx context.Context, _ []string) error {
			return second(k.Policies().Put(ctx, owner, kernel.PutPolicyRequest{Policy: kernel.Policy{HoldForReview: true}}))
		}
		reply := write("The lift is broken, says " + name + ".")
		model.OnEmbed = nil
		require.Equal(t, reply.Stored, reply.Held, name)
	}
}
