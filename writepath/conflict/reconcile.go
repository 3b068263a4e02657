package conflict

import (
	"cmp"
	"slices"

	"github.com/memkernel/memkernel/kernel/mem"
)

// reconcile makes one outcome of pairs that were decided each by itself: nothing is superseded
// by a memory that is disputed, under question, or not checked against all its neighbours.
func (o *Outcome) reconcile() {
	var disputed, questioned, unchecked bool
	for _, p := range o.Pairs {
		disputed = disputed || p.Action == Dispute
		questioned = questioned || p.Action == OpenCase
		unchecked = unchecked || p.Reason == ReasonNoDecision
	}
	for i := range o.Pairs {
		p := &o.Pairs[i]
		switch {
		case p.Action != Supersede:
		case disputed:
			p.Action, p.Reason = KeepBoth, ReasonIncomingDisputed
		case questioned:
			p.Action, p.Reason = OpenCase, ReasonOpenQuestion
		case unchecked:
			p.Action, p.Reason = KeepBoth, ReasonNoDecision
		}
	}
}

// Questioned returns what becomes of an incoming memory that a case of an earlier check is still open
// about: it closes nothing, and it stays out of sight.
func (o *Outcome) Questioned() Outcome {
	out := *o
	out.Pairs = slices.Clone(o.Pairs)
	for i := range out.Pairs {
		if p := &out.Pairs[i]; p.Action == Supersede {
			p.Action, p.Reason = OpenCase, ReasonOpenQuestion
		}
	}
	if out.Action == Supersede {
		out.Action, out.Reason = OpenCase, ReasonOpenQuestion
	}
	if out.Status == mem.StatusActive {
		out.Status = ""
	}
	return out
}

// sum finds the weightiest pair.
func (o *Outcome) sum(q *Question) {
	o.Action, o.Reason = KeepBoth, ReasonNoCandidates
	memories := make(map[mem.ID]*mem.Memory, len(q.Candidates))
	for i := range q.Candidates {
		memories[q.Candidates[i].Memory.ID] = q.Candidates[i].Memory
	}
	var best *PairOutcome
	for i := range o.Pairs {
		p := &o.Pairs[i]
		if best == nil || cmp.Or(
			cmp.Compare(p.Action.strength(), best.Action.strength()),
			cmp.Compare(p.weight(), best.weight()),
			Compare(memories[p.Candidate], memories[best.Candidate])) > 0 {
			best = p
		}
	}
	if best != nil {
		o.Action, o.Reason = best.Action, best.Reason
	}
}

// weight puts a failed judge before every other reason to keep both: it must not go unseen
// behind a neighbour that is merely unrelated.
func (p *PairOutcome) weight() int {
	if p.Reason == ReasonNoDecision {
		return 1
	}
	return 0
}

// status returns the status that the incoming memory gets, "" to leave it.
func status(in *mem.Memory, o *Outcome) mem.Status {
	switch {
	case !in.Current():
		return ""
	case o.Action == Dispute && in.Status != mem.StatusDisputed:
		return mem.StatusDisputed
	case o.Action == Dispute, in.Status == mem.StatusActive:
		return ""
	case o.Action != OpenCase && o.Reason != ReasonNoDecision:
		return mem.StatusActive
	default:
		return ""
	}
}
