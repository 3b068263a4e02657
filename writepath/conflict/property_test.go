package conflict_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/writepath/conflict"
)

const rounds = 5_000

// Whoever beats is not beaten, in a cycle of any length either: the order is total.
func TestOrderIsTotal(t *testing.T) {
	t.Parallel()
	r := rng(1)
	for range rounds {
		a, b, c := anyMemory(t, r, 1), anyMemory(t, r, 2), anyMemory(t, r, 3)
		require.False(t, conflict.Beats(a, a))
		require.NotEqual(t, conflict.Beats(a, b), conflict.Beats(b, a), "%+v\n%+v", a, b)
		require.Equal(t, conflict.Compare(a, b), -conflict.Compare(b, a))
		if conflict.Beats(a, b) && conflict.Beats(b, c) {
			require.True(t, conflict.Beats(a, c), "%+v\n%+v\n%+v", a, b, c)
		}
	}
}

// What Decide asks for is on the lists, about memories that were shown, and within the charter.
func TestOutcomesStayInBounds(t *testing.T) {
	t.Parallel()
	r := rng(2)
	seen := map[conflict.Action]int{}
	for range rounds {
		p, q, j := anyCase(t, r)
		before := snapshot(q)
		out, err := conflict.Decide(p, q, j)
		require.NoError(t, err)
		require.Equal(t, before, snapshot(q), "nothing that was shown is altered")
		require.Len(t, out.Pairs, len(q.Candidates))
		seen[out.Action]++
		shown := map[mem.ID]int{}
		for i := range q.Candidates {
			shown[q.Candidates[i].Memory.ID] = i
		}
		strongest := conflict.KeepBoth
		for _, pair := range out.Pairs {
			i, ok := shown[pair.Candidate]
			require.True(t, ok, "a target that was not shown")
			old, v := q.Candidates[i].Memory, j.Verdicts[i]
			require.Equal(t, v, pair.Verdict)
			require.NotEmpty(t, pair.Reason)
			require.Contains(t, []conflict.Action{conflict.KeepBoth, conflict.Supersede, conflict.OpenCase, conflict.Dispute}, pair.Action)
			if pair.Action == conflict.KeepBoth {
				continue
			}
			strongest = pair.Action
			require.Equal(t, conflict.Contradicts, v.Relation)
			require.Equal(t, q.Incoming.Namespace, old.Namespace)
			require.NotEqual(t, q.Incoming.ID, old.ID)
			require.True(t, old.Current() && q.Incoming.Current())
			require.Equal(t, mem.StatusActive, old.Status)
			require.NotEqual(t, mem.ReviewOff, p.Review)
			require.NotContains(t, []mem.Kind{q.Incoming.Kind, old.Kind}, mem.KindRaw, "C4")
			if pair.Action == conflict.OpenCase {
				continue
			}
			require.Equal(t, mem.ReviewAuto, p.Review)
			require.GreaterOrEqual(t, v.Confidence, conflict.MinConfidence, "C5")
			for _, k := range []mem.Kind{mem.KindPreference, mem.KindGoal, mem.KindOpinion} {
				require.NotContains(t, []mem.Kind{q.Incoming.Kind, old.Kind}, k, "C3")
			}
			require.Equal(t, pair.Action == conflict.Supersede, conflict.Beats(q.Incoming, old))
		}
		require.Equal(t, strongest == conflict.KeepBoth, out.Action == conflict.KeepBoth)
		if len(out.With(conflict.Supersede)) > 0 {
			require.Equal(t, conflict.Supersede, out.Action, "who is disputed or questioned closes nothing")
		}
		require.Equal(t, out.Action == conflict.Dispute && q.Incoming.Status != mem.StatusDisputed, out.Status == mem.StatusDisputed)
		require.Len(t, out.Cases(q.Incoming), len(out.With(conflict.OpenCase))+len(out.With(conflict.Dispute)))
	}
	for _, a := range []conflict.Action{conflict.KeepBoth, conflict.Supersede, conflict.OpenCase, conflict.Dispute} {
		require.Greater(t, seen[a], rounds/200, "the cases drawn hardly ever end in %s: %v", a, seen)
	}
}

func TestOrderOfCandidatesHasNoBearing(t *testing.T) {
	t.Parallel()
	r := rng(3)
	for range rounds {
		p, q, j := anyCase(t, r)
		want, err := conflict.Decide(p, q, j)
		require.NoError(t, err)
		r.Shuffle(len(q.Candidates), func(a, b int) {
			q.Candidates[a], q.Candidates[b] = q.Candidates[b], q.Candidates[a]
			j.Verdicts[a], j.Verdicts[b] = j.Verdicts[b], j.Verdicts[a]
		})
		got, err := conflict.Decide(p, q, j)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

// Facts that all contradict each other arrive in any order, with clocks that are off, and are
// checked one by one: nothing is lost, no chain of successors returns to where it began, the
// current fact is the one that beats all others, and a second check of everybody changes nothing.
func TestSkewedClocksMakeNoCycles(t *testing.T) {
	t.Parallel()
	r := rng(4)
	for range rounds / 20 {
		var all []*mem.Memory
		successor := map[mem.ID]mem.ID{}
		check := func(in *mem.Memory, shown []*mem.Memory) conflict.Outcome {
			q := ask(in, shown...)
			vs := make([]conflict.Verdict, len(shown))
			for i := range vs {
				vs[i] = contradicted(95)
			}
			out := decide(t, auto(), q, vs...)
			apply(q, &out, successor)
			return out
		}
		for n := range 8 {
			m := fact(t, n+1, "Ana lives in "+pick(r, "Oslo", "Bern", "Rome"))
			m.AssertionTime, m.Provenance = anyTime(r), anyClass(r)
			if r.IntN(2) == 0 {
				m.EventTime = anyTime(r)
			}
			// One text at two times is two facts; here they shall all contradict each other.
			m.Text += string(rune('a' + n))
			check(m, all)
			all = append(all, m)
		}
		require.Len(t, all, 8)
		var standing []*mem.Memory
		for _, m := range all {
			if m.Current() && m.Status == mem.StatusActive {
				standing = append(standing, m)
			}
			for at, steps := m.ID, 0; !at.IsZero(); at, steps = successor[at], steps+1 {
				require.Less(t, steps, len(all), "a cycle")
			}
		}
		require.Len(t, standing, 1)
		require.Equal(t, slices.MaxFunc(all, conflict.Compare).ID, standing[0].ID)
		for i, m := range all {
			others := slices.Delete(slices.Clone(all), i, i+1)
			disputed := m.Current() && m.Status == mem.StatusDisputed
			out := check(m, others)
			require.Empty(t, out.With(conflict.Supersede))
			require.Equal(t, disputed, out.Action == conflict.Dispute, "by the same again")
			require.Empty(t, out.Status)
		}
	}
}

// apply does to the memories what the outcome asks for.
func apply(q *conflict.Question, out *conflict.Outcome, successor map[mem.ID]mem.ID) {
	for _, closed := range out.With(conflict.Supersede) {
		for i := range q.Candidates {
			if m := q.Candidates[i].Memory; m.ID == closed {
				m.ValidTo, m.EndReason = time.Now(), mem.EndSuperseded
				successor[m.ID] = q.Incoming.ID
			}
		}
	}
	if out.Status != "" {
		q.Incoming.Status = out.Status
	}
}

func snapshot(q *conflict.Question) []mem.Memory {
	out := []mem.Memory{*q.Incoming}
	for i := range q.Candidates {
		out = append(out, *q.Candidates[i].Memory)
	}
	return out
}
