package kernel

import (
	"context"
	"time"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/audit"
	"github.com/memkernel/memkernel/internal/store"
	"github.com/memkernel/memkernel/kernel/mem"
)

// ReadRequest names a memory.
type ReadRequest struct {
	ID ID
	// AsOf asks for the version of the memory's chain that was believed at that time; the
	// zero value asks for the memory itself, ended or not.
	AsOf time.Time
}

// ReadReply is the memory.
type ReadReply struct{ Memory Memory }

// Read returns one memory by id: of the caller's namespace or an ancestor, current or ended.
// Missing and invisible are the same ErrNotFound, with the same message and the same
// statements; only the audit row tells them apart (miss and denied). Disputed and held
// memories are not found. A success counts as an access by the caller's namespace, unless
// the caller is an auditor.
func (k *Kernel) Read(ctx context.Context, who Identity, req ReadRequest) (*ReadReply, error) {
	var found store.Found
	c := call{
		op: acl.OpRead, who: who, memory: req.ID, rereads: true,
		validate: func() error { return mem.CheckTime("AsOf", req.AsOf) },
		prepare: func(_ context.Context, now time.Time) (store.Ahead, error) {
			return store.Ahead{Steps: k.store.Find(who.Scope(), who.Namespace(), req.ID, req.AsOf, now, &found)}, nil
		},
	}
	if req.AsOf.IsZero() {
		c.eager = func(ctx context.Context, cur *current, known *store.Known, _ *mem.EffectivePolicy) (sent bool, err error) {
			err = k.store.ReadRecorded(ctx, who, known, req.ID, &cur.event, &found)
			cur.answered = found.Memory != nil
			cur.recorded = cur.answered && err == nil
			return true, err
		}
	}
	return guard(ctx, k, &c, func(_ context.Context, cur *current) (*ReadReply, error) {
		if found.Memory == nil {
			return nil, notFound(cur, found.Hidden)
		}
		cur.event.MemoryID = found.Memory.ID
		cur.served = []ID{found.Memory.ID}
		cur.detail.Int("tokens", int64(found.Memory.Tokens))
		return &ReadReply{Memory: *found.Memory}, nil
	})
}

// notFound is the answer for a memory that is missing or invisible; hidden makes the audit
// row, and nothing else, tell which.
func notFound(cur *current, hidden bool) error {
	if hidden {
		cur.event.Result = audit.ResultDenied
	}
	return mem.ErrNotFound
}
