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
	"github.com/memkernel/memkernel/queries"
	"github.com/memkernel/memkernel/writepath"
)

// RetractRequest names a memory that is wrong.
type RetractRequest struct {
	ID ID
	// Reason is kept with the memory, at most 1024 bytes; it may be empty.
	Reason string
}

// RetractReply says what was done.
type RetractReply struct {
	// EndedAt is when the memory stopped being believed; zero if it had been retracted before.
	EndedAt time.Time
	// Already reports that it had been retracted before; nothing was changed.
	Already bool
}

// Retract ends a current memory of the caller's own namespace because it is wrong, one that is
// held or disputed too. One that was in sight stays readable by id and in its history, leaves
// every search, and does not revive what it replaced. A repeat call succeeds and says so. Missing and invisible are ErrNotFound, an
// ancestor's memory is ErrForbidden, and one that was superseded or has expired is ErrConflict.
func (k *Kernel) Retract(ctx context.Context, who Identity, req RetractRequest) (*RetractReply, error) {
	var state writepath.Standing
	look := func(now time.Time) []queries.Step {
		return k.store.RetractTarget(who.Scope(), who.Namespace(), req.ID, now, &state)
	}
	c := call{
		op: acl.OpRetract, who: who, memory: req.ID,
		validate: func() error { return mem.CheckLabel("Reason", req.Reason, writepath.MaxSourceBytes) },
		prepare: func(_ context.Context, now time.Time) (store.Ahead, error) {
			return store.Ahead{Steps: look(now)}, nil
		},
	}
	return guard(ctx, k, &c, func(ctx context.Context, cur *current) (*RetractReply, error) {
		for range maxRetractTries {
			reply, err := k.tryRetract(ctx, cur, who, &req, &state)
			if !errors.Is(err, writepath.ErrStale) {
				return reply, err
			}
			cur.detail, state = audit.Detail{}, writepath.Standing{}
			if err := k.readmit(ctx, who, look(cur.now)...); err != nil {
				return nil, err
			}
		}
		return nil, fmt.Errorf("%w: the memory kept changing", mem.ErrConflict)
	})
}

// maxRetractTries is how often a retraction that loses a race is decided.
const maxRetractTries = 5

// tryRetract decides on what state says, and answers writepath.ErrStale if that has changed.
func (k *Kernel) tryRetract(ctx context.Context, cur *current, who Identity, req *RetractRequest, state *writepath.Standing) (*RetractReply, error) {
	target := state.Target
	switch {
	case target == nil:
		return nil, notFound(cur, state.TargetHidden)
	case !target.Own:
		return nil, fmt.Errorf("%w: a memory is retracted in its own namespace only", mem.ErrForbidden)
	case target.EndReason == mem.EndRetracted:
		return &RetractReply{Already: true}, nil
	case target.EndReason != "":
		return nil, fmt.Errorf("%w: the memory has ended (%s)", mem.ErrConflict, target.EndReason)
	}
	cur.detail.Int("retracted", 1)
	event := cur.finish()
	err := k.store.Retract(ctx, who, req.ID, k.redactAside(cur.policy.WriteSecrets, req.Reason), cur.now, &event)
	cur.recorded = err == nil
	return &RetractReply{EndedAt: cur.now}, err
}
