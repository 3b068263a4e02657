package kernel_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/mem"
)

// TestHoldMany: many writes at once are held, checked in their order, and each only once; what is
// not held is not.
func TestHoldMany(t *testing.T) {
	t.Parallel()
	c := newHolding(t, kernel.Policy{})
	ctx := t.Context()
	req := kernel.WriteManyRequest{}
	for i := range 40 {
		w := kernel.WriteRequest{Text: fmt.Sprint("Room ", i/2, " is taken."), Verbatim: true}
		if i%10 == 9 {
			w.Kind = mem.KindRaw
			w.Text = fmt.Sprint("Ana: room ", i, " is taken.")
		}
		req.Writes = append(req.Writes, w)
	}
	req.Writes = append(req.Writes,
		kernel.WriteRequest{Text: "Ana lives in Oslo.", Verbatim: true}, kernel.WriteRequest{Text: "Ana lives in Bern.", Verbatim: true})
	reply := must(c.WriteMany(ctx, c.agent, req))
	held := 0
	for i, r := range reply.Results {
		require.NoError(t, r.Err)
		require.Len(t, r.Reply.Stored, 1, "what is held is nobody's duplicate")
		if req.Writes[i].Kind == mem.KindRaw {
			require.Empty(t, r.Reply.Held)
		} else {
			require.Equal(t, r.Reply.Stored, r.Reply.Held)
			held++
		}
	}
	require.Equal(t, held, c.unchecked(t))
	require.EqualValues(t, held, must(c.Stats(ctx, c.agent, kernel.StatsRequest{})).Held)
	require.Empty(t, c.found(t, "Room"))
	requireSound(t, c.Pool)
	c.settle(t)
	require.Zero(t, c.unchecked(t))
	stats := must(c.Stats(ctx, c.agent, kernel.StatsRequest{}))
	require.Zero(t, stats.Held)
	// 36 texts about rooms, 16 of which are the second of their kind, 4 raw ones, and one about Ana.
	require.EqualValues(t, 20+4+1, stats.Live)
	require.EqualValues(t, 16+1, stats.Superseded)
	last := len(reply.Results) - 1
	require.Equal(t, reply.Results[last].Reply.Stored[0], c.read(t, c.found(t, "Ana lives")[0]).ID, "the later of one instant")
	requireSound(t, c.Pool)
}

// TestHoldManyTimes: one text many times at once is held as often, whether the writes are looked at
// together or not, and released once.
func TestHoldManyTimes(t *testing.T) {
	t.Parallel()
	for _, together := range []bool{false, true} {
		c := newHolding(t, kernel.Policy{})
		if together {
			c.SetLLM(nil, "")
		}
		text := kernel.WriteRequest{Text: "Ana lives in Oslo.", Verbatim: true}
		reply := must(c.WriteMany(t.Context(), c.agent, kernel.WriteManyRequest{Writes: []kernel.WriteRequest{text, text, text}}))
		for _, r := range reply.Results {
			require.NoError(t, r.Err)
			require.Len(t, r.Reply.Held, 1)
			require.Equal(t, r.Reply.Stored, r.Reply.Held)
			require.Empty(t, r.Reply.Deduplicated)
		}
		require.Equal(t, 3, c.unchecked(t))
		requireSound(t, c.Pool)
		c.settle(t)
		require.Equal(t, reply.Results[0].Reply.Stored, c.found(t, "Ana"))
		require.Zero(t, c.unchecked(t))
		requireSound(t, c.Pool)
	}
}

// TestHoldRefresh: a refresh that is held replaces what is about the same thing when it is
// released; one that comes late does not replace a newer one.
func TestHoldRefresh(t *testing.T) {
	t.Parallel()
	c := newHolding(t, kernel.Policy{})
	page := func(text string) kernel.ID {
		return c.held(t, c.agent, kernel.WriteRequest{Text: text, ContentKey: "https://example.org/"})
	}
	first, second := page("The page says one."), page("The page says two.")
	c.settle(t)
	require.Equal(t, []kernel.ID{second}, c.found(t, "The page"))
	require.Equal(t, second, c.read(t, first).SupersededBy)
	third := page("The page says three.")
	require.Equal(t, []kernel.ID{second}, c.found(t, "The page"))
	c.settle(t)
	require.Equal(t, []kernel.ID{third}, c.found(t, "The page"))
	requireSound(t, c.Pool)
	late := page("The page says four.")
	sqlExec(t, c.Pool, `UPDATE memkernel.conflict_checks SET due_at = due_at + interval '1 hour'`)
	newest := page("The page says five.")
	c.settle(t)
	require.Equal(t, []kernel.ID{newest}, c.found(t, "The page"))
	c.Clock.Advance(2 * time.Hour)
	c.settle(t)
	require.Equal(t, []kernel.ID{newest}, c.found(t, "The page"))
	require.Equal(t, newest.String(), sqlValue[string](t, c.Pool, `SELECT superseded_by::text FROM memkernel.memory_objects WHERE id = $1`, late.String()))
	require.Zero(t, c.unchecked(t))
	// A correction of it by name is about the same thing.
	fixed := c.held(t, c.agent, kernel.WriteRequest{Text: "The page says six.", Supersedes: newest})
	c.settle(t)
	require.Equal(t, []kernel.ID{fixed}, c.found(t, "The page"))
	again := page("The page says seven.")
	c.settle(t)
	require.Equal(t, []kernel.ID{again}, c.found(t, "The page"))
	requireSound(t, c.Pool)
}

// TestOverturnByRefresh: a person's refresh settles the conflicts about what it replaces.
func TestOverturnByRefresh(t *testing.T) {
	t.Parallel()
	c := newContested(t)
	to := c.writeAs(t, c.reader, kernel.WriteRequest{Text: "Ana lives in Oslo.", ContentKey: "ana"})
	c.write(t, c.agent, "Ana lives in Bern.")
	c.settle(t)
	require.Len(t, c.cases(t, ""), 1)
	reply := must(c.Write(t.Context(), c.dana, kernel.WriteRequest{Text: "Ana lives in Rome.", ContentKey: "ana"}))
	require.Equal(t, []kernel.ID{to}, reply.Superseded)
	require.Len(t, c.cases(t, kernel.ConflictOverturned), 1)
	requireSound(t, c.Pool)
}

// TestConflictExpiry: what has expired is compared with nothing and stands in nobody's way,
// whether its end is on record or not.
func TestConflictExpiry(t *testing.T) {
	t.Parallel()
	c := newContested(t)
	soon := func() time.Time { return c.Clock.Now().Add(time.Hour) }
	c.writeAs(t, c.reader, kernel.WriteRequest{Text: "Ana lives in Oslo.", ExpiresAt: soon()})
	c.settle(t)
	c.Clock.Advance(2 * time.Hour)
	bern := c.write(t, c.agent, "Ana lives in Bern.")
	c.settle(t)
	require.Equal(t, []kernel.ID{bern}, c.found(t, "Ana"))
	require.Empty(t, c.checkRows())

	// One that expires before it is checked, and one that does while a person thinks.
	c.writeAs(t, c.reader, kernel.WriteRequest{Text: "Ana lives in Rome.", ExpiresAt: soon()})
	c.Clock.Advance(2 * time.Hour)
	c.settle(t)
	require.Equal(t, []kernel.ID{bern}, c.found(t, "Ana"))
	to := c.writeAs(t, c.reader, kernel.WriteRequest{Text: "Eve lives in Oslo.", ExpiresAt: soon()})
	from := c.write(t, c.agent, "Eve lives in Bern.")
	c.settle(t)
	require.Len(t, c.cases(t, ""), 1)
	twin := c.writeAs(t, c.dana, kernel.WriteRequest{Text: "Eve lives in BERN.", ExpiresAt: soon()})
	c.Clock.Advance(2 * time.Hour)
	_, err := c.Conflicts().Resolve(t.Context(), c.admin, kernel.ConflictResolveRequest{From: from, To: to, State: kernel.ConflictCoexist})
	require.ErrorIs(t, err, kernel.ErrConflict)
	reply := must(c.Conflicts().Resolve(t.Context(), c.admin, kernel.ConflictResolveRequest{From: from, To: to, State: kernel.ConflictRetracted}))
	require.Equal(t, &kernel.ConflictResolveReply{Activated: from}, reply)
	require.Equal(t, mem.EndExpired, c.read(t, twin).EndReason)
	require.Equal(t, []kernel.ID{from}, c.found(t, "Eve"))
	requireSound(t, c.Pool)
}

// TestExpiryOutOfSight: what is held or disputed is not counted as that any more when it has expired.
func TestExpiryOutOfSight(t *testing.T) {
	t.Parallel()
	c := newHolding(t, kernel.Policy{})
	c.held(t, c.reader, kernel.WriteRequest{Text: "Ana lives in Oslo."})
	c.settle(t)
	at := c.Clock.Now().Add(time.Hour)
	c.held(t, c.agent, kernel.WriteRequest{Text: "Ana lives in Bern.", ExpiresAt: at})
	c.settle(t)
	c.held(t, c.agent, kernel.WriteRequest{Text: "Eve lives in Bern.", ExpiresAt: at})
	counted := func() []int64 {
		stats := must(c.Stats(t.Context(), c.agent, kernel.StatsRequest{}))
		return []int64{stats.Live, stats.Disputed, stats.Held, stats.Expired}
	}
	c.Clock.Set(at.Add(-time.Microsecond))
	require.Equal(t, []int64{1, 1, 1, 0}, counted())
	c.Clock.Set(at)
	require.Equal(t, []int64{1, 0, 0, 2}, counted())
	requireSound(t, c.Pool)
}
