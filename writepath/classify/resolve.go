package classify

import (
	"cmp"
	"slices"
	"unicode/utf8"
)

// weight says how much a rule's word counts where two rules claim the same text.
type weight uint8

// The weights, from the least.
const (
	weightPhrase  weight = iota // words and their order
	weightContact               // a plausible form
	weightChecked               // check digits
	weightNamed                 // a secret by its name
	weightPlaced                // a secret by its place, as in a URL
	weightShape                 // a published shape
)

// candidate is a finding that may overlap others.
type candidate struct {
	Finding
	weight weight
}

func (s *scan) add(k Kind, w weight, start, end int) {
	s.found = append(s.found, candidate{Finding{k, start, end}, w})
}

// resolve keeps, of findings that overlap, the one that weighs most. Of two secrets it keeps
// the whole extent, so that no part of either survives a redaction.
func resolve(text string, found []candidate) []Finding {
	if len(found) > 0 {
		found = spareMarks(text, found)
	}
	if len(found) == 0 {
		return nil
	}
	// Before they are compared: two that share a character overlap.
	for i := range found {
		f := &found[i]
		for f.Start > 0 && !utf8.RuneStart(text[f.Start]) {
			f.Start--
		}
		for f.End < len(text) && !utf8.RuneStart(text[f.End]) {
			f.End++
		}
	}
	slices.SortFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.weight, a.weight), cmp.Compare(b.End, a.End), cmp.Compare(a.Kind, b.Kind))
	})
	kept := found[:0]
	for _, f := range found {
		if f.Start >= f.End {
			continue
		}
		if len(kept) == 0 || kept[len(kept)-1].End <= f.Start {
			kept = append(kept, f)
			continue
		}
		last := &kept[len(kept)-1]
		*last = merge(*last, f)
	}
	out := make([]Finding, 0, len(kept))
	for _, f := range kept {
		out = append(out, f.Finding)
	}
	return out
}

// merge returns what becomes of two findings that overlap; a begins first.
func merge(a, b candidate) candidate {
	best := a
	if b.weight > a.weight {
		best = b
	}
	if a.Kind.Secret() && b.Kind.Secret() {
		best.Start, best.End = a.Start, max(a.End, b.End)
	}
	return best
}
