package entity

// germanName finds a name among German words with capitals, most of which are common nouns.
func (r *reading) germanName(i, end int) int {
	t := &r.tokens[i]
	s := sensesOf(t.folded)
	if n, kind := r.listedAt(i); n > 0 && kind != Person && (!t.first || !s.has(isUnclearFirst)) && !s.has(isGermanStop) {
		if to := r.legalEnd(i, end); to > 0 {
			r.claim(i, to, Organization, Likely)
			return to
		}
		r.claim(i, i+n, kind, Likely)
		return i + n
	}
	if to := r.legalEnd(i, end); to > 0 && !s.has(isGermanStop) {
		r.claim(i, to, Organization, Likely)
		return to
	}
	if s.has(isGiven) || s.has(isRank) && end-i > 1 && germanName(&r.tokens[i+1]) {
		to := r.personEnd(i, end)
		r.claim(i, to, Person, Likely)
		return to
	}
	switch {
	case t.shape == mixed:
		r.claim(i, i+1, Product, Likely)
		return i + 1
	case t.shape == allCaps:
		if !s.has(isStop|isGermanStop|isLegal) && len(t.word) <= 6 {
			r.claim(i, i+1, Organization, Likely)
		}
		return i + 1
	case s.has(isStop|isGermanStop|isLegal|isOrgWord|isPlaceWord|isEventWord|isUnclearFirst) || nounEnding(t.folded):
		return i + 1
	}
	return r.germanGuess(i, end)
}

// legalEnd returns where a firm's name that begins at i ends with its legal form, 0 if it is
// none.
func (r *reading) legalEnd(i, end int) int {
	for k := i + 1; k < end && k < i+4; k++ {
		s := sensesOf(r.tokens[k].folded)
		if s.has(isLegal) && (r.tokens[k].shape == allCaps || r.tokens[k].shape == mixed || r.tokens[k].shape == capital) {
			return k + 1
		}
		if s.has(isGermanStop) {
			return 0
		}
	}
	return 0
}

// germanGuess looks at a word that is in no list.
func (r *reading) germanGuess(i, end int) int {
	t := &r.tokens[i]
	if i > 0 && t.joined && !t.first {
		before := sensesOf(r.tokens[i-1].folded)
		switch {
		case before.has(isDeterminer) || adjective(&r.tokens[i-1]):
			return i + 1
		case r.tokens[i-1].shape == lower && before.has(beforePlace) && end-i == 1:
			r.claim(i, i+1, Place, Possible)
			return i + 1
		case r.tokens[i-1].shape == lower && (r.tokens[i-1].folded == "bei" || r.tokens[i-1].folded == "namens") && end-i == 1:
			r.claim(i, i+1, r.guessAround(i, i+1), Possible)
			return i + 1
		case before.has(beforePerson) && r.tokens[i-1].shape == capital, introduces(r.tokens[i-1].folded):
			to := r.personEnd(i, end)
			r.claim(i, to, Person, Possible)
			return to
		}
	}
	verb := i+1 < len(r.tokens) && r.tokens[i+1].joined && r.tokens[i+1].shape == lower && germanSpeaks(r.tokens[i+1].folded)
	if verb && !personal(t.folded) {
		r.claim(i, i+1, Person, Possible)
		return i + 1
	}
	// Two nouns side by side are rare, unless they measure something.
	if end-i == 2 && !t.first && r.tokens[i+1].shape == capital && !nounEnding(r.tokens[i+1].folded) {
		if s := sensesOf(r.tokens[i+1].folded); !s.has(isGermanStop | isStop | isOrgWord | isPlaceWord | isEventWord) {
			r.claim(i, end, Person, Possible)
			return end
		}
	}
	return i + 1
}

// germanName reports a word that can be a name.
func germanName(t *token) bool {
	s := sensesOf(t.folded)
	return t.shape == capital && !nounEnding(t.folded) && !s.has(isStop|isGermanStop|isOrgWord|isPlaceWord|isEventWord)
}

// introduces reports a verb that goes before a name.
func introduces(folded string) bool {
	switch folded {
	case "heisst", "heisse", "hiess", "namens", "heissen":
		return true
	default:
		return false
	}
}

// adjective reports a word in lower case that ends as German adjectives do.
func adjective(t *token) bool {
	if t.shape != lower || len(t.word) < 5 || sensesOf(t.folded).has(signsGerman|isGermanStop|isPersonVerb) {
		return false
	}
	switch t.folded[len(t.folded)-2:] {
	case "er", "es", "em":
		return true
	}
	return t.folded[len(t.folded)-1] == 'e'
}

// germanSpeaks reports a verb that a person goes with and little else.
func germanSpeaks(folded string) bool {
	switch folded {
	case "sagt", "sagte", "meint", "meinte", "wohnt", "wohnte", "erzählt", "erzählte", "fragte", "fragt", "heisst", "antwortet", "glaubt",
		"arbeitet", "studiert", "mag":
		return true
	default:
		return false
	}
}

// personal reports a common noun for persons, by its ending.
func personal(folded string) bool {
	for _, end := range []string{"er", "in", "innen", "ist", "ant", "ent", "eur", "or", "leute", "mann", "frau", "e"} {
		if len(folded) > len(end)+2 && folded[len(folded)-len(end):] == end {
			return true
		}
	}
	return false
}
