package store

import (
	"context"
	"math"
	"time"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/audit"
	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/queries"
)

// KindStats counts the memories of one kind.
type KindStats struct {
	Kind                                 mem.Kind
	Live, Superseded, Retracted, Expired int64
	LiveTokens                           int64
	Held, Disputed                       int64
}

// AuditStats counts the audit rows of one namespace.
type AuditStats struct{ Total, Denied, Failed int64 }

// Stats returns the steps that count what the scope shows now, and the audit rows of one namespace.
func (s *Store) Stats(scope acl.Scope, own acl.Namespace, now time.Time, kinds *[]KindStats, log *AuditStats) []queries.Step {
	return []queries.Step{
		func(ctx context.Context, q *queries.Queries) error {
			rows, err := q.MemoryStats(ctx, queries.MemoryStatsParams{Tenant: scope.Tenant(), Namespaces: scope.Namespaces(), Now: now})
			if err != nil {
				return err
			}
			for _, r := range rows {
				*kinds = append(*kinds, KindStats{
					Kind: mem.Kind(r.Kind), Live: r.Live, Superseded: r.Superseded, Retracted: r.Retracted, Expired: r.Expired,
					LiveTokens: r.LiveTokens, Held: r.Held, Disputed: r.Disputed,
				})
			}
			return nil
		},
		func(ctx context.Context, q *queries.Queries) error {
			r, err := q.AuditCount(ctx, queries.AuditCountParams{Tenant: own.Tenant(), Namespace: own.String()})
			if err == nil {
				*log = AuditStats{Total: r.Total, Denied: r.Denied, Failed: r.Failed}
			}
			return err
		},
	}
}

// AuditQuery selects audit rows.
type AuditQuery struct {
	// Root is the subtree.
	Root acl.Namespace
	// BeforeSeq continues after a row; 0 starts at the newest.
	BeforeSeq int64
	// From and To bound the time, inclusive; zero for no bound.
	From, To time.Time
	Ops      []acl.Op
	Results  []audit.Result
	// Actor and MemoryID, when set, must match.
	Actor    string
	MemoryID mem.ID
	Limit    int
}

// AuditPage returns the step that reads one page of audit rows, newest first.
func (s *Store) AuditPage(query *AuditQuery, out *[]audit.Event) queries.Step {
	exact, from, to := query.Root.Range()
	before := query.BeforeSeq
	if before == 0 {
		before = math.MaxInt64
	}
	p := queries.AuditSearchParams{
		Tenant: query.Root.Tenant(), Subtree: exact, SubtreeFrom: from, SubtreeTo: to, BeforeSeq: before,
		TsFrom: optionalTime(query.From), TsTo: optionalTime(query.To), Ops: texts(query.Ops), Results: texts(query.Results),
		Actor: query.Actor, MemoryID: optionalID(query.MemoryID), MaxRows: int32(query.Limit), //nolint:gosec // capped by the kernel
	}
	return func(ctx context.Context, q *queries.Queries) error {
		rows, err := q.AuditSearch(ctx, p)
		if err != nil {
			return err
		}
		*out = make([]audit.Event, len(rows))
		for i, r := range rows {
			(*out)[i] = audit.Event{
				Seq: r.Seq, Call: mem.ID(r.CallID), Time: r.Ts.UTC(), Tenant: r.Tenant, Namespace: r.Namespace, Actor: r.Actor, AgentID: r.AgentID,
				Op: acl.Op(r.Op), MemoryID: mem.ID(value(r.MemoryID)), Purpose: value(r.Purpose),
				Result: audit.Result(r.Result), Detail: r.Detail,
			}
			if r.KeyID != nil {
				(*out)[i].KeyID = r.KeyID.String()
			}
		}
		return nil
	}
}

// AuditPageNow reads one page on its own.
func (s *Store) AuditPageNow(ctx context.Context, query *AuditQuery) ([]audit.Event, error) {
	var out []audit.Event
	err := s.run(ctx, s.AuditPage(query, &out))
	return out, err
}

func texts[T ~string](in []T) []string {
	out := make([]string, len(in))
	for i, v := range in {
		out[i] = string(v)
	}
	return out
}
