package kernel

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/internal/store"
	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/writepath"
)

// WriteRequest is something to remember.
type WriteRequest struct {
	// Text is what was said. It must not be blank, hold a NUL byte or invalid UTF-8, or be
	// larger than Limits.MaxTextBytes or the policy allows.
	Text string
	// Verbatim keeps the text as one memory, as it is, also where the host has a language model
	// (see WithLLM). So do Supersedes, ContentKey and the kinds raw, pointer and entity.
	Verbatim bool `json:",omitempty"`
	// Kind defaults to "fact".
	Kind Kind
	// EventTime and EventEnd say when it was so in the world; zero for unknown.
	EventTime, EventEnd time.Time
	// ExpiresAt is when the memory ends by itself, by the kernel's clock and to the microsecond;
	// zero for never. It must be in the future. From that instant on the memory has ended for
	// every call, with the reason "expired": it stays readable by id and in its history, leaves
	// every search, and does not revive what it replaced. A duplicate leaves the memory that is
	// there as it is, also when that one ends; Supersedes changes it.
	ExpiresAt time.Time `json:",omitzero"`
	// Source says where it comes from, at most 1024 bytes; it may be empty.
	Source string
	// Supersedes names a memory of the caller's own namespace that this one replaces, held and
	// disputed ones too. If it has been replaced already, by whatever, what is current of that is
	// replaced instead; if that one equals the new one in every respect, and is of no less trust, the
	// write is a duplicate of it. A person's memory (of provenance manual) also settles the open
	// conflicts about what it replaces.
	Supersedes ID
	// ContentKey names what the text is about, for what is refreshed rather than said: the text
	// replaces the current memory of the caller's own namespace with the same key, in the same
	// transaction, and is a duplicate of one that equals it in every respect and is of no less trust. A
	// memory that replaces one with a key keeps the key. A text that a current memory without the key
	// says is a duplicate of that and is not bound to the key, unless that one is of less trust; while
	// there is a current memory with the key it is ErrConflict. For a pointer it defaults to Source. At most 1024 bytes; empty for none, and it
	// must be with Supersedes. Secrets in it are treated like those of the text.
	ContentKey string `json:",omitempty"`
	// Sensitivity is the caller's word on how closely to keep the text. It can raise what the
	// classifier says, and make a text public in which nothing was found; empty for no word.
	Sensitivity Sensitivity `json:",omitempty"`
	// IdempotencyKey makes a retry safe: a second write with the same key by the same caller
	// returns the first one's reply and changes nothing. At most 256 bytes; empty for none. It
	// is kept as it is and must not hold a secret.
	IdempotencyKey string
}

// WriteReply says what became of a write: every fact of its text is in one of Stored,
// Deduplicated, Echoed and Rejected.
type WriteReply struct {
	// Stored are the new memories: one, or what a language model extracted, in its order.
	Stored []ID
	// Superseded are the memories that new ones replaced: what the write named, and what says the same
	// with less trust.
	Superseded []ID
	// Deduplicated are current memories of the namespace that say the same already, with as much
	// trust or more.
	Deduplicated []ID
	// Held are those of the new memories, which are in Stored as well, that policy keeps out of sight
	// until they have been checked for contradictions. What they are to replace they replace then.
	Held []ID `json:",omitempty"`
	// Echoed are memories that were handed out to the caller's namespace and that the text says
	// back. That an agent repeats what it was told makes no new fact of it: only what a key of
	// provenance conversation writes is held against this.
	Echoed []ID `json:",omitempty"`
	// Rejected says what did not become a memory and why. Nothing of a text that policy blocks
	// for its secrets is kept, the raw input included.
	Rejected []Rejection `json:",omitempty"`
	// Verbatim says why the text, or a part of it, was kept as it is though there is a language
	// model; empty if it was not, or was meant to be.
	Verbatim VerbatimReason `json:",omitempty"`
	// Redacted counts the secrets that policy had replaced by their kinds.
	Redacted int `json:",omitempty"`
	// Degraded lists what was down; the memory is stored all the same.
	Degraded []Brownout
	// Capture identifies the raw input as it was kept, without its secrets if policy wants them
	// redacted; zero if it was not.
	Capture ID
	// Token is what to hand to WaitVisible to read one's own write elsewhere; empty without a
	// Capture.
	Token string `json:"-"`
	// Replayed reports that this is the reply to an earlier write with the idempotency key.
	Replayed bool `json:"-"`
}

// Rejection is something that did not become a memory.
type Rejection struct {
	// Text is the fact that was proposed, cut at 2 KiB: empty for the whole text of a write, for a fact
	// with a secret that policy forbids, and, where policy has a rule on secrets and the host a
	// classifier, for one that this has not seen.
	Text   string `json:",omitempty"`
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
	if req.Kind == mem.KindPointer && req.ContentKey == "" && req.Supersedes.IsZero() {
		req.ContentKey = req.Source
	}
	return writepath.Draft{
		Kind: req.Kind, Text: req.Text, EventTime: req.EventTime, EventEnd: req.EventEnd, ExpiresAt: req.ExpiresAt, Source: req.Source,
		Provenance: mem.Provenance(who.Provenance()), Supersedes: req.Supersedes, ContentKey: req.ContentKey, Sensitivity: req.Sensitivity,
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
	same.ExpiresAt = r.ExpiresAt.UTC().Truncate(time.Microsecond)
	b, err := json.Marshal(&same)
	if err != nil {
		panic(err) // times are valid by now, and the rest always encodes
	}
	return sha256.Sum256(b)
}

// Write remembers a text in the caller's namespace. Without a language model, or with
// WriteRequest.Verbatim, it becomes one memory as it is; with one (see WithLLM) it becomes the
// facts that the model finds in it, as far as they are in the text: what a fact says that the text
// does not is rejected with a reason. A model that is down, slow or of no use costs nothing but
// that: the text is kept as it is, and the reply says so.
//
// The raw input is kept first; with a remote model it is durable before the model is asked. A fact
// that a current memory of the namespace already says (after case, white space and Unicode form
// are evened out) is not stored again, whatever its kind, source and times; Supersedes corrects
// those. One of less trust is replaced: a person who repeats what an agent said states it. Raw input
// states nothing and is always a duplicate. Otherwise the memories, their vectors, their words, what they name and the audit row are
// committed together or not at all. They are compared with their neighbours later, in the
// background, unless policy wants no contradictions looked for; see Conflicts.
//
// Any number of processes may write at once: of equal texts one is stored, and writes that
// replace one memory line up in one chain. A write that loses five races in a row is
// ErrConflict. If the embedding model is down the memory is stored without a vector and the
// reply says so. Replacing a memory is ErrNotFound if it is missing or invisible,
// ErrForbidden if it belongs to an ancestor, and ErrConflict if it was retracted or has expired, or
// if another current memory already says the new text.
func (k *Kernel) Write(ctx context.Context, who Identity, req WriteRequest) (*WriteReply, error) {
	wr := k.newWriting(who, req.IdempotencyKey)
	wr.draft, wr.verbatim = newDraft(who, &req), req.Verbatim
	c := call{op: acl.OpWrite, who: who, memory: req.Supersedes, validate: func() error { return req.validate(&k.limits, &wr.draft) }}
	// Once: a text that names somebody is looked at by the eager way and then takes the long one.
	derive := sync.OnceFunc(func() {
		wr.w.Digest = req.digest()
		prepareDraft(&wr.draft)
		wr.propose(&wr.draft)
	})
	c.prepare = func(_ context.Context, now time.Time) (store.Ahead, error) {
		derive()
		wr.w.Now = now
		return store.Ahead{Steps: wr.w.Probe(&wr.state)}, nil
	}
	c.eager = func(ctx context.Context, cur *current, known *store.Known, policy *mem.EffectivePolicy) (sent bool, err error) {
		// A host's scanner is asked once, and its failure told once the caller has been let in.
		if !k.model.InProcess || k.scanner != nil || len(k.stages) > 0 || k.extracts(wr) || held(policy, &wr.draft) ||
			writeAllowed(policy, &wr.draft) != nil || wr.draft.CheckExpiry(cur.now) != nil {
			return false, nil //nolint:nilerr // refused by the gate's policy, which may be another, or later
		}
		if derive(); !wr.w.Eager() {
			return false, nil
		}
		screened := wr.draft
		secrets, _, rejected, err := k.screen(ctx, policy, &screened)
		if err != nil || rejected != "" || secrets > 0 {
			return false, err // what is not ordinary takes the long way, from the start
		}
		wr.draft.Classification = screened.Classification
		wr.begin(cur)
		return k.writeEagerly(ctx, wr, known)
	}
	return guard(ctx, k, &c, func(ctx context.Context, cur *current) (*WriteReply, error) {
		if cur.answered {
			return wr.reply, nil
		}
		if err := writeAllowed(&cur.policy, &wr.draft); err != nil {
			return nil, err
		}
		wr.begin(cur)
		// A retry is answered as it was, however late it comes.
		if err := wr.draft.CheckExpiry(cur.now); err != nil && !wr.state.Answered() {
			return nil, err
		}
		return k.settleWrite(ctx, wr)
	})
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
