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

// quarrelling is a namespace with a conflict between a disputed memory and a document's.
func quarrelling(t *testing.T) (c *contested, from, to kernel.ID) {
	t.Helper()
	c = newContested(t)
	to = c.write(t, c.reader, "Ana lives in Oslo.")
	from = c.write(t, c.agent, "Ana lives in Bern.")
	c.settle(t)
	require.Len(t, c.cases(t, ""), 1)
	return c, from, to
}

// TestResolve: what each decision does, that a repeat does nothing, and that another decision is
// too late.
func TestResolve(t *testing.T) {
	t.Parallel()
	for state, tc := range map[kernel.ConflictState]struct {
		reply func(from, to kernel.ID) *kernel.ConflictResolveReply
		left  func(from, to kernel.ID) []kernel.ID
	}{
		kernel.ConflictConfirmed: {
			func(from, _ kernel.ID) *kernel.ConflictResolveReply {
				return &kernel.ConflictResolveReply{Retracted: from}
			},
			func(_, to kernel.ID) []kernel.ID { return []kernel.ID{to} },
		},
		kernel.ConflictRetracted: {
			func(from, to kernel.ID) *kernel.ConflictResolveReply {
				return &kernel.ConflictResolveReply{Activated: from, Superseded: to}
			},
			func(from, _ kernel.ID) []kernel.ID { return []kernel.ID{from} },
		},
		kernel.ConflictCoexist: {
			func(from, _ kernel.ID) *kernel.ConflictResolveReply {
				return &kernel.ConflictResolveReply{Activated: from}
			},
			func(from, to kernel.ID) []kernel.ID { return []kernel.ID{from, to} },
		},
	} {
		t.Run(string(state), func(t *testing.T) {
			t.Parallel()
			c, from, to := quarrelling(t)
			ctx := t.Context()
			req := kernel.ConflictResolveRequest{From: from, To: to, State: state}
			var reply *kernel.ConflictResolveReply
			row := c.RequireAudit(t, acl.OpConflictResolve, audit.ResultOK, func() {
				reply = must(c.Conflicts().Resolve(ctx, c.admin, req))
			}, "case="+to.String(), "state="+string(state))
			require.Equal(t, from, row.MemoryID)
			require.Equal(t, tc.reply(from, to), reply)
			require.ElementsMatch(t, tc.left(from, to), c.found(t, "Ana"))
			requireSound(t, c.Pool)
			require.Empty(t, c.cases(t, ""))
			done := c.cases(t, state)
			require.Len(t, done, 1)
			require.Equal(t, c.admin.Actor(), done[0].ResolvedBy)
			require.Equal(t, c.Clock.Now(), done[0].ResolvedAt)
			require.Equal(t, "Ana lives in Bern.", done[0].From.Text, "whatever became of it")

			c.RequireAudit(t, acl.OpConflictResolve, audit.ResultOK, func() {
				require.Equal(t, &kernel.ConflictResolveReply{Already: true}, must(c.Conflicts().Resolve(ctx, c.admin, req)))
			})
			for _, other := range []kernel.ConflictState{kernel.ConflictConfirmed, kernel.ConflictRetracted, kernel.ConflictCoexist} {
				if other != state {
					c.RequireAudit(t, acl.OpConflictResolve, audit.ResultError, func() {
						_, err := c.Conflicts().Resolve(ctx, c.admin, kernel.ConflictResolveRequest{From: from, To: to, State: other})
						require.ErrorIs(t, err, kernel.ErrConflict)
					}, "reason=conflict")
				}
			}
			require.ElementsMatch(t, tc.left(from, to), c.found(t, "Ana"))
			requireSound(t, c.Pool)
			c.settle(t)
			requireSound(t, c.Pool)
		})
	}
}

// TestResolveRefused: who may decide, and that what is elsewhere is not there.
func TestResolveRefused(t *testing.T) {
	t.Parallel()
	c, from, to := quarrelling(t)
	ctx := t.Context()
	before := digest(t, c.Pool, "conflict_cases") + digest(t, c.Pool, "memory_objects")
	coexist := kernel.ConflictResolveRequest{From: from, To: to, State: kernel.ConflictCoexist}
	for name, tc := range map[string]struct {
		ns     string
		role   kernel.Role
		err    error
		result kernel.AuditResult
		sees   int
	}{
		"an agent":          {quarrel, kernel.RoleAgent, kernel.ErrForbidden, "denied", -1},
		"a member":          {quarrel, kernel.RoleMember, kernel.ErrForbidden, "denied", -1},
		"an auditor":        {quarrel, kernel.RoleAuditor, kernel.ErrForbidden, "denied", -1},
		"an admin below":    {quarrel + "/db", kernel.RoleAdmin, kernel.ErrNotFound, "denied", 0},
		"an admin beside":   {"acme/sales", kernel.RoleAdmin, kernel.ErrNotFound, "denied", 0},
		"a look-alike":      {"acme/en", kernel.RoleAdmin, kernel.ErrNotFound, "denied", 0},
		"another one":       {"acme/engx", kernel.RoleAdmin, kernel.ErrNotFound, "denied", 0},
		"an owner of other": {"globex", kernel.RoleOwner, kernel.ErrNotFound, "miss", 0},
		"the admin":         {quarrel, kernel.RoleAdmin, nil, "", 1},
		"the admin above":   {"acme", kernel.RoleAdmin, nil, "", 1},
	} {
		who := c.Key(tc.ns, tc.role)
		list, err := c.Conflicts().List(ctx, who, kernel.ConflictListRequest{})
		if tc.sees < 0 {
			require.ErrorIs(t, err, kernel.ErrForbidden, name)
		} else {
			require.NoError(t, err, name)
			require.Len(t, list.Conflicts, tc.sees, name)
		}
		if tc.err == nil {
			continue
		}
		row := c.RequireAudit(t, acl.OpConflictResolve, tc.result, func() {
			_, err := c.Conflicts().Resolve(ctx, who, coexist)
			require.ErrorIs(t, err, tc.err, name)
		})
		if tc.err == kernel.ErrNotFound { //nolint:errorlint // which case of the table it is
			require.Equal(t, "reason=not_found", row.Detail, "the same as for what is missing")
		}
	}
	for _, id := range []kernel.ConflictResolveRequest{{From: to, To: from}, {From: from, To: from}, {From: kernel.ID{1}, To: to}} {
		id.State = kernel.ConflictCoexist
		c.RequireAudit(t, acl.OpConflictResolve, "miss", func() {
			_, err := c.Conflicts().Resolve(ctx, c.admin, id)
			require.ErrorIs(t, err, kernel.ErrNotFound)
		}, "reason=not_found")
	}
	for field, req := range map[string]kernel.ConflictResolveRequest{
		"From":  {To: to, State: kernel.ConflictCoexist},
		"To":    {From: from, State: kernel.ConflictCoexist},
		"State": {From: from, To: to, State: kernel.ConflictOverturned},
	} {
		_, err := c.Conflicts().Resolve(ctx, c.admin, req)
		require.ErrorIs(t, err, kernel.ErrInvalid)
		require.ErrorContains(t, err, field)
	}
	_, err := c.Conflicts().List(ctx, c.admin, kernel.ConflictListRequest{State: "closed"})
	require.ErrorIs(t, err, kernel.ErrInvalid)
	_, err = c.Conflicts().List(ctx, c.admin, kernel.ConflictListRequest{Limit: -1})
	require.ErrorIs(t, err, kernel.ErrInvalid)
	_, err = c.Conflicts().List(ctx, c.admin, kernel.ConflictListRequest{Limit: 1 << 20})
	require.ErrorIs(t, err, kernel.ErrTooLarge)
	require.Equal(t, before, digest(t, c.Pool, "conflict_cases")+digest(t, c.Pool, "memory_objects"))
}

// TestConflictPages: pages of any size list every conflict of the subtree once.
func TestConflictPages(t *testing.T) {
	t.Parallel()
	c := newContested(t)
	ctx := t.Context()
	var want []kernel.ID
	for i, ns := range []string{quarrel, quarrel + "/db", quarrel + "/db/pg", "acme/sales", quarrel} {
		reader, agent := trusted(t, c.Kit, ns, mem.ProvenanceDocument), c.Key(ns, kernel.RoleAgent)
		name := string(rune('A'+i)) + "na"
		c.write(t, reader, name+" lives in Oslo.")
		id := c.write(t, agent, name+" lives in Bern.")
		if ns != "acme/sales" {
			want = append(want, id)
		}
	}
	c.settle(t)
	for _, limit := range []int{0, 1, 3, 100} {
		var got []kernel.ID
		req := kernel.ConflictListRequest{Limit: limit}
		for {
			page := must(c.Conflicts().List(ctx, c.admin, req))
			for _, conflict := range page.Conflicts {
				require.True(t, conflict.Namespace.InSubtree(c.admin.Namespace()))
				got = append(got, conflict.From.ID)
			}
			if !page.More {
				break
			}
			req.After = &page.Conflicts[len(page.Conflicts)-1]
		}
		require.Equal(t, want, got, "pages of %d", limit)
	}
	c.RequireAudit(t, acl.OpConflictList, audit.ResultOK, func() {
		must(c.Conflicts().List(ctx, c.admin, kernel.ConflictListRequest{}))
	}, "returned=4")
}

// TestOverturn: a person who replaces either side of a conflict settles it, in the same
// transaction; of a conflict that was settled before, the outcome is overturned by the memory.
func TestOverturn(t *testing.T) {
	t.Parallel()
	for name, side := range map[string]func(from, to kernel.ID) kernel.ID{
		"the disputed one":   func(from, _ kernel.ID) kernel.ID { return from },
		"the one that stood": func(_, to kernel.ID) kernel.ID { return to },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, from, to := quarrelling(t)
			ctx := t.Context()
			victim := side(from, to)
			// An agent's word settles nothing, nor does a document's.
			require.Equal(t, victim, must(c.Write(ctx, c.agent, kernel.WriteRequest{Text: "Ana lives nowhere.", Supersedes: victim})).Superseded[0])
			require.Len(t, c.cases(t, kernel.ConflictOpen), 1)

			c, from, to = quarrelling(t)
			victim = side(from, to)
			var id kernel.ID
			c.RequireAudit(t, acl.OpWrite, audit.ResultOK, func() {
				id = c.writeAs(t, c.dana, kernel.WriteRequest{Text: "Ana lives in Rome.", Supersedes: victim})
			}, "superseded=1", "overturned=1")
			done := c.cases(t, kernel.ConflictOverturned)
			require.Len(t, done, 1)
			require.Equal(t, c.dana.Actor(), done[0].ResolvedBy)
			require.Contains(t, c.found(t, "Ana"), id)
			requireSound(t, c.Pool)
			_, err := c.Conflicts().Resolve(ctx, c.admin, kernel.ConflictResolveRequest{From: from, To: to, State: kernel.ConflictCoexist})
			require.ErrorIs(t, err, kernel.ErrConflict)
			c.settle(t)
			requireSound(t, c.Pool)
		})
	}
	// An outcome: the memory that was replaced is named, and what replaced it is.
	c := newContested(t)
	oslo := c.write(t, c.agent, "Ana lives in Oslo.")
	bern := c.write(t, c.reader, "Ana lives in Bern.")
	c.settle(t)
	require.Equal(t, bern, c.read(t, oslo).SupersededBy)
	reply := must(c.Write(t.Context(), c.dana, kernel.WriteRequest{Text: "Ana lives in Oslo.", Supersedes: oslo}))
	require.Equal(t, []kernel.ID{bern}, reply.Superseded)
	require.Equal(t, reply.Stored, c.found(t, "Ana"))
	requireSound(t, c.Pool)
}

// TestReplacedByOutcome: what became of a memory is found from its id, at any time.
func TestReplacedByOutcome(t *testing.T) {
	t.Parallel()
	c := newContested(t)
	ctx := t.Context()
	times := []time.Time{}
	at := func() {
		times = append(times, c.Clock.Now())
		c.Clock.Advance(time.Minute)
	}
	first := c.write(t, c.agent, "Ana lives in Oslo.")
	at()
	second := c.writeAs(t, c.agent, kernel.WriteRequest{Text: "Ana lives in Oslo, Norway.", Supersedes: first})
	at()
	c.judge.contradicts = func(in, old string) bool { return in == "Ana lives in Bern." && old == "Ana lives in Oslo, Norway." }
	bern := c.write(t, c.reader, "Ana lives in Bern.")
	at()
	c.settle(t)
	at()
	last := c.writeAs(t, c.dana, kernel.WriteRequest{Text: "Ana lives in Bern, Switzerland.", Supersedes: first})
	at()
	for i, want := range []kernel.ID{first, second, second, bern, last} {
		got := must(c.Read(ctx, c.dana, kernel.ReadRequest{ID: first, AsOf: times[i]}))
		require.Equal(t, want, got.Memory.ID, "time %d", i)
	}
	for i, want := range []kernel.ID{{}, {}, bern, bern, last} {
		got, err := c.Read(ctx, c.dana, kernel.ReadRequest{ID: bern, AsOf: times[i]})
		if want.IsZero() {
			require.ErrorIs(t, err, kernel.ErrNotFound, "what it replaced is not its own past")
			continue
		}
		require.NoError(t, err)
		require.Equal(t, want, got.Memory.ID, "time %d", i)
	}
	chain := must(c.History(ctx, c.dana, kernel.HistoryRequest{ID: first})).Memories
	require.Len(t, chain, 2)
	require.Equal(t, bern, chain[0].SupersededBy)
	require.True(t, chain[1].SupersededBy.IsZero())
	require.Len(t, must(c.History(ctx, c.dana, kernel.HistoryRequest{ID: chain[0].SupersededBy})).Memories, 2)
	_, err := c.Retract(ctx, c.dana, kernel.RetractRequest{ID: second})
	require.ErrorIs(t, err, kernel.ErrConflict)
	requireSound(t, c.Pool)
}

// TestResolveDuplicate: a memory that is to come back although its text is current by then ends
// in favour of the current one.
func TestResolveDuplicate(t *testing.T) {
	t.Parallel()
	for _, state := range []kernel.ConflictState{kernel.ConflictCoexist, kernel.ConflictRetracted} {
		t.Run(string(state), func(t *testing.T) {
			t.Parallel()
			c, from, to := quarrelling(t)
			twin := c.write(t, c.dana, "Ana lives in  BERN.")
			reply := must(c.Conflicts().Resolve(t.Context(), c.admin, kernel.ConflictResolveRequest{From: from, To: to, State: state}))
			require.Equal(t, twin, reply.DuplicateOf)
			require.True(t, reply.Activated.IsZero())
			require.Equal(t, 1, c.unchecked(t), "the current one's, and not what has ended")
			requireSound(t, c.Pool)
			if state == kernel.ConflictCoexist {
				require.Len(t, c.found(t, "Ana"), 2)
				return
			}
			require.Equal(t, to, reply.Superseded)
			require.Equal(t, []kernel.ID{twin}, c.found(t, "Ana"))
			// From one to the other to what is current.
			require.Equal(t, []kernel.ID{twin}, must(c.Write(t.Context(), c.dana, kernel.WriteRequest{Text: "Ana is in Rome.", Supersedes: to})).Superseded)
			requireSound(t, c.Pool)
		})
	}
}

// TestResolveEnded: a decision that needs a memory which has ended meanwhile is refused, and
// there is always one that does not.
func TestResolveEnded(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		end  func(from, to kernel.ID) kernel.ID
		left kernel.ConflictState
	}{
		"the disputed one":   {func(from, _ kernel.ID) kernel.ID { return from }, kernel.ConflictConfirmed},
		"the one that stood": {func(_, to kernel.ID) kernel.ID { return to }, kernel.ConflictRetracted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, from, to := quarrelling(t)
			must(c.Retract(t.Context(), c.dana, kernel.RetractRequest{ID: tc.end(from, to)}))
			for _, state := range []kernel.ConflictState{kernel.ConflictCoexist, kernel.ConflictConfirmed, kernel.ConflictRetracted} {
				if state == tc.left {
					continue
				}
				_, err := c.Conflicts().Resolve(t.Context(), c.admin, kernel.ConflictResolveRequest{From: from, To: to, State: state})
				require.ErrorIs(t, err, kernel.ErrConflict)
			}
			must(c.Conflicts().Resolve(t.Context(), c.admin, kernel.ConflictResolveRequest{From: from, To: to, State: tc.left}))
			requireSound(t, c.Pool)
		})
	}
}

// TestCoexistIsFinal: what a person lets stand is not asked about again.
func TestCoexistIsFinal(t *testing.T) {
	t.Parallel()
	c, from, to := quarrelling(t)
	must(c.Conflicts().Resolve(t.Context(), c.admin, kernel.ConflictResolveRequest{From: from, To: to, State: kernel.ConflictCoexist}))
	c.settle(t)
	sqlExec(t, c.Pool, `INSERT INTO memkernel.conflict_checks (tenant, memory_id, namespace, marked_at, due_at)
		SELECT tenant, id, namespace, t_valid_from, t_valid_from FROM memkernel.memory_objects`)
	rows := len(c.checkRows())
	c.settle(t)
	require.Len(t, c.checkRows(), rows)
	require.ElementsMatch(t, []kernel.ID{from, to}, c.found(t, "Ana"))
	requireSound(t, c.Pool)
}
