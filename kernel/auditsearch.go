package kernel

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/internal/store"
	"github.com/memkernel/memkernel/kernel/mem"
)

// AuditSearchRequest selects audit rows; the zero value selects all that the caller may see.
type AuditSearchRequest struct {
	// Namespace narrows the search to a subtree of the caller's own. Outside of it there is
	// nothing to find.
	Namespace Namespace
	// From and To bound the time of the call, inclusive; zero for no bound.
	From, To time.Time
	// Ops and Results, when not empty, list what is wanted; at most 64 each.
	Ops     []Op
	Results []AuditResult
	// Actor and MemoryID, when set, must match.
	Actor    string
	MemoryID ID
	// Limit is the most rows wanted; 0 for all.
	Limit int
}

// auditPage is how many rows one query reads.
const auditPage = 500

func (r *AuditSearchRequest) validate() error {
	const most = 64
	if len(r.Ops) > most {
		return &mem.TooLargeError{Field: "Ops", Size: int64(len(r.Ops)), Limit: most, Unit: "operations"}
	}
	if len(r.Results) > most {
		return &mem.TooLargeError{Field: "Results", Size: int64(len(r.Results)), Limit: most, Unit: "results"}
	}
	for i, op := range r.Ops {
		if err := mem.CheckLabel(fmt.Sprintf("Ops[%d]", i), string(op), maxActor); err != nil {
			return err
		}
	}
	for i, result := range r.Results {
		if err := mem.CheckLabel(fmt.Sprintf("Results[%d]", i), string(result), maxActor); err != nil {
			return err
		}
	}
	if r.Limit < 0 {
		return &mem.InvalidError{Field: "Limit", Reason: fmt.Sprintf("%d is negative", r.Limit)}
	}
	if err := mem.CheckTime("From", r.From); err != nil {
		return err
	}
	if err := mem.CheckTime("To", r.To); err != nil {
		return err
	}
	return mem.CheckLabel("Actor", r.Actor, maxActor)
}

// AuditSearch returns audit rows of the caller's namespace and everything below it, newest
// first. It needs role auditor, admin or owner.
//
// The call itself, and its own audit row, happens at once; an error comes as the sequence's only
// element. Later pages are read as the sequence is consumed, each only if the caller's key and
// tenant still allow it, and a failure to read one ends it with an error. The sequence ends where
// the log ended when the call was made: rows that are added meanwhile are not in it. It can be
// consumed several times, also at once.
func (k *Kernel) AuditSearch(ctx context.Context, who Identity, req AuditSearchRequest) iter.Seq2[AuditEvent, error] {
	root, inside := narrow(who, req.Namespace)
	query := store.AuditQuery{
		Root: root, From: req.From, To: req.To, Ops: req.Ops, Results: req.Results, Actor: req.Actor, MemoryID: req.MemoryID,
		Limit: auditPage,
	}
	var first []AuditEvent
	c := call{op: acl.OpAuditSearch, who: who, validate: req.validate}
	_, err := guard(ctx, k, &c, func(ctx context.Context, cur *current) (*struct{}, error) {
		cur.detail.Str("target", root.String())
		if !inside {
			return &struct{}{}, nil
		}
		var err error
		first, err = k.store.AuditPageNow(ctx, &query)
		return &struct{}{}, err
	})
	return func(yield func(AuditEvent, error) bool) {
		if err != nil {
			yield(AuditEvent{}, err)
			return
		}
		left := req.Limit
		for page, q := first, query; ; {
			for i := range page {
				if !yield(page[i], nil) {
					return
				}
				if left--; left == 0 {
					return
				}
			}
			if len(page) < auditPage {
				return
			}
			q.BeforeSeq = page[len(page)-1].Seq
			var next []AuditEvent
			if err := k.readmit(ctx, who, k.store.AuditPage(&q, &next)); err != nil {
				yield(AuditEvent{}, k.opError(ctx, acl.OpAuditSearch, err))
				return
			}
			page = next
		}
	}
}
