package classify

import "strings"

// phrase is a sequence of words, with a bounded number of others between them.
type phrase struct {
	steps []wordClass
	// gap is the most words between two steps.
	gap int
	// kind is what the phrase is a finding of; if empty, it gets the text its label.
	kind Kind
	// command wants the first word to be an order, not a report of one: "ignore", but not
	// "to ignore" or "we ignore".
	command bool
	// capitals wants the whole phrase in capitals.
	capitals bool
	// unless is a class of words of which none may stand between the steps, or right behind
	// the last.
	unless wordClass
	// then is what must stand there besides.
	then condition
}

// condition is what a phrase needs besides its words.
type condition int

const (
	unconditional condition = iota
	thenAmount              // a sum of money behind it
	thenCreditScore
	thenICDCode
	thenAddressee // a URL or an e-mail address behind it
	thenValue     // a colon or an equals sign behind it
	asBlock       // written as the kind or the head of a block
	asHead        // alone on its line, or with a colon behind it
)

// meets returns where a phrase ends with what its condition adds, or 0 if that is not there.
func (s *scan) meets(c condition, start, end int) int {
	switch c {
	case thenAmount:
		return s.amount(end)
	case thenCreditScore:
		return s.creditScore(end)
	case thenICDCode:
		return s.icdCode(end)
	case thenAddressee:
		return s.sentAway(end)
	case thenValue:
		return s.keyOfBlock(end)
	case asHead:
		return s.heads(start, end)
	case asBlock:
		return s.presentedAsBlock(start, end)
	default:
		return end
	}
}

func newPhrases() []phrase { return append(personPhrases(), instructionPhrases()...) }

// findPhrases looks for the phrases from every word that begins one.
func (s *scan) findPhrases() {
	for i := range s.hits {
		if !s.hits[i].set.has(beginsPhrase) {
			continue
		}
		for p := range s.phrases {
			if ph := &s.phrases[p]; s.hits[i].set.has(ph.steps[0]) {
				s.tryPhrase(ph, i)
			}
		}
	}
}

func (s *scan) tryPhrase(p *phrase, first int) {
	if p.kind == "" && s.imitates || p.command && s.reported(first) {
		return
	}
	last := first
	for _, class := range p.steps[1:] {
		next := s.nextWord(last, class, p.gap)
		if next < 0 {
			return
		}
		last = next
	}
	start, end := s.hits[first].start, s.hits[last].end
	if p.unless != 0 && s.between(p.unless, first, last) || p.capitals && !capitals(s.text[start:end]) {
		return
	}
	if end = s.meets(p.then, start, end); end == 0 {
		return
	}
	if p.kind == "" {
		s.imitates = true
		return
	}
	s.add(p.kind, weightPhrase, start, end)
}

// capitals reports whether a phrase is written in capitals, its words with spaces between.
func capitals(phrase string) bool {
	return strings.ToUpper(phrase) == phrase && strings.Contains(phrase, " ")
}

// nextWord returns the first hit of the class at most gap words behind hit i, or -1.
func (s *scan) nextWord(i int, class wordClass, gap int) int {
	for n := i + 1; n < len(s.hits) && s.hits[n].ord-s.hits[i].ord <= gap+2; n++ {
		h := &s.hits[n]
		if h.start < s.hits[i].end || !h.set.has(class) {
			continue
		}
		if h.ord-s.hits[i].ord <= gap+1 || s.pairAt(n) {
			return n
		}
	}
	return -1
}

// pairAt reports whether hit n is a pair of words, which counts from its second.
func (s *scan) pairAt(n int) bool {
	return strings.ContainsAny(s.text[s.hits[n].start:s.hits[n].end], " _-\t\n")
}

func (s *scan) between(class wordClass, first, last int) bool {
	for n := first + 1; n < len(s.hits) && s.hits[n].ord <= s.hits[last].ord+2; n++ {
		if n != last && s.hits[n].set.has(class) && (s.hits[n].ord <= s.hits[last].ord+1 || s.pairAt(n)) {
			return true
		}
	}
	return false
}

// reported reports whether the word before hit i makes it a report: "to ignore", "I ignore".
func (s *scan) reported(i int) bool {
	for n := i - 1; n >= 0 && s.hits[n].ord >= s.hits[i].ord-1; n-- {
		if h := &s.hits[n]; h.ord == s.hits[i].ord-1 && h.set.has(wordReports) && !s.stops(h.end, s.hits[i].start) {
			return true
		}
	}
	return false
}

// stops reports whether a sentence ends between two places.
func (s *scan) stops(from, to int) bool {
	return strings.ContainsAny(s.text[from:to], ".!?:;\n\"")
}
