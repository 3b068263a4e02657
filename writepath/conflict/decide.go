package conflict

import (
	"bytes"
	"slices"

	"github.com/memkernel/memkernel/kernel/mem"
)

// MinConfidence is the confidence from which a contradiction may be settled without a person:
// charter C5.
const MinConfidence = 70

// DefaultConflictFloor is the raw cosine under which a model's contradiction is not believed.
// It is the reasoning graph's floor of 0.88 on the scale (cosine+1)/2.
const DefaultConflictFloor mem.Cosine = 0.76

// Policy is what a namespace's policies say about conflicts.
type Policy struct {
	// Review is the mode in force; empty or unknown is mem.ReviewAll, the strictest, so that a
	// value that got lost changes nothing.
	Review mem.ConflictReview
	// Hold keeps new memories out of sight until they are checked (holdForReview).
	Hold bool
	// ActOnRules lets a contradiction that only Rules found be settled like a model's.
	ActOnRules bool
	// ConflictFloor is the raw cosine under which a model's contradiction is not believed; 0
	// means DefaultConflictFloor, -1 believes all. The default is for embeddings of
	// meaning. It does not bear on what the rules prove, nor on a similarity that is not known.
	ConflictFloor mem.Cosine
}

// InitialStatus returns the status that a new memory is stored with: held if the policy wants
// it held and conflicts are looked for at all, else active.
func (p Policy) InitialStatus() mem.Status {
	if p.Hold && p.Review != mem.ReviewOff {
		return mem.StatusHeld
	}
	return mem.StatusActive
}

// Action is what becomes of a pair. The list is closed; there is no action that deletes.
type Action string

// The actions, from the weakest.
const (
	// KeepBoth changes nothing between the two.
	KeepBoth Action = "keep_both"
	// Supersede closes the candidate, with the incoming memory as what replaced it.
	Supersede Action = "supersede"
	// OpenCase leaves both as they are and asks a person.
	OpenCase Action = "open_case"
	// Dispute sets the incoming memory aside and records a case, so that a person can bring it
	// back. The candidate stays.
	Dispute Action = "dispute"
)

func (a Action) strength() int {
	return slices.Index([]Action{KeepBoth, Supersede, OpenCase, Dispute}, a)
}

// PairOutcome is what becomes of the incoming memory and one candidate.
type PairOutcome struct {
	Candidate mem.ID
	Action    Action
	Reason    Reason
	// Verdict is what the outcome rests on.
	Verdict Verdict
}

// Outcome is what becomes of an incoming memory.
type Outcome struct {
	// Action and Reason are those of the weightiest pair; of equals, that of the candidate
	// that is hardest to beat.
	Action Action
	Reason Reason
	// Status is what the incoming memory's status must be now; empty to leave it.
	Status mem.Status
	// Pairs has every candidate once, ordered by id. Of what it asks for, all is to be done
	// in one transaction or nothing, each under a guard that both memories are still as shown.
	Pairs []PairOutcome
}

// With returns the candidates that have the given action, ordered by id, nil if there are none.
func (o *Outcome) With(a Action) []mem.ID {
	var out []mem.ID
	for _, p := range o.Pairs {
		if p.Action == a {
			out = append(out, p.Candidate)
		}
	}
	return out
}

// Decide says what becomes of an incoming memory, given what a judge said of its neighbours.
//
// An incoming memory that loses to any candidate is disputed and closes nothing. One that a
// case is opened about, or that a failing judge has not compared with every neighbour, closes
// nothing either, not even what its writer wants replaced: a memory whose own standing is open must not end another, since an end is
// not taken back. Otherwise it supersedes every candidate it contradicts or is to replace. A held memory is
// released by a check that was complete and opened no case, and so is a disputed one: it is checked anew
// when a person has replaced what it was set aside for.
//
// It is pure and deterministic, and the order of the candidates has no bearing. Deciding anew
// after an outcome was applied changes nothing but to ask for the same cases. The error
// is that of Question.Validate, or ErrJudgement; then nothing may be done.
func Decide(p Policy, q *Question, j *Judgement) (Outcome, error) {
	if err := q.Validate(); err != nil {
		return Outcome{}, err
	}
	if err := j.check(q); err != nil {
		return Outcome{}, err
	}
	if !p.Review.Valid() {
		p.Review = mem.ReviewAll
	}
	var out Outcome
	for _, i := range byID(q) {
		pair := PairOutcome{Candidate: q.Candidates[i].Memory.ID, Verdict: j.Verdicts[i]}
		if pair.Candidate == q.Replaces {
			pair.Action, pair.Reason = replace(q.Incoming, q.Candidates[i].Memory)
		} else {
			pair.Action, pair.Reason = p.pair(q.Incoming, &q.Candidates[i], j.Verdicts[i], j.Fault)
		}
		out.Pairs = append(out.Pairs, pair)
	}
	out.reconcile()
	out.sum(q)
	out.Status = status(q.Incoming, &out)
	return out, nil
}

// pair decides about one candidate as if it were the only one.
func (p Policy) pair(in *mem.Memory, c *Candidate, v Verdict, f Fault) (Action, Reason) {
	if r := untouchable(p, in, c.Memory); r != "" {
		return KeepBoth, r
	}
	switch v.Relation {
	case Contradicts:
	case Same:
		return KeepBoth, ReasonSame
	case Refines:
		return KeepBoth, ReasonRefines
	case Unrelated:
		return KeepBoth, ReasonUnrelated
	default:
		if f != FaultNone {
			return KeepBoth, ReasonNoDecision
		}
		return KeepBoth, ReasonUndecided
	}
	if r := p.disbelieved(in, c, v); r != "" {
		return KeepBoth, r
	}
	if r := p.escalated(in, c.Memory, v); r != "" {
		return OpenCase, r
	}
	return settle(in, c.Memory)
}

// replace carries out what the writer asked for: a write that was not held would have done so
// at once, whatever the policy, the kinds and the ranks.
func replace(in, old *mem.Memory) (Action, Reason) {
	if r := over(in, old); r != "" && r != ReasonCandidateInactive {
		return KeepBoth, r
	}
	return Supersede, ReasonReplaces
}

// settle applies the lattice.
func settle(in, old *mem.Memory) (Action, Reason) {
	a, b := in.Provenance.Rank(), old.Provenance.Rank()
	switch {
	case a > b:
		return Supersede, ReasonOutranks
	case a < b:
		return Dispute, ReasonUnderranks
	case Beats(in, old):
		return Supersede, ReasonMoreRecent
	default:
		return Dispute, ReasonLessRecent
	}
}

// untouchable returns why a pair is none of the conflict check's business, or "".
func untouchable(p Policy, in, old *mem.Memory) Reason {
	switch r := over(in, old); {
	case p.Review == mem.ReviewOff && r != ReasonIncomingEnded:
		return ReasonReviewOff
	case r != "":
		return r
	case in.Kind == mem.KindRaw || old.Kind == mem.KindRaw:
		return ReasonRawInput
	default:
		return ""
	}
}

// over returns why nothing can become of a pair any more, or ever could, or "".
func over(in, old *mem.Memory) Reason {
	switch {
	case !in.Current():
		return ReasonIncomingEnded
	case old.ID == in.ID:
		return ReasonCandidateIncoming
	case old.Namespace != in.Namespace:
		return ReasonOtherNamespace
	case !old.Current():
		return ReasonCandidateEnded
	case old.Status != mem.StatusActive:
		return ReasonCandidateInactive
	default:
		return ""
	}
}

// disbelieved returns why a contradiction is not taken for one, or "".
func (p Policy) disbelieved(in *mem.Memory, c *Candidate, v Verdict) Reason {
	floor := p.ConflictFloor
	if floor == 0 {
		floor = DefaultConflictFloor
	}
	switch {
	case apart(in, c.Memory), sameWords(in.Text, c.Memory.Text) && otherTime(in, c.Memory):
		return ReasonOtherTime
	case v.Basis != BasisModel:
		return ""
	case !sharesSubject(in.Text, c.Memory.Text):
		return ReasonOtherSubject
	case c.Cosine != nil && !(*c.Cosine >= floor): // so written that NaN is too far
		return ReasonTooFar
	default:
		return ""
	}
}

// escalated returns why a contradiction goes to a person, or "".
func (p Policy) escalated(in, old *mem.Memory, v Verdict) Reason {
	switch {
	case protected(in.Kind) || protected(old.Kind):
		return ReasonProtectedKind
	case v.Confidence < MinConfidence:
		return ReasonLowConfidence
	case p.Review == mem.ReviewAll:
		return ReasonReviewMode
	case v.Basis != BasisModel && !p.ActOnRules:
		return ReasonRuleOnly
	default:
		return ""
	}
}

// protected reports a kind that says what somebody wants or holds: charter C3.
func protected(k mem.Kind) bool {
	return k == mem.KindPreference || k == mem.KindGoal || k == mem.KindOpinion
}

func byID(q *Question) []int {
	order := make([]int, len(q.Candidates))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return bytes.Compare(q.Candidates[a].Memory.ID[:], q.Candidates[b].Memory.ID[:])
	})
	return order
}
