package entity

// guess guesses the type of a name.
func (r *reading) guess(from, to int) Type {
	if n, t := r.listedAt(from); n == to-from {
		if t == Place && r.personAround(from, to) && sensesOf(r.tokens[from].folded).has(isGiven|isAmbiguousGiven) {
			return Person
		}
		return t
	}
	first, last := sensesOf(r.tokens[from].folded), sensesOf(r.tokens[to-1].folded)
	several := to-from > 1
	switch {
	case several && last.has(isLegal):
		return Organization
	case r.tokens[to-1].shape == number && several && last == 0 && sensesOf(r.tokens[to-2].folded).has(isEventWord|isEvent):
		return Event
	case r.tokens[to-1].shape == number && several:
		return Product
	case several && (last.has(isOrgWord) || first.has(isOrgWord)) && !first.has(isGiven):
		return Organization
	case several && (last.has(isPlaceWord) || first.has(isPlaceWord)) && !first.has(isGiven):
		return Place
	case several && last.has(isEventWord):
		return Event
	case several && first.has(isRank):
		return Person
	case first.has(isGiven) || several && first.has(isAmbiguousGiven) && !first.has(isPlace):
		return Person
	case several && r.particled(from, to):
		return Person
	case several && last.has(isProductWord):
		return Product
	case several && first.has(isOrg|isProduct):
		return Product
	}
	return r.guessAround(from, to)
}

// particled reports a name like Ludwig van Beethoven.
func (r *reading) particled(from, to int) bool {
	for i := from + 1; i < to-1; i++ {
		switch r.tokens[i].folded {
		case "van", "von", "bin", "ibn":
			return true
		}
	}
	return false
}

// guessAround guesses the type of a name by what stands around it.
func (r *reading) guessAround(from, to int) Type {
	t := &r.tokens[from]
	if r.personAround(from, to) {
		return Person
	}
	if from > 0 && t.joined {
		before := sensesOf(r.tokens[from-1].folded)
		switch {
		case before.has(beforePlace) && t.shape == capital:
			return Place
		case before.has(beforeOrg):
			return Organization
		case before.has(beforePerson):
			return Person
		}
	}
	switch {
	case t.shape == mixed:
		return Product
	case t.shape == allCaps && to-from == 1:
		return Organization
	case to-from == 2 && t.shape == capital && r.tokens[to-1].shape == capital && sensesOf(r.tokens[to-1].folded)&^(signsGerman|signsFrench|signsSpanish) == 0:
		return Person
	}
	return Other
}

// personAround reports that a verb follows that takes a person, or a word for one goes before.
func (r *reading) personAround(from, to int) bool {
	if to < len(r.tokens) && r.tokens[to].joined && r.tokens[to].shape == lower && sensesOf(r.tokens[to].folded).has(isPersonVerb) {
		return true
	}
	return from > 0 && r.tokens[from].joined && sensesOf(r.tokens[from-1].folded).has(beforePerson)
}

// confidence is Possible for what stands at the beginning of a sentence and is in no list.
func (r *reading) confidence(from, to int) Confidence {
	s := sensesOf(r.tokens[from].folded) | sensesOf(r.tokens[to-1].folded)
	if r.tokens[from].first && !s.has(known|isLegal|isOrgWord|isPlaceWord|isEventWord|isRank) {
		return Possible
	}
	return Likely
}
