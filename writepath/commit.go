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

// ErrUnprepared reports that a draft which looked like a duplicate is to be stored after all,
// and that the embedder, which cannot be asked in a transaction, was not; nothing was written.
var ErrUnprepared = errors.New("draft is not embedded")

// State is what the database holds that bears on a draft.
type State struct {
	// Duplicate is the current copy of the same text in the writer's namespace, zero if none.
	Duplicate mem.ID
	// Target is the memory named by Supersedes, nil if none was named or it is not visible.
	Target *Target
	// TargetHidden reports that the tenant has the named memory where it is not visible: for
	// the audit log only.
	TargetHidden bool
	// Receipt is the encoded outcome of an earlier write with the same idempotency key.
	Receipt []byte
	// ForeignReceipt reports that the idempotency key belongs to another request.
	ForeignReceipt bool
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
	// EndReason is how the target itself ended, empty if it is current.
	EndReason mem.EndReason
}

// Action is what a write does.
type Action int

// The actions.
const (
	Insert    Action = iota // a new memory
	Supersede               // a new memory that closes Decision.Memory
	Duplicate               // nothing new: Decision.Memory says the same
	Replay                  // nothing at all: the receipt answers
)

// Decision is the action and the memory that it concerns.
type Decision struct {
	Action Action
	Memory mem.ID
}

// Decide says what to do with a valid draft. It is pure.
func Decide(d *Draft, st *State) (Decision, error) {
	switch {
	case st.ForeignReceipt:
		return Decision{}, fmt.Errorf("%w: the idempotency key was used for another request", mem.ErrConflict)
	case st.Receipt != nil:
		return Decision{Action: Replay}, nil
	case d.Supersedes.IsZero() && st.Duplicate.IsZero():
		return Decision{Action: Insert}, nil
	case d.Supersedes.IsZero():
		return Decision{Action: Duplicate, Memory: st.Duplicate}, nil
	case st.Target == nil:
		return Decision{}, mem.ErrNotFound
	case !st.Target.Own:
		return Decision{}, fmt.Errorf("%w: a memory is replaced in its own namespace only", mem.ErrForbidden)
	case st.Target.Head.IsZero():
		return Decision{}, fmt.Errorf("%w: the memory to replace has ended (%s)", mem.ErrConflict, st.Target.EndReason)
	case st.Target.Same:
		// The fact to replace already reads like the new one, as after a concurrent equal write.
		return Decision{Action: Duplicate, Memory: st.Target.Head}, nil
	case !st.Duplicate.IsZero() && st.Duplicate != st.Target.Head:
		return Decision{}, fmt.Errorf("%w: memory %s already says this; retract the one to replace instead", mem.ErrConflict, st.Duplicate)
	default:
		return Decision{Action: Supersede, Memory: st.Target.Head}, nil
	}
}

// Ledger is where a draft is committed.
type Ledger interface {
	// State reads what bears on the draft.
	State(ctx context.Context) (State, error)
	// Apply carries a decision out, all of it or nothing; ErrStale if the state has changed.
	Apply(ctx context.Context, dec Decision) error
	// Serialized runs fn with a Ledger that no other serialized writer of the namespace can
	// get in the way of, in one transaction.
	Serialized(ctx context.Context, fn func(Ledger) error) error
}

// Commit decides and applies until it succeeds, at most MaxAttempts times. The first attempt
// uses the given state and takes no lock; after a lost race the writers of a namespace queue
// up, so that a crowd makes progress one by one instead of colliding until it gives up. The
// error is mem.ErrConflict when every attempt lost.
func Commit(ctx context.Context, l Ledger, d *Draft, first *State) (Decision, State, error) {
	dec, st, err := attempt(ctx, l, d, first)
	for range MaxAttempts - 1 {
		if !errors.Is(err, ErrStale) {
			return dec, st, err
		}
		err = l.Serialized(ctx, func(l Ledger) error {
			fresh, err := l.State(ctx)
			if err != nil {
				return err
			}
			dec, st, err = attempt(ctx, l, d, &fresh)
			return err
		})
	}
	if errors.Is(err, ErrStale) {
		err = fmt.Errorf("%w: lost %d races in a row", mem.ErrConflict, MaxAttempts)
	}
	return dec, st, err
}

func attempt(ctx context.Context, l Ledger, d *Draft, st *State) (Decision, State, error) {
	dec, err := Decide(d, st)
	if err != nil || dec.Action == Replay {
		return dec, *st, err
	}
	return dec, *st, l.Apply(ctx, dec)
}
