package kernel

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/audit"
	"github.com/memkernel/memkernel/internal/store"
	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/writepath"
)

// chunk is some writes of a batch that are looked at and committed together.
type chunk struct {
	from, to int
	// rules are what it was prepared under.
	rules rules
	items []*item
}

// item is one write of a batch, and a call like any other.
type item struct {
	*writing

	c  *call
	at int
	// denied, rejected and ruled are what was found before the caller was let in, under the policies
	// that had been read: that policy forbids the write; screened, that the text was classified, that
	// nothing of it may be kept or that this failed.
	denied             error
	screened, rejected bool
	ruled              error
	// whole is how the text itself stood before it was worked on.
	whole   writepath.State
	decided []writepath.Decision
	// over reports that the write ends with err or, without one, with a reply and nothing stored.
	over bool
	err  error
	// judged reports that err is what the caller is told. complete reports that there is a reply, which
	// counts if the audit row turns out to be there, and settled that it is.
	judged, complete, settled bool
}

func (it *item) end(err error) { it.over, it.complete, it.err = true, err == nil, err }

// reopen takes an end back.
func (it *item) reopen() {
	it.over, it.judged, it.complete, it.err = false, false, false, nil
	it.cur.event.Result = audit.ResultOK
	it.retreat()
}

// open returns those of the items that go on.
func open(items []*item) []*item {
	return slices.DeleteFunc(slices.Clone(items), func(it *item) bool { return it.over })
}

func endAll(items []*item, err error) {
	for _, it := range items {
		it.end(err)
	}
}

// try runs what may end an item.
func (b *bulk) try(ctx context.Context, it *item, fn func() error) {
	defer func() {
		if r := recover(); r != nil {
			b.k.logPanic(ctx, "syscall", r)
			it.end(mem.ErrInternal)
		}
	}()
	if err := fn(); err != nil {
		it.end(err)
	}
}

// prepare does what needs no database for some writes, under rules that may turn out not to be in
// force: nothing comes of it before they have.
func (b *bulk) prepare(ctx context.Context, rules rules, from, to int) *chunk {
	k := b.k
	ch := &chunk{from: from, to: to, rules: rules}
	for at := from; at < to; at++ {
		ch.items = append(ch.items, b.newItem(ctx, at))
	}
	live := open(ch.items)
	spreadIDs(live)
	atOnce(len(live), runtime.GOMAXPROCS(0), func(i int) {
		b.try(ctx, live[i], func() error {
			b.foresee(ctx, &rules, live[i])
			return nil
		})
	})
	if !k.model.InProcess || k.worksOnTexts() {
		return ch
	}
	var drafts []*writepath.Draft
	for _, it := range open(live) {
		if it.screened && !it.rejected && it.ruled == nil {
			drafts = append(drafts, &it.draft)
		}
	}
	b.embedAhead(ctx, drafts)
	return ch
}

// spreadIDs gives writes ids in their order, evenly over the time in which they began: what was handed
// over together is as far apart everywhere, whatever the scheduler did. Rankings go by that.
func spreadIDs(items []*item) {
	if len(items) == 0 {
		return
	}
	first, last := items[0].cur.now, items[len(items)-1].cur.now
	ids := make([]*ID, len(items))
	for i, it := range items {
		ids[i] = &it.draft.ID
		if i > 0 {
			*ids[i] = newID(first.Add(last.Sub(first) * time.Duration(i) / time.Duration(len(items)-1)))
		}
	}
	inOrder(ids)
}

// newItem begins the call that a write is.
func (b *bulk) newItem(ctx context.Context, at int) *item {
	k, req := b.k, b.writes[at]
	it := &item{writing: k.newWriting(b.who, req.IdempotencyKey), at: at}
	it.draft, it.verbatim = newDraft(b.who, &req), req.Verbatim
	it.c = &call{op: acl.OpWrite, who: b.who, validate: func() error { return req.validate(&k.limits, &it.draft) }}
	cur := &current{now: k.clock()}
	cur.event = k.newEvent(it.c, cur.now)
	it.begin(cur)
	if err := it.c.permit(ctx); err != nil {
		it.end(err)
		return it
	}
	it.w.Digest = req.digest()
	return it
}

// foresee does with a write what follows from its text and the rules. A host's scanner is asked
// once, when the caller has been let in.
func (b *bulk) foresee(ctx context.Context, rules *rules, it *item) {
	k := b.k
	k.setPolicy(it.c, it.cur, rules.gate.Known, rules.policy)
	prepareDraft(&it.draft)
	it.propose(&it.draft)
	it.denied = writeAllowed(&it.cur.policy, &it.draft)
	if it.denied != nil || k.scanner != nil || k.limiter.spent(b.who.Principal(), acl.OpWrite, it.cur.now) {
		return // nothing is done for one that is about to be refused
	}
	it.screened = true
	if it.rejected, _, it.ruled = k.screenDraft(ctx, it.writing); !k.worksOnTexts() {
		it.w.Analyze()
	}
}

// embedAhead has drafts embedded that are stored unless something stands against it. If it fails,
// that is told of those that are stored, for which the model is asked again.
func (b *bulk) embedAhead(ctx context.Context, drafts []*writepath.Draft) {
	if len(drafts) == 0 {
		return
	}
	texts, classes := make([]string, len(drafts)), make([]*mem.Classification, len(drafts))
	for i, d := range drafts {
		texts[i], classes[i] = d.Text, &d.Classification
	}
	vectors, err := b.k.embedMany(ctx, b.who.Tenant(), texts, classes)
	if err != nil {
		return
	}
	for i, d := range drafts {
		d.Embedding, d.Embedded = vectors[i], true
	}
}

// commit carries out a chunk and fills in its results.
func (b *bulk) commit(ctx context.Context, ch *chunk) {
	begun, ctxs := b.k.now(), slices.Repeat([]context.Context{ctx}, len(ch.items))
	settled := false
	defer func() {
		if settled {
			return
		}
		// A part of the kernel panicked, or one of the host ended the goroutine: each write leaves its
		// row all the same.
		if r := recover(); r != nil {
			b.k.logPanic(ctx, "syscall", r)
		}
		for _, it := range ch.items {
			if !it.settled && !it.cur.recorded {
				it.judged = false
				it.end(mem.ErrInternal)
			}
		}
		b.settle(ctxs, begun, ch) //nolint:contextcheck // each call goes on with its own
	}()
	for i := range ch.items {
		ctxs[i] = b.k.hookBegin(ctx, acl.OpWrite) //nolint:fatcontext // each call has one of its own
	}
	b.carryOut(ctx, ch)
	b.settle(ctxs, begun, ch) //nolint:contextcheck // as above
	settled = true
}

// carryOut brings every write of a chunk to its end, but for the audit rows that its transaction does
// not have.
func (b *bulk) carryOut(ctx context.Context, ch *chunk) {
	live := open(ch.items)
	if len(live) == 0 {
		return
	}
	// It may have been prepared while the chunk before was worked on, which can take long: the calls
	// are made now.
	now := b.k.clock()
	for _, it := range live {
		it.cur.now, it.cur.event.Time, it.w.Now = now, now, now
	}
	l := newLook(b.k.store, live)
	gate, err := b.k.store.Gate(ctx, b.who, store.Ahead{Steps: l.Probe(l.states...)})
	if err == nil && !gate.SamePolicies(ch.rules.gate) {
		b.rules = rules{gate, mem.MergePolicies(gate.Policies)}
		*ch = *b.prepare(ctx, b.rules, ch.from, ch.to)
		if live = open(ch.items); len(live) == 0 {
			return
		}
		l = newLook(b.k.store, live)
		err = l.read(ctx)
	}
	if err != nil {
		endAll(live, err)
		return
	}
	for _, it := range live {
		b.admitOne(gate, it)
	}
	if again := b.work(ctx, live); again && len(open(live)) > 0 {
		if err := l.read(ctx); err != nil {
			endAll(open(live), err)
			return
		}
	}
	b.store(ctx, ch, l, open(live))
}

// look is the writes of a chunk as the database is asked about them.
type look struct {
	*store.Batch

	states []*writepath.State
}

func newLook(s *store.Store, items []*item) *look {
	l := &look{states: make([]*writepath.State, len(items))}
	writes := make([]*store.Write, len(items))
	for i, it := range items {
		writes[i], l.states[i] = it.w, &it.state
	}
	l.Batch = s.NewBatch(writes)
	return l
}

func (l *look) read(ctx context.Context) error { return l.State(ctx, l.states...) }

// admitOne decides whether a write of a caller who was let in goes on.
func (b *bulk) admitOne(gate *store.Gate, it *item) {
	err := b.k.checkGate(b.who, gate, it.cur.now)
	if err == nil {
		err = b.k.takeToken(it.c, it.cur)
	}
	if err == nil {
		err = it.denied
	}
	if err == nil && !it.state.Answered() {
		err = it.draft.CheckExpiry(it.cur.now)
	}
	switch {
	case err != nil:
		it.end(err)
	case it.state.Answered() || !it.screened: // a replay, of which nothing is kept
	case it.ruled != nil || it.rejected:
		it.end(it.ruled)
	}
}

// work has the host's scanner and stages and the language model do their part, many at a time.
// again reports that other drafts are proposed than were looked up.
func (b *bulk) work(ctx context.Context, live []*item) (again bool) {
	k := b.k
	var changed atomic.Bool
	items := slices.DeleteFunc(open(live), func(it *item) bool { return it.screened || it.state.Answered() })
	workers := k.limits.Workers
	if k.store.InTx() {
		workers = 1 // the host's transaction is for one goroutine
	}
	atOnce(len(items), workers, func(i int) {
		it := items[i]
		b.try(ctx, it, func() error {
			done, other, err := k.screenDraft(ctx, it.writing)
			if other {
				changed.Store(true)
			}
			if done {
				it.end(nil)
			}
			return err
		})
	})
	if !k.worksOnTexts() {
		return changed.Load()
	}
	items = open(live)
	if changed.Load() {
		l := newLook(k.store, items)
		if err := l.read(ctx); err != nil {
			endAll(items, err)
			return false
		}
	}
	atOnce(len(items), workers, func(i int) {
		it := items[i]
		it.whole = it.state
		b.try(ctx, it, func() error { return k.deriveWrite(ctx, it.writing, false) })
	})
	return true
}

// store commits what is left of a chunk, in one transaction or, if that cannot be, one by one.
func (b *bulk) store(ctx context.Context, ch *chunk, l *look, items []*item) {
	if len(items) == 0 {
		return
	}
	b.plan(items)
	var missing []unembedded
	var kept []*item
	for _, it := range open(items) {
		before := len(missing)
		if missing = lacking(missing, it.writing, it.decided, false); len(missing) > before {
			kept = append(kept, it)
		}
	}
	if err := b.k.embedDrafts(ctx, missing, newLook(b.k.store, kept).Keep); err != nil {
		endAll(open(items), err)
		return
	}
	policy, err := b.k.stillIn(ctx, b.who)
	if err != nil {
		endAll(open(items), err)
		return
	}
	ruled := false                                                       // otherwise than it was planned
	items = slices.DeleteFunc(slices.Clone(items), func(it *item) bool { // for good, whatever is decided anew
		if it.over {
			return false
		}
		ruled = ruled || it.ruledAnew(policy)
		err := it.stillAllowed(policy)
		if err != nil {
			it.end(err)
		}
		return err != nil
	})
	if ruled {
		b.plan(items)
	}
	recorded, err := b.apply(ctx, ch, l)
	if errors.Is(err, writepath.ErrStale) {
		err = l.Serialized(ctx, func() error {
			if err := l.read(ctx); err != nil {
				return err
			}
			b.plan(items)
			recorded, err = b.apply(ctx, ch, l)
			return err
		})
	}
	switch {
	case err == nil:
		for _, it := range recorded {
			it.cur.recorded = true
		}
	case ctx.Err() != nil || errors.Is(err, mem.ErrUnavailable):
		// The transaction may have been committed; its audit rows will tell.
		for _, it := range open(items) {
			it.retreat()
			it.end(err)
			it.complete = true
		}
	default:
		b.oneByOne(ctx, items)
	}
}

// plan decides on each of the items by what was read last. A text that a write before has said by
// then, secrets aside, is only that, whatever was made of it meanwhile.
func (b *bulk) plan(items []*item) {
	seq := writepath.NewSequence(!b.k.store.InTx())
	for _, it := range items {
		it.reopen()
		if it.derived && seq.Says(&it.draft, &it.whole) {
			it.propose(&it.draft)
			it.state, it.soFar = it.whole, WriteReply{Redacted: it.soFar.Redacted}
		}
		it.review()
		var replay bool
		var err error
		if it.decided, replay, err = seq.Plan(it.facts, &it.state); replay {
			it.end(it.replay())
		} else if err != nil {
			it.end(err)
		}
	}
}

// apply commits a chunk as it was planned, with the audit rows of all its writes in their order:
// inside a host's transaction, which can be rolled back, only of those that are done by it. It
// returns the items whose rows the transaction has.
func (b *bulk) apply(ctx context.Context, ch *chunk, l *look) (recorded []*item, err error) {
	var parts []store.Part
	stores := false
	for _, it := range ch.items {
		switch {
		case !it.over:
			stores = true
			parts = append(parts, store.Part{Write: it.w, Decisions: it.decided})
		case !b.k.store.InTx():
			b.judge(ctx, it)
			event := it.cur.event
			event.Detail = it.cur.detail.String()
			parts = append(parts, store.Part{Event: event})
		default:
			continue
		}
		recorded = append(recorded, it)
	}
	if !stores {
		return nil, nil
	}
	return recorded, l.Apply(ctx, parts...)
}

// judge classifies the error that an item ended with, once.
func (b *bulk) judge(ctx context.Context, it *item) {
	if it.err != nil && !it.judged {
		it.cur.event.Result, it.err = b.k.judge(ctx, it.c, it.cur, it.err)
		it.judged = true
	}
}

// oneByOne writes each of the items as if it were the only one.
func (b *bulk) oneByOne(ctx context.Context, items []*item) {
	for _, it := range items {
		it.reopen()
		b.try(ctx, it, func() error {
			if err := it.look(ctx); err != nil {
				return err
			}
			reply, err := b.k.storeWrite(ctx, it.writing)
			it.end(err)
			it.complete = reply != nil
			return nil
		})
	}
}

// maxRecords is how many audit rows of a chunk are added at a time; they share commits.
const maxRecords = 256

// settle makes the audit rows of a chunk durable and tells what became of its writes.
func (b *bulk) settle(ctxs []context.Context, begun time.Time, ch *chunk) {
	k := b.k
	atOnce(len(ch.items), maxRecords, func(i int) {
		it := ch.items[i]
		b.judge(ctxs[i], it)
		it.err = k.record(ctxs[i], it.c, it.cur, it.complete, it.err)
		it.judged, it.settled = true, true
	})
	for i, it := range ch.items {
		k.hookEnd(ctxs[i], it.c, it.cur, begun, it.err)
		if b.results[it.at].Err = it.err; it.err == nil {
			b.results[it.at].Reply = it.reply
		}
	}
}
