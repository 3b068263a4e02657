package writepath

import (
	"context"
	"errors"
	"fmt"

	"github.com/memkernel/memkernel/kernel/mem"
)

// MaxAttempts bounds how often a write that lost a race is decided anew.
const MaxAttempts = 5

// ErrStale reports that the state a decision was based on has changed; nothing was written.
var ErrStale = errors.New("state has changed")

// ErrUnprepared reports that a draft which looked as if it was not to be stored is to be stored
// after all, and that the embedder, which cannot be asked in a transaction, was not; nothing was
// written.
var ErrUnprepared = errors.New("draft is not embedded")

// State is what the database holds that bears on the drafts of a write.
type State struct {
	// Standings say how each draft stands, in their order.
	Standings []Standing
	// Receipt is the encoded outcome of an earlier write with the same idempotency key.
	Receipt []byte
	// ForeignReceipt reports that the idempotency key belongs to another request.
	ForeignReceipt bool
	// HandedOut are visible current memories that were handed out to the writer, by dedupe key, as
	// far as a draft could be an echo of them.
	HandedOut map[[32]byte]mem.ID
}

// Answered reports that an earlier write with the idempotency key settles this one.
func (s *State) Answered() bool { return s.Receipt != nil || s.ForeignReceipt }

// Standing is what the database holds that bears on one draft.
type Standing struct {
	// Duplicate is the current copy of the same text in the writer's namespace, zero if none.
	Duplicate mem.ID
	// DuplicateProvenance is that of the duplicate: a draft of higher trust replaces it.
	DuplicateProvenance mem.Provenance
	// Target is the memory named by Supersedes, nil if none was named or it is not visible; for a
	// draft with a ContentKey the current memory with that key, nil if there is none.
	Target *Target
	// TargetHidden reports that the tenant has the named memory where it is not visible: for
	// the audit log only.
	TargetHidden bool
	// Echoes are memories that say what the draft says and that were handed out to its writer. Plan
	// takes them from State.HandedOut.
	Echoes []mem.ID
}

// Target is the memory that a draft wants to replace.
type Target struct {
	// Own reports that it lives in the writer's own namespace.
	Own bool
	// Head is what is current of what it has become, held or disputed as it may be, zero if
	// nothing is.
	Head mem.ID
	// Same reports that the head is active and the draft in every respect: text, kind, times and
	// source.
	// It is read in one statement with Head; Duplicate comes from another, which may have
	// looked earlier.
	Same bool
	// Provenance is that of the head.
	Provenance mem.Provenance
	// EndReason is how the target itself ended, empty if it is current.
	EndReason mem.EndReason
}

// Action is what becomes of a draft.
type Action int

// The actions.
const (
	Insert    Action = iota // a new memory
	Supersede               // a new memory that closes Decision.Memory
	Duplicate               // nothing new: Decision.Memory says the same
	Echo                    // nothing new: the writer was handed Decision.Memory and says it back
)

// Stores reports whether the action makes a new memory.
func (a Action) Stores() bool { return a == Insert || a == Supersede }

// Decision is the action and the memory that it concerns.
type Decision struct {
	Action Action
	Memory mem.ID
	// Echoes are all the memories that an echo repeats, Memory the first of them.
	Echoes []mem.ID
}

// Plan says what to do with each of the valid drafts of a write. replay reports that nothing is
// done at all: the receipt answers. It is pure.
func Plan(drafts []*Draft, st *State) (decisions []Decision, replay bool, err error) {
	switch {
	case st.ForeignReceipt:
		return nil, false, fmt.Errorf("%w: the idempotency key was used for another request", mem.ErrConflict)
	case st.Receipt != nil:
		return nil, true, nil
	case len(st.Standings) != len(drafts):
		return nil, false, fmt.Errorf("%w: %d standings for %d drafts", mem.ErrInternal, len(st.Standings), len(drafts))
	}
	decisions = make([]Decision, len(drafts))
	for i, d := range drafts {
		standing := st.Standings[i]
		standing.Echoes = d.Echoes(st.HandedOut)
		if decisions[i], err = Decide(d, &standing); err != nil {
			return nil, false, err
		}
	}
	return decisions, false, nil
}

// Decide says what to do with a valid draft. It is pure.
func Decide(d *Draft, st *Standing) (Decision, error) {
	switch {
	case !d.Supersedes.IsZero():
		return replacement(d, st)
	case !st.Duplicate.IsZero() && st.Target == nil && d.Outranks(st.DuplicateProvenance):
		return Decision{Action: Supersede, Memory: st.Duplicate}, nil
	case !st.Duplicate.IsZero() && st.Target == nil:
		return Decision{Action: Duplicate, Memory: st.Duplicate}, nil
	case len(st.Echoes) > 0:
		return Decision{Action: Echo, Memory: st.Echoes[0], Echoes: st.Echoes}, nil
	case st.Target != nil:
		return replacement(d, st)
	default:
		return Decision{Action: Insert}, nil
	}
}

// replacement decides on a draft that is to take the place of its target.
func replacement(d *Draft, st *Standing) (Decision, error) {
	switch {
	case st.Target == nil:
		return Decision{}, mem.ErrNotFound
	case !st.Target.Own:
		return Decision{}, fmt.Errorf("%w: a memory is replaced in its own namespace only", mem.ErrForbidden)
	case st.Target.Head.IsZero():
		return Decision{}, fmt.Errorf("%w: the memory to replace has ended (%s)", mem.ErrConflict, st.Target.EndReason)
	case st.Target.Same && !d.Outranks(st.Target.Provenance):
		// The fact to replace already reads like the new one, as after a concurrent equal write.
		return Decision{Action: Duplicate, Memory: st.Target.Head}, nil
	case !st.Duplicate.IsZero() && st.Duplicate != st.Target.Head:
		return Decision{}, fmt.Errorf("%w: memory %s already says this; retract the one to replace instead", mem.ErrConflict, st.Duplicate)
	default:
		return Decision{Action: Supersede, Memory: st.Target.Head}, nil
	}
}

// Ledger is where the drafts of a write are committed.
type Ledger interface {
	// State reads what bears on the drafts.
	State(ctx context.Context) (State, error)
	// Apply carries the decisions out, one for each draft, all of them or nothing; ErrStale if the
	// state has changed.
	Apply(ctx context.Context, decisions []Decision) error
	// Serialized runs fn with a Ledger that no other serialized writer of the namespace can
	// get in the way of, in one transaction.
	Serialized(ctx context.Context, fn func(Ledger) error) error
}

// Commit decides and applies until it succeeds, at most MaxAttempts times. The first attempt
// uses the given state and takes no lock; after a lost race the writers of a namespace queue
// up, so that a crowd makes progress one by one instead of colliding until it gives up. It
// returns whether the receipt answers, and the state that was decided on. The error is
// mem.ErrConflict when every attempt lost.
func Commit(ctx context.Context, l Ledger, drafts []*Draft, first *State) (replay bool, st State, err error) {
	st = *first
	replay, err = attempt(ctx, l, drafts, &st)
	for range MaxAttempts - 1 {
		if !errors.Is(err, ErrStale) {
			return replay, st, err
		}
		err = l.Serialized(ctx, func(l Ledger) error {
			fresh, err := l.State(ctx)
			if err != nil {
				return err
			}
			st = fresh
			replay, err = attempt(ctx, l, drafts, &st)
			return err
		})
	}
	if errors.Is(err, ErrStale) {
		err = fmt.Errorf("%w: lost %d races in a row", mem.ErrConflict, MaxAttempts)
	}
	return replay, st, err
}

func attempt(ctx context.Context, l Ledger, drafts []*Draft, st *State) (replay bool, err error) {
	decisions, replay, err := Plan(drafts, st)
	if err != nil || replay {
		return replay, err
	}
	return false, l.Apply(ctx, decisions)
}
