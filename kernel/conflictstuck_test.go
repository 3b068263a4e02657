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

// TestOverturnManyCases: however many conflicts there are about a memory, a person can replace it,
// and that settles all of them.
func TestOverturnManyCases(t *testing.T) {
	t.Parallel()
	c, from, to := quarrelling(t)
	const more = 1500
	sqlExec(t, c.Pool, `INSERT INTO memkernel.conflict_cases (tenant, from_id, to_id, namespace, action, reason, relation, confidence, basis, opened_at)
		SELECT 'acme', gen_random_uuid(), $1::uuid, 'acme/eng', 'dispute', 'underranks', 'contradicts', 90, 'model', now() FROM generate_series(1, $2::int)`, to.String(), more)
	c.RequireAudit(t, acl.OpWrite, audit.ResultOK, func() {
		c.writeAs(t, c.dana, kernel.WriteRequest{Text: "Ana moved to Rome.", Supersedes: to})
	}, "overturned=1501")
	require.Empty(t, c.cases(t, ""))
	require.Equal(t, 2, c.unchecked(t), "what she wrote, and what was set aside")
	c.settle(t)
	require.Contains(t, c.found(t, "Ana"), from)
}

// TestDisputedIsReleased: when a person replaces what a memory was set aside for, it is checked
// anew: it comes back, or there is another conflict to decide.
func TestDisputedIsReleased(t *testing.T) {
	t.Parallel()
	for text, disputed := range map[string]bool{"Ana moved out of Oslo.": false, "Ana lives in Rome.": true} {
		for _, hold := range []bool{false, true} {
			c, from, to := quarrelling(t)
			c.rule(t, kernel.Policy{HoldForReview: hold})
			stated := c.writeAs(t, c.dana, kernel.WriteRequest{Text: text, Supersedes: to})
			require.Equal(t, 2, c.unchecked(t))
			c.settle(t)
			require.Zero(t, c.unchecked(t))
			require.Contains(t, c.found(t, "Ana"), stated)
			requireSound(t, c.Pool)
			open := c.cases(t, "")
			if !disputed {
				require.Empty(t, open)
				require.Contains(t, c.found(t, "Ana"), from)
				continue
			}
			require.Len(t, open, 1)
			require.Equal(t, []kernel.ID{from, stated}, []kernel.ID{open[0].From.ID, open[0].To.ID})
			require.True(t, open[0].Disputed)
			require.Equal(t, &kernel.ConflictResolveReply{Activated: from, Superseded: stated}, c.resolve(t, from, stated, kernel.ConflictRetracted))
			requireSound(t, c.Pool)
		}
	}
}

// TestDisputedTwice: the same of a memory that was set aside for two, of which a person lets one
// stand beside it and replaces the other.
func TestDisputedTwice(t *testing.T) {
	t.Parallel()
	c := newContested(t)
	c.judge.contradicts = func(in, _ string) bool { return in == "The lift is fixed." }
	broken, stuck := c.write(t, c.reader, "The lift is broken."), c.write(t, c.reader, "The lift is stuck.")
	c.settle(t)
	in := c.write(t, c.agent, "The lift is fixed.")
	c.settle(t)
	require.Len(t, c.cases(t, ""), 2)
	require.Equal(t, &kernel.ConflictResolveReply{}, c.resolve(t, in, broken, kernel.ConflictCoexist))
	require.Equal(t, "disputed current", c.standing(t, in))
	stated := c.writeAs(t, c.dana, kernel.WriteRequest{Text: "Lifts get stuck.", Supersedes: stuck})
	c.settle(t)
	require.Equal(t, "active current", c.standing(t, in))
	require.ElementsMatch(t, []kernel.ID{broken, in}, c.found(t, "lift"))
	require.Equal(t, "active current", c.standing(t, stated))
	require.Empty(t, c.cases(t, ""))
	requireSound(t, c.Pool)
}

// TestDisputedStays: a check of a memory that was set aside changes nothing while a case about it is
// open.
func TestDisputedStays(t *testing.T) {
	t.Parallel()
	c, from, _ := quarrelling(t)
	sqlExec(t, c.Pool, `INSERT INTO memkernel.conflict_checks (tenant, memory_id, namespace, marked_at, due_at)
		SELECT tenant, id, namespace, t_valid_from, t_valid_from FROM memkernel.memory_objects WHERE id = $1`, from.String())
	before := digest(t, c.Pool, "memory_objects") + digest(t, c.Pool, "conflict_cases")
	c.settle(t)
	require.Equal(t, before, digest(t, c.Pool, "memory_objects")+digest(t, c.Pool, "conflict_cases"))
	require.Zero(t, c.unchecked(t))
	requireSound(t, c.Pool)
}

// TestRevivedIsCompared: what a person brings back is compared with what came while it was out of
// sight.
func TestRevivedIsCompared(t *testing.T) {
	t.Parallel()
	c, from, to := quarrelling(t)
	must(c.Retract(t.Context(), c.dana, kernel.RetractRequest{ID: to}))
	rome := c.write(t, c.dana, "Ana lives in Rome.")
	c.settle(t)
	require.Equal(t, &kernel.ConflictResolveReply{Activated: from}, c.resolve(t, from, to, kernel.ConflictRetracted))
	require.ElementsMatch(t, []kernel.ID{from, rome}, c.found(t, "Ana"), "until it is checked")
	require.Equal(t, 1, c.unchecked(t))
	c.settle(t)
	require.Equal(t, []kernel.ID{rome}, c.found(t, "Ana"))
	open := c.cases(t, "")
	require.Len(t, open, 1)
	require.Equal(t, []kernel.ID{from, rome}, []kernel.ID{open[0].From.ID, open[0].To.ID})
	requireSound(t, c.Pool)
	// And what a person lets stand stands.
	require.Equal(t, &kernel.ConflictResolveReply{Activated: from}, c.resolve(t, from, rome, kernel.ConflictCoexist))
	c.settle(t)
	require.ElementsMatch(t, []kernel.ID{from, rome}, c.found(t, "Ana"))
	require.Empty(t, c.cases(t, ""))
	requireSound(t, c.Pool)
}

// TestCoexistOutlivesRecheck: a later check does not carry out a replacement that a person decided
// against.
func TestCoexistOutlivesRecheck(t *testing.T) {
	t.Parallel()
	c := newHolding(t, kernel.Policy{ConflictReview: mem.ReviewAll})
	c.judge.contradicts = func(in, cand string) bool { return in == "The lift is fixed." && cand == "The lift is stuck." }
	old, stuck := c.held(t, c.agent, kernel.WriteRequest{Text: "The lift is old."}), c.held(t, c.agent, kernel.WriteRequest{Text: "The lift is stuck."})
	c.settle(t)
	in := c.held(t, c.agent, kernel.WriteRequest{Text: "The lift is fixed.", Supersedes: old})
	c.settle(t)
	require.Len(t, c.cases(t, ""), 2)
	c.resolve(t, in, old, kernel.ConflictCoexist)
	c.writeAs(t, c.dana, kernel.WriteRequest{Text: "Lifts get stuck.", Supersedes: stuck})
	c.settle(t)
	require.ElementsMatch(t, []kernel.ID{old, in}, c.found(t, "The lift"))
	requireSound(t, c.Pool)
}

// TestQuestionedClosesNothing: a memory that another case is open about ends no other in a later
// check, held or in sight: that is asked of a person too.
func TestQuestionedClosesNothing(t *testing.T) {
	t.Parallel()
	for _, hold := range []bool{false, true} {
		c := newContested(t)
		c.judge.contradicts = func(in, old string) bool { return in == "The lift is fixed." && old != "The lift needs a look." }
		broken, stuck := c.write(t, c.agent, "The lift is broken."), c.write(t, c.agent, "The lift is stuck.")
		c.settle(t)
		c.rule(t, kernel.Policy{ConflictReview: mem.ReviewAll, HoldForReview: hold})
		in := c.writeAs(t, c.agent, kernel.WriteRequest{Text: "The lift is fixed."})
		c.settle(t)
		require.Len(t, c.cases(t, ""), 2)
		// Under a milder policy there is a neighbour that it beats, and one of the cases is settled.
		c.rule(t, kernel.Policy{})
		creaks := c.writeAs(t, c.agent, kernel.WriteRequest{Text: "The lift creaks.", EventTime: c.Clock.Now().AddDate(0, 0, -1)})
		c.settle(t)
		c.writeAs(t, c.dana, kernel.WriteRequest{Text: "The lift needs a look.", Supersedes: broken})
		sqlExec(t, c.Pool, `INSERT INTO memkernel.conflict_checks (tenant, memory_id, namespace, marked_at, due_at)
			SELECT tenant, id, namespace, t_valid_from, t_valid_from FROM memkernel.memory_objects WHERE id = $1 ON CONFLICT DO NOTHING`, in.String())
		c.settle(t)
		require.Equal(t, "active current", c.standing(t, creaks))
		require.Equal(t, "active current", c.standing(t, stuck))
		require.Equal(t, hold, c.standing(t, in) == "held current")
		open := c.cases(t, "")
		require.Len(t, open, 2)
		require.ElementsMatch(t, []kernel.ID{stuck, creaks}, []kernel.ID{open[0].To.ID, open[1].To.ID})
		require.Equal(t, creaks, c.resolve(t, in, creaks, kernel.ConflictRetracted).Superseded)
		requireSound(t, c.Pool)
	}
}

// TestOverturnByHeldRefresh: a person's refresh that is held settles the conflicts about what it
// replaces when it is released.
func TestOverturnByHeldRefresh(t *testing.T) {
	t.Parallel()
	c := newHolding(t, kernel.Policy{})
	to := c.held(t, c.reader, kernel.WriteRequest{Text: "Ana lives in Oslo.", ContentKey: "ana"})
	c.settle(t)
	from := c.held(t, c.agent, kernel.WriteRequest{Text: "Ana lives in Bern."})
	c.settle(t)
	require.Len(t, c.cases(t, ""), 1)
	stated := c.held(t, c.dana, kernel.WriteRequest{Text: "Ana lives in Rome.", ContentKey: "ana"})
	require.Len(t, c.cases(t, ""), 1, "it may still lose")
	c.settle(t)
	require.Equal(t, stated, c.read(t, to).SupersededBy)
	done := c.cases(t, kernel.ConflictOverturned)
	require.Len(t, done, 1)
	require.Equal(t, c.dana.Actor(), done[0].ResolvedBy)
	open := c.cases(t, "")
	require.Len(t, open, 1)
	require.Equal(t, []kernel.ID{from, stated}, []kernel.ID{open[0].From.ID, open[0].To.ID})
	require.Zero(t, c.unchecked(t))
	requireSound(t, c.Pool)
}

// TestOverturnByOutcome: so does what a person states and what is found to contradict it.
func TestOverturnByOutcome(t *testing.T) {
	t.Parallel()
	c, from, to := quarrelling(t)
	stated := c.write(t, c.dana, "Ana lives in Rome.")
	require.Len(t, c.cases(t, ""), 1)
	c.settle(t)
	require.Equal(t, stated, c.read(t, to).SupersededBy)
	require.Len(t, c.cases(t, kernel.ConflictOverturned), 1)
	open := c.cases(t, "")
	require.Len(t, open, 1)
	require.Equal(t, []kernel.ID{from, stated}, []kernel.ID{open[0].From.ID, open[0].To.ID})
	requireSound(t, c.Pool)
}

// TestHeldCorrectionOfHidden: a correction that is held ends what it corrects when it is released,
// though that was held or set aside itself, and does not come into sight any more.
func TestHeldCorrectionOfHidden(t *testing.T) {
	t.Parallel()
	t.Run("disputed", func(t *testing.T) {
		t.Parallel()
		c := newHolding(t, kernel.Policy{})
		d := c.held(t, c.reader, kernel.WriteRequest{Text: "Ana lives in Oslo."})
		c.settle(t)
		wrong := c.held(t, c.agent, kernel.WriteRequest{Text: "Ana lives in Bern."})
		c.settle(t)
		require.Equal(t, "disputed current", c.standing(t, wrong))
		right := c.held(t, c.agent, kernel.WriteRequest{Text: "Ana likes Bern, I misspoke.", Supersedes: wrong})
		require.Equal(t, "disputed current", c.standing(t, wrong))
		c.settle(t)
		require.Equal(t, right.String(), c.replacedBy(t, wrong))
		require.ElementsMatch(t, []kernel.ID{d, right}, c.found(t, "Ana"))
		for _, state := range []kernel.ConflictState{kernel.ConflictCoexist, kernel.ConflictRetracted} {
			_, err := c.Conflicts().Resolve(t.Context(), c.admin, kernel.ConflictResolveRequest{From: wrong, To: d, State: state})
			require.ErrorIs(t, err, kernel.ErrConflict)
		}
		require.Equal(t, &kernel.ConflictResolveReply{}, c.resolve(t, wrong, d, kernel.ConflictConfirmed))
		require.ElementsMatch(t, []kernel.ID{d, right}, c.found(t, "Ana"))
		requireSound(t, c.Pool)
	})
	for _, key := range []string{"", "lift"} {
		t.Run("held, with the key "+key, func(t *testing.T) {
			t.Parallel()
			c := newHolding(t, kernel.Policy{})
			wrong := c.held(t, c.agent, kernel.WriteRequest{Text: "The lift is out of order.", ContentKey: key})
			c.delayChecks(t)
			right := c.held(t, c.agent, kernel.WriteRequest{Text: "The lift works, sorry.", Supersedes: wrong})
			c.settle(t)
			require.Equal(t, []kernel.ID{right}, c.found(t, "lift"))
			require.Equal(t, right.String(), c.replacedBy(t, wrong))
			c.Clock.Advance(2 * time.Hour)
			c.settle(t)
			require.Equal(t, []kernel.ID{right}, c.found(t, "lift"))
			require.Zero(t, c.unchecked(t))
			requireSound(t, c.Pool)
		})
	}
	t.Run("in sight by then", func(t *testing.T) {
		t.Parallel()
		c := newHolding(t, kernel.Policy{})
		wrong := c.held(t, c.agent, kernel.WriteRequest{Text: "The lift is out of order."})
		right := c.held(t, c.agent, kernel.WriteRequest{Text: "The lift works, sorry.", Supersedes: wrong})
		c.settle(t)
		require.Equal(t, []kernel.ID{right}, c.found(t, "lift"))
		require.Equal(t, right, c.read(t, wrong).SupersededBy)
		requireSound(t, c.Pool)
	})
}

// TestFailedResolveLeavesNoTrace: the audit row of a decision that failed tells of nothing that was
// not done.
func TestFailedResolveLeavesNoTrace(t *testing.T) {
	t.Parallel()
	c, from, to := quarrelling(t)
	sqlExec(t, c.Pool, `CREATE FUNCTION memkernel.planted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'planted'; END $$`)
	sqlExec(t, c.Pool, `CREATE TRIGGER planted BEFORE UPDATE ON memkernel.conflict_cases FOR EACH ROW EXECUTE FUNCTION memkernel.planted()`)
	row := c.RequireAudit(t, acl.OpConflictResolve, audit.ResultError, func() {
		_, err := c.Conflicts().Resolve(t.Context(), c.admin, kernel.ConflictResolveRequest{From: from, To: to, State: kernel.ConflictRetracted})
		require.Error(t, err)
	}, "case="+to.String(), "state=retracted")
	for _, effect := range []string{"close=", "activate=", "by=", "recheck="} {
		require.NotContains(t, row.Detail, effect)
	}
	sqlExec(t, c.Pool, `DROP TRIGGER planted ON memkernel.conflict_cases`)
	require.Equal(t, &kernel.ConflictResolveReply{Activated: from, Superseded: to}, c.resolve(t, from, to, kernel.ConflictRetracted))
	requireSound(t, c.Pool)
}

// TestHiddenAncestorsAreMissing: who has the id of an ancestor's memory that is held or disputed
// learns nothing by it: it is as if it were missing.
func TestHiddenAncestorsAreMissing(t *testing.T) {
	t.Parallel()
	c := newHolding(t, kernel.Policy{})
	ctx := t.Context()
	c.held(t, c.reader, kernel.WriteRequest{Text: "Ana lives in Oslo."})
	c.settle(t)
	disputed := c.held(t, c.agent, kernel.WriteRequest{Text: "Ana lives in Bern."})
	c.settle(t)
	require.Equal(t, "disputed current", c.standing(t, disputed))
	held := c.held(t, c.agent, kernel.WriteRequest{Text: "Ana sings."})
	child := c.Key(quarrel+"/db", kernel.RoleMember)
	told := func(id kernel.ID) (out []string, results []kernel.AuditResult) {
		before := len(c.Audit())
		_, err := c.Read(ctx, child, kernel.ReadRequest{ID: id})
		require.ErrorIs(t, err, kernel.ErrNotFound)
		out = append(out, err.Error())
		_, err = c.History(ctx, child, kernel.HistoryRequest{ID: id})
		require.ErrorIs(t, err, kernel.ErrNotFound)
		out = append(out, err.Error())
		_, err = c.Write(ctx, child, kernel.WriteRequest{Text: "Other.", Supersedes: id})
		require.ErrorIs(t, err, kernel.ErrNotFound)
		out = append(out, err.Error())
		_, err = c.Retract(ctx, child, kernel.RetractRequest{ID: id})
		require.ErrorIs(t, err, kernel.ErrNotFound)
		out = append(out, err.Error())
		for _, e := range c.Audit()[before:] {
			results = append(results, e.Result)
		}
		return out, results
	}
	missing, misses := told(kernel.ID{1})
	elsewhere := must(c.Write(ctx, c.Key("acme/sales", kernel.RoleAgent), kernel.WriteRequest{Text: "Elsewhere."})).Stored[0]
	_, denials := told(elsewhere)
	require.NotEqual(t, misses, denials, "only the log tells")
	for _, id := range []kernel.ID{held, disputed} {
		got, results := told(id)
		require.Equal(t, missing, got)
		require.Equal(t, denials, results)
	}
	c.settle(t)
	_, err := c.Retract(ctx, child, kernel.RetractRequest{ID: held})
	require.ErrorIs(t, err, kernel.ErrForbidden, "now that it is in sight")
	// Whose they are may end them.
	require.NotZero(t, must(c.Retract(ctx, c.agent, kernel.RetractRequest{ID: disputed})).EndedAt)
	requireSound(t, c.Pool)
}

// TestResolveRaces: decisions, corrections, retractions, repeats and checks of one conflict at once
// leave a sound whole.
func TestResolveRaces(t *testing.T) {
	t.Parallel()
	for range 4 {
		c := newContested(t)
		ctx := t.Context()
		c.judge.contradicts = func(in, _ string) bool { return in == "The lift is fixed." }
		broken, stuck := c.write(t, c.reader, "The lift is broken."), c.write(t, c.reader, "The lift is stuck.")
		c.settle(t)
		in := c.write(t, c.agent, "The lift is fixed.")
		c.settle(t)
		resolve := func(to kernel.ID, state kernel.ConflictState) func() error {
			return func() error {
				_, err := c.Conflicts().Resolve(ctx, c.admin, kernel.ConflictResolveRequest{From: in, To: to, State: state})
				return err
			}
		}
		write := func(req kernel.WriteRequest) func() error {
			req.Verbatim = true
			return func() error {
				_, err := c.Write(ctx, c.dana, req)
				return err
			}
		}
		calls := []func() error{
			resolve(broken, kernel.ConflictRetracted), resolve(stuck, kernel.ConflictCoexist), resolve(broken, kernel.ConflictConfirmed),
			write(kernel.WriteRequest{Text: "The lift is fixed."}), write(kernel.WriteRequest{Text: "It got stuck once.", Supersedes: stuck}),
			write(kernel.WriteRequest{Text: "The lift is broken."}),
			func() error { return c.CheckAll(ctx) },
			func() error {
				_, err := c.Retract(ctx, c.dana, kernel.RetractRequest{ID: in})
				return err
			},
		}
		together(len(calls), func(i int) {
			if err := calls[i](); err != nil && !isConflict(err) {
				t.Error(i, err)
			}
		})
		requireSound(t, c.Pool)
		c.settle(t)
		require.Zero(t, c.unchecked(t))
		requireSound(t, c.Pool)
	}
}
