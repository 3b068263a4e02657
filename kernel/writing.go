package kernel

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/memkernel/memkernel/audit"
	"github.com/memkernel/memkernel/internal/store"
	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/writepath"
	"github.com/memkernel/memkernel/writepath/entity"
)

// writing is one write under way: capture, extract, verify, entities, classify, embed, commit.
type writing struct {
	cur *current
	w   *store.Write
	// draft is the request as one draft. verbatim says that it is to stay that.
	draft    writepath.Draft
	verbatim bool
	// facts are the drafts that are to be committed, and state how they stand.
	facts []*writepath.Draft
	state writepath.State
	// derived reports that facts is what became of the text; before, it is the text itself.
	derived bool
	// soFar is what the reply will say whatever is decided on the facts.
	soFar WriteReply
	reply *WriteReply
}

func (k *Kernel) newWriting(who Identity, idempotencyKey string) *writing {
	wr := &writing{w: &store.Write{Who: who, IdempotencyKey: idempotencyKey, Check: k.checkJob(who.Tenant())}, reply: &WriteReply{}}
	k.store.Bind(wr.w)
	return wr
}

// begin starts an attempt of a call that was let in, from nothing.
func (wr *writing) begin(cur *current) {
	wr.cur = cur
	wr.w.Now, wr.w.Raw = cur.now, wr.draft.Text
	wr.draft.ID = newID(cur.now)
	if wr.w.Capture.IsZero() {
		wr.w.Capture = newID(cur.now)
	}
	wr.w.NewID = func() ID { return newID(cur.now) }
	wr.w.Outcome = wr.outcome
	wr.soFar, *wr.reply = WriteReply{}, WriteReply{}
}

// propose makes these the facts of the write.
func (wr *writing) propose(facts ...*writepath.Draft) {
	wr.facts = facts
	wr.w.Propose(facts...)
}

// look reads how the facts stand.
func (wr *writing) look(ctx context.Context) (err error) {
	wr.state, err = wr.w.State(ctx)
	return err
}

// targetHidden reports what only the audit log may know of a memory to replace.
func (wr *writing) targetHidden() bool {
	return len(wr.state.Standings) > 0 && wr.state.Standings[0].TargetHidden
}

// settleWrite classifies, prepares and commits a write that has been let in.
func (k *Kernel) settleWrite(ctx context.Context, wr *writing) (*WriteReply, error) {
	if done, err := k.screenWrite(ctx, wr); done || err != nil {
		return wr.reply, err
	}
	return k.storeWrite(ctx, wr)
}

// storeWrite prepares and commits a write that has been screened, by how its facts stand.
func (k *Kernel) storeWrite(ctx context.Context, wr *writing) (*WriteReply, error) {
	for all := false; ; all = true {
		if err := k.prepareWrite(ctx, wr, all); err != nil {
			return nil, tellTarget(wr.cur, err, wr.targetHidden())
		}
		policy, err := k.stillIn(ctx, wr.w.Who)
		if err == nil {
			err = wr.stillAllowed(policy)
		}
		if err != nil {
			return nil, err
		}
		// Unprepared at most once: what a fact looked like a duplicate of has ended, and the next
		// time all of them are prepared.
		if err := k.commitWrite(ctx, wr); !errors.Is(err, writepath.ErrUnprepared) {
			return wr.reply, err
		}
	}
}

// takesLong reports whether a write asks what may take long, so that what its caller was let in on
// may not hold any more when it is to be committed.
func (k *Kernel) takesLong() bool {
	return !k.model.InProcess || k.scanner != nil || k.worksOnTexts()
}

// stillIn lets the caller of writes in once more, if they may have taken long since the first time,
// and returns the policies in force by now, nil if there is nothing to be asked.
func (k *Kernel) stillIn(ctx context.Context, who Identity) (*mem.EffectivePolicy, error) {
	if !k.takesLong() {
		return nil, nil
	}
	gate, err := k.store.Gate(ctx, who, store.Ahead{})
	if err != nil {
		return nil, err
	}
	policy := mem.MergePolicies(gate.Policies)
	return &policy, k.checkGate(who, gate, k.clock())
}

// stillAllowed refuses what policy, nil for no news of it, has come to forbid while a write took
// long. Where its rule on secrets has changed that is ErrConflict: what the models were shown went
// by the old one.
func (wr *writing) stillAllowed(policy *mem.EffectivePolicy) error {
	if policy == nil || wr.state.Answered() {
		return nil
	}
	if policy.WriteSecrets != wr.cur.policy.WriteSecrets {
		return fmt.Errorf("%w: the rule on secrets has changed meanwhile", mem.ErrConflict)
	}
	for _, d := range wr.facts {
		if err := writeAllowed(policy, d); err != nil {
			return err
		}
	}
	wr.cur.policy.ConflictReview, wr.cur.policy.HoldForReview = policy.ConflictReview, policy.HoldForReview // for review
	return nil
}

// ruledAnew reports that policy, nil for no news of it, says otherwise what becomes of contradictions.
func (wr *writing) ruledAnew(policy *mem.EffectivePolicy) bool {
	was := &wr.cur.policy
	return policy != nil && (policy.ConflictReview != was.ConflictReview || policy.HoldForReview != was.HoldForReview)
}

// writeEagerly stores the draft on the assumption that nothing stands against it. A model
// that fails is left to the long way, which can do without. A duplicate costs the embedding and
// an attempt that comes to nothing: new texts are what writes are made of.
func (k *Kernel) writeEagerly(ctx context.Context, wr *writing, known *store.Known) (sent bool, err error) {
	embedding, err := k.embed(ctx, wr.w.Who.Tenant(), wr.draft.Text, &wr.draft.Classification)
	if err != nil {
		return false, err
	}
	wr.draft.Embedding, wr.draft.Embedded = embedding, true
	wr.review()
	err = wr.w.ApplyEagerly(ctx, known)
	wr.cur.answered, wr.cur.recorded = true, err == nil
	return true, err
}

// screenWrite is screenDraft for a write that has been looked up, which it is again if it has to be.
func (k *Kernel) screenWrite(ctx context.Context, wr *writing) (done bool, err error) {
	if wr.state.Answered() {
		return false, nil // and nothing is kept
	}
	done, changed, err := k.screenDraft(ctx, wr)
	if changed && err == nil {
		err = wr.look(ctx)
	}
	return done, err
}

// screenDraft classifies the draft and carries out what policy says of secrets. done reports that
// the write is over: nothing of the text is kept. changed reports that another text is proposed now.
func (k *Kernel) screenDraft(ctx context.Context, wr *writing) (done, changed bool, err error) {
	secrets, changed, rejected, err := k.screen(ctx, &wr.cur.policy, &wr.draft)
	switch {
	case err != nil:
		return false, false, err
	case rejected != "":
		*wr.reply = WriteReply{Rejected: []Rejection{{Reason: rejected}}}
		describeWrite(wr.cur, wr.reply)
		return true, false, nil
	case changed || secrets > 0 && wr.cur.policy.WriteSecrets == mem.SecretsRedact:
		wr.soFar.Redacted = max(wr.soFar.Redacted, secrets)
		wr.w.Raw = wr.draft.Text
		wr.draft.Embedding, wr.draft.Embedded = nil, false
		prepareDraft(&wr.draft)
		wr.propose(&wr.draft)
		if err := wr.draft.Validate(k.limits.MaxTextBytes); err != nil {
			return false, false, err // the marks are longer than the secrets were
		}
		return false, true, writeAllowed(&wr.cur.policy, &wr.draft)
	}
	return false, false, nil
}

// prepareDraft derives what follows from the text.
func prepareDraft(d *writepath.Draft) {
	d.Mentions = mentions(d.Text)
	d.Prepare()
}

// inOrder lets ids follow the order in which they stand: those made in one millisecond have none of
// their own, and the newest memory is the one with the highest.
func inOrder(ids []*ID) {
	sorted := make([]ID, len(ids))
	for i, id := range ids {
		sorted[i] = *id
	}
	slices.SortFunc(sorted, func(x, y ID) int { return bytes.Compare(x[:], y[:]) })
	for i, id := range ids {
		*id = sorted[i]
	}
}

// maxNamed is how much of a text is searched for names, in bytes: a few milliseconds' worth. A
// memory so long is a document, and what it is about stands at its beginning.
const maxNamed = 64 << 10

// mentions returns the names in a text.
func mentions(text string) []entity.Mention { return entity.Recognise(cutText(text, maxNamed)) }

// cutText returns at most n bytes of a text, whole characters.
func cutText(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// prepareWrite does what may take long, before any transaction: it keeps the raw input and
// asks the models, as far as something is to be stored by what is known. With all, it has
// everything embedded that could be.
func (k *Kernel) prepareWrite(ctx context.Context, wr *writing, all bool) error {
	if err := k.deriveWrite(ctx, wr, all); err != nil {
		return err
	}
	decisions, replay, err := writepath.Plan(wr.facts, &wr.state)
	if err != nil || replay {
		return err
	}
	return k.embedDrafts(ctx, lacking(nil, wr, decisions, all), wr.w.Keep)
}

// deriveWrite makes the facts of a write, as far as something is to be stored.
func (k *Kernel) deriveWrite(ctx context.Context, wr *writing, all bool) error {
	decisions, replay, err := writepath.Plan(wr.facts, &wr.state)
	if err != nil || replay || wr.derived {
		return err
	}
	if stores := func(dec writepath.Decision) bool { return dec.Action.Stores() }; !all && !slices.ContainsFunc(decisions, stores) {
		return nil
	}
	return k.deriveFacts(ctx, wr)
}

// unembedded is a draft of a write that the embedder has not been asked about.
type unembedded struct {
	*writepath.Draft

	of *writing
}

// lacking adds the drafts of a write that are to be embedded.
func lacking(drafts []unembedded, wr *writing, decisions []writepath.Decision, all bool) []unembedded {
	for i, d := range wr.facts {
		if !d.Embedded && (all || decisions[i].Action.Stores()) {
			drafts = append(drafts, unembedded{d, wr})
		}
	}
	return drafts
}

// keepRaw makes raw input durable before a model elsewhere is asked.
func keepRaw(ctx context.Context, keep func(context.Context) error) error {
	if err := keep(ctx); err != nil && !errors.Is(err, writepath.ErrStale) {
		return err
	}
	return nil
}

// embedDrafts has all drafts embedded that may be sent to the model, in one call, and what they
// were written as kept before. A model that fails is no error; nor is a text that may not go there,
// which is not asked for again.
func (k *Kernel) embedDrafts(ctx context.Context, drafts []unembedded, keep func(context.Context) error) error {
	if len(drafts) == 0 {
		return nil
	}
	if !k.model.InProcess {
		if err := keepRaw(ctx, keep); err != nil {
			return err
		}
	}
	var sent []unembedded
	var texts []string
	var classes []*mem.Classification
	for _, d := range drafts {
		if d.Embedded = true; k.maySend(&d.Classification) {
			sent, texts, classes = append(sent, d), append(texts, d.Text), append(classes, &d.Classification)
		} else {
			d.of.degrade(BrownoutWithheld)
		}
	}
	if len(sent) == 0 {
		return nil
	}
	vectors, err := k.embedMany(ctx, drafts[0].of.w.Who.Tenant(), texts, classes)
	if errors.Is(err, errEmbedding) {
		for _, d := range sent {
			d.Unembedded = true
			d.of.degrade(BrownoutEmbedder)
		}
		return nil
	}
	if err != nil {
		return err
	}
	for i, d := range sent {
		d.Embedding = vectors[i]
	}
	return nil
}

// degrade notes, once, what was down.
func (wr *writing) degrade(b Brownout) {
	if !slices.Contains(wr.soFar.Degraded, b) {
		wr.soFar.Degraded = append(wr.soFar.Degraded, b)
	}
}

// commitWrite commits the facts and leaves in state what it was decided on.
func (k *Kernel) commitWrite(ctx context.Context, wr *writing) error {
	cur := wr.cur
	wr.review()
	replay, final, err := writepath.Commit(ctx, wr.w, wr.facts, &wr.state)
	wr.state = final
	switch {
	case err != nil:
		wr.retreat()
		return tellTarget(cur, err, wr.targetHidden())
	case replay:
		return wr.replay()
	default:
		cur.recorded = true
		return nil
	}
}

// retreat takes back what an attempt that came to nothing would have put on record.
func (wr *writing) retreat() {
	wr.cur.detail, wr.cur.event.MemoryID = audit.Detail{}, wr.draft.Supersedes
}

// replay answers with the receipt of an earlier write.
func (wr *writing) replay() error {
	if err := wr.reply.decode(wr.state.Receipt); err != nil {
		return err
	}
	wr.reply.Replayed = true
	wr.retreat()
	wr.cur.event.MemoryID = wr.reply.about(wr.cur.event.MemoryID)
	wr.cur.detail.Str("replay", "true")
	return nil
}

// decode reads a stored receipt.
func (r *WriteReply) decode(receipt []byte) error {
	*r = WriteReply{} // nothing of an attempt that came to nothing
	if err := json.Unmarshal(receipt, r); err != nil {
		return fmt.Errorf("%w: stored receipt: %w", mem.ErrInternal, err)
	}
	r.Token = tokenOf(r.Capture)
	return nil
}

// about returns the memory that stands for a write in the log, otherwise if it made none.
func (r *WriteReply) about(otherwise ID) ID {
	if kept := slices.Concat(r.Stored, r.Deduplicated, r.Echoed); len(kept) > 0 {
		return kept[0]
	}
	return otherwise
}

// tellTarget makes the audit row, and nothing else, tell whether a memory to replace that was
// not found is missing or invisible.
func tellTarget(cur *current, err error, hidden bool) error {
	if errors.Is(err, mem.ErrNotFound) {
		return notFound(cur, hidden)
	}
	return err
}

// outcome fills in the reply for what was decided on the facts and encodes it. It may run several
// times.
func (wr *writing) outcome(decisions []writepath.Decision) ([]byte, audit.Event) {
	reply, cur := wr.reply, wr.cur
	*reply = wr.soFar
	reply.Capture, reply.Token = wr.w.Capture, tokenOf(wr.w.Capture)
	for i, dec := range decisions {
		switch dec.Action {
		case writepath.Duplicate:
			reply.Deduplicated = addOnce(reply.Deduplicated, dec.Memory)
		case writepath.Echo:
			for _, id := range dec.Echoes {
				reply.Echoed = addOnce(reply.Echoed, id)
			}
		case writepath.Insert, writepath.Supersede:
			d := wr.facts[i]
			reply.Stored = append(reply.Stored, d.ID)
			switch {
			case d.Held:
				reply.Held = append(reply.Held, d.ID)
			case dec.Action == writepath.Supersede:
				reply.Superseded = append(reply.Superseded, dec.Memory)
			}
		}
	}
	cur.event.MemoryID = reply.about(wr.draft.Supersedes)
	describeWrite(cur, reply)
	if n := wr.w.Overturns(decisions); n > 0 {
		cur.detail.Int("overturned", n)
	}
	if len(reply.Stored) > 0 {
		describeExpiry(cur, &wr.draft)
	}
	receipt, err := json.Marshal(reply)
	if err != nil {
		panic(err) // ids, texts and constants always encode
	}
	return receipt, cur.finish()
}

func addOnce(ids []ID, id ID) []ID {
	if slices.Contains(ids, id) {
		return ids
	}
	return append(ids, id)
}

func describeWrite(cur *current, reply *WriteReply) {
	cur.detail = audit.Detail{}
	cur.detail.Int("stored", int64(len(reply.Stored))).Int("rejected", int64(len(reply.Rejected))).
		Int("superseded", int64(len(reply.Superseded))).Int("deduplicated", int64(len(reply.Deduplicated)))
	if n := len(reply.Echoed); n > 0 {
		cur.detail.Int("echoed", int64(n))
	}
	if n := len(reply.Held); n > 0 {
		cur.detail.Int("held", int64(n))
	}
	var reasons []RejectReason
	for _, r := range reply.Rejected {
		if !slices.Contains(reasons, r.Reason) {
			reasons = append(reasons, r.Reason)
			cur.detail.Str("reject_reason", string(r.Reason))
		}
	}
	if reply.Verbatim != "" {
		cur.detail.Str("verbatim", string(reply.Verbatim))
	}
	if reply.Redacted > 0 {
		cur.detail.Int("redacted", int64(reply.Redacted))
	}
	for _, b := range reply.Degraded {
		cur.detail.Str("brownout", string(b))
	}
}
