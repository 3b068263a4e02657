package conflict

import (
	"context"
	"errors"
	"fmt"

	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/kernel/model"
)

// MaxCandidates is the most neighbours that one question may have. It is a choice: twice the
// five that the reasoning graph shows a model for one fact when it infers relations.
const MaxCandidates = 10

// Question is an incoming memory and what it may contradict.
type Question struct {
	// Incoming is a committed memory that has not been checked yet. It is required.
	Incoming *mem.Memory
	// Candidates are its neighbours, at most MaxCandidates, each once, in any order.
	Candidates []Candidate
	// Replaces is the candidate that whoever wrote the incoming memory wants replaced by it, zero
	// for none. What the judge says of that one has no bearing, and it may be held or disputed.
	Replaces mem.ID
	// Local keeps the incoming text from every model, for example because its classification
	// does not let it go where the model is. The rules then judge alone.
	Local bool
}

// Candidate is a neighbour of the incoming memory.
type Candidate struct {
	// Memory is required. It should be current, active and of the incoming memory's namespace;
	// Decide changes nothing on account of one that is not.
	Memory *mem.Memory
	// Cosine is the raw similarity of the two texts, nil if it is not known.
	Cosine *mem.Cosine
	// Local keeps this text from every model.
	Local bool
}

// Validate checks that a question is complete and within its limits. The error is an
// *mem.InvalidError or an *mem.TooLargeError.
func (q *Question) Validate() error {
	if q.Incoming == nil || q.Incoming.ID.IsZero() {
		return &mem.InvalidError{Field: "Incoming", Reason: "it is missing"}
	}
	if n := len(q.Candidates); n > MaxCandidates {
		return &mem.TooLargeError{Field: "Candidates", Size: int64(n), Limit: MaxCandidates, Unit: "memories"}
	}
	seen := make(map[mem.ID]bool, len(q.Candidates))
	for i := range q.Candidates {
		m := q.Candidates[i].Memory
		field := fmt.Sprintf("Candidates[%d]", i)
		if m == nil || m.ID.IsZero() {
			return &mem.InvalidError{Field: field, Reason: "it is missing"}
		}
		if seen[m.ID] {
			return &mem.InvalidError{Field: field, Reason: "it is there twice"}
		}
		seen[m.ID] = true
	}
	return nil
}

// Relation says how the incoming memory stands to a candidate. The list is closed.
type Relation string

// The relations.
const (
	// Undecided is no answer: nothing may follow from it. It is the zero value.
	Undecided Relation = ""
	// Same says that both state the same.
	Same Relation = "same"
	// Refines says that the incoming one adds to the candidate and takes nothing back.
	Refines Relation = "refines"
	// Contradicts says that both cannot be true at the same time.
	Contradicts Relation = "contradicts"
	// Unrelated says that both can be true and neither says more of what the other says.
	Unrelated Relation = "unrelated"
)

// Valid reports whether r is one of the relations above.
func (r Relation) Valid() bool {
	switch r {
	case Undecided, Same, Refines, Contradicts, Unrelated:
		return true
	default:
		return false
	}
}

// Basis says what a verdict rests on. The list is closed.
type Basis string

// The bases. Every one but BasisModel follows from the words and times alone.
const (
	// BasisNone is that of Undecided.
	BasisNone Basis = ""
	// BasisWords: the texts are the same words in the same order.
	BasisWords Basis = "words"
	// BasisTime: the same words, of two times.
	BasisTime Basis = "time"
	// BasisNegation: one text is the other with "not" in it.
	BasisNegation Basis = "negation"
	// BasisSingleValue: both give a value of something that has only one.
	BasisSingleValue Basis = "single_value"
	// BasisDistance: the texts are too far apart to be worth a question.
	BasisDistance Basis = "distance"
	// BasisModel: a model said so.
	BasisModel Basis = "model"
)

// Valid reports whether b is one of the bases above.
func (b Basis) Valid() bool {
	switch b {
	case BasisNone, BasisWords, BasisTime, BasisNegation, BasisSingleValue, BasisDistance, BasisModel:
		return true
	default:
		return false
	}
}

// Verdict is what a judge says of one candidate.
type Verdict struct {
	Relation Relation
	// Confidence is between 0 and 100.
	Confidence int
	Basis      Basis
}

// Fault says why a judgement is incomplete. The list is closed.
type Fault string

// The faults.
const (
	// FaultNone: every verdict that the judge is able to give is there.
	FaultNone Fault = ""
	// FaultModelDown: the model could not be asked. Asking again later may help.
	FaultModelDown Fault = "model_unavailable"
	// FaultAnswer: the answer was no answer, twice.
	FaultAnswer Fault = "bad_answer"
	// FaultUnknownCandidate: the answer, twice, was about a memory that the model was not shown.
	FaultUnknownCandidate Fault = "unknown_candidate"
	// FaultIncomplete: the answer left memories out that it was asked about, twice.
	FaultIncomplete Fault = "incomplete_answer"
)

// Judgement is the answer to a question.
type Judgement struct {
	// Verdicts has one verdict for each candidate, in the order of the question. A verdict
	// names no memory, so it cannot be about one that was not shown.
	Verdicts []Verdict
	// Fault says why some verdicts are Undecided that need not be. It belongs in the audit
	// log: a model that fails is not a model that found nothing.
	Fault Fault
	// Calls and Usage count what it cost; both are 0 without a model.
	Calls int
	Usage model.Usage
}

// Judge says how an incoming memory stands to its candidates.
//
// Implementations must be safe for concurrent use, change nothing, and answer with one verdict
// per candidate. They return an error only if the question is invalid or ctx is done; a failing
// model is a Fault with the verdicts there are. The same question may be asked again.
type Judge interface {
	Judge(ctx context.Context, q *Question) (Judgement, error)
}

// ErrJudgement reports a judgement that does not fit its question: another number of
// verdicts, or a value that is on no list. It is a fault of the judge; nothing may follow
// from such a judgement.
var ErrJudgement = errors.New("judgement does not fit the question")

func (j *Judgement) check(q *Question) error {
	if len(j.Verdicts) != len(q.Candidates) {
		return fmt.Errorf("%w: %d verdicts for %d candidates", ErrJudgement, len(j.Verdicts), len(q.Candidates))
	}
	for i, v := range j.Verdicts {
		switch {
		case !v.Relation.Valid() || !v.Basis.Valid():
			return fmt.Errorf("%w: verdict %d is on no list", ErrJudgement, i)
		case v.Confidence < 0 || v.Confidence > 100:
			return fmt.Errorf("%w: verdict %d has confidence %d", ErrJudgement, i, v.Confidence)
		case (v.Relation == Undecided) != (v.Basis == BasisNone):
			return fmt.Errorf("%w: verdict %d is decided on nothing, or the other way round", ErrJudgement, i)
		}
	}
	return nil
}
