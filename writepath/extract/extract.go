package extract

import (
	"cmp"
	"context"
	"time"

	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/kernel/model"
)

// Reason says why an input, or a part of it, was kept verbatim. The list is closed and only
// ever grows.
type Reason string

// The reasons.
const (
	// ReasonNone: the model answered.
	ReasonNone Reason = ""
	// ReasonNoModel: there is no model.
	ReasonNoModel Reason = "no_model"
	// ReasonModelFailed: the model returned an error, or panicked.
	ReasonModelFailed Reason = "model_failed"
	// ReasonTimeout: the model did not answer in time.
	ReasonTimeout Reason = "timeout"
	// ReasonBadJSON: the answers were not lists of facts.
	ReasonBadJSON Reason = "bad_json"
	// ReasonNoFacts: the model found no fact, or none that could be used.
	ReasonNoFacts Reason = "no_facts"
	// ReasonTooManyFacts: the facts of earlier parts are as many as one input may have.
	ReasonTooManyFacts Reason = "too_many_facts"
	// ReasonTooManyParts: the input is larger than all its parts may be.
	ReasonTooManyParts Reason = "too_many_parts"
	// ReasonRejected: none of the facts was in the input, or none may be kept; for whoever checks
	// them.
	ReasonRejected Reason = "all_rejected"
)

// Limits of one input. None can be set higher.
const (
	// MaxInputBytes is the largest Input.Text.
	MaxInputBytes = 1 << 20
	// MaxSourceBytes is the largest Input.Source.
	MaxSourceBytes = 1024
	// MaxFacts is the most facts of one input.
	MaxFacts = 500
	// MaxEntities is the most entities of one fact, and MaxEntityBytes the longest.
	MaxEntities    = 32
	MaxEntityBytes = 256
)

// Options say how a model is used. The zero value is ready.
type Options struct {
	// MaxFacts is the most facts that one input becomes, default 100, at most the constant
	// MaxFacts. The first count; the rest is rejected. Parts that are kept verbatim come on top.
	MaxFacts int
	// MaxFactBytes is the longest text of a fact that a model wrote, default 2048. It does
	// not bound verbatim facts, which are as long as the input.
	MaxFactBytes int
	// MaxAnswerTokens bounds each answer, default 8192.
	MaxAnswerTokens int
	// Timeout bounds the calls for one part together, default one minute. The context's
	// deadline counts too.
	Timeout time.Duration
	// PartTokens is the most of an input, in the estimate of mem.EstimateTokens, that one call
	// is given. A longer input is cut between paragraphs, or else sentences, words or
	// characters, and each part costs its own calls. 0 never cuts.
	PartTokens int
	// MaxParts is the most parts of one input, default 16. An input that needs more is kept
	// verbatim, without a call.
	MaxParts int
	// Retry says whether to ask again after the model's error; nil asks again after every
	// one. An exhausted budget or a refusal is not worth it.
	Retry func(error) bool
}

func (o Options) withDefaults() Options {
	positive := func(n, otherwise int) int { return cmp.Or(max(n, 0), otherwise) }
	o.MaxFacts = min(positive(o.MaxFacts, 100), MaxFacts)
	o.MaxFactBytes = positive(o.MaxFactBytes, 2048)
	o.MaxAnswerTokens = positive(o.MaxAnswerTokens, 8192)
	o.Timeout = cmp.Or(max(o.Timeout, 0), time.Minute)
	o.PartTokens = max(o.PartTokens, 0)
	o.MaxParts = positive(o.MaxParts, 16)
	if o.Retry == nil {
		o.Retry = func(error) bool { return true }
	}
	return o
}

// Input is what is to be remembered.
type Input struct {
	// Text is the message, transcript or document: at most MaxInputBytes, valid UTF-8, no NUL.
	Text string
	// Kind is the kind of verbatim facts, and of facts to which the model gave none. It is
	// mem.KindFact if empty.
	Kind mem.Kind
	// EventTime and EventEnd say when what the text tells took place, zero if unknown. Facts
	// without a time of their own inherit them.
	EventTime, EventEnd time.Time
	// Now is when the text was written or received. Words like yesterday are relative to
	// EventTime if there is one and to Now otherwise.
	Now time.Time
	// Source is what the caller says of the origin; it is shown to the model as data.
	Source string
	// Prepared holds facts that were extracted elsewhere. If there are any, the model is not
	// asked and Text may be empty; they are held to the same limits.
	Prepared []Fact
}

// Fact is one atomic fact.
type Fact struct {
	Text string
	Kind mem.Kind
	// EventTime and EventEnd are when the thing was so, zero when unknown.
	EventTime, EventEnd time.Time
	// Entities are the names of what the fact is about, each once, in order.
	Entities []string
	// Certainty is between 0 and 1: what the model believes, 1 for verbatim facts and where
	// the model gave none.
	Certainty float32
	// Verbatim reports that Text is the input, or a part of it, as it stands.
	Verbatim bool
	// Flaws name what the model said of the fact beside its text and that was not taken.
	Flaws []Flaw
}

// Flaw names a property of a fact that could not be taken over. The list is closed and only
// ever grows.
type Flaw string

// The flaws.
const (
	FlawKind              Flaw = "kind"              // not a kind, or not one that a model gives
	FlawEventTime         Flaw = "event_time"        // neither RFC 3339 nor a date
	FlawEventEnd          Flaw = "event_end"         // neither RFC 3339 nor a date
	FlawEventTimeBounds   Flaw = "event_time_bounds" // a time that cannot be meant
	FlawEventEndBounds    Flaw = "event_end_bounds"  // a time that cannot be meant
	FlawEventEndWithout   Flaw = "event_end_without" // an end without a beginning
	FlawEventEndBackwards Flaw = "event_end_before"  // an end before the beginning
	FlawEntities          Flaw = "entities"          // some or all are no names, or too many
	FlawCertainty         Flaw = "certainty"         // not between 0 and 1
	FlawUnknownProperty   Flaw = "unknown_property"  // properties that the schema does not have
)

// Rejected is something that the model gave and that is not among the facts.
type Rejected struct {
	// Text is the candidate as far as it can be told: its text, or the JSON of what stood in
	// its place, cut at Options.MaxFactBytes. It is valid UTF-8 without NUL.
	Text   string
	Reason mem.RejectReason
}

// Result is what became of an input.
type Result struct {
	// Facts are in the order of the input; there is always at least one, unless Prepared
	// facts were all rejected.
	Facts []Fact
	// Rejected are in the order of the answers.
	Rejected []Rejected
	// Verbatim reports that some fact is verbatim, and Reason why the first of them is.
	Verbatim bool
	Reason   Reason
	// Err is the last failure of the model or its answer, nil if every part was answered. It
	// holds no text of the input.
	Err error
	// Parts counts the parts of the input, Calls the calls of the model: at most two a part.
	Parts, Calls int
	// Usage sums what the calls that returned have cost.
	Usage model.Usage
}

// Extractor turns inputs into facts. It is immutable and safe for concurrent use.
type Extractor struct {
	llm      model.LLM
	opts     Options
	examples examples
}

// New returns an Extractor that asks llm, or keeps every input verbatim if llm is nil. Options
// without a meaning are set to their defaults.
func New(llm model.LLM, opts Options) *Extractor {
	return &Extractor{llm: llm, opts: opts.withDefaults(), examples: newExamples()}
}

// Extract returns the facts of an input. A model that fails is no error: the input is kept
// verbatim and the result says why, also when ctx has a deadline that passes. The error is an
// *mem.InvalidError or *mem.TooLargeError for an input that cannot be stored, or
// context.Canceled if ctx was cancelled, and then there is no result.
//
// Extract blocks while the model does; a model that ignores its context blocks it for good.
// Called again with the same input it asks again, and may give other facts.
func (e *Extractor) Extract(ctx context.Context, in Input) (Result, error) {
	if err := in.check(); err != nil {
		return Result{}, err
	}
	in.Kind = cmp.Or(in.Kind, mem.KindFact)
	c := newCollector(e, &in)
	if len(in.Prepared) > 0 {
		for i := range in.Prepared {
			c.prepared(&in.Prepared[i])
		}
		return c.result, nil
	}
	if e.llm == nil {
		c.verbatim(in.Text, ReasonNoModel)
		return c.result, nil
	}
	parts := e.split(in.Text)
	if len(parts) > e.opts.MaxParts {
		c.verbatim(in.Text, ReasonTooManyParts)
		return c.result, nil
	}
	for _, part := range parts {
		c.part(ctx, part)
	}
	if err := ctx.Err(); err != nil && !timedOut(err) {
		return Result{}, err
	}
	return c.result, nil
}

func (in *Input) check() error {
	if len(in.Prepared) == 0 || in.Text != "" {
		if err := mem.CheckText("Text", in.Text, MaxInputBytes); err != nil {
			return err
		}
	}
	if in.Kind != "" && !in.Kind.Valid() {
		return &mem.InvalidError{Field: "Kind", Reason: "unknown kind"}
	}
	if err := mem.CheckLabel("Source", in.Source, MaxSourceBytes); err != nil {
		return err
	}
	for _, f := range []struct {
		name string
		at   time.Time
	}{{"EventTime", in.EventTime}, {"EventEnd", in.EventEnd}, {"Now", in.Now}} {
		if err := mem.CheckTime(f.name, f.at); err != nil {
			return err
		}
	}
	return nil
}

// reference is the time that relative dates refer to, zero if unknown.
func (in *Input) reference() time.Time {
	if in.EventTime.IsZero() {
		return in.Now
	}
	return in.EventTime
}
