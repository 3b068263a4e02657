package kernel

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/audit"
	"github.com/memkernel/memkernel/internal/store"
	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/writepath"
	"github.com/memkernel/memkernel/writepath/conflict"
)

// ConflictState is where a conflict stands: open, confirmed, retracted, coexist or overturned;
// see the constants.
type ConflictState = conflict.State

// The states of a conflict. It begins open and moves once.
const (
	// ConflictOpen waits for a person.
	ConflictOpen = conflict.Open
	// ConflictConfirmed: the memory that was there first stands, and the incoming one is
	// retracted.
	ConflictConfirmed = conflict.Confirmed
	// ConflictRetracted: the memory that was there first is given up, and the incoming one
	// replaces it.
	ConflictRetracted = conflict.Retracted
	// ConflictCoexist: both stand.
	ConflictCoexist = conflict.Coexist
	// ConflictOverturned: a person has replaced one of the two by a new memory.
	ConflictOverturned = conflict.Overturned
)

// Conflict is two memories of one namespace that contradict each other, as far as was found, and
// what became of the question.
type Conflict struct {
	Namespace Namespace
	// From came in when To was there. They are as they are now, held, disputed or ended ones
	// too; of one that was erased only the id is left.
	From, To Memory
	State    ConflictState
	// Disputed reports that From was set aside until somebody decides, because To is of
	// higher trust or, of equal trust, later.
	Disputed bool
	// Reason says why a person has to decide, such as "protected_kind" or "underranks".
	Reason string
	// Basis says what found the contradiction, such as "model" or "negation", and Confidence,
	// from 0 to 100, how sure it is.
	Basis      string
	Confidence int
	OpenedAt   time.Time
	// ResolvedAt and ResolvedBy are zero for an open conflict.
	ResolvedAt time.Time
	ResolvedBy string
}

// Conflicts lists and resolves the conflicts of a subtree.
type Conflicts struct{ k *Kernel }

// Conflicts returns what the check for contradictions has left to people. New memories are
// compared with their neighbours in the background, see Start; what policy and the charter do not
// let be settled by itself waits here: a preference, goal or opinion, a finding that is not
// sure, a memory that is of less trust than the one it contradicts.
func (k *Kernel) Conflicts() Conflicts { return Conflicts{k} }

// ConflictListRequest selects conflicts.
type ConflictListRequest struct {
	// State selects those in one state; empty is open.
	State ConflictState
	// Limit is the page size, default 100, at most Limits.MaxPage.
	Limit int
	// After continues behind the last conflict of an earlier page.
	After *Conflict
}

// ConflictListReply is a page of conflicts.
type ConflictListReply struct {
	// Conflicts are ordered by their incoming memory, the oldest first.
	Conflicts []Conflict
	// More reports that others follow.
	More bool
}

// List returns the conflicts in the caller's namespace and below, with the texts of both
// memories, whatever their status. It needs role admin or owner. A repeat call lists what there is
// by then. An unknown State and a negative Limit are ErrInvalid, a Limit above Limits.MaxPage is
// ErrTooLarge.
func (h Conflicts) List(ctx context.Context, who Identity, req ConflictListRequest) (*ConflictListReply, error) {
	filter := store.CaseFilter{Root: who.Namespace(), State: req.State, Limit: req.Limit}
	if filter.State == "" {
		filter.State = conflict.Open
	}
	if filter.Limit == 0 {
		filter.Limit = min(100, h.k.limits.MaxPage)
	}
	if req.After != nil {
		filter.AfterFrom, filter.AfterTo = req.After.From.ID, req.After.To.ID
	}
	limit := filter.Limit
	filter.Limit++
	var cases []store.Case
	c := call{op: acl.OpConflictList, who: who, validate: func() error {
		if !filter.State.Valid() {
			return &mem.InvalidError{Field: "State", Reason: "unknown state"}
		}
		return checkPage(limit, h.k.limits.MaxPage)
	}}
	if c.validate() == nil {
		c.steps = append(c.steps, h.k.store.Cases(&filter, &cases))
	}
	return guard(ctx, h.k, &c, func(ctx context.Context, cur *current) (*ConflictListReply, error) {
		page := cases[:min(limit, len(cases))]
		memories, err := h.k.store.CaseMemories(ctx, who.Namespace(), page, cur.now)
		if err != nil {
			return nil, err
		}
		reply := &ConflictListReply{Conflicts: make([]Conflict, len(page)), More: len(cases) > limit}
		for i := range page {
			reply.Conflicts[i] = toConflict(&page[i], memories)
		}
		cur.detail.Int("returned", int64(len(page)))
		return reply, nil
	})
}

func toConflict(c *store.Case, memories map[ID]Memory) Conflict {
	side := func(id ID) Memory {
		if m, ok := memories[id]; ok {
			return m
		}
		return Memory{ID: id, Namespace: c.Namespace}
	}
	return Conflict{
		Namespace: c.Namespace, From: side(c.From), To: side(c.To), State: c.State, Disputed: c.Action == conflict.Dispute,
		Reason: string(c.Reason), Basis: string(c.Verdict.Basis), Confidence: c.Verdict.Confidence,
		OpenedAt: c.OpenedAt, ResolvedAt: c.ResolvedAt, ResolvedBy: c.ResolvedBy,
	}
}

// ConflictResolveRequest is a decision about one conflict.
type ConflictResolveRequest struct {
	// From and To name it, in the order of the list.
	From, To ID
	// State is ConflictConfirmed, ConflictRetracted or ConflictCoexist.
	State ConflictState
}

// ConflictResolveReply says what was done.
type ConflictResolveReply struct {
	// Activated is From if it was held or disputed and is found again.
	Activated ID
	// DuplicateOf is the memory that says the same as From by now, if From would have been
	// activated: it has ended in that one's favour.
	DuplicateOf ID
	// Superseded is To if From has replaced it.
	Superseded ID
	// Replaced are others that From has replaced: an older one with its ContentKey, and one of less
	// trust that says the same.
	Replaced []ID
	// Retracted is From if it was given up.
	Retracted ID
	// Already reports that the conflict had been resolved like this; nothing was changed.
	Already bool
}

// Resolve settles a conflict the way the caller decides: From is retracted, or replaces To, or
// both stand. The charter, which keeps the kernel from it, binds nobody here. A From that is
// brought back although another memory says the same by now is that one's duplicate, and ends in
// its favour; one of less trust ends in favour of From. From stays out of sight as long as another
// conflict of its own is open, if both are to stand. It is compared with what came meanwhile once
// more, and may come into another conflict.
//
// It needs role admin or owner, and the conflict in the caller's namespace or below: elsewhere and
// missing are the same ErrNotFound. A memory that the decision needs and that has ended meanwhile
// is ErrConflict, and so are a conflict that has been resolved otherwise, a From that is to come back
// although a newer memory has its ContentKey, and two with one ContentKey that are both to stand. A repeat call succeeds and
// says so; of several at once that decide differently one does.
func (h Conflicts) Resolve(ctx context.Context, who Identity, req ConflictResolveRequest) (*ConflictResolveReply, error) {
	var found store.FoundCase
	c := call{
		op: acl.OpConflictResolve, who: who, memory: req.From, validate: req.validate,
		steps: h.k.store.FindCase(who.Namespace(), req.From, req.To, &found),
	}
	return guard(ctx, h.k, &c, func(ctx context.Context, cur *current) (*ConflictResolveReply, error) {
		if found.Namespace.IsZero() {
			return nil, notFound(cur, found.Hidden)
		}
		describe := func(changes []conflict.Change) audit.Event {
			cur.detail = audit.Detail{}
			cur.detail.Str("case", req.To.String()).Str("state", string(req.State))
			for _, c := range changes {
				cur.detail.Str(string(c.Effect), c.Memory.String())
				if !c.By.IsZero() {
					cur.detail.Str("by", c.By.String())
				}
			}
			return cur.finish()
		}
		describe(nil)
		decision := store.Decision{
			Namespace: found.Namespace, From: req.From, To: req.To, Now: cur.now, Actor: who.Actor(), Event: describe,
			Settle: func(c *conflict.Case, now conflict.Sides) (conflict.Settlement, error) {
				return conflict.Resolve(who, c, conflict.Resolution{From: req.From, To: req.To, State: req.State}, now)
			},
		}
		for range writepath.MaxAttempts {
			settled, err := h.k.store.ResolveCase(ctx, &decision)
			if err != nil {
				describe(nil) // it was not done
			}
			if errors.Is(err, writepath.ErrStale) {
				continue
			}
			if settled.Already {
				cur.detail.Str("already", "true")
			}
			cur.recorded = err == nil && !settled.Already
			return resolveReply(&req, &settled), err
		}
		return nil, fmt.Errorf("%w: lost %d races in a row", mem.ErrConflict, writepath.MaxAttempts)
	})
}

func (r *ConflictResolveRequest) validate() error {
	switch {
	case r.From.IsZero():
		return &mem.InvalidError{Field: "From", Reason: "it is zero"}
	case r.To.IsZero():
		return &mem.InvalidError{Field: "To", Reason: "it is zero"}
	case !r.State.Terminal() || r.State == conflict.Overturned:
		return &mem.InvalidError{Field: "State", Reason: "a decision is confirmed, retracted or coexist"}
	default:
		return nil
	}
}

func resolveReply(req *ConflictResolveRequest, s *conflict.Settlement) *ConflictResolveReply {
	reply := &ConflictResolveReply{Already: s.Already}
	for _, c := range s.Changes {
		switch c.Effect {
		case conflict.Activate:
			reply.Activated = c.Memory
		case conflict.Close:
			switch c.Memory {
			case req.From:
				reply.DuplicateOf = c.By
			case req.To:
				reply.Superseded = c.Memory
			default:
				reply.Replaced = append(reply.Replaced, c.Memory)
			}
		case conflict.Withdraw:
			reply.Retracted = c.Memory
		case conflict.Recheck:
		}
	}
	return reply
}
