package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/audit"
	"github.com/memkernel/memkernel/internal/mint"
	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/queries"
	"github.com/memkernel/memkernel/writepath"
)

// ErrFenced reports an attempt at a ticket after which another was begun, or that found the
// ticket given up: it must end without a trace.
var ErrFenced = errors.New("another attempt has taken over")

// States of a ticket, as they are stored.
const (
	ticketPending = capturePending
	ticketRunning = "running"
	ticketFailed  = "failed"
)

// Order is a write that a worker is to run later.
type Order struct {
	Who acl.Identity
	// ID is the ticket's.
	ID             mem.ID
	Text           string
	IdempotencyKey string
	Digest         [32]byte
	// Request is all else that was asked for.
	Request []byte
	Now     time.Time
	// Renew reports that the ticket exists, and that nobody works on it.
	Renew bool
	// Hold is what the caller was let in on; the transaction is aborted unless it still holds. Nil
	// for a caller that the gate has let in.
	Hold *Known
}

// Place commits the order, its audit row and what add adds, or nothing. writepath.ErrStale
// reports that what was known of the caller or the ticket does not hold any more. With brief,
// add sends one statement and does the same every time; all of it is then one round trip, and
// what else add sends is sent after the commit, if at all.
func (s *Store) Place(ctx context.Context, o *Order, event *audit.Event, brief bool, add func(context.Context, pgx.Tx) error) error {
	var steps []queries.Step
	if o.Hold != nil {
		steps = append(steps, gateStill(o.Who, o.Hold, o.Now))
	}
	return s.withJob(ctx, append(steps, o.keep(), appendEvent(event)), brief, add)
}

// withJob commits what the steps do together with what add adds, or nothing; see Place.
func (s *Store) withJob(ctx context.Context, steps []queries.Step, brief bool, add func(context.Context, pgx.Tx) error) error {
	if brief && s.tx == nil {
		loan := queries.NewLoan(s.config)
		if err := s.run(ctx, append(steps, loan.Step(add))...); err != nil {
			return err
		}
		hint, cancel := context.WithTimeout(ctx, s.appender.opts.Timeout)
		defer cancel()
		_ = loan.Settle(hint, s.pool) // to those who would find out by themselves
		return nil
	}
	return s.inTx(ctx, func(tx pgx.Tx) error {
		if err := queries.Pipeline(ctx, tx, steps...); err != nil {
			return mapErr(err)
		}
		return mapErr(add(ctx, tx))
	})
}

// gateStill returns the step that aborts the transaction unless the caller is let in under
// these policies.
func gateStill(who acl.Identity, policies *Known, now time.Time) queries.Step {
	p := queries.GateStillParams{
		Tenant: who.Tenant(), KeyID: optionalKey(who.KeyID()), Ts: now, Namespaces: who.Scope().Namespaces(),
		Policies: policies.raw,
	}
	return func(ctx context.Context, q *queries.Queries) error {
		_, err := q.GateStill(ctx, p)
		return err
	}
}

func (o *Order) keep() queries.Step {
	p := queries.TicketInsertParams{
		Tenant: o.Who.Tenant(), ID: uuid.UUID(o.ID), Namespace: o.Who.Namespace().String(), Principal: o.Who.Principal(),
		IdempotencyKey: optional(o.IdempotencyKey), RequestDigest: o.Digest[:], Content: o.Text, CreatedAt: o.Now,
		Actor: o.Who.Actor(), AgentID: o.Who.AgentID(), Role: string(o.Who.Role()), Provenance: o.Who.Provenance(),
		KeyID: optionalKey(o.Who.KeyID()), ExpiresAt: optionalTime(o.Who.ExpiresAt()), Request: o.Request,
	}
	if !o.Renew {
		return func(ctx context.Context, q *queries.Queries) error { return q.TicketInsert(ctx, p) }
	}
	return func(ctx context.Context, q *queries.Queries) error {
		_, err := q.TicketRenew(ctx, queries.TicketRenewParams{
			Tenant: p.Tenant, ID: p.ID, Namespace: p.Namespace, Principal: p.Principal, Actor: p.Actor, AgentID: p.AgentID,
			Role: p.Role, Provenance: p.Provenance, KeyID: p.KeyID, ExpiresAt: p.ExpiresAt, Request: p.Request,
		})
		return err
	}
}

// Earlier is what an idempotency key was used for before.
type Earlier struct {
	ID mem.ID
	// Foreign reports another request.
	Foreign bool
	// Idle reports a ticket that was given up, or a write that got no further than its capture.
	Idle bool
}

// Earlier returns the step that looks for an earlier use of the order's idempotency key.
func (o *Order) Earlier(out *Earlier) queries.Step {
	return func(ctx context.Context, q *queries.Queries) error {
		c, err := q.TicketByKey(ctx, queries.TicketByKeyParams{
			Tenant: o.Who.Tenant(), Namespace: o.Who.Namespace().String(), Principal: o.Who.Principal(), IdempotencyKey: o.IdempotencyKey,
		})
		if err != nil {
			return noRows(err)
		}
		*out = Earlier{
			ID: mem.ID(c.ID), Foreign: !bytes.Equal(c.RequestDigest, o.Digest[:]),
			Idle: c.State == ticketFailed || c.State == ticketPending && !c.Waiting,
		}
		return nil
	}
}

// Look runs one step.
func (s *Store) Look(ctx context.Context, step queries.Step) error { return s.run(ctx, step) }

// Ticket is how far a ticket has come.
type Ticket struct {
	// Visible and Hidden report that there is one, which the caller may or may not see.
	Visible, Hidden bool
	// Own reports that the caller is its issuer.
	Own      bool
	State    string
	Attempts int
	Result   []byte
	Failure  string
}

// Ticket returns the steps that read a ticket for its issuer or, with manages, for the manager
// of a subtree. They are the same whether it is there or not.
func (s *Store) Ticket(who acl.Identity, id mem.ID, manages bool, out *Ticket) []queries.Step {
	own, from, to := who.Namespace().Range()
	p := queries.TicketGetParams{
		Tenant: who.Tenant(), ID: uuid.UUID(id), Namespace: own, Principal: who.Principal(), Manages: manages, SubtreeFrom: from, SubtreeTo: to,
	}
	return []queries.Step{
		func(ctx context.Context, q *queries.Queries) error {
			*out = Ticket{}
			r, err := q.TicketGet(ctx, p)
			if err == nil {
				*out = Ticket{Visible: true, Own: r.Own, State: r.State, Attempts: int(r.Attempts), Result: r.Result, Failure: value(r.Failure)}
			}
			return noRows(err)
		},
		func(ctx context.Context, q *queries.Queries) error {
			hidden, err := q.TicketHidden(ctx, queries.TicketHiddenParams{
				Tenant: p.Tenant, ID: p.ID, Namespace: p.Namespace, Principal: p.Principal, Manages: p.Manages,
				SubtreeFrom: p.SubtreeFrom, SubtreeTo: p.SubtreeTo,
			})
			if err == nil {
				out.Hidden = hidden
			}
			return err
		},
	}
}

// Claim is an attempt at a ticket.
type Claim struct {
	Who            acl.Identity
	Attempt        int
	Text           string
	IdempotencyKey string
	Digest         [32]byte
	Request        []byte
}

// Claim begins an attempt at a ticket for a job. It returns nil if there is nothing left to do;
// busy reports that another job is at it. token is what the issuer's identity is made with.
func (s *Store) Claim(ctx context.Context, token mint.Token, tenant string, id mem.ID, job int64, lease time.Duration) (c *Claim, busy bool, err error) {
	q := queries.New(s.conn())
	r, err := q.TicketClaim(ctx, queries.TicketClaimParams{Tenant: tenant, ID: uuid.UUID(id), Job: job, Lease: lease.Seconds()})
	if errors.Is(err, pgx.ErrNoRows) {
		state, err := q.TicketState(ctx, queries.TicketStateParams{Tenant: tenant, ID: uuid.UUID(id)})
		return nil, state.State == ticketRunning, mapErr(noRows(err))
	}
	if err != nil {
		return nil, false, mapErr(err)
	}
	claims := acl.Claims{
		Namespace: namespaceOf(r.Namespace), Actor: value(r.Actor), Role: acl.Role(value(r.Role)), AgentID: value(r.AgentID),
		Provenance: value(r.Provenance), ExpiresAt: utc(r.ExpiresAt),
	}
	if r.KeyID != nil {
		claims.KeyID = r.KeyID.String()
	}
	c = &Claim{
		Who: acl.NewIdentity(token, claims), Attempt: int(r.Attempts), Text: r.Content, IdempotencyKey: value(r.IdempotencyKey), Request: r.Request,
	}
	copy(c.Digest[:], r.RequestDigest)
	return c, false, nil
}

// Attempt says which attempt at which ticket.
type Attempt struct {
	Tenant string
	ID     mem.ID
	Number int
}

// Fail gives a ticket up, together with its audit row; ErrFenced if that is not the attempt's to
// do any more.
func (s *Store) Fail(ctx context.Context, a Attempt, failure string, now time.Time, event *audit.Event) error {
	err := s.run(ctx, func(ctx context.Context, q *queries.Queries) error {
		_, err := q.TicketFail(ctx, queries.TicketFailParams{
			Tenant: a.Tenant, ID: uuid.UUID(a.ID), Attempts: int32(a.Number), Failure: failure, FinishedAt: optionalTime(now), //nolint:gosec // counted by the database
		})
		return err
	}, appendEvent(event))
	if errors.Is(err, writepath.ErrStale) {
		return fmt.Errorf("%w: %w", ErrFenced, err)
	}
	return err
}

// Decline ends the ticket of an attempt without a memory, together with its audit row; ErrFenced
// if that is not the attempt's to do any more.
func (w *Write) Decline(ctx context.Context, receipt []byte, event *audit.Event) error {
	err := w.alone.store.run(ctx, w.finishTicket(receipt), appendEvent(event))
	if errors.Is(err, writepath.ErrStale) {
		return fmt.Errorf("%w: %w", ErrFenced, err)
	}
	return err
}

// Release ends an attempt that decided nothing, so that another can be made. Nothing happens if
// it was taken over.
func (s *Store) Release(ctx context.Context, a Attempt, uncounted bool) error {
	_, err := queries.New(s.conn()).TicketRelease(ctx, queries.TicketReleaseParams{
		Tenant: a.Tenant, ID: uuid.UUID(a.ID), Attempts: int32(a.Number), Uncounted: uncounted, //nolint:gosec // counted by the database
	})
	return mapErr(err)
}

// Overdue lists tickets that were issued before a time and are not over, of all tenants.
func (s *Store) Overdue(ctx context.Context, before time.Time, limit int) ([]Attempt, error) {
	rows, err := queries.New(s.conn()).TicketOverdue(ctx, queries.TicketOverdueParams{Before: before, MaxRows: int32(limit)}) //nolint:gosec // a constant
	if err != nil {
		return nil, mapErr(err)
	}
	out := make([]Attempt, len(rows))
	for i, r := range rows {
		out[i] = Attempt{Tenant: r.Tenant, ID: mem.ID(r.ID)}
	}
	return out, nil
}

// TicketStats counts what waits for a worker.
type TicketStats struct {
	Waiting int64
	// Oldest is when the first of them was issued, the zero time if there is none.
	Oldest time.Time
}

// Tickets returns the step that counts what waits in the visible namespaces.
func (s *Store) Tickets(scope acl.Scope, out *TicketStats) queries.Step {
	return func(ctx context.Context, q *queries.Queries) error {
		r, err := q.TicketStats(ctx, queries.TicketStatsParams{Tenant: scope.Tenant(), Namespaces: scope.Namespaces()})
		if err != nil {
			return err
		}
		*out = TicketStats{Waiting: r.Waiting}
		if r.Waiting > 0 {
			out.Oldest = r.Oldest.UTC()
		}
		return nil
	}
}

// probeTicket finds out whether the attempt may still go on, or the ticket is done.
func (w *Write) probeTicket(st *writepath.State) queries.Step {
	return func(ctx context.Context, q *queries.Queries) error {
		c, err := q.TicketState(ctx, queries.TicketStateParams{Tenant: w.Who.Tenant(), ID: uuid.UUID(w.Capture)})
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return ErrFenced // it has been erased
		case err != nil:
			return err
		case c.State == captureDone:
			st.Receipt = c.Result
		case c.State != ticketRunning || int(c.Attempts) != w.Attempt:
			return ErrFenced
		}
		return nil
	}
}

// finishTicket is finishCapture for an attempt at a ticket.
func (w *Write) finishTicket(receipt []byte) queries.Step {
	return func(ctx context.Context, q *queries.Queries) error {
		_, err := q.TicketFinish(ctx, queries.TicketFinishParams{
			Tenant: w.Who.Tenant(), ID: uuid.UUID(w.Capture), Attempts: int32(w.Attempt), Result: receipt, FinishedAt: optionalTime(w.Now), //nolint:gosec // counted by the database
		})
		return err
	}
}
