package conflict

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/kernel/model"
)

// DefaultGreyFloor is the raw cosine under which two texts are Unrelated without asking. It is
// the reasoning graph's floor of 0.70 on the scale (cosine+1)/2.
const DefaultGreyFloor mem.Cosine = 0.40

// MaxTextBytes is the largest text that a judge can say anything of but that it is the same as
// another. A longer one is not cut for a model, since what is cut off may be what matters: it
// stays Undecided. It is a choice: an atomic fact is a sentence or two, and eleven texts of this
// size still fit a small model's window.
const MaxTextBytes = 4096

// maxAnswerTokens bounds the model's answer: about 25 tokens for each of MaxCandidates, doubled.
const maxAnswerTokens = 512

// ModelJudge judges by Rules, and by one call of a model for what is left. What the rules prove
// the model is not asked about, nor what is farther than GreyFloor, marked Local, or too
// long. The model sees texts, kinds and times, as data, under the numbers 0 to n-1; no id, no
// namespace and no name of a writer. An answer that is malformed or about another number is
// refused as a whole, with one repair; what is then still open is Undecided, with a Fault.
//
// It keeps nothing between calls and is safe for concurrent use if its LLM is. Asking again may
// give another answer. It must not be called with a transaction open or a connection held.
type ModelJudge struct {
	// LLM is required.
	LLM model.LLM
	// GreyFloor is the raw cosine under which the model is not asked; 0 means DefaultGreyFloor,
	// -1 asks always. The default is for embeddings of meaning; those of an embedder that
	// counts words lie lower.
	GreyFloor mem.Cosine
}

var _ Judge = (*ModelJudge)(nil)

// Judge asks the model at most twice. It fails with the error of Question.Validate and with
// ctx.Err(); an LLM that fails is FaultModelDown, with the verdicts that the rules gave.
func (m *ModelJudge) Judge(ctx context.Context, q *Question) (Judgement, error) {
	j, err := Rules{}.Judge(ctx, q)
	if err != nil {
		return Judgement{}, err
	}
	asked := m.greyZone(q, &j)
	if len(asked) == 0 {
		return j, nil
	}
	d := dialogue{llm: m.LLM, question: q, asked: asked, out: &j, open: make([]int, len(asked))}
	for i := range d.open {
		d.open[i] = i
	}
	j.Fault = d.run(ctx)
	if err := ctx.Err(); err != nil {
		return Judgement{}, err
	}
	return j, nil
}

// greyZone returns the candidates to ask about, by their place in the question, and gives
// those that are too far their verdict.
func (m *ModelJudge) greyZone(q *Question, j *Judgement) []int {
	floor := m.GreyFloor
	if floor == 0 {
		floor = DefaultGreyFloor
	}
	var asked []int
	for i := range q.Candidates {
		c := &q.Candidates[i]
		switch {
		case j.Verdicts[i].Relation != Undecided:
		case c.Cosine != nil && !(*c.Cosine >= floor): // so written that NaN is far
			j.Verdicts[i] = Verdict{Relation: Unrelated, Confidence: ruleConfidence, Basis: BasisDistance}
		case q.Local || c.Local || c.Memory.Namespace != q.Incoming.Namespace:
		case len(q.Incoming.Text) > MaxTextBytes || len(c.Memory.Text) > MaxTextBytes:
		case q.Incoming.Kind == mem.KindRaw || c.Memory.Kind == mem.KindRaw:
		default:
			asked = append(asked, i)
		}
	}
	return asked
}

// dialogue is one question to the model and its repair.
type dialogue struct {
	llm      model.LLM
	question *Question
	// asked maps a local number to a place in the question; open are the numbers without an answer.
	asked, open []int
	out         *Judgement
}

func (d *dialogue) run(ctx context.Context) Fault {
	fault := d.ask(ctx, "")
	if fault == FaultNone || fault == FaultModelDown {
		return fault
	}
	return d.ask(ctx, fault)
}

// ask asks about what is open; after names what was wrong with the answer before.
func (d *dialogue) ask(ctx context.Context, after Fault) Fault {
	req, err := d.request(after)
	if err != nil {
		return FaultAnswer
	}
	res, err := d.llm.Complete(ctx, req)
	d.out.Calls++
	if err != nil || res == nil {
		return FaultModelDown
	}
	d.out.Usage.PromptTokens += res.Usage.PromptTokens
	d.out.Usage.AnswerTokens += res.Usage.AnswerTokens
	verdicts, err := parseAnswer(res.JSON, d.open)
	if err != nil {
		if errors.Is(err, errUnknownNumber) {
			return FaultUnknownCandidate
		}
		return FaultAnswer
	}
	for n, v := range verdicts {
		d.out.Verdicts[d.asked[n]] = v
	}
	d.open = slices.DeleteFunc(d.open, func(n int) bool { _, ok := verdicts[n]; return ok })
	if len(d.open) > 0 {
		return FaultIncomplete
	}
	return FaultNone
}

func (d *dialogue) request(after Fault) (model.Request, error) {
	prompt, err := render(d.question, d.asked, d.open)
	if err != nil {
		return model.Request{}, fmt.Errorf("render the question: %w", err)
	}
	return model.Request{
		System: instructions(after), Prompt: prompt,
		SchemaName: "conflict_verdicts", Schema: []byte(answerSchema), MaxTokens: maxAnswerTokens,
	}, nil
}
