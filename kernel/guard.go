package kernel

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/audit"
	"github.com/memkernel/memkernel/internal/mint"
	"github.com/memkernel/memkernel/internal/store"
	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/queries"
	"github.com/memkernel/memkernel/writepath"
)

// call is one syscall on its way through the guard.
type call struct {
	op  acl.Op
	who acl.Identity
	// validate checks the request on its own; nil accepts all.
	validate func() error
	// purpose is the query text that the audit log may keep, unless sensitive.
	purpose   string
	sensitive bool
	// memory is the memory that the request names.
	memory mem.ID
	// eager is nil if there is no such way.
	eager eager
	// rereads reports that a call that eager recorded without getting the answer can be answered
	// by asking once more: it changes nothing.
	rereads bool
	// steps are reads that travel with the gate. Their results are used only if it opens.
	steps []queries.Step
	// prepare returns what travels instead. It may take long: it runs only for a caller whose
	// role and rate, as far as they are known, allow the call. now is when the call was made.
	prepare func(ctx context.Context, now time.Time) (store.Ahead, error)
}

// ahead returns all that is to travel with the gate.
func (c *call) ahead(ctx context.Context, now time.Time) (store.Ahead, error) {
	if c.prepare == nil {
		return store.Ahead{Steps: c.steps}, nil
	}
	return c.prepare(ctx, now)
}

// current is the state of a call that the gate has let through.
type current struct {
	now    time.Time
	policy mem.EffectivePolicy
	// known is what policy was made of, nil inside a host's transaction.
	known *store.Known
	// event is the audit row in the making; the body adds to it and to detail.
	event  audit.Event
	detail audit.Detail
	// served lists the memories that the caller gets to read.
	served []mem.ID
	// recorded is set by a body whose transaction holds the audit row.
	recorded bool
	// answered is set by an eager that got an answer, for the body.
	answered bool
	// again is set when the call is on record, and only asks for the answer.
	again bool
	// owed is set when a call has an audit row that says that it succeeded, and no answer: the
	// connection broke between the two.
	owed bool
	// lost is set when the audit row could not be written.
	lost bool
}

// finish returns the audit row of a call that succeeds, for a body that commits it itself.
func (cur *current) finish() audit.Event {
	e := cur.event
	e.Result = audit.ResultOK
	e.Detail = cur.detail.String()
	return e
}

// setPolicy makes policy the call's and lets it say what may be on record.
func (k *Kernel) setPolicy(c *call, cur *current, known *store.Known, policy mem.EffectivePolicy) {
	cur.known, cur.policy, cur.event.Purpose = known, policy, ""
	switch {
	case c.sensitive || policy.Sensitive:
	case policy.WriteSecrets == mem.SecretsAllow:
		cur.event.Purpose = audit.Purpose(c.purpose)
	case len(c.purpose) <= maxEagerQuery:
		// The whole of it, before it is cut: half a secret is not known for one. A longer one is
		// not analysed for a caller who may not be let in, and is not kept.
		cur.event.Purpose = audit.Purpose(k.redactAside(policy.WriteSecrets, c.purpose))
	}
}

// guard runs a syscall: it validates, asks the role table, reads policy and tenant in one
// statement, takes a rate token, runs body (or has all that done by one statement, see eagerly),
// and makes sure that exactly one audit row is durable before the answer leaves, however the call
// ends. Nothing else but WriteMany, which does the same for many writes at once, may call the store
// on a caller's behalf.
func guard[Rep any](ctx context.Context, k *Kernel, c *call, body func(context.Context, *current) (*Rep, error)) (*Rep, error) {
	begun := k.now()
	ctx = k.hookBegin(ctx, c.op)
	cur := &current{now: k.clock()}
	cur.event = k.newEvent(c, cur.now)
	ended := true
	defer func() {
		if ended {
			// A host's part ended the goroutine instead of returning: that leaves a row too.
			_ = k.settle(ctx, c, cur, false, mem.ErrInternal)
		}
	}()
	rep, err := run(ctx, k, c, cur, body)
	ended = false
	err = k.settle(ctx, c, cur, rep != nil, err)
	if cur.owed {
		rep, err = again(ctx, k, c, cur, body)
	}
	k.hookEnd(ctx, c, cur, begun, err)
	if err != nil {
		return nil, err
	}
	return rep, nil
}

func (k *Kernel) newEvent(c *call, now time.Time) audit.Event {
	if c.who.IsZero() {
		return audit.Event{
			Call: newID(now), Time: now, Tenant: audit.Nobody, Namespace: audit.Nobody, Actor: audit.AnonymousActor, Op: c.op, Result: audit.ResultOK,
		}
	}
	return audit.Event{
		Call: newID(now), Time: now, Tenant: c.who.Tenant(), Namespace: c.who.Namespace().String(), Actor: c.who.Actor(), KeyID: c.who.KeyID(),
		AgentID: c.who.AgentID(), Op: c.op, MemoryID: c.memory, Result: audit.ResultOK,
	}
}

func run[Rep any](ctx context.Context, k *Kernel, c *call, cur *current, body func(context.Context, *current) (*Rep, error)) (rep *Rep, err error) {
	defer func() {
		if r := recover(); r != nil {
			k.logPanic(ctx, "syscall", r)
			rep, err = nil, mem.ErrInternal
		}
	}()
	before := cur.event
	err = k.admit(ctx, c, cur)
	if err == nil {
		return body(ctx, cur)
	}
	if cur.answered {
		// Its commit may have failed: an error, until settle finds the row.
		rep, _ = body(ctx, cur)
		cur.event, cur.detail = before, audit.Detail{}
	}
	return rep, err
}

// again gets the answer of a call that is on record already, the long way. What cannot be
// answered now was recorded for nothing, and a search ranks what there is now.
func again[Rep any](ctx context.Context, k *Kernel, c *call, cur *current, body func(context.Context, *current) (*Rep, error)) (*Rep, error) {
	long := *c
	long.eager = nil
	second := &current{now: cur.now, event: cur.event, again: true}
	rep, err := run(ctx, k, &long, second, body)
	if err != nil {
		_, err = k.judge(ctx, c, second, err)
		return nil, &mem.OpError{Op: c.op, Err: err}
	}
	cur.event.Result = audit.ResultOK
	return rep, nil
}

// permit decides what can be decided without the database.
func (c *call) permit(ctx context.Context) error {
	if c.who.IsZero() {
		return mem.ErrUnauthenticated
	}
	if c.validate != nil {
		if err := c.validate(); err != nil {
			return err
		}
	}
	if !acl.Allowed(c.who.Role(), c.op) {
		return mem.ErrForbidden
	}
	return ctx.Err()
}

// admit decides whether the body may run.
func (k *Kernel) admit(ctx context.Context, c *call, cur *current) error {
	if err := c.permit(ctx); err != nil {
		return err
	}
	if done, err := k.eagerly(ctx, c, cur); done || err != nil {
		return err
	}
	var ahead store.Ahead
	early := !k.limiter.spent(c.who.Principal(), c.op, cur.now)
	if early {
		var err error
		if ahead, err = c.ahead(ctx, cur.now); err != nil {
			return err
		}
	}
	gate, err := k.store.Gate(ctx, c.who, ahead)
	if err != nil {
		return err
	}
	k.setPolicy(c, cur, gate.Known, mem.MergePolicies(gate.Policies))
	if err := k.checkGate(c.who, gate, cur.now); err != nil {
		return err
	}
	if !cur.again {
		if err := k.takeToken(c, cur); err != nil {
			return err
		}
	}
	if early {
		return nil
	}
	// The bucket looked empty and was not: read now what did not travel with the gate.
	ahead, err = c.ahead(ctx, cur.now)
	if err != nil {
		return err
	}
	return k.store.Fetch(ctx, ahead)
}

// takeToken takes a rate token, if policy wants one.
func (k *Kernel) takeToken(c *call, cur *current) error {
	limit, ok := cur.policy.RateLimit(c.op)
	if !ok {
		return nil
	}
	return k.limiter.take(c.who.Principal(), c.op, limit, cur.now)
}

// readmit asks again whether a call that has been let through may go on, and sends steps with
// the question. It takes no rate token.
func (k *Kernel) readmit(ctx context.Context, who acl.Identity, steps ...queries.Step) error {
	gate, err := k.store.Gate(ctx, who, store.Ahead{Steps: steps})
	if err != nil {
		return err
	}
	return k.checkGate(who, gate, k.clock())
}

func (k *Kernel) checkGate(who acl.Identity, gate *store.Gate, now time.Time) error {
	if err := checkKey(who, k.issuer, gate.KeyKnown, gate.KeyExpires, gate.KeyRevoked, now); err != nil {
		return err
	}
	if !gate.TenantKnown || gate.TenantSuspended {
		return mem.ErrTenantSuspended
	}
	return nil
}

// checkKey refuses an identity whose key, as it is in the database now, is not usable, and
// one without a key that another kernel made.
func checkKey(who acl.Identity, issuer mint.Token, known bool, expires, revoked, now time.Time) error {
	if who.KeyID() == "" {
		known, expires, revoked = acl.IssuedWith(issuer, who), who.ExpiresAt(), time.Time{}
	}
	if !known || ended(expires, now) || ended(revoked, now) {
		return mem.ErrUnauthenticated
	}
	return nil
}

// ended reports whether an end that may be open has been reached.
func ended(end, now time.Time) bool { return !end.IsZero() && !now.Before(end) }

// settle makes the audit row durable and returns what the caller is told. complete reports
// that the body has an answer, which counts if its commit turns out to have gone through.
func (k *Kernel) settle(ctx context.Context, c *call, cur *current, complete bool, err error) error {
	if err != nil {
		cur.event.Result, err = k.judge(ctx, c, cur, err)
	}
	return k.record(ctx, c, cur, complete, err)
}

// record is settle for an error that has been judged.
func (k *Kernel) record(ctx context.Context, c *call, cur *current, complete bool, err error) error {
	if !cur.recorded {
		cur.event.Detail = cur.detail.String()
		if c.who.Role() == acl.RoleAuditor || err != nil {
			cur.served = nil
		}
		recorded, appendErr := k.store.Append(ctx, &cur.event, cur.served)
		if appendErr != nil {
			cur.event.Result, cur.lost = audit.ResultError, true
			return &mem.OpError{Op: c.op, Err: k.notRecorded(ctx, c.op, appendErr)}
		}
		if recorded && complete {
			// The connection broke after the commit had been sent, and it went through.
			cur.event.Result = audit.ResultOK
			return nil
		}
		cur.owed = recorded && c.rereads
	}
	if err != nil {
		return &mem.OpError{Op: c.op, Err: err}
	}
	return nil
}

// notRecorded is what the caller is told when the audit row could not be written.
func (k *Kernel) notRecorded(ctx context.Context, op acl.Op, err error) error {
	k.logger.LogAttrs(ctx, slog.LevelError, "audit row not written", slog.String("op", string(op)), slog.String("error", store.Detail(err)))
	if errors.Is(err, mem.ErrUnavailable) {
		return err
	}
	return mem.ErrUnavailable
}

// judge classifies an error for the audit log and strips what the caller must not be told.
func (k *Kernel) judge(ctx context.Context, c *call, cur *current, err error) (audit.Result, error) {
	reason, err := k.plain(ctx, c.op, err)
	cur.detail.Str("reason", reason)
	switch reason {
	case "not_found":
		if cur.event.Result == audit.ResultOK {
			return audit.ResultMiss, err
		}
		return cur.event.Result, err
	case "unauthenticated", "forbidden", "tenant_suspended", "rate_limited":
		return audit.ResultDenied, err
	default:
		return audit.ResultError, err
	}
}

// plain names the reason of an error and returns what the caller is told: the error without
// what is not theirs to know, which is logged.
func (k *Kernel) plain(ctx context.Context, op acl.Op, err error) (reason string, told error) {
	reason, told = k.classify(ctx, op, err)
	if cause := ctx.Err(); cause != nil && reason == "unavailable" {
		// A connection broken by the caller's own cancellation is that, not an outage.
		return "cancelled", cause
	}
	return reason, told
}

// opError is plain for what happens outside of a guarded call.
func (k *Kernel) opError(ctx context.Context, op acl.Op, err error) error {
	_, told := k.plain(ctx, op, err)
	return &mem.OpError{Op: op, Err: told}
}

func (k *Kernel) classify(ctx context.Context, op acl.Op, err error) (reason string, told error) {
	switch {
	case errors.Is(err, mem.ErrNotFound):
		// Missing and invisible are the same to the caller, and so is the text.
		return "not_found", mem.ErrNotFound
	case errors.Is(err, mem.ErrUnauthenticated):
		return "unauthenticated", err
	case errors.Is(err, mem.ErrForbidden):
		return "forbidden", err
	case errors.Is(err, mem.ErrTenantSuspended):
		return "tenant_suspended", err
	case errors.Is(err, mem.ErrRateLimited):
		return "rate_limited", err
	case errors.Is(err, mem.ErrInvalid):
		return "invalid", err
	case errors.Is(err, mem.ErrTooLarge):
		return "too_large", err
	case errors.Is(err, mem.ErrConflict):
		return "conflict", err
	case errors.Is(err, context.Canceled):
		return "cancelled", context.Canceled
	case errors.Is(err, context.DeadlineExceeded):
		return "cancelled", context.DeadlineExceeded
	case errors.Is(err, writepath.ErrStale):
		return "unavailable", mem.ErrUnavailable
	case errors.Is(err, mem.ErrUnavailable):
		k.logger.LogAttrs(ctx, slog.LevelWarn, "unavailable", slog.String("op", string(op)), slog.String("error", store.Detail(err)))
		return "unavailable", err
	}
	if err != mem.ErrInternal { //nolint:errorlint // the bare sentinel was logged where it arose
		k.logger.LogAttrs(ctx, slog.LevelError, "syscall failed", slog.String("op", string(op)), slog.String("error", store.Detail(err)))
	}
	return "internal", mem.ErrInternal
}
