package conflict

import (
	"fmt"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/kernel/mem"
)

// Resolution is a person's decision about exactly one pair.
type Resolution struct {
	// From and To name the pair, in the order of the case.
	From, To mem.ID
	// State is Confirmed, Retracted or Coexist.
	State State
}

// Sides are the two memories of a case as they are now, nil if one was erased.
type Sides struct {
	From, To *mem.Memory
	// Others counts the other open cases that From is the incoming memory of.
	Others int
}

// Effect is what a settlement does to one memory. The list is closed; none deletes.
type Effect string

// The effects.
const (
	// Activate brings a memory that was held or disputed back into sight.
	Activate Effect = "activate"
	// Close ends a memory as superseded by another.
	Close Effect = "close"
	// Withdraw ends a memory as retracted.
	Withdraw Effect = "withdraw"
	// Recheck has a memory checked anew, against what came while it was out of sight.
	Recheck Effect = "recheck"
)

// Change is an effect on one memory of the case.
type Change struct {
	Effect Effect
	Memory mem.ID
	// By is the successor of a Close, zero for other effects.
	By mem.ID
}

// Settlement is what a decision comes to. The changes and the case's new state belong into one
// transaction, each guarded against the sides having changed; a change comes before those that
// depend on it.
type Settlement struct {
	State   State
	Changes []Change
	// Already reports that the case had been decided the same way; there are no changes.
	Already bool
}

// MayResolve reports whether who may decide about cases of a namespace: an owner or admin,
// inside their own subtree. The error is mem.ErrUnauthenticated for nobody, mem.ErrForbidden
// for another role, and mem.ErrNotFound for a namespace elsewhere, as if there were no case.
func MayResolve(who acl.Identity, ns acl.Namespace) error {
	switch {
	case who.IsZero():
		return mem.ErrUnauthenticated
	case who.Role() != acl.RoleOwner && who.Role() != acl.RoleAdmin:
		return fmt.Errorf("%w: an owner or an admin resolves conflicts", mem.ErrForbidden)
	case !ns.InSubtree(who.Namespace()):
		return mem.ErrNotFound
	default:
		return nil
	}
}

// Resolve settles a case the way a person decided, and no other case. It is pure. A repeat of
// the same decision succeeds with Already. The charter does not bind it: it is the person the
// charter asks for.
//
// The error is that of MayResolve; mem.ErrNotFound if the pair is not the case's;
// *mem.InvalidError for a state that is not a decision; mem.ErrConflict if the case was decided
// otherwise or a memory that the decision needs has ended since.
func Resolve(who acl.Identity, c *Case, r Resolution, now Sides) (Settlement, error) {
	if err := MayResolve(who, c.Namespace); err != nil {
		return Settlement{}, err
	}
	if r.From != c.From || r.To != c.To {
		return Settlement{}, mem.ErrNotFound
	}
	if !r.State.Terminal() || r.State == Overturned {
		return Settlement{}, &mem.InvalidError{Field: "State", Reason: "a decision is confirmed, retracted or coexist"}
	}
	if done, err := decided(c, r.State); done {
		return already(r.State, err)
	}
	s := Settlement{State: r.State}
	from, to := live(now.From, c, c.From), live(now.To, c, c.To)
	switch {
	case r.State == Confirmed && from == nil:
		// Nothing is left to retract.
	case r.State == Retracted && from != nil && to == nil:
		s.activate(from)
	case from == nil || to == nil:
		return Settlement{}, fmt.Errorf("%w: a memory of the case has ended since", mem.ErrConflict)
	case r.State == Confirmed:
		s.Changes = append(s.Changes, Change{Effect: Withdraw, Memory: from.ID})
	case r.State == Retracted:
		s.Changes = append(s.Changes, Change{Effect: Close, Memory: to.ID, By: from.ID})
		s.activate(from)
	case now.Others == 0:
		s.activate(from)
	}
	return s, nil
}

// decided reports that a case is closed already, with an error if not by the given state.
func decided(c *Case, as State) (bool, error) {
	switch {
	case c.State == as:
		return true, nil
	case !c.State.MayBecome(as):
		return true, fmt.Errorf("%w: the case is %s", mem.ErrConflict, c.State)
	default:
		return false, nil
	}
}

func already(s State, err error) (Settlement, error) {
	if err != nil {
		return Settlement{}, err
	}
	return Settlement{State: s, Already: true}, nil
}

// live returns m if it is current and the memory that the case means.
func live(m *mem.Memory, c *Case, id mem.ID) *mem.Memory {
	if m == nil || m.ID != id || m.Namespace != c.Namespace || !m.Current() {
		return nil
	}
	return m
}

func (s *Settlement) activate(m *mem.Memory) {
	if m.Status != mem.StatusActive {
		s.Changes = append(s.Changes, Change{Effect: Activate, Memory: m.ID}, Change{Effect: Recheck, Memory: m.ID})
	}
}
