package kernel

import (
	"context"
	"time"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/audit"
	"github.com/memkernel/memkernel/internal/store"
	"github.com/memkernel/memkernel/kernel/mem"
)

// TicketState says how far a write of WriteAsync has come.
type TicketState string

// The states of a ticket.
const (
	// TicketPending waits for a worker, for the first time or after an attempt that failed.
	TicketPending TicketState = "pending"
	// TicketRunning is being worked on.
	TicketRunning TicketState = "running"
	// TicketDone has been decided: the memory is stored, or was found to be stored already, or
	// policy has come to block the text.
	TicketDone TicketState = "done"
	// TicketFailed was given up. The raw input is kept.
	TicketFailed TicketState = "failed"
)

// TicketFailure says why a write was given up.
type TicketFailure string

// The reasons to give up a write. The last three come after as many attempts as
// Limits.WriteAttempts allows; the others are final at once.
const (
	FailureUnauthenticated TicketFailure = "unauthenticated"  // the key was revoked or has expired
	FailureForbidden       TicketFailure = "forbidden"        // role or policy
	FailureSuspended       TicketFailure = "tenant_suspended" // the tenant was suspended
	FailureNotFound        TicketFailure = "not_found"        // Supersedes is missing or invisible
	FailureInvalid         TicketFailure = "invalid"          // the database cannot hold the text
	FailureTooLarge        TicketFailure = "too_large"        // for the policy
	FailureConflict        TicketFailure = "conflict"         // as for Write
	FailureUnavailable     TicketFailure = "unavailable"      // the database, the classifier, or time ran out
	FailureInternal        TicketFailure = "internal"         // a defect, which is in the log
	FailureAbandoned       TicketFailure = "abandoned"        // every process that tried died over it
)

// TicketRequest names a ticket.
type TicketRequest struct{ ID ID }

// TicketReply says what became of a write.
type TicketReply struct {
	State TicketState
	// Attempts counts how often the write was begun.
	Attempts int
	// Reply is what Write would have returned, nil unless the ticket is done. The texts of its
	// Rejected are for the issuer alone.
	Reply *WriteReply
	// Failure is set if the ticket has failed.
	Failure TicketFailure
}

// Ticket returns how far a write has come. Only the caller who issued it sees a ticket, and an
// admin or owner whose subtree holds the namespace it was issued in; for everybody else it is
// the same ErrNotFound as one that does not exist. Every capture is a ticket: that of a Write
// as well.
func (k *Kernel) Ticket(ctx context.Context, who Identity, req TicketRequest) (*TicketReply, error) {
	var found store.Ticket
	c := call{op: acl.OpTicket, who: who, steps: k.store.Ticket(who, req.ID, manages(who), &found)}
	return guard(ctx, k, &c, func(_ context.Context, cur *current) (*TicketReply, error) {
		return ticketReply(cur, req.ID, &found)
	})
}

// manages reports whether an identity sees the tickets of its whole subtree.
func manages(who Identity) bool { return who.Role() == acl.RoleAdmin || who.Role() == acl.RoleOwner }

func ticketReply(cur *current, id ID, found *store.Ticket) (*TicketReply, error) {
	if !found.Visible {
		return nil, notFound(cur, found.Hidden)
	}
	reply := &TicketReply{State: TicketState(found.State), Attempts: found.Attempts, Failure: TicketFailure(found.Failure)}
	if reply.State == TicketDone {
		reply.Reply = &WriteReply{}
		if err := reply.Reply.decode(found.Result); err != nil {
			return nil, err
		}
		if !found.Own { // who manages from above sees what became of a write, not what was said below
			for i := range reply.Reply.Rejected {
				reply.Reply.Rejected[i].Text = ""
			}
		}
	}
	cur.detail = audit.Detail{}
	cur.detail.Str("ticket", id.String()).Str("state", found.State).Int("attempts", int64(found.Attempts))
	return reply, nil
}

// WaitVisibleRequest names a write by the token of its receipt.
type WaitVisibleRequest struct{ Token string }

// The pauses between two looks at a ticket: a write of this process ends them at once.
const (
	firstPause = 10 * time.Millisecond
	lastPause  = 500 * time.Millisecond
)

// WaitVisible returns when the write behind a token is over: done, so that Search finds what it stored,
// or failed. It tells apart the two, and says what Ticket would. It looks at once and then at
// growing intervals, 500 ms at most, and holds no connection in between; it returns ctx's error
// when ctx is done. The caller is checked at every look. Who sees the ticket is as for Ticket. A
// look that cannot be had is ErrUnavailable, which says nothing of the write: call again.
//
// It is refused (ErrInvalid) in a transaction of the host's, which would be held open by it.
func (k *Kernel) WaitVisible(ctx context.Context, who Identity, req WaitVisibleRequest) (*TicketReply, error) {
	id, tokenErr := parseToken(req.Token)
	var found store.Ticket
	steps := k.store.Ticket(who, id, manages(who), &found)
	c := call{op: acl.OpWaitVisible, who: who, steps: steps, validate: func() error {
		if k.store.InTx() {
			return &mem.InvalidError{Field: "WithTx", Reason: "nothing can be waited for in a transaction"}
		}
		return tokenErr
	}}
	return guard(ctx, k, &c, func(ctx context.Context, cur *current) (*TicketReply, error) {
		rung, release := k.finished.watch(id)
		defer release()
		timer := time.NewTimer(0)
		defer timer.Stop()
		for pause := firstPause; ; pause = min(2*pause, lastPause) {
			reply, err := ticketReply(cur, id, &found)
			if err != nil || reply.State == TicketDone || reply.State == TicketFailed {
				return reply, err
			}
			timer.Reset(pause)
			select {
			case <-rung:
				rung = nil // it rings for good, and need not mean that the ticket is over
			case <-timer.C:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			if err := k.readmit(ctx, who, steps...); err != nil {
				return nil, err
			}
		}
	})
}
