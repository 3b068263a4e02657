package verify

import (
	"slices"

	"github.com/memkernel/memkernel/kernel/mem"
)

// freeShare: of so many words, one that is no name may be the model's own.
const freeShare = 6

// claim is a word of a fact that needs evidence.
type claim struct {
	*token
	found   []*entry // nil for Han characters
	negated bool
}

// ground compares a fact with the source.
func (ix *index) ground(fact string) Verdict {
	cut := ix.cut(fact)
	negated := negatedTokens(cut.tokens)
	f := ix.figuresOf(cut.tokens, negated)
	unsupported := func(m Mismatch) Verdict {
		return Verdict{Reason: mem.RejectUnsupported, Mismatch: m}
	}
	for _, d := range f.dates {
		if !slices.ContainsFunc(d, ix.hasDate) {
			return unsupported(MismatchDate)
		}
	}
	for _, q := range f.numbers {
		if m := ix.hasNumber(q); m != "" {
			return unsupported(m)
		}
	}
	claims, ok := ix.claims(cut.tokens, negated, f.used)
	if !ok {
		return unsupported(MismatchWords)
	}
	if len(claims) == 0 && len(f.numbers)+len(f.dates) == 0 {
		return Verdict{Reason: mem.RejectEmpty}
	}
	if !ix.agreesInNegation(claims, negates(cut.tokens)) {
		return unsupported(MismatchNegation)
	}
	if !ix.agreesInSubject(cut.tokens, claims) {
		return unsupported(MismatchSubject)
	}
	return Verdict{}
}

// claims returns the words of a fact that need evidence, and whether the source has it.
func (ix *index) claims(tokens []token, negated []bool, used map[int]bool) ([]claim, bool) {
	var out []claim
	missing, total := 0, 0
	for i := range tokens {
		t := &tokens[i]
		if t.free || used[i] || t.kind != word && t.kind != han || ix.asRole(tokens, i) {
			continue
		}
		total++
		if t.kind == han {
			if !ix.han.covers(t.text) {
				return nil, false
			}
			out = append(out, claim{token: t, negated: negated[i]})
			continue
		}
		found := ix.matches(t)
		if len(found) == 0 {
			if missing++; t.cap && !t.first || !isLatin(t.text) {
				return nil, false
			}
			continue
		}
		out = append(out, claim{token: t, found: found, negated: negated[i]})
	}
	return out, missing <= total/freeShare
}

// asRole reports whether a word says no more than "is": "works as a teacher".
func (ix *index) asRole(tokens []token, i int) bool {
	if i+1 >= len(tokens) {
		return false
	}
	switch tokens[i+1].text {
	case "as", "als", "como", "comme":
		return slices.Contains([]string{"work", "works", "worked", "working", "arbeitet", "trabaja", "travaille"}, tokens[i].text)
	default:
		return false
	}
}

func isLatin(w string) bool { return w[0] < 0x80 || w[0] >= 0xC3 && w[0] <= 0xC9 }

func negates(tokens []token) bool {
	return slices.ContainsFunc(tokens, func(t token) bool { return t.negate })
}

// agreesInNegation reports whether no word is negated in only one of the two. Names are
// everywhere, and count only where there is nothing else.
func (ix *index) agreesInNegation(claims []claim, negates bool) bool {
	words := 0
	for i := range claims {
		c := &claims[i]
		if c.found == nil || ix.isName(c) {
			continue
		}
		words++
		if !agrees(c) {
			return false
		}
	}
	if words == 0 {
		for i := range claims { // all but the one that the fact begins with
			if c := &claims[i]; c.found != nil && !c.first && !agrees(c) {
				return false
			}
		}
	}
	return ix.hanAgrees(claims, negates)
}

func agrees(c *claim) bool {
	return slices.ContainsFunc(c.found, func(e *entry) bool {
		return c.negated && e.negative || !c.negated && e.positive
	})
}

func (ix *index) isName(c *claim) bool {
	return c.cap && !slices.ContainsFunc(c.found, func(e *entry) bool { return e.lower })
}

// hanAgrees compares the negation of a fact in Han characters with that of the clauses that
// have most of it.
func (ix *index) hanAgrees(claims []claim, negates bool) bool {
	scores := map[int]int{}
	for i := range claims {
		if claims[i].found != nil {
			continue
		}
		for p := range pairsOf(claims[i].text) {
			for _, unit := range ix.hanAt[p] {
				scores[unit]++
			}
		}
	}
	best := 0
	for _, n := range scores {
		best = max(best, n)
	}
	if best == 0 {
		return true
	}
	for unit, n := range scores {
		if n == best && (ix.unitNegates(unit) == negates || ix.units[unit].question) {
			return true
		}
	}
	return false
}

func (ix *index) unitNegates(unit int) bool {
	i, _ := slices.BinarySearchFunc(ix.tokens, unit, func(t token, unit int) int { return t.unit - unit })
	for ; i < len(ix.tokens) && ix.tokens[i].unit == unit; i++ {
		if ix.tokens[i].negate {
			return true
		}
	}
	return false
}
