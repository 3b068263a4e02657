package kernel

import (
	"context"
	"time"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/internal/store"
)

// StatsRequest asks for the counts that the caller may know.
type StatsRequest struct{}

// StatsReply counts what the caller sees: its namespace and the ancestors.
type StatsReply struct {
	// Live counts current memories, LiveTokens their estimated size.
	Live, LiveTokens int64
	// Superseded, Retracted and Expired count ended memories by how they ended.
	Superseded, Retracted, Expired int64
	// ByKind holds the same per kind, for kinds that occur.
	ByKind map[Kind]KindStats
	// Pending counts the writes of WriteAsync that are not over, OldestPending is how long ago the
	// first of them was issued: if it grows, no kernel is started, or none keeps up.
	Pending       int64
	OldestPending time.Duration
	// Held counts current memories that are kept out of sight until they are checked, Disputed
	// those that are set aside because they contradict one that stands, of higher trust or
	// more recent; neither is in Live.
	Held, Disputed int64
	// Unchecked counts memories that have not been compared with their neighbours yet, held ones
	// included, OldestUnchecked is how long ago the first of them came up for it: if it grows, no
	// kernel is started, none keeps up, or the language model is down.
	Unchecked       int64
	OldestUnchecked time.Duration
	// OpenConflicts counts the conflicts that wait for a person in the caller's namespace and
	// below; 0 for roles that may not list them.
	OpenConflicts int64
	// Audit counts the audit rows of the caller's own namespace, this call's not included.
	Audit AuditStats
}

// KindStats counts the memories of one kind.
type KindStats struct{ Live, LiveTokens, Superseded, Retracted, Expired int64 }

// AuditStats counts audit rows: all of them, and those that were denied or ended in an error.
// A call for a memory that is missing or invisible is in Total only.
type AuditStats struct{ Total, Denied, Failed int64 }

// Stats returns counts over exactly what the caller sees: nothing outside of it changes them.
// They are read in one statement each and are exact, which takes time in proportion to what there
// is to count, ended memories and audit rows included. Errors are those of every syscall.
func (k *Kernel) Stats(ctx context.Context, who Identity, _ StatsRequest) (*StatsReply, error) {
	var kinds []store.KindStats
	var log store.AuditStats
	var tickets store.TicketStats
	var checks store.CheckStats
	var conflicts int64
	c := call{op: acl.OpStats, who: who, prepare: func(_ context.Context, now time.Time) (store.Ahead, error) {
		steps := k.store.Stats(who.Scope(), who.Namespace(), now, &kinds, &log)
		steps = append(steps, k.store.Tickets(who.Scope(), &tickets), k.store.Checks(who.Scope(), &checks))
		if acl.Allowed(who.Role(), acl.OpConflictList) {
			steps = append(steps, k.store.OpenCases(who.Namespace(), &conflicts))
		}
		return store.Ahead{Steps: steps}, nil
	}}
	return guard(ctx, k, &c, func(_ context.Context, cur *current) (*StatsReply, error) {
		reply := &StatsReply{ByKind: make(map[Kind]KindStats, len(kinds)), Audit: AuditStats(log)}
		for _, s := range kinds {
			reply.ByKind[s.Kind] = KindStats{
				Live: s.Live, LiveTokens: s.LiveTokens, Superseded: s.Superseded, Retracted: s.Retracted, Expired: s.Expired,
			}
			reply.Live += s.Live
			reply.LiveTokens += s.LiveTokens
			reply.Superseded += s.Superseded
			reply.Retracted += s.Retracted
			reply.Expired += s.Expired
			reply.Held += s.Held
			reply.Disputed += s.Disputed
		}
		reply.OpenConflicts, reply.Unchecked = conflicts, checks.Waiting
		if checks.Waiting > 0 {
			reply.OldestUnchecked = max(0, cur.now.Sub(checks.Oldest))
		}
		reply.Pending = tickets.Waiting
		if tickets.Waiting > 0 {
			reply.OldestPending = max(0, cur.now.Sub(tickets.Oldest))
		}
		cur.detail.Int("live", reply.Live)
		return reply, nil
	})
}
