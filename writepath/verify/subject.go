package verify

import (
	"slices"
	"strings"
)

// agreesInSubject reports whether the source can say it of the person that the fact begins
// with: of the units that have most of the rest, one names that person, or is said by him, or
// names nobody else.
func (ix *index) agreesInSubject(tokens []token, claims []claim) bool {
	var subject *claim // nil for the one who speaks
	rest := claims
	switch {
	case len(claims) > 1 && claims[0].found != nil && claims[0].first && ix.isName(&claims[0]):
		subject, rest = &claims[0], claims[1:]
	case !ix.ofUser(tokens):
		return true
	}
	scores := map[int]int{}
	for i := range rest {
		counted := map[int]bool{}
		for _, e := range rest[i].found {
			if e.full {
				return true
			}
			for _, unit := range e.units {
				if !counted[unit] {
					counted[unit] = true
					scores[unit]++
				}
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
		if n == best && ix.canBeOf(unit, subject, claims) {
			return true
		}
	}
	return false
}

// ofUser reports whether a fact begins with the one who speaks.
func (ix *index) ofUser(tokens []token) bool {
	for i := range tokens {
		if !tokens[i].free {
			return false
		}
		if ix.user[tokens[i].text] {
			return true
		}
	}
	return false
}

func (ix *index) canBeOf(unit int, subject *claim, claims []claim) bool {
	speaker := strings.Fields(ix.units[unit].speaker)
	mentioned := func(name string) bool {
		return slices.ContainsFunc(claims, func(c claim) bool { return ix.same(c.text, name, false) })
	}
	if subject != nil {
		for _, e := range subject.found {
			if slices.Contains(e.units, unit) || slices.Contains(speaker, e.text) {
				return true
			}
		}
		// Somebody who speaks for himself elsewhere is not who this speaker means by nobody.
		if len(speaker) > 0 && ix.speakers[subject.text] && !ix.units[unit].third && !slices.ContainsFunc(speaker, mentioned) {
			return false
		}
	}
	i, found := slices.BinarySearchFunc(ix.tokens, unit, func(t token, unit int) int { return t.unit - unit })
	if !found {
		return true
	}
	for ; i < len(ix.tokens) && ix.tokens[i].unit == unit; i++ {
		t := &ix.tokens[i]
		switch {
		case ix.conjunctions[t.text]:
			continue
		case subject == nil: // "my wife" is not the user
			next := i + 1
			return !ix.possessives[t.text] || next == len(ix.tokens) || ix.tokens[next].free || ix.tokens[next].kind != word || mentioned(ix.tokens[next].text)
		case t.free && ix.firstPerson[t.text] && len(speaker) > 0:
			return slices.ContainsFunc(speaker, mentioned)
		case t.free:
			return true // he, she, my brother
		default:
			return t.kind != word || !t.cap || ix.entries[t.text].lower || mentioned(t.text)
		}
	}
	return true
}
