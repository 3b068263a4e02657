package kernel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/audit"
	"github.com/memkernel/memkernel/internal/jobs"
	"github.com/memkernel/memkernel/internal/store"
	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/writepath"
)

// attempt is one go of a worker at a ticket.
type attempt struct {
	*writing

	c *call
}

func (a *attempt) at() store.Attempt {
	return store.Attempt{Tenant: a.w.Who.Tenant(), ID: a.w.Capture, Number: a.w.Attempt}
}

// errBusy: another job is at the ticket, as far as can be told.
var errBusy = errors.New("the ticket is being worked on")

// errAbandoned: the processes that tried before died over it.
var errAbandoned = errors.New("every attempt was abandoned")

// runTicket runs the write behind a ticket: as its issuer, by the rules of now. A nil error
// means that this job has nothing more to do.
func (k *Kernel) runTicket(ctx context.Context, run jobs.Run[jobs.Write]) error {
	tenant, id := run.Args.Tenant, run.Args.Ticket
	claim, busy, err := k.store.Claim(ctx, k.issuer, tenant, id, run.Number, k.jobTimeout())
	switch {
	case err != nil:
		return k.opError(ctx, acl.OpWrite, err)
	case busy:
		return errBusy
	case claim == nil:
		k.finished.ring(id)
		return nil
	}
	a := k.newAttempt(claim, id)
	begun := k.now()
	hooked := k.hookBegin(ctx, acl.OpWrite)
	over, told := k.try(hooked, a)
	k.hookEnd(hooked, a.c, a.cur, begun, told)
	if over {
		k.finished.ring(id)
		return nil
	}
	return told
}

func (k *Kernel) newAttempt(claim *store.Claim, id ID) *attempt {
	a := &attempt{writing: k.newWriting(claim.Who, claim.IdempotencyKey)}
	now := k.clock()
	a.w.Capture, a.w.Digest, a.w.Attempt = id, claim.Digest, claim.Attempt
	a.c = &call{op: acl.OpWrite, who: claim.Who}
	a.cur = &current{now: now, event: k.newEvent(a.c, now)}
	a.c.prepare = func(context.Context, time.Time) (store.Ahead, error) {
		var o order
		if err := json.Unmarshal(claim.Request, &o); err != nil {
			return store.Ahead{}, fmt.Errorf("%w: stored request: %w", mem.ErrInternal, err)
		}
		a.draft, a.verbatim = newDraft(claim.Who, o.request(claim)), o.Verbatim
		a.begin(a.cur)
		a.w.Outcome = a.outcomeOf
		prepareDraft(&a.draft)
		a.propose(&a.draft)
		a.cur.event.MemoryID, a.soFar.Redacted = o.Supersedes, o.Redacted
		return store.Ahead{Steps: a.w.Probe(&a.state)}, nil
	}
	return a
}

// outcomeOf adds the ticket to what an attempt leaves in the log.
func (a *attempt) outcomeOf(decisions []writepath.Decision) ([]byte, audit.Event) {
	receipt, event := a.outcome(decisions)
	a.cur.detail.Str("ticket", a.w.Capture.String())
	event.Detail = a.cur.detail.String()
	return receipt, event
}

// try makes one attempt. over reports that the ticket is over, or another attempt's.
func (k *Kernel) try(ctx context.Context, a *attempt) (over bool, told error) {
	err := k.runAttempt(ctx, a)
	// What is decided here must be kept even if nobody waits for it.
	detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), k.limits.AuditTimeout)
	defer cancel()
	switch {
	case err == nil, errors.Is(err, store.ErrFenced):
		return true, nil
	case errors.Is(ctx.Err(), context.Canceled):
		// The worker is being stopped: as if the attempt had not been made.
		a.cur.event.Result = audit.ResultError
		return false, errors.Join(ctx.Err(), k.store.Release(detached, a.at(), true))
	case k.final(a, err) || a.w.Attempt >= k.limits.WriteAttempts:
		return k.giveUp(detached, a, err)
	}
	a.cur.event.Result = audit.ResultError
	_, told = k.plain(detached, acl.OpWrite, err)
	return false, errors.Join(told, k.store.Release(detached, a.at(), false))
}

// runAttempt admits the issuer and writes.
func (k *Kernel) runAttempt(ctx context.Context, a *attempt) (err error) {
	defer func() {
		if r := recover(); r != nil {
			k.logPanic(ctx, "worker", r)
			err = mem.ErrInternal
		}
	}()
	if a.w.Who.IsZero() {
		return fmt.Errorf("%w: the ticket's issuer is no identity", mem.ErrInternal)
	}
	if a.w.Attempt > k.limits.WriteAttempts {
		return errAbandoned
	}
	if !acl.Allowed(a.w.Who.Role(), acl.OpWrite) {
		return mem.ErrForbidden
	}
	ahead, err := a.c.ahead(ctx, a.cur.now)
	if err != nil {
		return err
	}
	gate, err := k.store.Gate(ctx, a.w.Who, ahead)
	if err != nil {
		return err
	}
	k.setPolicy(a.c, a.cur, gate.Known, mem.MergePolicies(gate.Policies))
	if err := k.checkGate(a.w.Who, gate, a.cur.now); err != nil {
		return err
	}
	if err := writeAllowed(&a.cur.policy, &a.draft); err != nil {
		return err
	}
	// Policy or the classifier may know better by now than when the text was kept.
	if _, err := k.settleWrite(ctx, a.writing); err != nil || a.cur.recorded || a.reply.Replayed {
		return err
	}
	return k.decline(ctx, a)
}

// decline ends a ticket whose text may not become a memory. The raw input stays as it was kept.
func (k *Kernel) decline(ctx context.Context, a *attempt) error {
	a.reply.Capture = a.w.Capture
	a.cur.detail.Str("ticket", a.w.Capture.String())
	event := a.cur.finish()
	receipt, err := json.Marshal(a.reply)
	if err != nil {
		panic(err) // ids and constants always encode
	}
	return a.w.Decline(ctx, receipt, &event)
}

// final reports whether another attempt would end like this one.
func (k *Kernel) final(a *attempt, err error) bool {
	switch {
	case errors.Is(err, mem.ErrUnauthenticated), errors.Is(err, mem.ErrForbidden), errors.Is(err, mem.ErrTenantSuspended),
		errors.Is(err, mem.ErrNotFound), errors.Is(err, mem.ErrInvalid), errors.Is(err, mem.ErrTooLarge), errors.Is(err, errAbandoned):
		return true
	case errors.Is(err, mem.ErrConflict):
		// Or so many races were lost that it may do better later.
		_, _, decided := writepath.Plan(a.facts, &a.state)
		return decided != nil
	default:
		return false
	}
}

// giveUp makes the ticket a dead letter, with the audit row that says why.
func (k *Kernel) giveUp(ctx context.Context, a *attempt, err error) (over bool, told error) {
	reason := FailureAbandoned
	a.cur.detail = audit.Detail{}
	if errors.Is(err, errAbandoned) {
		told = mem.ErrUnavailable
		a.cur.event.Result = audit.ResultError
		a.cur.detail.Str("reason", string(reason))
	} else {
		var name string
		name, told = k.plain(ctx, acl.OpWrite, err)
		a.cur.event.Result, told = k.judge(ctx, a.c, a.cur, told)
		reason = failureOf(name)
	}
	a.cur.detail.Str("ticket", a.w.Capture.String()).Int("attempts", int64(a.w.Attempt))
	event := a.cur.event
	event.Detail = a.cur.detail.String()
	failErr := k.store.Fail(ctx, a.at(), string(reason), a.cur.now, &event)
	if failErr != nil && !errors.Is(failErr, store.ErrFenced) {
		a.cur.event.Result = audit.ResultError
		return false, errors.Join(told, k.notRecorded(ctx, acl.OpWrite, failErr))
	}
	return true, told
}

func failureOf(reason string) TicketFailure {
	switch f := TicketFailure(reason); f {
	case FailureUnauthenticated, FailureForbidden, FailureSuspended, FailureNotFound, FailureInvalid, FailureTooLarge,
		FailureConflict, FailureUnavailable, FailureInternal:
		return f
	case FailureAbandoned:
		return f
	default: // its time ran out
		return FailureUnavailable
	}
}
