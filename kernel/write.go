package kernel

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/audit"
	"github.com/memkernel/memkernel/internal/store"
	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/writepath"
	"github.com/memkernel/memkernel/writepath/entity"
)

// WriteRequest is one memory to keep.
type WriteRequest struct {
	// Text is kept as it is. It must not be blank, hold a NUL byte or invalid UTF-8, or be
	// larger than Limits.MaxTextBytes or the policy allows.
	Text string
	// Kind defaults to "fact".
	Kind Kind
	// EventTime and EventEnd say when it was so in the world; zero for unknown.
	EventTime, EventEnd time.Time
	// Source says where it comes from, at most 1024 bytes; it may be empty.
	Source string
	// Supersedes names a memory of the caller's own namespace that this one replaces, held and
	// disputed ones too. If it has been replaced already, by whatever, what is current of that is
	// replaced instead; if that one equals the new one in every respect, the write is a duplicate
	// of it. A person's memory (of provenance manual) also settles the open conflicts about what
	// it replaces.
	Supersedes ID
	// Sensitivity is the caller's word on how closely to keep the text. It can raise what the
	// classifier says, and make a text public in which nothing was found; empty for no word.
	Sensitivity Sensitivity `json:",omitempty"`
	// IdempotencyKey makes a retry safe: a second write with the same key by the same caller
	// returns the first one's reply and changes nothing. At most 256 bytes; empty for none. It
	// is kept as it is and must not hold a secret.
	IdempotencyKey string
}

// WriteReply says what became of a write. Exactly one of Stored, Deduplicated and Rejected has
// an entry.
type WriteReply struct {
	// Stored is the new memory.
	Stored []ID
	// Superseded is the memory that the new one replaced.
	Superseded []ID
	// Deduplicated is the current memory of the namespace that says the same already.
	Deduplicated []ID
	// Held is the new memory, which is in Stored as well, if policy keeps it out of sight until it
	// has been checked for contradictions. What it is to replace it replaces then.
	Held []ID `json:",omitempty"`
	// Rejected says why the text did not become a memory. Nothing of a text that policy blocks
	// for its secrets is kept, the raw input included.
	Rejected []Rejection `json:",omitempty"`
	// Redacted counts the secrets that policy had replaced by their kinds.
	Redacted int `json:",omitempty"`
	// Degraded lists what was down; the memory is stored all the same.
	Degraded []Brownout
	// Capture identifies the raw input as it was kept, without its secrets if policy wants them
	// redacted; zero if it was not.
	Capture ID
	// Replayed reports that this is the reply to an earlier write with the idempotency key.
	Replayed bool `json:"-"`
}

// Rejection is a text that did not become a memory.
type Rejection struct {
	Reason RejectReason
}

func (r *WriteRequest) validate(limits *Limits, draft *writepath.Draft) error {
	if err := draft.Validate(limits.MaxTextBytes); err != nil {
		return err
	}
	return mem.CheckLabel("IdempotencyKey", r.IdempotencyKey, maxActor)
}

// newDraft returns the draft of a request, whose defaults it fills in.
func newDraft(who Identity, req *WriteRequest) writepath.Draft {
	if req.Kind == "" {
		req.Kind = mem.KindFact
	}
	return writepath.Draft{
		Kind: req.Kind, Text: req.Text, EventTime: req.EventTime, EventEnd: req.EventEnd, Source: req.Source,
		Provenance: mem.Provenance(who.Provenance()), Supersedes: req.Supersedes, Sensitivity: req.Sensitivity,
	}
}

// digest tells requests with one idempotency key apart; without one there is none, which would
// only let guesses at a redacted text be tried.
func (r *WriteRequest) digest() [32]byte {
	if r.IdempotencyKey == "" {
		return [32]byte{}
	}
	same := *r
	// An instant is the same in every zone, and finer than it is kept it is not told apart.
	same.EventTime = r.EventTime.UTC().Truncate(time.Microsecond)
	same.EventEnd = r.EventEnd.UTC().Truncate(time.Microsecond)
	b, err := json.Marshal(&same)
	if err != nil {
		panic(err) // times are valid by now, and the rest always encodes
	}
	return sha256.Sum256(b)
}

// Write keeps a memory in the caller's namespace. The raw input is kept first; with a remote
// embedding model it is durable before the model is asked. A text that a current memory of the
// namespace already says (after case, white space and Unicode form are evened out) is not stored
// again, whatever its kind, source and times; Supersedes corrects those. Otherwise the memory, its
// vector, its words and the audit row are committed together or not at all. It is compared with its
// neighbours later, in the background, unless policy wants no contradictions looked for; see
// Conflicts.
//
// Any number of processes may write at once: of equal texts one is stored, and writes that
// replace one memory line up in one chain. A write that loses five races in a row is
// ErrConflict. If the embedding model is down the memory is stored without a vector and the
// reply says so. Replacing a memory is ErrNotFound if it is missing or invisible,
// ErrForbidden if it belongs to an ancestor, and ErrConflict if it was retracted or if
// another current memory already says the new text.
func (k *Kernel) Write(ctx context.Context, who Identity, req WriteRequest) (*WriteReply, error) {
	draft := newDraft(who, &req)
	c := call{op: acl.OpWrite, who: who, memory: req.Supersedes, validate: func() error { return req.validate(&k.limits, &draft) }}
	w := &store.Write{Who: who, Draft: &draft, IdempotencyKey: req.IdempotencyKey}
	k.store.Bind(w)
	var state writepath.State
	reply := &WriteReply{}
	begin := func(cur *current) {
		w.Now, w.Memory = cur.now, newID(cur.now)
		if w.Capture.IsZero() {
			w.Capture = newID(cur.now)
		}
		w.NewID = func() ID { return newID(cur.now) }
		*reply = WriteReply{}
		w.Outcome = func(dec writepath.Decision) ([]byte, audit.Event) { return writeOutcome(cur, w, dec, reply) }
	}
	// Once: a text that names somebody is looked at by the eager way and then takes the long one.
	derive := sync.OnceFunc(func() {
		w.Mentions = mentions(draft.Text)
		draft.Prepare()
		w.Digest = req.digest()
	})
	c.prepare = func(context.Context) (store.Ahead, error) {
		derive()
		return store.Ahead{Steps: w.Probe(&state)}, nil
	}
	c.eager = func(ctx context.Context, cur *current, known *store.Known, policy *mem.EffectivePolicy) (sent bool, err error) {
		// A host's scanner is asked once, and its failure told once the caller has been let in.
		if !k.model.InProcess || k.scanner != nil || held(policy, &draft) || writeAllowed(policy, &draft) != nil {
			return false, nil //nolint:nilerr // refused by the gate's policy, which may be another
		}
		if derive(); !w.Eager() {
			return false, nil
		}
		screened := draft
		secrets, _, rejected, err := k.screen(ctx, policy, &screened)
		if err != nil || rejected != "" || secrets > 0 {
			return false, err // what is not ordinary takes the long way, from the start
		}
		draft.Classification = screened.Classification
		begin(cur)
		return k.writeEagerly(ctx, cur, w, known)
	}
	return guard(ctx, k, &c, func(ctx context.Context, cur *current) (*WriteReply, error) {
		if cur.answered {
			return reply, nil
		}
		if err := writeAllowed(&cur.policy, &draft); err != nil {
			return nil, err
		}
		begin(cur)
		if done, err := k.screenWrite(ctx, cur, w, &state, reply); done || err != nil {
			return reply, err
		}
		return k.settleWrite(ctx, cur, w, &state, reply)
	})
}

// settleWrite prepares and commits a write that has been let in and screened.
func (k *Kernel) settleWrite(ctx context.Context, cur *current, w *store.Write, state *writepath.State, reply *WriteReply) (*WriteReply, error) {
	w.Review = k.review(&cur.policy, w)
	for {
		if err := k.prepareWrite(ctx, w, state, reply); err != nil {
			return nil, tellTarget(cur, err, state.TargetHidden)
		}
		// Unprepared at most once: what the draft looked like a duplicate of has ended.
		if err := k.commitWrite(ctx, cur, w, state, reply); !errors.Is(err, writepath.ErrUnprepared) {
			return reply, err
		}
	}
}

// writeEagerly stores the draft on the assumption that nothing stands against it. A model
// that fails is left to the long way, which can do without. A duplicate costs the embedding and
// an attempt that comes to nothing: new texts are what writes are made of.
func (k *Kernel) writeEagerly(ctx context.Context, cur *current, w *store.Write, known *store.Known) (sent bool, err error) {
	embedding, err := k.embed(ctx, w.Draft.Text, &w.Draft.Classification)
	if err != nil {
		return false, err
	}
	w.Draft.Embedding, w.Draft.Embedded = embedding, true
	w.Review = k.review(&cur.policy, w)
	err = w.ApplyEagerly(ctx, known)
	cur.answered, cur.recorded = true, err == nil
	return true, err
}

// screenWrite classifies the draft and carries out what policy says
// of secrets. done reports that the write is over: nothing of the text is kept.
func (k *Kernel) screenWrite(ctx context.Context, cur *current, w *store.Write, state *writepath.State, reply *WriteReply) (done bool, err error) {
	if state.Receipt != nil || state.ForeignReceipt {
		return false, nil // it was answered before, and nothing is kept
	}
	secrets, changed, rejected, err := k.screen(ctx, &cur.policy, w.Draft)
	switch {
	case err != nil:
		return false, err
	case rejected != "":
		*reply = WriteReply{Rejected: []Rejection{{Reason: rejected}}}
		describeWrite(cur, reply)
		return true, nil
	case changed || secrets > 0 && cur.policy.WriteSecrets == mem.SecretsRedact:
		reply.Redacted = max(reply.Redacted, secrets)
		w.Reworded()
		w.Mentions = mentions(w.Draft.Text)
		w.Draft.Prepare()
		if err := w.Draft.Validate(k.limits.MaxTextBytes); err != nil {
			return false, err // the marks are longer than the secrets were
		}
		if err := writeAllowed(&cur.policy, w.Draft); err != nil {
			return false, err
		}
		*state, err = w.State(ctx)
	}
	return false, err
}

// maxNamed is how much of a text is searched for names, in bytes: a few milliseconds' worth. A
// memory so long is a document, and what it is about stands at its beginning.
const maxNamed = 64 << 10

// mentions returns the names in a text.
func mentions(text string) []entity.Mention {
	if len(text) > maxNamed {
		cut := maxNamed
		for cut > 0 && !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut]
	}
	return entity.Recognise(text)
}

func writeAllowed(p *mem.EffectivePolicy, d *writepath.Draft) error {
	switch {
	case p.WriteDenied:
		return fmt.Errorf("%w: policy forbids writing", mem.ErrForbidden)
	case !p.KindAllowed(d.Kind):
		return fmt.Errorf("%w: policy forbids kind %s", mem.ErrForbidden, d.Kind)
	case p.WriteMaxBytes > 0 && len(d.Text) > p.WriteMaxBytes:
		return &mem.TooLargeError{Field: "Text", Size: int64(len(d.Text)), Limit: int64(p.WriteMaxBytes), Unit: "bytes"}
	default:
		return nil
	}
}

// prepareWrite does what may take long, before any transaction: it keeps the raw input and
// asks the embedding model, unless the answer is known without.
func (k *Kernel) prepareWrite(ctx context.Context, w *store.Write, state *writepath.State, reply *WriteReply) error {
	dec, err := writepath.Decide(w.Draft, state)
	if err != nil {
		return err
	}
	if dec.Action == writepath.Replay || dec.Action == writepath.Duplicate {
		return nil
	}
	if w.Draft.Embedded {
		return nil
	}
	if !k.model.InProcess {
		if err := w.Keep(ctx); err != nil && !errors.Is(err, writepath.ErrStale) {
			return err
		}
	}
	w.Draft.Embedding, err = k.embed(ctx, w.Draft.Text, &w.Draft.Classification)
	w.Draft.Embedded = true
	if errors.Is(err, errEmbedding) {
		// A text that may not be sent to the model is not asked for again.
		w.Draft.Unembedded = !errors.Is(err, errWithheld)
		reply.Degraded = []Brownout{embedBrownout(err)}
		return nil
	}
	return err
}

// commitWrite commits the draft and leaves in state what it was decided on.
func (k *Kernel) commitWrite(ctx context.Context, cur *current, w *store.Write, state *writepath.State, reply *WriteReply) error {
	dec, final, err := writepath.Commit(ctx, w, w.Draft, state)
	*state = final
	switch {
	case err != nil:
		// What an attempt that came to nothing would have stored is not to be on record.
		cur.detail, cur.event.MemoryID = audit.Detail{}, w.Draft.Supersedes
		return tellTarget(cur, err, final.TargetHidden)
	case dec.Action == writepath.Replay:
		if err := json.Unmarshal(final.Receipt, reply); err != nil {
			return fmt.Errorf("%w: stored receipt: %w", mem.ErrInternal, err)
		}
		reply.Replayed = true
		cur.detail = audit.Detail{}
		if kept := slices.Concat(reply.Stored, reply.Deduplicated); len(kept) > 0 { // or a worker found it blocked
			cur.event.MemoryID = kept[0]
		}
		cur.detail.Str("replay", "true")
		return nil
	default:
		cur.recorded = true
		return nil
	}
}

// tellTarget makes the audit row, and nothing else, tell whether a memory to replace that was
// not found is missing or invisible.
func tellTarget(cur *current, err error, hidden bool) error {
	if errors.Is(err, mem.ErrNotFound) {
		return notFound(cur, hidden)
	}
	return err
}

// writeOutcome fills in the reply for a decision and encodes it. It may run several times.
func writeOutcome(cur *current, w *store.Write, dec writepath.Decision, reply *WriteReply) ([]byte, audit.Event) {
	*reply = WriteReply{Capture: w.Capture, Degraded: reply.Degraded, Redacted: reply.Redacted}
	switch dec.Action {
	case writepath.Duplicate:
		reply.Deduplicated = []ID{dec.Memory}
		cur.event.MemoryID = dec.Memory
	default:
		reply.Stored = []ID{w.Memory}
		cur.event.MemoryID = w.Memory
		switch {
		case w.Review.Held:
			reply.Held = reply.Stored
		case dec.Action == writepath.Supersede:
			reply.Superseded = []ID{dec.Memory}
		}
	}
	describeWrite(cur, reply)
	if n := w.Overturns(dec); n > 0 {
		cur.detail.Int("overturned", int64(n))
	}
	receipt, err := json.Marshal(reply)
	if err != nil {
		panic(err) // ids and constants always encode
	}
	return receipt, cur.finish()
}

func describeWrite(cur *current, reply *WriteReply) {
	cur.detail = audit.Detail{}
	cur.detail.Int("stored", int64(len(reply.Stored))).Int("rejected", int64(len(reply.Rejected))).
		Int("superseded", int64(len(reply.Superseded))).Int("deduplicated", int64(len(reply.Deduplicated)))
	for _, r := range reply.Rejected {
		cur.detail.Str("reject_reason", string(r.Reason))
	}
	if len(reply.Held) > 0 {
		cur.detail.Int("held", int64(len(reply.Held)))
	}
	if reply.Redacted > 0 {
		cur.detail.Int("redacted", int64(reply.Redacted))
	}
	for _, b := range reply.Degraded {
		cur.detail.Str("brownout", string(b))
	}
}
