package conflict_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/writepath/conflict"
)

func TestDecideOnePair(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		policy  func(*conflict.Policy)
		change  func(in, old *mem.Memory)
		cosine  *mem.Cosine
		verdict conflict.Verdict
		action  conflict.Action
		reason  conflict.Reason
	}{
		"outranks":    {change: ranks(mem.ProvenanceDocument, mem.ProvenanceConversation), action: conflict.Supersede, reason: conflict.ReasonOutranks},
		"underranks":  {change: ranks(mem.ProvenanceConversation, mem.ProvenanceDocument), action: conflict.Dispute, reason: conflict.ReasonUnderranks},
		"rank first":  {change: func(in, _ *mem.Memory) { in.Provenance = "manual"; in.EventTime = day(-900) }, action: conflict.Supersede, reason: conflict.ReasonOutranks},
		"equal rank":  {change: ranks(mem.ProvenanceDocument, mem.ProvenanceLiveFetch), action: conflict.Supersede, reason: conflict.ReasonMoreRecent},
		"unknown low": {change: ranks("owner", mem.ProvenanceConversation), action: conflict.Dispute, reason: conflict.ReasonUnderranks},
		"later":       {action: conflict.Supersede, reason: conflict.ReasonMoreRecent},
		"earlier event": {
			change: func(in, _ *mem.Memory) { in.EventTime = day(-30) },
			action: conflict.Dispute, reason: conflict.ReasonLessRecent,
		},
		"assertion breaks the tie": {
			change: func(in, old *mem.Memory) { in.EventTime, old.EventTime, in.AssertionTime = day(1), day(1), day(0) },
			action: conflict.Dispute, reason: conflict.ReasonLessRecent,
		},
		"id breaks the tie": {
			change: func(in, old *mem.Memory) { in.AssertionTime = old.AssertionTime },
			action: conflict.Supersede, reason: conflict.ReasonMoreRecent,
		},
		"review":        {policy: func(p *conflict.Policy) { p.Review = mem.ReviewAll }, action: conflict.OpenCase, reason: conflict.ReasonReviewMode},
		"off":           {policy: func(p *conflict.Policy) { p.Review = mem.ReviewOff }, action: conflict.KeepBoth, reason: conflict.ReasonReviewOff},
		"lost mode":     {policy: func(p *conflict.Policy) { p.Review = "" }, action: conflict.OpenCase, reason: conflict.ReasonReviewMode},
		"C3 new":        {change: func(in, _ *mem.Memory) { in.Kind = mem.KindPreference }, action: conflict.OpenCase, reason: conflict.ReasonProtectedKind},
		"C3 old":        {change: func(_, old *mem.Memory) { old.Kind = mem.KindGoal }, action: conflict.OpenCase, reason: conflict.ReasonProtectedKind},
		"C3 manual":     {change: func(in, _ *mem.Memory) { in.Kind, in.Provenance = mem.KindOpinion, "manual" }, action: conflict.OpenCase, reason: conflict.ReasonProtectedKind},
		"C4 new":        {change: func(in, _ *mem.Memory) { in.Kind = mem.KindRaw }, action: conflict.KeepBoth, reason: conflict.ReasonRawInput},
		"C4 old":        {change: func(_, old *mem.Memory) { old.Kind = mem.KindRaw }, action: conflict.KeepBoth, reason: conflict.ReasonRawInput},
		"C5 69":         {verdict: contradicted(69), action: conflict.OpenCase, reason: conflict.ReasonLowConfidence},
		"C5 70":         {verdict: contradicted(70), action: conflict.Supersede, reason: conflict.ReasonMoreRecent},
		"same":          {verdict: said(conflict.Same, 100), action: conflict.KeepBoth, reason: conflict.ReasonSame},
		"refines":       {verdict: said(conflict.Refines, 100), action: conflict.KeepBoth, reason: conflict.ReasonRefines},
		"unrelated":     {verdict: said(conflict.Unrelated, 100), action: conflict.KeepBoth, reason: conflict.ReasonUnrelated},
		"undecided":     {verdict: conflict.Verdict{Basis: "none"}, action: conflict.KeepBoth, reason: conflict.ReasonUndecided},
		"child":         {change: func(in, _ *mem.Memory) { in.Namespace = ns(t, "acme/a/b") }, action: conflict.KeepBoth, reason: conflict.ReasonOtherNamespace},
		"parent":        {change: func(_, old *mem.Memory) { old.Namespace = ns(t, "acme") }, action: conflict.KeepBoth, reason: conflict.ReasonOtherNamespace},
		"look-alike":    {change: func(_, old *mem.Memory) { old.Namespace = ns(t, "acme/ab") }, action: conflict.KeepBoth, reason: conflict.ReasonOtherNamespace},
		"old ended":     {change: func(_, old *mem.Memory) { old.ValidTo = day(9) }, action: conflict.KeepBoth, reason: conflict.ReasonCandidateEnded},
		"old held":      {change: func(_, old *mem.Memory) { old.Status = mem.StatusHeld }, action: conflict.KeepBoth, reason: conflict.ReasonCandidateInactive},
		"old disputed":  {change: func(_, old *mem.Memory) { old.Status = mem.StatusDisputed }, action: conflict.KeepBoth, reason: conflict.ReasonCandidateInactive},
		"new ended":     {change: func(in, _ *mem.Memory) { in.ValidTo = day(9) }, action: conflict.KeepBoth, reason: conflict.ReasonIncomingEnded},
		"new disputed":  {change: func(in, _ *mem.Memory) { in.Status = mem.StatusDisputed }, action: conflict.Supersede, reason: conflict.ReasonMoreRecent},
		"itself":        {change: func(in, old *mem.Memory) { old.ID = in.ID }, action: conflict.KeepBoth, reason: conflict.ReasonCandidateIncoming},
		"near enough":   {cosine: cosine(0.76), action: conflict.Supersede, reason: conflict.ReasonMoreRecent},
		"too far":       {cosine: cosine(0.7599), action: conflict.KeepBoth, reason: conflict.ReasonTooFar},
		"NaN is far":    {cosine: cosine(math.NaN()), action: conflict.KeepBoth, reason: conflict.ReasonTooFar},
		"own floor":     {cosine: cosine(0.3), policy: func(p *conflict.Policy) { p.ConflictFloor = 0.3 }, action: conflict.Supersede, reason: conflict.ReasonMoreRecent},
		"other subject": {change: func(in, _ *mem.Memory) { in.Text = "Bob eats fish" }, action: conflict.KeepBoth, reason: conflict.ReasonOtherSubject},
		"no spaces":     {change: func(in, _ *mem.Memory) { in.Text = "安娜住在奥斯陆" }, action: conflict.Supersede, reason: conflict.ReasonMoreRecent},
		"disjoint times": {
			change: func(in, old *mem.Memory) {
				old.EventTime, old.EventEnd, in.EventTime, in.EventEnd = day(0), day(31), day(31), day(60)
			},
			action: conflict.KeepBoth, reason: conflict.ReasonOtherTime,
		},
		"disjoint times, the newer first": {
			change: func(in, old *mem.Memory) {
				in.EventTime, in.EventEnd, old.EventTime, old.EventEnd = day(0), day(31), day(31), day(60)
			},
			action: conflict.KeepBoth, reason: conflict.ReasonOtherTime,
		},
		"times meet": {
			change: func(in, old *mem.Memory) {
				old.EventTime, old.EventEnd, in.EventTime, in.EventEnd = day(0), day(32), day(31), day(60)
			},
			action: conflict.Supersede, reason: conflict.ReasonMoreRecent,
		},
		"one text, two dates": {
			change: func(in, old *mem.Memory) {
				in.Text, in.EventTime, old.EventTime = "ANA lives  in Oslo", day(4), day(3)
			},
			action: conflict.KeepBoth, reason: conflict.ReasonOtherTime,
		},
		"rule only": {
			verdict: conflict.Verdict{Relation: conflict.Contradicts, Confidence: 90, Basis: conflict.BasisNegation},
			action:  conflict.OpenCase, reason: conflict.ReasonRuleOnly,
		},
		"rule suffices": {
			policy:  func(p *conflict.Policy) { p.ActOnRules = true },
			verdict: conflict.Verdict{Relation: conflict.Contradicts, Confidence: 90, Basis: conflict.BasisNegation},
			cosine:  cosine(0.1), // the floor is not for what is proven
			action:  conflict.Supersede, reason: conflict.ReasonMoreRecent,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, in, old, v := auto(), fact(t, 5, "Ana lives in Bern"), fact(t, 3, "Ana lives in Oslo"), contradicted(95)
			if c.policy != nil {
				c.policy(&p)
			}
			if c.change != nil {
				c.change(in, old)
			}
			if c.verdict != (conflict.Verdict{}) {
				v = c.verdict
			}
			if v.Basis == "none" {
				v = conflict.Verdict{}
			}
			q := ask(in, old)
			q.Candidates[0].Cosine = c.cosine
			out := decide(t, p, q, v)
			require.Equal(t, c.action, out.Action)
			require.Equal(t, c.reason, out.Reason)
			require.Equal(t, []conflict.PairOutcome{{Candidate: old.ID, Action: c.action, Reason: c.reason, Verdict: v}}, out.Pairs)
		})
	}
}

func ranks(a, b mem.Provenance) func(in, old *mem.Memory) {
	return func(in, old *mem.Memory) { in.Provenance, old.Provenance = a, b }
}

func TestDecideSeveral(t *testing.T) {
	t.Parallel()
	in := fact(t, 9, "Ana lives in Bern")
	in.Provenance = mem.ProvenanceDocument
	weak, strong, wish := fact(t, 1, "Ana lives in Oslo"), fact(t, 2, "Ana lives in Rome"), fact(t, 3, "Ana would live in Rome")
	strong.Provenance, wish.Kind = mem.ProvenanceManual, mem.KindGoal
	other := fact(t, 4, "Ana lives in Lima")

	t.Run("who loses once closes nothing", func(t *testing.T) {
		t.Parallel()
		out := decide(t, auto(), ask(in, weak, strong), contradicted(90), contradicted(90))
		require.Equal(t, conflict.Dispute, out.Action)
		require.Equal(t, conflict.ReasonUnderranks, out.Reason)
		require.Equal(t, mem.StatusDisputed, out.Status)
		require.Equal(t, []mem.ID{strong.ID}, out.With(conflict.Dispute))
		require.Empty(t, out.With(conflict.Supersede))
		require.Equal(t, conflict.ReasonIncomingDisputed, out.Pairs[0].Reason)
	})
	t.Run("the reason is that of whoever is hardest to beat", func(t *testing.T) {
		t.Parallel()
		equal := fact(t, 1, "Ana lives in Kyiv")
		equal.Provenance, equal.AssertionTime = in.Provenance, day(10)
		out := decide(t, auto(), ask(in, equal, strong), contradicted(90), contradicted(90))
		require.Equal(t, conflict.ReasonLessRecent, out.Pairs[0].Reason)
		require.Equal(t, conflict.ReasonUnderranks, out.Reason)
	})
	t.Run("who is questioned closes nothing", func(t *testing.T) {
		t.Parallel()
		out := decide(t, auto(), ask(in, weak, wish), contradicted(90), contradicted(90))
		require.Equal(t, conflict.OpenCase, out.Action)
		require.Empty(t, out.Status)
		require.Equal(t, []mem.ID{weak.ID, wish.ID}, out.With(conflict.OpenCase))
		require.Equal(t, conflict.ReasonOpenQuestion, out.Pairs[0].Reason)
		require.Equal(t, []conflict.Case{
			{Namespace: in.Namespace, From: in.ID, To: weak.ID, State: conflict.Open, Action: conflict.OpenCase, Reason: conflict.ReasonOpenQuestion},
			{Namespace: in.Namespace, From: in.ID, To: wish.ID, State: conflict.Open, Action: conflict.OpenCase, Reason: conflict.ReasonProtectedKind},
		}, out.Cases(in))
	})
	t.Run("who beats all supersedes all", func(t *testing.T) {
		t.Parallel()
		out := decide(t, auto(), ask(in, other, weak), contradicted(90), contradicted(70))
		require.Equal(t, conflict.Supersede, out.Action)
		require.Equal(t, []mem.ID{weak.ID, other.ID}, out.With(conflict.Supersede))
		require.Empty(t, out.Cases(in))
	})
	t.Run("who is not compared with all closes nothing", func(t *testing.T) {
		t.Parallel()
		j := judgement(contradicted(90), conflict.Verdict{})
		j.Fault = conflict.FaultIncomplete
		out, err := conflict.Decide(auto(), ask(in, weak, other), j)
		require.NoError(t, err)
		require.Equal(t, conflict.KeepBoth, out.Action)
		require.Equal(t, conflict.ReasonNoDecision, out.Reason)
		j.Fault = conflict.FaultNone
		out, err = conflict.Decide(auto(), ask(in, weak, other), j)
		require.NoError(t, err)
		require.Equal(t, conflict.Supersede, out.Action)
	})
}

func TestHeldUntilChecked(t *testing.T) {
	t.Parallel()
	hold := conflict.Policy{Review: mem.ReviewAuto, Hold: true}
	require.Equal(t, mem.StatusHeld, hold.InitialStatus())
	require.Equal(t, mem.StatusActive, auto().InitialStatus())
	require.Equal(t, mem.StatusActive, conflict.Policy{Review: mem.ReviewOff, Hold: true}.InitialStatus())
	require.Equal(t, mem.StatusHeld, conflict.Policy{Hold: true}.InitialStatus())

	for name, c := range map[string]struct {
		verdict conflict.Verdict
		fault   conflict.Fault
		review  mem.ConflictReview
		want    mem.Status
	}{
		"unrelated":           {verdict: said(conflict.Unrelated, 90), want: mem.StatusActive},
		"wins":                {verdict: contradicted(90), want: mem.StatusActive},
		"checked, undecided":  {want: mem.StatusActive},
		"not checked":         {fault: conflict.FaultModelDown, want: ""},
		"fault, but not here": {verdict: said(conflict.Same, 90), fault: conflict.FaultIncomplete, want: mem.StatusActive},
		"case":                {verdict: contradicted(10), want: ""},
		"switched off":        {fault: conflict.FaultModelDown, review: mem.ReviewOff, want: mem.StatusActive},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := fact(t, 5, "Ana lives in Bern")
			in.Status = mem.StatusHeld
			p := hold
			if c.review != "" {
				p.Review = c.review
			}
			out, err := conflict.Decide(p, ask(in, fact(t, 3, "Ana lives in Oslo")), &conflict.Judgement{Verdicts: []conflict.Verdict{c.verdict}, Fault: c.fault})
			require.NoError(t, err)
			require.Equal(t, c.want, out.Status)
		})
	}
	in := fact(t, 5, "Ana lives in Bern")
	in.Status = mem.StatusHeld
	out := decide(t, hold, ask(in))
	require.Equal(t, conflict.ReasonNoCandidates, out.Reason)
	require.Equal(t, mem.StatusActive, out.Status)
}

// A judge is not trusted to answer the question.
func TestDecideRefusesForeignJudgements(t *testing.T) {
	t.Parallel()
	q := ask(fact(t, 5, "a"), fact(t, 3, "b"))
	for _, j := range []*conflict.Judgement{
		judgement(),
		judgement(contradicted(90), contradicted(90)),
		judgement(contradicted(101)),
		judgement(contradicted(-1)),
		judgement(conflict.Verdict{Relation: "deletes", Confidence: 90, Basis: conflict.BasisModel}),
		judgement(conflict.Verdict{Relation: conflict.Contradicts, Confidence: 90, Basis: "oracle"}),
		judgement(conflict.Verdict{Relation: conflict.Contradicts, Confidence: 90}),
		judgement(conflict.Verdict{Basis: conflict.BasisModel}),
	} {
		out, err := conflict.Decide(auto(), q, j)
		require.ErrorIs(t, err, conflict.ErrJudgement)
		require.Zero(t, out)
	}
}

func TestQuestionLimits(t *testing.T) {
	t.Parallel()
	in, old := fact(t, 5, "a"), fact(t, 3, "b")
	full := ask(in)
	for n := range conflict.MaxCandidates {
		full.Candidates = append(full.Candidates, conflict.Candidate{Memory: fact(t, 10+n, "c")})
	}
	require.NoError(t, full.Validate())
	full.Candidates = append(full.Candidates, conflict.Candidate{Memory: old})
	for _, q := range []*conflict.Question{ask(nil, old), ask(&mem.Memory{}, old), ask(in, nil), ask(in, &mem.Memory{}), ask(in, old, old)} {
		require.ErrorIs(t, q.Validate(), mem.ErrInvalid)
		_, err := conflict.Rules{}.Judge(t.Context(), q)
		require.ErrorIs(t, err, mem.ErrInvalid)
		_, err = conflict.Decide(auto(), q, judgement())
		require.ErrorIs(t, err, mem.ErrInvalid)
	}
	require.ErrorIs(t, full.Validate(), mem.ErrTooLarge)
}

// TestDecideReplaces: what the writer of the incoming memory wants replaced is, whatever the
// judge, the policy, the kinds and the ranks say; unless the incoming memory does not stand.
func TestDecideReplaces(t *testing.T) {
	t.Parallel()
	old, other, in := fact(t, 1, "Ana lives in Oslo"), fact(t, 2, "Ana lives in Rome"), fact(t, 3, "Ana lives in Bern")
	in.Status = mem.StatusHeld
	for name, tc := range map[string]struct {
		change  func(p *conflict.Policy, q *conflict.Question)
		other   conflict.Verdict
		action  conflict.Action
		reason  conflict.Reason
		status  mem.Status
		outcome conflict.Action
	}{
		"plain": {action: conflict.Supersede, reason: conflict.ReasonReplaces, status: mem.StatusActive},
		"a rank above": {change: func(_ *conflict.Policy, q *conflict.Question) {
			q.Candidates[0].Memory.Provenance = mem.ProvenanceManual
		}, action: conflict.Supersede, reason: conflict.ReasonReplaces, status: mem.StatusActive},
		"a goal":    {change: func(_ *conflict.Policy, q *conflict.Question) { q.Candidates[0].Memory.Kind = mem.KindGoal }, action: conflict.Supersede, reason: conflict.ReasonReplaces, status: mem.StatusActive},
		"raw input": {change: func(_ *conflict.Policy, q *conflict.Question) { q.Candidates[0].Memory.Kind = mem.KindRaw }, action: conflict.Supersede, reason: conflict.ReasonReplaces, status: mem.StatusActive},
		"review":    {change: func(p *conflict.Policy, _ *conflict.Question) { p.Review = mem.ReviewAll }, action: conflict.Supersede, reason: conflict.ReasonReplaces, status: mem.StatusActive},
		"off":       {change: func(p *conflict.Policy, _ *conflict.Question) { p.Review = mem.ReviewOff }, action: conflict.Supersede, reason: conflict.ReasonReplaces, status: mem.StatusActive},
		"ended":     {change: func(_ *conflict.Policy, q *conflict.Question) { q.Candidates[0].Memory.ValidTo = day(9) }, action: conflict.KeepBoth, reason: conflict.ReasonCandidateEnded, status: mem.StatusActive, outcome: conflict.KeepBoth},
		"disputed":  {change: func(_ *conflict.Policy, q *conflict.Question) { q.Candidates[0].Memory.Status = mem.StatusDisputed }, action: conflict.Supersede, reason: conflict.ReasonReplaces, status: mem.StatusActive},
		"held":      {change: func(_ *conflict.Policy, q *conflict.Question) { q.Candidates[0].Memory.Status = mem.StatusHeld }, action: conflict.Supersede, reason: conflict.ReasonReplaces, status: mem.StatusActive},
		"elsewhere": {change: func(_ *conflict.Policy, q *conflict.Question) { q.Candidates[0].Memory.Namespace = ns(t, "acme") }, action: conflict.KeepBoth, reason: conflict.ReasonOtherNamespace, status: mem.StatusActive, outcome: conflict.KeepBoth},
		"loses": {
			change: func(_ *conflict.Policy, q *conflict.Question) {
				q.Candidates[1].Memory.Provenance = mem.ProvenanceManual
			},
			other: contradicted(95), action: conflict.KeepBoth, reason: conflict.ReasonIncomingDisputed, status: mem.StatusDisputed, outcome: conflict.Dispute,
		},
		"in question": {other: contradicted(10), action: conflict.OpenCase, reason: conflict.ReasonOpenQuestion, outcome: conflict.OpenCase},
	} {
		p, a, b, c := auto(), *old, *other, *in
		q := ask(&c, &a, &b)
		q.Replaces = a.ID
		if tc.change != nil {
			tc.change(&p, q)
		}
		if tc.other.Relation == conflict.Undecided {
			tc.other = said(conflict.Unrelated, 100)
		}
		if tc.outcome == "" {
			tc.outcome = conflict.Supersede
		}
		out := decide(t, p, q, said(conflict.Same, 100), tc.other)
		require.Equal(t, tc.action, out.Pairs[0].Action, name)
		require.Equal(t, tc.reason, out.Pairs[0].Reason, name)
		require.Equal(t, tc.status, out.Status, name)
		require.Equal(t, tc.outcome, out.Action, name)
	}
}

// One that was set aside is released by a check that finds nothing against it, stays there if it
// loses, and closes what it beats only when it is released.
func TestDecideDisputed(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change  func(in, old *mem.Memory)
		verdict conflict.Verdict
		action  conflict.Action
		status  mem.Status
	}{
		"nothing against it": {verdict: said(conflict.Unrelated, 100), action: conflict.KeepBoth, status: mem.StatusActive},
		"wins":               {verdict: contradicted(95), action: conflict.Supersede, status: mem.StatusActive},
		"loses":              {change: func(_, old *mem.Memory) { old.Provenance = mem.ProvenanceManual }, verdict: contradicted(95), action: conflict.Dispute},
		"in question":        {verdict: contradicted(10), action: conflict.OpenCase},
		"has ended":          {change: func(in, _ *mem.Memory) { in.ValidTo = day(9) }, verdict: contradicted(95), action: conflict.KeepBoth},
	} {
		in, old := fact(t, 5, "Ana lives in Bern"), fact(t, 3, "Ana lives in Oslo")
		in.Status = mem.StatusDisputed
		if tc.change != nil {
			tc.change(in, old)
		}
		out := decide(t, auto(), ask(in, old), tc.verdict)
		require.Equal(t, tc.action, out.Action, name)
		require.Equal(t, tc.status, out.Status, name)
	}
	in := fact(t, 5, "Ana lives in Bern")
	in.Status = mem.StatusDisputed
	out, err := conflict.Decide(auto(), ask(in, fact(t, 3, "Ana lives in Oslo")), &conflict.Judgement{Verdicts: make([]conflict.Verdict, 1), Fault: conflict.FaultModelDown})
	require.NoError(t, err)
	require.Empty(t, out.Status, "nobody has looked")
}

// While a case of an earlier check is open about a memory it closes nothing, and what is out of
// sight stays there.
func TestQuestioned(t *testing.T) {
	t.Parallel()
	r := rng(6)
	var superseded, released int
	for range rounds {
		p, q, j := anyCase(t, r)
		out, err := conflict.Decide(p, q, j)
		require.NoError(t, err)
		was, closes := snapshotOf(&out), out.With(conflict.Supersede)
		got := out.Questioned()
		require.Equal(t, was, snapshotOf(&out), "the outcome itself stays")
		require.Empty(t, got.With(conflict.Supersede))
		require.Subset(t, got.With(conflict.OpenCase), closes)
		require.NotEqual(t, mem.StatusActive, got.Status)
		require.NotEqual(t, conflict.Supersede, got.Action)
		superseded += len(closes)
		if out.Status == mem.StatusActive {
			released++
			continue
		}
		require.Equal(t, out.Status, got.Status)
	}
	require.NotZero(t, superseded)
	require.NotZero(t, released)
}

func snapshotOf(o *conflict.Outcome) conflict.Outcome {
	out := *o
	out.Pairs = slices.Clone(o.Pairs)
	return out
}
