package conflict

import (
	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/kernel/mem"
)

// State is where a case stands. The list is closed. A case begins Open, moves once, and never
// comes back: what is decided is overturned by a new memory, not by opening the case again.
type State string

// The states.
const (
	// Open: nobody has decided.
	Open State = "open"
	// Confirmed: the memory that was there first stands, and the incoming one is retracted.
	Confirmed State = "confirmed"
	// Retracted: the memory that was there first is given up, and the incoming one replaces it.
	Retracted State = "retracted"
	// Coexist: both stand.
	Coexist State = "coexist"
	// Overturned: a new manual memory has replaced one of the two, and the question with it.
	Overturned State = "overturned"
)

// Valid reports whether s is one of the states above.
func (s State) Valid() bool { return s == Open || s.Terminal() }

// Terminal reports whether a case in this state is decided.
func (s State) Terminal() bool {
	switch s {
	case Confirmed, Retracted, Coexist, Overturned:
		return true
	default:
		return false
	}
}

// MayBecome reports whether a case may move from s to next.
func (s State) MayBecome(next State) bool { return s == Open && next.Terminal() }

// Case is a contradiction that waits for a person, or one that was decided. It holds ids and
// no text. There is at most one for a pair.
type Case struct {
	// Namespace is that of both memories.
	Namespace acl.Namespace
	// From is the incoming memory, To the one that was there first.
	From, To mem.ID
	State    State
	// Action is OpenCase, or Dispute if From was set aside until somebody decides.
	Action Action
	// Reason says why the case was opened.
	Reason Reason
}

// Cases returns the cases that an outcome about in opens, ordered by the other memory's id.
// Storing one that is there already must change nothing, whatever its state: a repeated check
// does not reopen what a person has decided.
func (o *Outcome) Cases(in *mem.Memory) []Case {
	var out []Case
	for _, p := range o.Pairs {
		if p.Action == OpenCase || p.Action == Dispute {
			out = append(out, Case{
				Namespace: in.Namespace, From: in.ID, To: p.Candidate,
				State: Open, Action: p.Action, Reason: p.Reason,
			})
		}
	}
	return out
}
