package kernel

import (
	"context"
	"fmt"
	"time"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/internal/store"
	"github.com/memkernel/memkernel/kernel/mem"
)

// HistoryRequest names a memory and a page of its chain.
type HistoryRequest struct {
	// ID is any memory of the chain.
	ID ID
	// Limit is the page size, default 100, at most Limits.MaxPage.
	Limit int
	// After continues behind the last memory of an earlier page; the zero value starts at the
	// newest.
	After *Memory
}

// HistoryReply is a page of a chain.
type HistoryReply struct {
	// Memories lists the chain, newest first.
	Memories []Memory
	// More reports that older memories follow.
	More bool
}

// History returns what a memory replaced and what replaced it: the whole supersede chain,
// newest first, in pages. It shows what Read would show; missing and invisible are the same
// ErrNotFound. A Limit that is negative is ErrInvalid, one above Limits.MaxPage ErrTooLarge; an
// After of another chain gives an empty page.
func (k *Kernel) History(ctx context.Context, who Identity, req HistoryRequest) (*HistoryReply, error) {
	limit := req.Limit
	if limit == 0 {
		limit = min(100, k.limits.MaxPage)
	}
	var page store.Page
	var after ID
	if req.After != nil {
		after = req.After.ID
	}
	c := call{
		op: acl.OpHistory, who: who, memory: req.ID,
		validate: func() error { return checkPage(limit, k.limits.MaxPage) },
		prepare: func(_ context.Context, now time.Time) (store.Ahead, error) {
			return store.Ahead{Steps: k.store.History(who.Scope(), who.Namespace(), req.ID, after, limit+1, now, &page)}, nil
		},
	}
	return guard(ctx, k, &c, func(_ context.Context, cur *current) (*HistoryReply, error) {
		if !page.Visible {
			return nil, notFound(cur, page.Hidden)
		}
		more := len(page.Memories) > limit
		reply := &HistoryReply{Memories: page.Memories[:min(limit, len(page.Memories))], More: more}
		cur.detail.Int("returned", int64(len(reply.Memories)))
		return reply, nil
	})
}

func checkPage(limit, most int) error {
	switch {
	case limit < 0:
		return &mem.InvalidError{Field: "Limit", Reason: fmt.Sprintf("%d is negative", limit)}
	case limit > most:
		return &mem.TooLargeError{Field: "Limit", Size: int64(limit), Limit: int64(most), Unit: "rows"}
	default:
		return nil
	}
}
