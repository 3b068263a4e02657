package kernel

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/kernel/model"
	"github.com/memkernel/memkernel/writepath"
	"github.com/memkernel/memkernel/writepath/entity"
	"github.com/memkernel/memkernel/writepath/extract"
	"github.com/memkernel/memkernel/writepath/verify"
)

// VerbatimReason says why a text was kept as it is though there is a language model.
type VerbatimReason = extract.Reason

// Reasons why a text was kept as it is.
const (
	// VerbatimModelFailed: the model returned an error, or panicked.
	VerbatimModelFailed = extract.ReasonModelFailed
	// VerbatimTimeout: the model did not answer in time.
	VerbatimTimeout = extract.ReasonTimeout
	// VerbatimBadJSON: the answers, two of them, were not lists of facts.
	VerbatimBadJSON = extract.ReasonBadJSON
	// VerbatimNoFacts: the model found no fact.
	VerbatimNoFacts = extract.ReasonNoFacts
	// VerbatimTooManyFacts: earlier parts of the text have as many facts as one text may.
	VerbatimTooManyFacts = extract.ReasonTooManyFacts
	// VerbatimTooManyParts: the text is too large for the model.
	VerbatimTooManyParts = extract.ReasonTooManyParts
	// VerbatimRejected: none of the facts passed the checks; they are in Rejected.
	VerbatimRejected = extract.ReasonRejected
	// VerbatimWithheld: what the text holds may not leave for where the model is.
	VerbatimWithheld VerbatimReason = "withheld"
)

// BrownoutLLM says that the language model failed: the text was kept as it is, or rules decided
// without it.
const BrownoutLLM Brownout = "llm_unavailable"

const (
	// maxModelFact is the longest text of a fact that a model wrote, in bytes.
	maxModelFact = 2048
	// partTokens is how much of a text one question to the model holds, and maxParts how many
	// questions a text may cost: a larger one is kept as it is. Together they are a long document.
	partTokens = 8000
	maxParts   = 8
)

// extracts reports whether a language model is to make facts of the text.
func (k *Kernel) extracts(wr *writing) bool {
	d := &wr.draft
	if k.llm == nil || wr.verbatim || !d.Supersedes.IsZero() || d.ContentKey != "" {
		return false
	}
	switch d.Kind {
	case mem.KindRaw, mem.KindPointer, mem.KindEntity:
		return false
	default:
		return true
	}
}

// deriveFacts makes of the text what is to be remembered: what the model finds in it and the
// check finds in the text, as the host's stages leave it, classified. If nothing is left of that
// but what the host rejected, the text itself stands for it.
func (k *Kernel) deriveFacts(ctx context.Context, wr *writing) error {
	wr.derived = true
	var facts []Fact
	if k.extracts(wr) {
		var err error
		if facts, err = k.extractFacts(ctx, wr); err != nil {
			return err
		}
	}
	if len(facts) > 0 {
		drafts, vetoed, err := k.acceptFacts(ctx, wr, facts)
		if err != nil {
			return err
		}
		if len(drafts) > 0 || vetoed {
			wr.propose(drafts...)
			return wr.look(ctx)
		}
		wr.soFar.Verbatim = VerbatimRejected
	}
	if len(k.stages) == 0 {
		return nil // the text is proposed already, and classified
	}
	whole := Fact{Text: wr.draft.Text, Kind: wr.draft.Kind, EventTime: wr.draft.EventTime, EventEnd: wr.draft.EventEnd, Certainty: 1, whole: true}
	drafts, _, err := k.acceptFacts(ctx, wr, []Fact{whole})
	if err != nil {
		return err
	}
	if len(drafts) == 1 && drafts[0] == &wr.draft {
		return nil
	}
	wr.propose(drafts...)
	return wr.look(ctx)
}

// extractFacts asks the model for the facts of the text and checks that they are in it. Facts
// that are not are rejected; without any, the text is to be kept as it is.
func (k *Kernel) extractFacts(ctx context.Context, wr *writing) ([]Fact, error) {
	if len(wr.draft.Text) > extract.MaxInputBytes {
		wr.soFar.Verbatim = VerbatimTooManyParts
		return nil, nil
	}
	if to := k.llmDestination; to != mem.DestinationLocal && !wr.draft.Classification.MaySend(to) {
		wr.soFar.Verbatim = VerbatimWithheld
		return nil, nil
	}
	if err := keepRaw(ctx, wr.w.Keep); err != nil {
		return nil, err
	}
	in := extract.Input{
		Text: wr.draft.Text, Kind: wr.draft.Kind, EventTime: wr.draft.EventTime, EventEnd: wr.draft.EventEnd, Now: wr.w.Now, Source: wr.draft.Source,
	}
	result, err := k.extractor(wr.w.Who.Tenant()).Extract(ctx, in)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, err
	}
	wr.soFar.Verbatim = result.Reason
	if failed := result.Reason == VerbatimModelFailed || result.Reason == VerbatimTimeout || result.Reason == VerbatimBadJSON; failed {
		wr.degrade(BrownoutLLM)
	}
	for _, r := range result.Rejected {
		k.reject(wr, r.Text, r.Reason)
	}
	if result.Verbatim && len(result.Facts) == 1 {
		return nil, nil
	}
	facts := k.verifyFacts(wr, &in, result.Facts)
	if len(facts) == 0 {
		wr.soFar.Verbatim = VerbatimRejected
	}
	return facts, nil
}

// extractor returns what asks the model, on behalf of a tenant.
func (k *Kernel) extractor(tenant string) *extract.Extractor {
	return extract.New(k.languageModel(tenant), extract.Options{
		MaxFactBytes: maxModelFact, Timeout: k.limits.ModelTimeout, PartTokens: partTokens, MaxParts: maxParts,
		Retry: func(err error) bool { return !errors.Is(err, model.ErrFinal) },
	})
}

// verifyFacts returns the facts that are in the text, and rejects the others.
func (k *Kernel) verifyFacts(wr *writing, in *extract.Input, found []extract.Fact) []Fact {
	candidates := make([]verify.Candidate, len(found))
	for i, f := range found {
		candidates[i] = verify.Candidate{Text: f.Text, Verbatim: f.Verbatim}
	}
	src := verify.Source{Text: in.Text, Time: in.EventTime, Context: []string{wr.w.Who.Actor(), in.Source}}
	if src.Time.IsZero() {
		src.Time = in.Now
	}
	var facts []Fact
	for i, verdict := range k.verifier.Verify(src, candidates) {
		f := &found[i]
		if !verdict.Accepted() {
			k.reject(wr, f.Text, verdict.Reason)
			continue
		}
		facts = append(facts, Fact{
			Text: f.Text, Kind: f.Kind, EventTime: f.EventTime, EventEnd: f.EventEnd, Certainty: f.Certainty, names: f.Entities,
		})
	}
	return facts
}

// reject reports a fact that does not become a memory.
func (k *Kernel) reject(wr *writing, text string, why RejectReason) {
	// What a rule on secrets has not been applied to by all who look for them is not told.
	if rule := wr.cur.policy.WriteSecrets; why == mem.RejectSecret || rule != mem.SecretsAllow && k.scanner != nil {
		text = ""
	}
	text = k.redactAside(wr.cur.policy.WriteSecrets, storable(cutText(text, maxModelFact)))
	wr.soFar.Rejected = append(wr.soFar.Rejected, Rejection{Text: text, Reason: why})
}

// storable returns what a host's part gave for a text as the database takes it.
func storable(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

// acceptFacts runs the host's stages over facts and classifies what they leave: the drafts of what
// may be kept. The rest is rejected; vetoed reports that a stage rejected something.
func (k *Kernel) acceptFacts(ctx context.Context, wr *writing, facts []Fact) (drafts []*writepath.Draft, vetoed bool, err error) {
	if facts, err = k.runStages(ctx, wr, facts); err != nil {
		return nil, false, err
	}
	seen := map[[32]byte]bool{}
	for i := range facts {
		f := &facts[i]
		if f.Rejected != "" {
			vetoed = true
			if f.whole {
				f.Text = ""
			}
			k.reject(wr, f.Text, f.Rejected)
			continue
		}
		d, why, err := k.acceptFact(ctx, wr, f)
		switch {
		case err != nil:
			return nil, false, err
		case why == "" && seen[d.DedupeKey]:
			why = mem.RejectDuplicate // it differed by a secret
			fallthrough
		case why != "":
			k.reject(wr, f.Text, why)
		default:
			seen[d.DedupeKey] = true
			drafts = append(drafts, d)
		}
	}
	ids := make([]*ID, len(drafts))
	for i, d := range drafts {
		ids[i] = &d.ID
	}
	inOrder(ids)
	return drafts, vetoed, nil
}

// acceptFact classifies a fact and makes it a draft, or says why it may not be kept.
func (k *Kernel) acceptFact(ctx context.Context, wr *writing, f *Fact) (*writepath.Draft, RejectReason, error) {
	if f.whole && f.Text == wr.draft.Text && f.Kind == wr.draft.Kind && f.EventTime.Equal(wr.draft.EventTime) && f.EventEnd.Equal(wr.draft.EventEnd) {
		return &wr.draft, "", nil
	}
	d := wr.draft
	d.ID, d.Text, d.Kind, d.EventTime, d.EventEnd = newID(wr.w.Now), f.Text, f.Kind, f.EventTime, f.EventEnd
	d.Embedding, d.Embedded, d.Unembedded, d.Certainty = nil, false, false, nil
	if !f.whole {
		d.Supersedes, d.ContentKey, d.Certainty = ID{}, "", &f.Certainty
	}
	if d.Validate(k.limits.MaxTextBytes) != nil {
		return nil, mem.RejectMalformed, nil //nolint:nilerr // the fact's own fault, and told
	}
	secrets, _, rejected, err := k.screen(ctx, &wr.cur.policy, &d)
	switch {
	case err != nil:
		return nil, "", err
	case rejected != "":
		return nil, rejected, nil
	case !f.whole && slices.ContainsFunc(d.Classification.Labels, func(l mem.Label) bool { return !slices.Contains(wr.draft.Classification.Labels, l) }):
		return nil, mem.RejectInjection, nil // the text does not speak like that
	case d.Validate(k.limits.MaxTextBytes) != nil || writeAllowed(&wr.cur.policy, &d) != nil:
		return nil, mem.RejectPolicy, nil //nolint:nilerr // told, too
	}
	if secrets > 0 && wr.cur.policy.WriteSecrets == mem.SecretsRedact {
		wr.soFar.Redacted = max(wr.soFar.Redacted, secrets)
	}
	prepareDraft(&d)
	d.Mentions = append(d.Mentions, named(&d, f.names)...)
	return &d, "", nil
}

// named returns what the model says that a fact names, as far as the fact does and the recogniser
// has not seen it.
func named(d *writepath.Draft, names []string) (more []entity.Mention) {
	for _, name := range names {
		at := strings.Index(d.Text, name)
		if at < 0 || len(name) > entity.MaxName || strings.TrimSpace(name) == "" {
			continue
		}
		overlaps := func(m entity.Mention) bool { return at < m.End && m.Start < at+len(name) }
		if !slices.ContainsFunc(d.Mentions, overlaps) && !slices.ContainsFunc(more, overlaps) {
			more = append(more, entity.Mention{Start: at, End: at + len(name), Surface: name, Type: entity.Other, Confidence: entity.Likely})
		}
	}
	return more
}
