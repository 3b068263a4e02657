package entity

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Recognise finds the names in a text: in order, without overlaps, at most MaxMentions. What
// is not a name is not returned; nothing is an error, and invalid UTF-8 divides words. The
// work is linear in the length of the text.
//
// Nothing in the text says what its entities are, whatever it claims to be: brackets, labels
// and quotation marks are read as anybody else's.
func Recognise(text string) []Mention {
	if text == "" {
		return nil
	}
	r := &reading{text: text, tokens: tokenize(text)}
	r.language = guessLanguage(r.tokens)
	r.patterns()
	r.cjk()
	r.judgeCapitals()
	r.listed()
	r.capitalised()
	r.again()
	return r.ordered()
}

// ordered returns the mentions in order. Of two that overlap the first stays, of two that begin
// together the longer.
func (r *reading) ordered() []Mention {
	slices.SortFunc(r.found, func(a, b Mention) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End)) })
	out, last := r.found[:0], 0
	for _, m := range r.found {
		if m.Start >= last && len(out) < MaxMentions {
			out, last = append(out, m), m.End
		}
	}
	return out
}

// reading is a text that is being looked at.
type reading struct {
	text     string
	tokens   []token
	language language
	// dull says for each token that capitals mean nothing around it: a shout or a headline.
	dull []bool
	// japanese says that ideographs are Japanese.
	japanese bool
	found    []Mention
}

type span struct{ start, end int }

// add keeps a mention, unless it is too long to be a name.
func (r *reading) add(start, end int, t Type, c Confidence) {
	if end-start > MaxName || start >= end {
		return
	}
	r.found = append(r.found, Mention{Start: start, End: end, Surface: r.text[start:end], Type: t, Confidence: c})
}

// take marks the words that overlap any of the spans, which are in order.
func (r *reading) take(spans []span) {
	i := 0
	for k := range r.tokens {
		t := &r.tokens[k]
		for i < len(spans) && spans[i].end <= t.start {
			i++
		}
		if i < len(spans) && spans[i].start < t.end {
			t.taken = true
		}
	}
}

// judgeCapitals finds the sentences in which capitals mean nothing.
func (r *reading) judgeCapitals() {
	r.dull = make([]bool, len(r.tokens))
	for from := 0; from < len(r.tokens); {
		to := from + 1
		for to < len(r.tokens) && !r.tokens[to].first {
			to++
		}
		words, high, shouted := 0, 0, 0
		for i := from; i < to; i++ {
			switch r.tokens[i].shape {
			case number:
				continue
			case capital:
				high++
			case allCaps:
				high++
				shouted++
			case lower, mixed:
			}
			words++
		}
		dull := shouted >= 3 && shouted*2 > words || r.language != german && words >= 5 && high*4 >= words*3 && r.stopsInside(from+1, to) > 0
		for i := from; i < to; i++ {
			r.dull[i] = dull
		}
		from = to
	}
}

// stopsInside counts the words that name nothing and have a capital all the same.
func (r *reading) stopsInside(from, to int) int {
	n := 0
	for i := from; i < to; i++ {
		s := sensesOf(r.tokens[i].folded)
		if r.tokens[i].shape == capital && s.has(isStop) && !s.has(known) && !calendar(r.tokens[i].folded) {
			n++
		}
	}
	return n
}

// listed finds the names of several words that the lists have, and single ones in lower case
// after a preposition of place.
func (r *reading) listed() {
	for i := 0; i < len(r.tokens); i++ {
		if n, t := r.listedAt(i); n > 1 && r.tokens[i].shape != lower {
			r.claim(i, i+n, t, Likely)
			i += n - 1
			continue
		}
		t := &r.tokens[i]
		if t.taken || i == 0 || len(t.word) < 4 {
			continue
		}
		s := sensesOf(t.folded)
		quiet := t.shape == lower || r.dull[i]
		plain := !s.has(isStop | isGermanStop | isRomanceStop | isUnclearFirst | isAmbiguousGiven)
		if quiet && s.has(isPlace) && plain && sensesOf(r.tokens[i-1].folded).has(beforePlace) && t.joined {
			r.claim(i, i+1, Place, Possible)
		}
	}
}

// listedAt returns how many words the longest listed name at i has, and its type.
func (r *reading) listedAt(i int) (words int, t Type) {
	name := ""
	for n := 0; n < lexicon.longest && i+n < len(r.tokens); n++ {
		tok := &r.tokens[i+n]
		if tok.taken || n > 0 && (!tok.joined || tok.first) {
			break
		}
		if n > 0 {
			name += " "
		}
		name += tok.folded
		if kind, ok := listed(sensesOf(name)); ok && (n == 0 || tok.shape != lower) {
			words, t = n+1, kind
		}
	}
	return words, t
}

// claim adds words as a mention.
func (r *reading) claim(from, to int, t Type, c Confidence) {
	r.add(r.tokens[from].start, r.tokens[to-1].end, t, c)
	for i := from; i < to; i++ {
		r.tokens[i].taken = true
	}
}

// again finds other places at which a name that was found stands, at the beginning of a
// sentence too.
func (r *reading) again() {
	names := map[string]Mention{}
	for _, m := range r.found {
		if !m.Type.formal() && m.Confidence != Possible && !strings.ContainsRune(m.Surface, ' ') {
			names[fold(m.Surface)] = m
		}
	}
	if len(names) == 0 {
		return
	}
	for i := range r.tokens {
		t := &r.tokens[i]
		m, ok := names[t.folded]
		if ok && !t.taken && t.first && t.shape == capital && !sensesOf(t.folded).has(isStop|isUnclearFirst|isGermanStop|isRomanceStop) {
			r.claim(i, i+1, m.Type, m.Confidence)
		}
	}
}

// calendar reports a word that has a capital in English and names a day, a month or a people.
func calendar(folded string) bool {
	return !strings.Contains(folded, "'") && len(folded) > 2 && sensesOf(folded).has(isStop) && calendarWords[folded]
}

//nolint:gochecknoglobals // a table, written once while the package initialises and only read afterwards
var calendarWords = func() map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(`monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
		september october november december english german french spanish italian portuguese dutch russian chinese japanese korean`) {
		set[w] = true
	}
	return set
}()

// abbreviates reports a word whose full stop ends no sentence: an initial or a title.
func abbreviates(t *token) bool {
	if t.shape == capital && utf8.RuneCountInString(t.word) == 1 {
		return t.word != "I"
	}
	switch t.folded {
	case "e", "g", "i", "z", "b", "vs", "etc", "no", "nr", "st", "bzw", "ca", "dipl", "jr", "vol", "fig":
		return true
	}
	s := sensesOf(t.folded)
	return len(t.word) <= 5 && unicode.IsUpper([]rune(t.word)[0]) && s.has(isTitleWord|isRank) && !s.has(isUnclearFirst)
}
