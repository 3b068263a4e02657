package entity

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// capitalised finds names by their capitals.
func (r *reading) capitalised() {
	for i := 0; i < len(r.tokens); {
		if !r.opensName(i) {
			i++
			continue
		}
		end := r.run(i)
		if next := r.name(i, end); next > i {
			i = next
			continue
		}
		i = end
	}
}

// opensName reports a free word with a capital.
func (r *reading) opensName(i int) bool {
	t := &r.tokens[i]
	return !t.taken && t.shape != lower && t.shape != number
}

// run returns the end of the words with capitals that begin at i, joined by particles.
func (r *reading) run(i int) int {
	end := i + 1
	for end < len(r.tokens) {
		next := end
		for next < len(r.tokens) && next < end+2 && r.particle(i, next) {
			next++
		}
		if next == len(r.tokens) || !r.opensName(next) || !r.allJoined(end, next) || r.tokens[next].first {
			break
		}
		end = next + 1
	}
	// A version or a year belongs to a product or an event.
	if end < len(r.tokens) && r.tokens[end].joined && !r.tokens[end].taken && r.tokens[end].shape == number && r.versioned(i, end) {
		end++
	}
	return end
}

func (r *reading) allJoined(from, to int) bool {
	for k := from; k <= to; k++ {
		if !r.tokens[k].joined || r.tokens[k].taken {
			return false
		}
	}
	return true
}

func (r *reading) versioned(i, end int) bool {
	last := sensesOf(r.tokens[end-1].folded)
	return len(r.tokens[end].word) <= 4 && (last.has(isProduct|isProductWord|isEvent) || last.has(isEventWord) && end-i > 1)
}

// particle reports a word in lower case that a name whose words begin at i can have inside.
func (r *reading) particle(i, k int) bool {
	t := &r.tokens[k]
	if t.taken || t.shape != lower {
		return false
	}
	prev := sensesOf(r.tokens[k-1].folded)
	head := sensesOf(r.tokens[i].folded)
	switch t.folded {
	case "van", "von", "bin", "al", "ibn", "ter", "ten":
		return !prev.has(isStop|isGermanStop|isRomanceStop) || prev.has(isGiven)
	case "of":
		return prev.has(isOfWord)
	case "the":
		return r.tokens[k-1].folded == "of"
	case "de", "del", "della", "di", "da", "dos", "du", "d", "des":
		return head.has(isGiven|isOrgWord|isOfWord) && !head.has(isRomanceStop)
	case "la", "los", "las", "der", "den", "le":
		return slices.Contains([]string{"de", "van", "von"}, r.tokens[k-1].folded) && head.has(isGiven|isOrgWord)
	case "for":
		return head.has(isOrgWord) && r.language == english && k+1 < len(r.tokens) && sensesOf(r.tokens[k+1].folded).has(isOrgWord)
	default:
		return false
	}
}

// name looks at words with capitals, from i up to end, adds the names among them and returns
// how far it got.
func (r *reading) name(i, end int) int {
	// A title goes before a person's name and is no part of it; a rank is.
	if s := sensesOf(r.tokens[i].folded); end-i > 1 && s.has(isTitleWord) {
		k := i + 1
		for k < end-1 && sensesOf(r.tokens[k].folded).has(isTitleWord) {
			k++
		}
		r.claim(k, r.personEnd(k, end), Person, Likely)
		return r.personEnd(k, end)
	}
	if r.dull[i] {
		return r.dullName(i, end)
	}
	if r.language == german {
		return r.germanName(i, end)
	}
	from := r.skipStops(i, end)
	if from == end {
		return end
	}
	if from > i {
		return r.name(from, end)
	}
	to := end
	for k := from + 1; k < to; k++ {
		if s := sensesOf(r.tokens[k].folded); s.has(isStop) && !s.has(known|isTitleWord|isRank|isEventWord|isProductWord|isAmbiguousGiven) && r.tokens[k].shape != lower {
			to = k // "I saw Ada Monday", "Ada I know"
		}
	}
	for to-1 > from && r.tokens[to-1].shape == lower {
		to--
	}
	if r.sure(from, to) {
		t := r.guess(from, to)
		r.claim(from, to, t, r.confidence(from, to))
	}
	return to
}

// personEnd returns where the name of a person that begins at k ends: before a word that is a
// common noun in German.
func (r *reading) personEnd(k, end int) int {
	if r.language != german {
		return end
	}
	for e := k + 1; e < end; e++ {
		s := sensesOf(r.tokens[e].folded)
		if s.has(isGermanStop) || nounEnding(r.tokens[e].folded) || e >= k+2 && !s.has(known) && r.tokens[e-1].shape != lower {
			return e
		}
	}
	return end
}

// skipStops returns the first word from i on that can begin a name.
func (r *reading) skipStops(i, end int) int {
	for ; i < end; i++ {
		t := &r.tokens[i]
		s := sensesOf(t.folded)
		n, _ := r.listedAt(i)
		switch {
		case n > 1:
			return i
		case t.shape == lower || t.shape == number:
		case utf8.RuneCountInString(t.word) == 1 && (end-i == 1 || !t.dot):
		case utf8.RuneCountInString(t.word) == 1 && t.word != "I": // an initial
			return i
		case s.has(isStop|isRomanceStop) && !s.has(isTitleWord) && !r.excused(i, end):
		case t.first && end-i > 1 && r.dropsFirst(i, end):
		default:
			return i
		}
	}
	return end
}

// excused reports a stop word that is part of a name all the same: May after a title, Best
// before Buy.
func (r *reading) excused(i, end int) bool {
	t := &r.tokens[i]
	s := sensesOf(t.folded)
	if s.has(isStop) && s.has(isAmbiguousGiven) {
		next := i + 1
		return !t.first && (i > 0 && sensesOf(r.tokens[i-1].folded).has(beforePerson) || next < end && !sensesOf(r.tokens[next].folded).has(isStop) ||
			next < len(r.tokens) && !calendar(t.folded) && sensesOf(r.tokens[next].folded).has(isPersonVerb))
	}
	if s.has(isRank|isProduct) && !t.first && end-i > 1 {
		return true
	}
	if !t.first && end-i > 1 && !calendar(t.folded) && sensesOf(r.tokens[i+1].folded).has(isOrgWord|isEventWord) {
		return true
	}
	// A people or a language before the name of an institution: German Red Cross.
	return calendar(t.folded) && end-i > 1 && sensesOf(r.tokens[end-1].folded).has(isOrgWord)
}

// dropsFirst reports that the first word of a sentence is a common word before a name.
func (r *reading) dropsFirst(i, end int) bool {
	s := sensesOf(r.tokens[i].folded)
	if s.has(known|isAmbiguousGiven|isRank|isOrgWord|isPlaceWord) && !s.has(isStop|isUnclearFirst) || r.tokens[i].shape != capital {
		return false
	}
	if strings.HasSuffix(r.tokens[i].folded, "ing") || strings.HasSuffix(r.tokens[i].folded, "ly") {
		return true
	}
	next := sensesOf(r.tokens[i+1].folded)
	_, kind := r.listedAt(i + 1)
	return !s.has(isRank) && (next.has(isGiven) || kind == Place && next.has(isPlace)) && end-i <= 3 && r.language != spanish
}

// sure reports whether words with capitals are a name.
func (r *reading) sure(from, to int) bool {
	t := &r.tokens[from]
	s := sensesOf(t.folded)
	if to-from > 1 {
		return true
	}
	if t.word == "I" || utf8.RuneCountInString(t.word) < 2 || s.has(isOrgWord|isPlaceWord|isEventWord|isTitleWord|isRank|isLegal) && !s.has(known) {
		return false
	}
	if t.shape == mixed || t.shape == allCaps {
		return t.shape == mixed && !strings.HasSuffix(t.word, "s") || s.has(known) || t.shape == allCaps && len(t.word) <= 6 && !plural(t.word)
	}
	if !t.first {
		return true
	}
	if s.has(known|isAmbiguousGiven) && !s.has(isUnclearFirst) {
		return true
	}
	if to < len(r.tokens) && r.tokens[to].joined {
		next := sensesOf(r.tokens[to].folded)
		if next.has(isPersonVerb) && r.tokens[to].shape == lower && !collective(t.folded) {
			return true
		}
	}
	return s.has(known) && t.end < len(r.text) && strings.HasPrefix(strings.ReplaceAll(r.text[t.end:min(len(r.text), t.end+4)], "’", "'"), "'s")
}

func plural(w string) bool { return strings.HasSuffix(w, "S") && len(w) > 3 }

// collective reports a common word that does what persons do.
func collective(folded string) bool {
	s := sensesOf(folded)
	if s.has(isStop | isGermanStop | isRomanceStop | beforePerson) {
		return true
	}
	for _, end := range []string{"s", "ing", "tion", "ment", "body", "one", "ness", "ity", "er", "or", "ist", "ian", "men", "ple"} {
		if strings.HasSuffix(folded, end) {
			return true
		}
	}
	return false
}

// dullName finds listed names where capitals mean nothing.
func (r *reading) dullName(i, end int) int {
	n, t := r.listedAt(i)
	s := sensesOf(r.tokens[i].folded)
	if n == 0 || n == 1 && s.has(isStop|isUnclearFirst|isAmbiguousGiven|isGermanStop|isRomanceStop) {
		return i + 1
	}
	to := i + n
	if t == Person && to < end && sensesOf(r.tokens[to].folded) == 0 && !r.tokens[i].first {
		to++
	}
	r.claim(i, to, t, Possible)
	return to
}
