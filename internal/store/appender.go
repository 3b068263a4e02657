package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/memkernel/memkernel/audit"
	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/queries"
)

// AppendOptions bounds how audit rows of reads are committed.
type AppendOptions struct {
	// MaxGroup is the most calls whose rows share one commit; 1 commits each on its own.
	MaxGroup int
	// Timeout bounds one commit, the wait for a connection included.
	Timeout time.Duration
}

// appendsInFlight is how many commits run at once. While they do, newcomers gather, and the
// next commit takes all of them: alone a call pays for one commit and waits for nobody, and
// in a crowd one commit pays for many. Two keep the disk busy while a group forms.
const appendsInFlight = 2

// appender commits audit rows of calls that have no transaction of their own.
type appender struct {
	pool *pgxpool.Pool
	opts AppendOptions
	most int // commits in flight

	mu       sync.Mutex
	waiting  []*appendRequest
	inFlight int
}

type appendRequest struct {
	event audit.Event
	// served are the memories that count as accessed by the event's namespace, once its row
	// is there.
	served []mem.ID
	// answer, if any, takes the place of event: its step reads what the call asks for, adds the
	// row itself and, if it is to, counts what it serves. Nobody else touches what it keeps
	// before append returns.
	answer func(counts bool) queries.Step
	// memories is how many memories the answer holds.
	memories int
	// read, if any, is the answer in a form that many reads of one caller share a statement by.
	read *readAnswer
	// done is closed when err is final; lead tells the waiter to commit the next group.
	done chan struct{}
	lead chan struct{}
	// leading is set, under the appender's lock, when the lead was given to this request.
	leading bool
	err     error
	// recorded reports that the call had its row already, and so did what it stands for.
	recorded bool
}

// mostInFlight is appendsInFlight, unless rows are to be committed each on its own: then
// gathering them would be for nothing, and half of the pool's connections is for them.
func mostInFlight(pool *pgxpool.Pool, opts AppendOptions) int {
	if opts.MaxGroup <= 1 {
		return max(appendsInFlight, int(pool.Stat().MaxConns())/2)
	}
	return appendsInFlight
}

func newAppender(pool *pgxpool.Pool, opts AppendOptions) *appender {
	return &appender{pool: pool, opts: opts, most: mostInFlight(pool, opts)}
}

// append returns once the row is durable, or with mem.ErrUnavailable if it is not within the
// timeout, the wait for others included. It does not listen to the caller's cancellation: what
// was done is recorded even if nobody waits for the answer. An answer is not done yet: as long
// as it shares a commit with nobody, it ends with the caller's context.
func (a *appender) append(caller context.Context, req *appendRequest) (recorded bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(caller), a.opts.Timeout)
	defer cancel()
	alone, gone := ctx, (<-chan struct{})(nil)
	if req.answer != nil {
		var cancel context.CancelFunc
		alone, cancel = context.WithTimeout(caller, a.opts.Timeout)
		defer cancel()
		gone = caller.Done()
	}
	req.done, req.lead = make(chan struct{}), make(chan struct{}, 1)
	a.mu.Lock()
	a.waiting = append(a.waiting, req)
	if a.inFlight < a.most {
		a.inFlight++
		req.leading = true
		req.lead <- struct{}{}
	}
	a.mu.Unlock()
	for {
		select {
		case <-req.lead:
			a.commitGroup(ctx, alone, req)
			continue // its own row may have to wait for another group
		case <-req.done:
			a.giveBack(req)
		case <-gone:
			if a.leave(req) {
				return false, caller.Err()
			}
		case <-ctx.Done():
			if a.leave(req) {
				return false, errLate
			}
		}
		if caller.Err() == nil && (errors.Is(req.err, context.DeadlineExceeded) || errors.Is(req.err, context.Canceled)) {
			return false, errLate // it was not the caller who had no more time
		}
		return req.recorded, req.err
	}
}

var errLate = fmt.Errorf("%w: the audit row was not written in time", mem.ErrUnavailable)

// leave gives a request up if no group holds it, and else waits for the group, which has a
// deadline of its own.
func (a *appender) leave(req *appendRequest) (left bool) {
	left = a.abandon(req)
	a.giveBack(req)
	if !left {
		<-req.done
	}
	return left
}

// abandon takes a request that no group holds out of the queue.
func (a *appender) abandon(req *appendRequest) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	at := slices.Index(a.waiting, req)
	if at < 0 {
		return false
	}
	a.waiting = slices.Delete(a.waiting, at, at+1)
	return true
}

// giveBack passes the lead on if it was given to a request that did not come to take it.
func (a *appender) giveBack(req *appendRequest) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if req.leading {
		a.passLead()
	}
}

// passLead gives the lead to the first waiter without one. The lock is held.
func (a *appender) passLead() {
	for _, r := range a.waiting {
		if !r.leading {
			r.leading = true
			r.lead <- struct{}{}
			return
		}
	}
	a.inFlight--
}

// commitGroup commits the waiting rows, the leader's own among them unless another group has
// it already, and passes the lead on. Without others it listens to alone instead of ctx.
func (a *appender) commitGroup(ctx, alone context.Context, leader *appendRequest) {
	a.mu.Lock()
	n := a.groupSize()
	group := slices.Clone(a.waiting[:n])
	a.waiting = slices.Delete(a.waiting, 0, n)
	a.mu.Unlock()

	switch {
	case n == 1 && group[0] == leader:
		a.commitAll(alone, group)
	case n > 0:
		// The others' time is not up when the leader's is.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.opts.Timeout)
		defer cancel()
		a.commitAll(ctx, group)
	}
	for _, r := range group {
		close(r.done)
	}

	a.mu.Lock()
	defer a.mu.Unlock()
	leader.leading = false
	a.passLead()
}

// maxAnswered is about how many memories the answers of one group hold together: they travel
// on one connection, and the last waits for the first.
const maxAnswered = 256

// groupSize is how many of those that wait go together. The lock is held.
func (a *appender) groupSize() int {
	most := min(len(a.waiting), max(a.opts.MaxGroup, 1))
	answered := 0
	for n, r := range a.waiting[:most] {
		if r.answer != nil {
			answered += r.memories
		}
		if n > 0 && answered > maxAnswered {
			return n
		}
	}
	return most
}

// commitAll commits the rows together or, if the database refuses that, each on its own: one
// that cannot be written must not cost the others theirs.
func (a *appender) commitAll(ctx context.Context, group []*appendRequest) {
	err := a.commit(ctx, group)
	apart := err != nil && len(group) > 1 && ctx.Err() == nil && !errors.Is(err, mem.ErrUnavailable)
	for _, r := range group {
		r.err = err
		if apart {
			r.err = a.commit(ctx, []*appendRequest{r})
		}
	}
}

func (a *appender) commit(ctx context.Context, group []*appendRequest) (err error) {
	defer func() {
		// A group must never be left waiting.
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: audit append panicked: %T", mem.ErrInternal, r)
		}
	}()
	if len(group) == 1 && group[0].answer != nil {
		return mapErr(queries.Pipeline(ctx, a.pool, group[0].answer(len(group[0].served) > 0)))
	}
	steps, rest := readSteps(group)
	var events []*appendRequest
	for _, r := range rest {
		if r.answer != nil {
			steps = append(steps, r.answer(false))
		} else {
			events = append(events, r)
		}
	}
	switch len(events) {
	case 0:
	case 1:
		steps = append(steps, appendOne(events[0]))
	default:
		steps = append(steps, appendGroup(events))
	}
	var bumps queries.AccessBumpManyParams
	for _, r := range group {
		addBumps(&bumps, &r.event, r.served)
	}
	if len(bumps.CallIds) > 0 {
		steps = append(steps, bump(bumps))
	}
	return mapErr(queries.Pipeline(ctx, a.pool, steps...))
}

// Append commits the audit row of a call that has no transaction of its own, and counts the
// memories it served for the reader; it waits until both are durable. Inside a host's
// transaction it still uses the pool, since what was answered or refused must stay on record
// if the host rolls back, and it fails if no connection is free within the timeout.
//
// recorded reports that the call has a row already: a transaction of it whose outcome was
// not known has in fact been committed.
func (s *Store) Append(ctx context.Context, event *audit.Event, served []mem.ID) (recorded bool, err error) {
	return s.appender.append(ctx, &appendRequest{event: *event, served: served})
}

// addBumps adds what one call served.
func addBumps(p *queries.AccessBumpManyParams, event *audit.Event, served []mem.ID) {
	for _, id := range served {
		p.Tenants = append(p.Tenants, event.Tenant)
		p.CallIds = append(p.CallIds, event.Call.String())
		p.MemoryIds = append(p.MemoryIds, id.String())
	}
}

func bump(p queries.AccessBumpManyParams) queries.Step {
	return func(ctx context.Context, q *queries.Queries) error {
		return q.AccessBumpMany(ctx, p)
	}
}

func appendParams(e *audit.Event) queries.AuditAppendParams {
	return queries.AuditAppendParams{
		Tenant: e.Tenant, CallID: uuid.UUID(e.Call), Ts: e.Time, Namespace: e.Namespace, Actor: e.Actor, KeyID: optionalKey(e.KeyID),
		AgentID: e.AgentID, Op: string(e.Op), MemoryID: optionalID(e.MemoryID), Purpose: optional(e.Purpose),
		Result: string(e.Result), Detail: e.Detail,
	}
}

// appendEvent is for the transaction that does what the call asked for. It fails, and all of
// it with it, if the call has a row: the connection broke before the server was done, and the
// caller has been told that it failed.
func appendEvent(e *audit.Event) queries.Step {
	p := queries.AuditRecordParams(appendParams(e))
	return func(ctx context.Context, q *queries.Queries) error {
		return q.AuditRecord(ctx, p)
	}
}

func appendOne(r *appendRequest) queries.Step {
	p := appendParams(&r.event)
	return func(ctx context.Context, q *queries.Queries) error {
		n, err := q.AuditAppend(ctx, p)
		r.recorded = err == nil && n == 0
		return err
	}
}

func appendGroup(group []*appendRequest) queries.Step {
	events := make([]audit.Event, len(group))
	for i, r := range group {
		events[i] = r.event
	}
	p := auditColumns(events)
	return func(ctx context.Context, q *queries.Queries) error {
		added, err := q.AuditAppendMany(ctx, p)
		if err != nil || len(added) == len(group) {
			return err
		}
		fresh := make(map[mem.ID]bool, len(added))
		for _, id := range added {
			fresh[mem.ID(id)] = true
		}
		for _, r := range group {
			r.recorded = !fresh[r.event.Call]
		}
		return nil
	}
}

func keyText(keyID string) string {
	if id := optionalKey(keyID); id != nil {
		return id.String()
	}
	return ""
}

func idText(id mem.ID) string {
	if id.IsZero() {
		return ""
	}
	return uuid.UUID(id).String()
}
