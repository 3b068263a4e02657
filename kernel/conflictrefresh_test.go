package kernel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/audit"
	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/mem"
)

// standing is a memory's status and how it ended, in sight or not.
func (c *contested) standing(t *testing.T, id kernel.ID) string {
	t.Helper()
	return sqlValue[string](t, c.Pool, `SELECT status || ' ' || coalesce(end_reason, 'current') FROM memkernel.memory_objects WHERE id = $1`, id.String())
}

// replacedBy is what a memory was closed in favour of, in sight or not.
func (c *contested) replacedBy(t *testing.T, id kernel.ID) string {
	t.Helper()
	return sqlValue[string](t, c.Pool, `SELECT coalesce(superseded_by::text, '') FROM memkernel.memory_objects WHERE id = $1`, id.String())
}

func (c *contested) resolve(t *testing.T, from, to kernel.ID, state kernel.ConflictState) *kernel.ConflictResolveReply {
	t.Helper()
	return must(c.Conflicts().Resolve(t.Context(), c.admin, kernel.ConflictResolveRequest{From: from, To: to, State: state}))
}

// delayChecks puts what is to be checked off for an hour, for what comes later to be checked before.
func (c *contested) delayChecks(t *testing.T) {
	t.Helper()
	sqlExec(t, c.Pool, `UPDATE memkernel.conflict_checks SET due_at = due_at + interval '1 hour'`)
}

// TestResolveRefresh: a refresh that a person lets stand takes the place of the version before it, not
// the other way round.
func TestResolveRefresh(t *testing.T) {
	t.Parallel()
	for _, state := range []kernel.ConflictState{kernel.ConflictRetracted, kernel.ConflictCoexist} {
		t.Run(string(state), func(t *testing.T) {
			t.Parallel()
			c := newHolding(t, kernel.Policy{})
			d := c.held(t, c.reader, kernel.WriteRequest{Text: "Ana lives in Oslo."})
			old := c.held(t, c.agent, kernel.WriteRequest{Text: "Ana has no page yet.", ContentKey: "k"})
			c.settle(t)
			next := c.held(t, c.agent, kernel.WriteRequest{Text: "Ana lives in Bern.", ContentKey: "k"})
			c.settle(t)
			require.Equal(t, "disputed current", c.standing(t, next))
			want := &kernel.ConflictResolveReply{Activated: next, Replaced: []kernel.ID{old}}
			left := []kernel.ID{next, d}
			if state == kernel.ConflictRetracted {
				want.Superseded, left = d, []kernel.ID{next}
			}
			c.RequireAudit(t, acl.OpConflictResolve, audit.ResultOK, func() {
				require.Equal(t, want, c.resolve(t, next, d, state))
			}, "activate="+next.String(), "close="+old.String(), "by="+next.String())
			require.ElementsMatch(t, left, c.found(t, "Ana"))
			require.Equal(t, next, c.read(t, old).SupersededBy)
			requireSound(t, c.Pool)
			c.settle(t)
			require.ElementsMatch(t, left, c.found(t, "Ana"), "checked once more, with nothing new")
			require.Zero(t, c.unchecked(t))
			requireSound(t, c.Pool)
		})
	}
}

// TestResolveHeldRefresh: the same of one that was held for another case, and for one about what it
// refreshes.
func TestResolveHeldRefresh(t *testing.T) {
	t.Parallel()
	c := newHolding(t, kernel.Policy{ConflictReview: mem.ReviewAll})
	oslo := c.held(t, c.agent, kernel.WriteRequest{Text: "Ana lives in Oslo."})
	old := c.held(t, c.agent, kernel.WriteRequest{Text: "Ana has no page yet.", ContentKey: "k"})
	c.settle(t)
	next := c.held(t, c.agent, kernel.WriteRequest{Text: "Ana lives in Bern.", ContentKey: "k"})
	c.settle(t)
	require.Len(t, c.cases(t, ""), 2)
	before := digest(t, c.Pool, "memory_objects") + digest(t, c.Pool, "conflict_cases")
	require.Equal(t, &kernel.ConflictResolveReply{}, c.resolve(t, next, oslo, kernel.ConflictCoexist), "another case is open")
	require.NotEqual(t, before, digest(t, c.Pool, "memory_objects")+digest(t, c.Pool, "conflict_cases"))
	before = digest(t, c.Pool, "memory_objects") + digest(t, c.Pool, "conflict_cases")
	_, err := c.Conflicts().Resolve(t.Context(), c.admin, kernel.ConflictResolveRequest{From: next, To: old, State: kernel.ConflictCoexist})
	require.ErrorIs(t, err, kernel.ErrConflict, "one version of a page is current")
	require.Equal(t, before, digest(t, c.Pool, "memory_objects")+digest(t, c.Pool, "conflict_cases"))
	require.Equal(t, &kernel.ConflictResolveReply{Activated: next, Superseded: old}, c.resolve(t, next, old, kernel.ConflictRetracted))
	require.ElementsMatch(t, []kernel.ID{oslo, next}, c.found(t, "Ana"))
	requireSound(t, c.Pool)

	// The other way round: the first decision activates it and ends the old one, and leaves the case
	// about that one to be confirmed.
	bob := c.held(t, c.agent, kernel.WriteRequest{Text: "Bob lives in Oslo."})
	old = c.held(t, c.agent, kernel.WriteRequest{Text: "Bob has no page yet.", ContentKey: "b"})
	c.settle(t)
	next = c.held(t, c.agent, kernel.WriteRequest{Text: "Bob lives in Bern.", ContentKey: "b"})
	c.settle(t)
	require.Len(t, c.cases(t, ""), 2)
	require.Equal(t, &kernel.ConflictResolveReply{Activated: next, Superseded: bob, Replaced: []kernel.ID{old}}, c.resolve(t, next, bob, kernel.ConflictRetracted))
	require.Equal(t, []kernel.ID{next}, c.found(t, "Bob"))
	require.Equal(t, &kernel.ConflictResolveReply{}, c.resolve(t, next, old, kernel.ConflictRetracted))
	require.Empty(t, c.cases(t, ""))
	c.settle(t)
	require.Equal(t, []kernel.ID{next}, c.found(t, "Bob"))
	requireSound(t, c.Pool)
}

// TestLateRefreshClosesNothing: a refresh that is checked after its successor is closed, and with it
// nothing that it would have replaced.
func TestLateRefreshClosesNothing(t *testing.T) {
	t.Parallel()
	c := newHolding(t, kernel.Policy{})
	oslo := c.held(t, c.agent, kernel.WriteRequest{Text: "Ana lives in Oslo."})
	c.settle(t)
	late := c.held(t, c.agent, kernel.WriteRequest{Text: "Ana lives in Bern.", ContentKey: "k"})
	c.delayChecks(t)
	newest := c.held(t, c.agent, kernel.WriteRequest{Text: "Ana's page is blank.", ContentKey: "k"})
	c.settle(t)
	c.Clock.Advance(2 * time.Hour)
	c.settle(t)
	require.ElementsMatch(t, []kernel.ID{oslo, newest}, c.found(t, "Ana"))
	require.Equal(t, newest.String(), c.replacedBy(t, late))
	rows := c.checkRows()
	require.Equal(t, late, rows[len(rows)-1].MemoryID)
	require.Equal(t, "effect=close by="+newest.String()+" reason=refreshed", rows[len(rows)-1].Detail)
	require.Zero(t, c.unchecked(t))
	requireSound(t, c.Pool)
}

// TestResolveLateRefresh: a refresh that has a successor by now is not brought back; the decision is
// refused as a whole, and there is another.
func TestResolveLateRefresh(t *testing.T) {
	t.Parallel()
	c := newContested(t)
	d := c.write(t, c.reader, "Ana lives in Oslo.")
	c.settle(t)
	first := c.writeAs(t, c.agent, kernel.WriteRequest{Text: "Ana has no page.", ContentKey: "k"})
	late := c.writeAs(t, c.agent, kernel.WriteRequest{Text: "Ana lives in Bern.", ContentKey: "k"})
	c.settle(t)
	require.Equal(t, "active superseded", c.standing(t, first))
	require.Equal(t, "disputed current", c.standing(t, late))
	newest := c.writeAs(t, c.agent, kernel.WriteRequest{Text: "Ana has a cat.", ContentKey: "k"})
	before := digest(t, c.Pool, "memory_objects") + digest(t, c.Pool, "conflict_cases") + digest(t, c.Pool, "conflict_checks")
	for _, state := range []kernel.ConflictState{kernel.ConflictRetracted, kernel.ConflictCoexist} {
		row := c.RequireAudit(t, acl.OpConflictResolve, audit.ResultError, func() {
			_, err := c.Conflicts().Resolve(t.Context(), c.admin, kernel.ConflictResolveRequest{From: late, To: d, State: state})
			require.ErrorIs(t, err, kernel.ErrConflict)
			require.ErrorContains(t, err, newest.String())
		}, "reason=conflict")
		require.NotContains(t, row.Detail, "close=")
	}
	require.Equal(t, before, digest(t, c.Pool, "memory_objects")+digest(t, c.Pool, "conflict_cases")+digest(t, c.Pool, "conflict_checks"))
	require.Equal(t, &kernel.ConflictResolveReply{Retracted: late}, c.resolve(t, late, d, kernel.ConflictConfirmed))
	require.ElementsMatch(t, []kernel.ID{d, newest}, c.found(t, "Ana"))
	requireSound(t, c.Pool)
}

// TestRefreshedAndSaid: a refresh whose text came to be current in another way ends in favour of
// that, and what it was to take the place of ends all the same.
func TestRefreshedAndSaid(t *testing.T) {
	t.Parallel()
	c := newContested(t)
	d := c.write(t, c.reader, "Ana lives in Oslo.")
	old := c.writeAs(t, c.agent, kernel.WriteRequest{Text: "Ana has no page.", ContentKey: "k"})
	c.rule(t, kernel.Policy{HoldForReview: true})
	c.settle(t)
	next := c.held(t, c.agent, kernel.WriteRequest{Text: "Ana lives in Bern.", ContentKey: "k"})
	c.settle(t)
	require.Equal(t, "disputed current", c.standing(t, next))
	c.rule(t, kernel.Policy{})
	said := c.write(t, c.dana, "Ana lives in Bern.")
	require.Equal(t, &kernel.ConflictResolveReply{DuplicateOf: said, Superseded: d, Replaced: []kernel.ID{old}},
		c.resolve(t, next, d, kernel.ConflictRetracted))
	require.Equal(t, []kernel.ID{said}, c.found(t, "Ana"))
	require.Equal(t, said.String(), c.replacedBy(t, next))
	requireSound(t, c.Pool)
	c.settle(t)
	require.Equal(t, []kernel.ID{said}, c.found(t, "Ana"))
	require.Zero(t, c.unchecked(t))
	requireSound(t, c.Pool)
}
