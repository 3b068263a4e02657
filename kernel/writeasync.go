package kernel

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/audit"
	"github.com/memkernel/memkernel/internal/jobs"
	"github.com/memkernel/memkernel/internal/store"
	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/queries"
	"github.com/memkernel/memkernel/writepath"
)

// WriteAsyncReply is the receipt of a write that a worker will run.
type WriteAsyncReply struct {
	// Ticket is what to ask Ticket about. It is also the id of the capture, the raw input as
	// it was kept. It is zero, and Token empty, for a text that was rejected.
	Ticket ID
	// Token is what to hand to WaitVisible. It is opaque, and of no use to other callers.
	Token string
	// Replayed reports that the idempotency key has been used for this write before: the
	// ticket is that of the first one, which may be done by now.
	Replayed bool
	// Rejected says why the text will not become a memory. Nothing of it is kept.
	Rejected []Rejection
	// Redacted counts the secrets that policy had replaced by their kinds, in the raw input too.
	Redacted int
}

// WriteAsync is Write for a caller who does not wait: it checks what can be checked at once,
// keeps the raw input, the job and an audit row in one transaction, and returns. It asks no
// model, whatever the write will need. A kernel that was started, in any process on the
// database, runs the write; until there is one, it waits.
//
// The text is classified first, by the host's classifier too, and nothing of it is kept before: if
// policy blocks its secrets it is rejected, if policy redacts them the redacted text and source are
// what is kept and written, and must be no larger than is allowed; a classifier that fails is
// ErrUnavailable.
//
// The write is run as the caller who issued it. Key, role, policy and tenant are checked again
// when it runs, so one whose key was revoked meanwhile fails; so does one whose Supersedes turns
// out to be missing or invisible. The text is classified again as well: one that policy blocks by
// then does not become a memory, and the ticket is done with a reply that says Rejected. Its raw
// input was kept when policy allowed it, never changes, and stays. One whose ExpiresAt has come by
// then is carried out all the same, so that what becomes of it does not hang on when it runs: it
// replaces what it was to replace, and the memory is stored as one that has expired. It takes
// effect once, however often it is tried and by whom, and leaves a second audit row, of a Write, when it is done or given up. What is given
// up keeps its raw input.
//
// A repeat call with the same idempotency key returns the same ticket, of Write as well. If the
// ticket has failed, or the process of an earlier Write died over it, the repeat call tries it
// again from the start. A key that was used for another request is ErrConflict. Rate limits
// count the call as a write_async and as a write.
func (k *Kernel) WriteAsync(ctx context.Context, who Identity, req WriteRequest) (*WriteAsyncReply, error) {
	draft := newDraft(who, &req)
	c := call{op: acl.OpWriteAsync, who: who, memory: req.Supersedes, validate: func() error { return req.validate(&k.limits, &draft) }}
	o := &store.Order{Who: who, Text: req.Text, IdempotencyKey: req.IdempotencyKey}
	var earlier store.Earlier
	reply := &WriteAsyncReply{}
	c.prepare = func(context.Context, time.Time) (store.Ahead, error) {
		o.Digest = req.digest()
		if o.IdempotencyKey == "" {
			return store.Ahead{}, nil
		}
		return store.Ahead{Steps: []queries.Step{o.Earlier(&earlier)}}, nil
	}
	c.eager = func(ctx context.Context, cur *current, known *store.Known, policy *mem.EffectivePolicy) (sent bool, err error) {
		_, limited := policy.RateLimit(acl.OpWrite)
		if limited || k.scanner != nil || o.IdempotencyKey != "" || writeAllowed(policy, &draft) != nil || draft.CheckExpiry(cur.now) != nil {
			return false, nil //nolint:nilerr // refused by the gate's policy, which may be another, or later
		}
		screened := draft
		secrets, _, rejected, err := k.screen(ctx, policy, &screened)
		if err != nil || rejected != "" || secrets > 0 {
			return false, err // what is not ordinary takes the long way, from the start
		}
		o.Digest, o.Hold = req.digest(), known
		err = k.placeOrder(ctx, cur, o, &req, earlier, reply)
		o.Hold = nil
		cur.answered = true
		return true, err
	}
	return guard(ctx, k, &c, func(ctx context.Context, cur *current) (*WriteAsyncReply, error) {
		if cur.answered {
			return reply, nil
		}
		if err := writeAllowed(&cur.policy, &draft); err != nil {
			return nil, err
		}
		if limit, ok := cur.policy.RateLimit(acl.OpWrite); ok {
			if err := k.limiter.take(who.Principal(), acl.OpWrite, limit, cur.now); err != nil {
				return nil, err
			}
		}
		screened, redacted := false, 0
		for range writepath.MaxAttempts {
			if earlier.Foreign {
				return nil, fmt.Errorf("%w: the idempotency key was used for another request", mem.ErrConflict)
			}
			if !earlier.ID.IsZero() && !earlier.Idle {
				*reply = WriteAsyncReply{Ticket: earlier.ID, Token: tokenOf(earlier.ID), Replayed: true}
				cur.detail.Str("ticket", earlier.ID.String()).Str("replay", "true")
				return reply, nil
			}
			if !screened { // what was answered before is answered again, and nothing is kept
				if err := draft.CheckExpiry(cur.now); err != nil {
					return nil, err
				}
				var err error
				if redacted, err = k.screenOrder(ctx, cur, &draft, reply); err != nil || len(reply.Rejected) > 0 {
					return reply, err
				}
				o.Text, req.Source, req.ContentKey, screened = draft.Text, draft.Source, draft.ContentKey, true
			}
			reply.Redacted = redacted
			err := k.placeOrder(ctx, cur, o, &req, earlier, reply)
			if !errors.Is(err, writepath.ErrStale) {
				return reply, err
			}
			earlier = store.Earlier{}
			if o.IdempotencyKey != "" {
				if err := k.store.Look(ctx, o.Earlier(&earlier)); err != nil {
					return nil, err
				}
			}
		}
		return nil, fmt.Errorf("%w: lost %d races in a row", mem.ErrConflict, writepath.MaxAttempts)
	})
}

// screenOrder classifies the draft and carries out what policy says of secrets, before anything is
// kept. A text that is rejected is so in the reply.
func (k *Kernel) screenOrder(ctx context.Context, cur *current, draft *writepath.Draft, reply *WriteAsyncReply) (redacted int, err error) {
	*reply = WriteAsyncReply{}
	secrets, _, rejected, err := k.screen(ctx, &cur.policy, draft)
	switch {
	case err != nil:
		return 0, err
	case rejected != "":
		reply.Rejected = []Rejection{{Reason: rejected}}
		describeWrite(cur, &WriteReply{Rejected: reply.Rejected})
		return 0, nil
	case secrets > 0:
		// The marks are longer than the secrets were, and the worker is given nothing else.
		if err := draft.Validate(k.limits.MaxTextBytes); err != nil {
			return 0, err
		}
		return secrets, writeAllowed(&cur.policy, draft)
	}
	return 0, nil
}

// placeOrder commits the order, as a new ticket or, if there is an earlier one, as that.
func (k *Kernel) placeOrder(ctx context.Context, cur *current, o *store.Order, req *WriteRequest, earlier store.Earlier, reply *WriteAsyncReply) error {
	o.Now, o.ID, o.Renew = cur.now, earlier.ID, !earlier.ID.IsZero()
	if !o.Renew {
		o.ID = newID(cur.now)
	}
	o.Request = encodeOrder(req, reply.Redacted)
	*reply = WriteAsyncReply{Ticket: o.ID, Token: tokenOf(o.ID), Redacted: reply.Redacted}
	cur.detail.Str("ticket", o.ID.String())
	if reply.Redacted > 0 {
		cur.detail.Int("redacted", int64(reply.Redacted))
	}
	event := cur.finish()
	err := k.store.Place(ctx, o, &event, k.jobs.Brief(), func(ctx context.Context, tx pgx.Tx) error {
		return k.jobs.Add(ctx, tx, jobs.Write{Tenant: o.Who.Tenant(), Ticket: o.ID})
	})
	cur.recorded = err == nil
	if err != nil {
		cur.detail = audit.Detail{}
	}
	return err
}

// order is what a ticket keeps of a request, beside its text and its idempotency key.
type order struct {
	Kind        Kind        `json:"kind"`
	Source      string      `json:"source,omitzero"`
	EventTime   time.Time   `json:"eventTime,omitzero"`
	EventEnd    time.Time   `json:"eventEnd,omitzero"`
	ExpiresAt   time.Time   `json:"expiresAt,omitzero"`
	Supersedes  ID          `json:"supersedes,omitzero"`
	Sensitivity Sensitivity `json:"sensitivity,omitzero"`
	ContentKey  string      `json:"contentKey,omitzero"`
	Verbatim    bool        `json:"verbatim,omitzero"`
	// Redacted is how many secrets are not in the text any more.
	Redacted int `json:"redacted,omitzero"`
}

func encodeOrder(req *WriteRequest, redacted int) []byte {
	b, err := json.Marshal(&order{
		Kind: req.Kind, Source: req.Source, EventTime: req.EventTime.UTC(), EventEnd: req.EventEnd.UTC(), ExpiresAt: req.ExpiresAt.UTC(),
		Supersedes: req.Supersedes, Sensitivity: req.Sensitivity, ContentKey: req.ContentKey, Verbatim: req.Verbatim, Redacted: redacted,
	})
	if err != nil {
		panic(err) // times are valid by now, and the rest always encodes
	}
	return b
}

// request is the way back from encodeOrder.
func (o *order) request(c *store.Claim) *WriteRequest {
	return &WriteRequest{
		Text: c.Text, Kind: o.Kind, EventTime: o.EventTime, EventEnd: o.EventEnd, ExpiresAt: o.ExpiresAt, Source: o.Source,
		Supersedes: o.Supersedes, Sensitivity: o.Sensitivity, ContentKey: o.ContentKey, Verbatim: o.Verbatim, IdempotencyKey: c.IdempotencyKey,
	}
}

// tokenOf returns the token of a ticket. It is no secret: who may use it is checked.
func tokenOf(ticket ID) string { return base64.RawURLEncoding.EncodeToString(ticket[:]) }

func parseToken(token string) (ID, error) {
	var id ID
	b, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || copy(id[:], b) != len(b) || len(b) != len(id) {
		return ID{}, &mem.InvalidError{Field: "Token", Reason: "it is not a token of WriteAsync"}
	}
	return id, nil
}
