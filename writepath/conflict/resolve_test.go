package conflict_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/internal/mint"
	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/writepath/conflict"
)

func who(tb testing.TB, role acl.Role, path string) acl.Identity {
	tb.Helper()
	return acl.NewIdentity(mint.New(), acl.Claims{Namespace: ns(tb, path), Actor: "user:x", Role: role})
}

func TestMayResolve(t *testing.T) {
	t.Parallel()
	at := ns(t, "acme/eng")
	require.ErrorIs(t, conflict.MayResolve(acl.Identity{}, at), mem.ErrUnauthenticated)
	for path, inside := range map[string]bool{
		"acme": true, "acme/eng": true, "acme/eng/db": false, "acme/engineering": false, "acme/en": false, "other": false,
	} {
		for _, role := range []acl.Role{acl.RoleOwner, acl.RoleAdmin} {
			err := conflict.MayResolve(who(t, role, path), at)
			if inside {
				require.NoError(t, err, path)
			} else {
				require.Equal(t, mem.ErrNotFound, err, path)
			}
		}
		for _, role := range []acl.Role{acl.RoleAgent, acl.RoleMember, acl.RoleAuditor} {
			require.ErrorIs(t, conflict.MayResolve(who(t, role, path), at), mem.ErrForbidden, path)
		}
	}
}

func openCase(tb testing.TB) (*conflict.Case, conflict.Sides) {
	tb.Helper()
	from, to := fact(tb, 5, "Ana lives in Bern"), fact(tb, 3, "Ana lives in Oslo")
	from.Status = mem.StatusDisputed
	return &conflict.Case{
		Namespace: from.Namespace, From: from.ID, To: to.ID, State: conflict.Open,
		Action: conflict.Dispute, Reason: conflict.ReasonUnderranks,
	}, conflict.Sides{From: from, To: to}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	closeTo := conflict.Change{Effect: conflict.Close, Memory: id(3), By: id(5)}
	activate := conflict.Change{Effect: conflict.Activate, Memory: id(5)}
	withdraw := conflict.Change{Effect: conflict.Withdraw, Memory: id(5)}
	recheck := conflict.Change{Effect: conflict.Recheck, Memory: id(5)}
	end := func(m *mem.Memory) { m.ValidTo = day(9) }
	for name, c := range map[string]struct {
		state  conflict.State
		change func(*conflict.Sides)
		want   []conflict.Change
		err    error
	}{
		"confirm":               {state: conflict.Confirmed, want: []conflict.Change{withdraw}},
		"confirm, new ended":    {state: conflict.Confirmed, change: func(s *conflict.Sides) { end(s.From) }},
		"confirm, new erased":   {state: conflict.Confirmed, change: func(s *conflict.Sides) { s.From = nil }},
		"confirm, old ended":    {state: conflict.Confirmed, change: func(s *conflict.Sides) { end(s.To) }, err: mem.ErrConflict},
		"retract":               {state: conflict.Retracted, want: []conflict.Change{closeTo, activate, recheck}},
		"retract, was active":   {state: conflict.Retracted, change: func(s *conflict.Sides) { s.From.Status = mem.StatusActive }, want: []conflict.Change{closeTo}},
		"retract, others open":  {state: conflict.Retracted, change: func(s *conflict.Sides) { s.Others = 2 }, want: []conflict.Change{closeTo, activate, recheck}},
		"retract, old ended":    {state: conflict.Retracted, change: func(s *conflict.Sides) { end(s.To) }, want: []conflict.Change{activate, recheck}},
		"retract, old erased":   {state: conflict.Retracted, change: func(s *conflict.Sides) { s.To = nil }, want: []conflict.Change{activate, recheck}},
		"retract, new ended":    {state: conflict.Retracted, change: func(s *conflict.Sides) { end(s.From) }, err: mem.ErrConflict},
		"retract, both ended":   {state: conflict.Retracted, change: func(s *conflict.Sides) { end(s.From); end(s.To) }, err: mem.ErrConflict},
		"coexist":               {state: conflict.Coexist, want: []conflict.Change{activate, recheck}},
		"coexist, held":         {state: conflict.Coexist, change: func(s *conflict.Sides) { s.From.Status = mem.StatusHeld }, want: []conflict.Change{activate, recheck}},
		"coexist, others open":  {state: conflict.Coexist, change: func(s *conflict.Sides) { s.Others = 1 }},
		"coexist, one ended":    {state: conflict.Coexist, change: func(s *conflict.Sides) { end(s.To) }, err: mem.ErrConflict},
		"other memory":          {state: conflict.Retracted, change: func(s *conflict.Sides) { s.From = fact(t, 7, "x") }, err: mem.ErrConflict},
		"moved to another home": {state: conflict.Coexist, change: func(s *conflict.Sides) { s.To.Namespace = ns(t, "acme/b") }, err: mem.ErrConflict},
		"no decision":           {state: conflict.Open, err: mem.ErrInvalid},
		"unknown":               {state: "deleted", err: mem.ErrInvalid},
		"not for a person":      {state: conflict.Overturned, err: mem.ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k, now := openCase(t)
			if c.change != nil {
				c.change(&now)
			}
			s, err := conflict.Resolve(who(t, acl.RoleAdmin, "acme"), k, conflict.Resolution{From: k.From, To: k.To, State: c.state}, now)
			if c.err != nil {
				require.ErrorIs(t, err, c.err)
				require.Zero(t, s)
				return
			}
			require.NoError(t, err)
			require.Equal(t, conflict.Settlement{State: c.state, Changes: c.want}, s)
		})
	}
}

func TestResolveExactlyOnePairOnce(t *testing.T) {
	t.Parallel()
	admin := who(t, acl.RoleAdmin, "acme")
	k, now := openCase(t)
	for _, r := range []conflict.Resolution{
		{From: k.To, To: k.From, State: conflict.Coexist},
		{From: k.From, To: id(99), State: conflict.Coexist},
		{From: k.From, State: conflict.Coexist},
	} {
		_, err := conflict.Resolve(admin, k, r, now)
		require.ErrorIs(t, err, mem.ErrNotFound)
	}
	_, err := conflict.Resolve(who(t, acl.RoleMember, "acme/a"), k, conflict.Resolution{From: k.From, To: k.To, State: conflict.Coexist}, now)
	require.ErrorIs(t, err, mem.ErrForbidden)

	decisions := []conflict.State{conflict.Confirmed, conflict.Retracted, conflict.Coexist}
	for _, done := range append(decisions, conflict.Overturned) {
		k.State = done
		for _, again := range decisions {
			s, err := conflict.Resolve(admin, k, conflict.Resolution{From: k.From, To: k.To, State: again}, conflict.Sides{})
			if again == done {
				require.NoError(t, err)
				require.Equal(t, conflict.Settlement{State: done, Already: true}, s)
			} else {
				require.ErrorIs(t, err, mem.ErrConflict)
			}
		}
	}
}

func TestStates(t *testing.T) {
	t.Parallel()
	all := []conflict.State{conflict.Open, conflict.Confirmed, conflict.Retracted, conflict.Coexist, conflict.Overturned}
	for _, a := range all {
		require.True(t, a.Valid())
		for _, b := range all {
			require.Equal(t, a == conflict.Open && b != conflict.Open, a.MayBecome(b), "%s %s", a, b)
		}
		require.False(t, a.MayBecome(""))
	}
	require.False(t, conflict.State("").Valid())
	require.False(t, conflict.State("").MayBecome(conflict.Coexist))
}

// A manual memory that supersedes whoever stands needs no case at all: it wins every check.
func TestEveryOutcomeIsOverturnable(t *testing.T) {
	t.Parallel()
	r := rng(5)
	for range 2000 {
		p, q, j := anyCase(t, r)
		out, err := conflict.Decide(p, q, j)
		require.NoError(t, err)
		winner := q.Incoming
		if out.Action == conflict.Dispute {
			for i := range q.Candidates {
				if q.Candidates[i].Memory.ID == out.With(conflict.Dispute)[0] {
					winner = q.Candidates[i].Memory
				}
			}
		}
		by := *winner
		by.ID, by.Provenance, by.EventTime, by.EventEnd = id(900), mem.ProvenanceManual, day(500), day(501)
		require.True(t, conflict.Beats(&by, winner))
	}
}
