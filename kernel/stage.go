package kernel

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/memkernel/memkernel/kernel/mem"
)

// Stage is a step of the host's own in every write: behind extraction and verification, before
// entities, classification and embedding, so that whatever it makes of a fact is classified like
// any other. A write that waits for a worker is seen when it runs. Where nothing is left of what a
// language model found, and no stage has rejected any of it, the text itself is seen as well. The
// first fact of a text that was not extracted stands for the text: what it becomes is what replaces,
// or is about, what the write says. A rejection keeps a fact from becoming a memory; the raw input
// is kept by then.
//
// Implementations must be safe for concurrent use and return when ctx is done. A stage that
// fails, panics or takes longer than Limits.ModelTimeout fails the write with ErrUnavailable:
// what it was to check is not let through unchecked.
type Stage interface {
	// Name identifies the stage in logs.
	Name() string
	// Run may change the facts of a write, reject them by Fact.Rejected, and add others at the
	// end. It must not take any out: what does not become a memory is told to the writer. No
	// transaction is open and no connection is held meanwhile, but for those of WithTx.
	Run(ctx context.Context, in *StageInput) error
}

// StageInput is what a write has come to when a stage is asked.
type StageInput struct {
	// Who writes, and Text and Source are what was written, without the secrets that policy wants
	// redacted. They are for reading.
	Who    Identity
	Text   string
	Source string
	// Facts are to become memories.
	Facts []Fact
}

// Fact is what is to become one memory.
type Fact struct {
	// Text is held to the limits of WriteRequest.Text, and Kind to the kinds; empty is the kind of
	// the request.
	Text string
	Kind Kind
	// EventTime and EventEnd say when it was so in the world; zero for unknown.
	EventTime, EventEnd time.Time
	// Certainty is between 0 and 1: what the language model believes of it, 1 for what was not
	// extracted. 0 in a fact that a stage adds is 1.
	Certainty float32
	// Rejected says why the fact must not become a memory, empty if it may.
	Rejected RejectReason

	// names are what a model says it names; whole reports that it stands for the whole text.
	names []string
	whole bool
}

// runStages hands the facts from stage to stage. A fact that was rejected is not handed on.
func (k *Kernel) runStages(ctx context.Context, wr *writing, facts []Fact) ([]Fact, error) {
	for _, stage := range k.stages {
		var rejected, left []Fact
		for _, f := range facts {
			if f.Rejected != "" {
				rejected = append(rejected, f)
			} else {
				left = append(left, f)
			}
		}
		if len(left) == 0 {
			break
		}
		after, err := k.runStage(ctx, wr, stage, left)
		if err != nil {
			return nil, err
		}
		facts = slices.Concat(after, rejected)
	}
	return facts, nil
}

func (k *Kernel) runStage(ctx context.Context, wr *writing, stage Stage, facts []Fact) ([]Fact, error) {
	// A copy: one that is left behind must not write where the call goes on.
	in := &StageInput{Who: wr.w.Who, Text: wr.draft.Text, Source: wr.draft.Source, Facts: slices.Clone(facts)}
	limited, cancel := context.WithTimeout(ctx, k.limits.ModelTimeout)
	defer cancel()
	failed, err := aside(limited, k.stuck, "stage "+stage.Name(), func() (err error) {
		defer func() {
			if r := recover(); r != nil {
				k.logPanic(ctx, "stage", r)
				err = mem.ErrInternal
			}
		}()
		return stage.Run(limited, in)
	})
	if err == nil {
		err = failed
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err == nil && len(in.Facts) < len(facts):
		err = fmt.Errorf("%w: %d facts of %d are missing", mem.ErrInternal, len(facts)-len(in.Facts), len(facts))
	case err == nil:
		err = checkFacts(in.Facts)
	}
	if err != nil {
		// Its words may be the text's.
		k.logger.LogAttrs(ctx, slog.LevelError, "stage failed", slog.String("stage", stage.Name()), slog.String("error", fmt.Sprintf("%T", err)))
		return nil, fmt.Errorf("%w: a stage of the host failed", mem.ErrUnavailable)
	}
	for i := range in.Facts {
		f := &in.Facts[i]
		// By its place, whatever a stage has copied.
		f.whole = i < len(facts) && facts[i].whole
		if i >= len(facts) && f.Certainty == 0 {
			f.Certainty = 1
		}
		if f.Kind == "" {
			f.Kind = wr.draft.Kind
		}
	}
	return in.Facts, nil
}

// checkFacts checks what a stage says beside the texts, which are checked later.
func checkFacts(facts []Fact) error {
	for i := range facts {
		f := &facts[i]
		if f.Rejected != "" && !f.Rejected.Valid() {
			return &mem.InvalidError{Field: fmt.Sprintf("Facts[%d].Rejected", i), Reason: "unknown reason"}
		}
		if !(f.Certainty >= 0 && f.Certainty <= 1) {
			return &mem.InvalidError{Field: fmt.Sprintf("Facts[%d].Certainty", i), Reason: "it is not between 0 and 1"}
		}
	}
	return nil
}
