package conflict

import (
	"context"

	"github.com/memkernel/memkernel/kernel/mem"
)

// ruleConfidence is that of everything Rules says. It is a choice: above MinConfidence, so
// that what the rules prove is not mistaken for a guess, and below certainty, since two people
// can have one name.
const ruleConfidence = 90

// Rules is the judge without a model. It says only what follows from the words and times of
// two memories and is Undecided of all else, which is nearly everything:
//
//   - the same words are the Same, or Unrelated if they are of two times;
//   - the same sentence with and without "not" Contradicts, in the one shape described at
//     negated;
//   - two values of a date of birth or a blood type Contradict, Refine or are the Same. No
//     other attribute is taken to have one value: not a residence, an employer or a favourite.
//
// It reads English; of other languages it knows only the same words. It is a value without
// state: pure, safe for concurrent use, the same answer every time.
type Rules struct{}

var _ Judge = Rules{}

// Judge answers at once. Its only errors are those of Question.Validate and of a ctx that is
// done; there is never a Fault.
func (Rules) Judge(ctx context.Context, q *Question) (Judgement, error) {
	if err := q.Validate(); err != nil {
		return Judgement{}, err
	}
	if err := ctx.Err(); err != nil {
		return Judgement{}, err
	}
	j := Judgement{Verdicts: make([]Verdict, len(q.Candidates))}
	for i := range q.Candidates {
		j.Verdicts[i] = compare(q.Incoming, q.Candidates[i].Memory)
	}
	return j, nil
}

// compare says how the incoming memory stands to another.
func compare(in, old *mem.Memory) Verdict {
	if sameWords(in.Text, old.Text) {
		switch {
		case otherTime(in, old):
			return proven(Unrelated, BasisTime)
		case !in.EventTime.IsZero() && old.EventTime.IsZero():
			return proven(Refines, BasisWords)
		default:
			return proven(Same, BasisWords)
		}
	}
	if !sameTime(in, old) || occurs(in.Kind) || occurs(old.Kind) {
		return Verdict{}
	}
	a, ok := plain(in.Text)
	if !ok {
		return Verdict{}
	}
	b, ok := plain(old.Text)
	if !ok {
		return Verdict{}
	}
	if negated(a, b) {
		return proven(Contradicts, BasisNegation)
	}
	x, ok := readClaim(a)
	if !ok {
		return Verdict{}
	}
	if y, ok := readClaim(b); ok {
		if r := x.against(y); r != Undecided {
			return proven(r, BasisSingleValue)
		}
	}
	return Verdict{}
}

func proven(r Relation, b Basis) Verdict {
	return Verdict{Relation: r, Confidence: ruleConfidence, Basis: b}
}

// occurs reports a kind of things that happen, and may happen again otherwise, or that are not
// statements at all.
func occurs(k mem.Kind) bool {
	switch k {
	case mem.KindFact, mem.KindPreference, mem.KindSkill, mem.KindGoal, mem.KindOpinion, mem.KindEntity:
		return false
	default:
		return true
	}
}
