package kernel

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/internal/store"
	"github.com/memkernel/memkernel/kernel/mem"
)

// WriteManyRequest is several things to remember.
type WriteManyRequest struct {
	// Writes are carried out in their order, at least one and at most Limits.MaxBatch.
	Writes []WriteRequest
}

// WriteManyReply says what became of the writes.
type WriteManyReply struct {
	// Results has one entry for each write of the request, in its order.
	Results []WriteResult
}

// WriteResult is what Write would have returned for one of many writes: a reply or an error.
type WriteResult struct {
	Reply *WriteReply
	// Err is an *OpError, nil if there is a reply.
	Err error
}

func (r *WriteManyRequest) validate(limits *Limits) error {
	switch n := len(r.Writes); {
	case n == 0:
		return &mem.InvalidError{Field: "Writes", Reason: "there are none"}
	case n > limits.MaxBatch:
		return &mem.TooLargeError{Field: "Writes", Size: int64(n), Limit: int64(limits.MaxBatch), Unit: "writes"}
	default:
		return nil
	}
}

// WriteMany is Write for each of several requests, in their order, at a fraction of the cost: the
// caller is let in, models are asked and transactions are committed for many at once. What becomes
// of each write, and the one audit row that each leaves, are the same as if Write had been called
// for one after the other: a text that stands in the request twice is stored once, an idempotency
// key is good for one write, a rate limit counts every write.
//
// One that fails is that result's error and does not stop the others. The call fails as a whole,
// with one audit row, only if nothing has been done: for a request that is empty or has too many
// writes, for a caller who is not let in, without a database, when ctx is done. If the key is
// revoked, the database goes away or ctx ends after that, what was committed stays and is in the
// results, and each of the rest fails as Write would.
//
// Up to some hundred writes are committed in one transaction, which makes all of them durable or
// none. If that loses a race they are written one by one, so that a write is done wholly or not at
// all, and once. Whoever wants to repeat a call whose answer was lost gives each write an
// idempotency key. With WithTx all of them are in the host's transaction. Writes that replace a
// memory, by Supersedes or ContentKey, are committed one by one. With a language model or stages,
// Limits.Workers texts are being worked on at a time.
func (k *Kernel) WriteMany(ctx context.Context, who Identity, req WriteManyRequest) (*WriteManyReply, error) {
	b := &bulk{k: k, who: who, writes: req.Writes}
	if err := b.admit(ctx, &req); err != nil {
		return nil, err
	}
	b.results = make([]WriteResult, len(req.Writes))
	b.run(ctx)
	return &WriteManyReply{Results: b.results}, nil
}

// bulk is one WriteMany under way.
type bulk struct {
	k       *Kernel
	who     Identity
	writes  []WriteRequest
	results []WriteResult
	rules   rules
	// down is set when audit rows cannot be written: nothing more is tried.
	down bool
}

// rules are the policies as a gate has read them.
type rules struct {
	gate   *store.Gate
	policy mem.EffectivePolicy
}

// admit lets the caller in, or leaves the one audit row of a call that is refused as a whole.
func (b *bulk) admit(ctx context.Context, req *WriteManyRequest) error {
	c := &call{op: acl.OpWrite, who: b.who, validate: func() error { return req.validate(&b.k.limits) }}
	cur := &current{now: b.k.clock()}
	cur.event = b.k.newEvent(c, cur.now)
	begun := b.k.now()
	err := b.letIn(ctx, c, cur)
	if err == nil {
		return nil
	}
	ctx = b.k.hookBegin(ctx, c.op)
	err = b.k.settle(ctx, c, cur, false, err)
	b.k.hookEnd(ctx, c, cur, begun, err)
	return err
}

func (b *bulk) letIn(ctx context.Context, c *call, cur *current) error {
	if err := c.permit(ctx); err != nil {
		return err
	}
	gate, err := b.k.store.Gate(ctx, b.who, store.Ahead{})
	if err != nil {
		return err
	}
	b.rules = rules{gate, mem.MergePolicies(gate.Policies)}
	return b.k.checkGate(b.who, gate, cur.now)
}

// run writes all of them, and has the next chunk prepared while one is being committed.
func (b *bulk) run(ctx context.Context) {
	var ahead chan *chunk
	for at := 0; at < len(b.writes); {
		to, alone := b.extent(at)
		switch {
		case b.down:
			b.results[at].Err = &mem.OpError{Op: acl.OpWrite, Err: errDown}
			at++
			continue
		case alone:
			b.results[at].Reply, b.results[at].Err = b.k.Write(ctx, b.who, b.writes[at])
			at++
			continue
		}
		var ch *chunk
		if ahead != nil {
			ch, ahead = <-ahead, nil
		}
		if ch == nil {
			ch = b.prepare(ctx, b.rules, at, to)
		}
		if next, alone := b.extent(to); !alone && next > to {
			ahead = make(chan *chunk, 1)
			go b.prepareAhead(ctx, ahead, b.rules, to, next)
		}
		b.commit(ctx, ch)
		b.down = slices.ContainsFunc(ch.items, func(it *item) bool { return it.cur.lost })
		at = to
	}
	if ahead != nil {
		<-ahead // nothing of the caller's is looked at when the call is over
	}
}

// prepareAhead sends the next chunk, or nil if a part of the host's panicked over it or ended the
// goroutine: it is then prepared again where that has its usual end.
func (b *bulk) prepareAhead(ctx context.Context, out chan<- *chunk, rules rules, from, to int) {
	var ch *chunk
	defer func() {
		if r := recover(); r != nil {
			b.k.logPanic(ctx, "syscall", r)
			ch = nil
		}
		out <- ch
	}()
	ch = b.prepare(ctx, rules, from, to)
}

// errDown is what is told of writes that were not tried.
var errDown = fmt.Errorf("%w: the writes before could not be recorded", mem.ErrUnavailable)

const (
	// maxChunk is how many writes share a transaction, and maxChunkBytes how much text, unless it is
	// that of a single write.
	maxChunk      = 128
	maxChunkBytes = 256 << 10
	// chunkTurns is how often each of Limits.Workers gets a text of a chunk that the host's parts
	// work on: what a crash in the middle loses is their work on one chunk.
	chunkTurns = 4
)

// extent returns where the chunk ends that begins at from. alone reports that it is one write that
// has to be made by itself.
func (b *bulk) extent(from int) (to int, alone bool) {
	size, most := 0, maxChunk
	keys, texts := map[string]bool{}, map[[32]byte]bool{}
	worked := b.k.worksOnTexts()
	if worked {
		most = min(most, chunkTurns*b.k.limits.Workers)
	}
	for to = from; to < len(b.writes) && to-from < most; to++ {
		req := b.writes[to]
		draft := newDraft(b.who, &req)
		if !draft.Supersedes.IsZero() || draft.ContentKey != "" {
			return max(to, from+1), to == from
		}
		size += len(req.Text)
		if to > from && size > maxChunkBytes {
			break
		}
		if key := req.IdempotencyKey; key != "" {
			if keys[key] { // answered by the write before, once that is done
				break
			}
			keys[key] = true
		}
		if worked { // nobody works on what is a duplicate or an echo by the time it comes up
			draft.Prepare()
			if texts[draft.DedupeKey] || slices.ContainsFunc(draft.EchoKeys, func(key [32]byte) bool { return texts[key] }) {
				break
			}
			texts[draft.DedupeKey] = true
		}
	}
	return to, false
}

// worksOnTexts reports whether what becomes of a text is for a model or the host to say.
func (k *Kernel) worksOnTexts() bool { return k.llm != nil || len(k.stages) > 0 }

// atOnce calls fn, which must not panic, for 0 to n-1 on some goroutines, and returns when all calls
// have.
func atOnce(n, goroutines int, fn func(i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(n, goroutines) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				fn(i)
			}
		})
	}
	wg.Wait()
}
