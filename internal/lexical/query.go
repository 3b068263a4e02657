package lexical

// Query turns a query's text into at most maxTerms terms (0 or less: no bound), the most
// useful first. Every word yields its stem in the language the text seems to have, and
// the other stems it could have as alternatives with the same Group, so that a document
// whose language was judged differently is still found. TF is how often the word occurs.
//
// When the bound cuts, alternatives go before words, and function words before both.
// Without a bound, every term of Analyze(text) is among the terms of Query(text).
// It is safe for concurrent use and always returns the same for the same text.
func Query(text string, maxTerms int) []Term {
	a := acquire()
	defer a.release()
	a.tokenize(text)
	q := querier{a: a, lang: a.detect.best(), seen: make(map[int64]int)}
	for _, function := range [...]bool{false, true} {
		if function {
			q.alternatives()
		}
		for i, t := range a.tokens {
			if q.function(t) == function {
				q.add(i, t)
			}
		}
	}
	if maxTerms > 0 && len(q.terms) > maxTerms {
		q.terms = q.terms[:maxTerms]
	}
	return q.terms
}

// querier gathers the terms of one query.
type querier struct {
	a     *analyzer
	lang  language
	seen  map[int64]int // term to its place in terms
	terms []Term
	from  []int // per term: the token it came from
}

func (q *querier) function(t token) bool {
	return t.kind == kindWord && t.script == scriptLatin && functionWordSet(q.a.text(t)).has(q.lang)
}

// add adds the main form of a token.
func (q *querier) add(i int, t token) {
	h := hashTerm(q.a.term(t, q.lang))
	if at, ok := q.seen[h]; ok {
		q.terms[at].TF++
		return
	}
	q.seen[h] = len(q.terms)
	q.terms = append(q.terms, Term{Hash: h, TF: 1, Group: len(q.terms) + 1})
	q.from = append(q.from, i)
}

// alternatives adds the other stems of the words added so far.
func (q *querier) alternatives() {
	for at, n := 0, len(q.terms); at < n; at++ {
		t := q.a.tokens[q.from[at]]
		if t.kind != kindWord || t.script != scriptLatin {
			continue
		}
		for l := english; l < latinLanguages; l++ {
			if l == q.lang {
				continue
			}
			h := hashTerm(q.a.term(t, l))
			if _, ok := q.seen[h]; ok {
				continue
			}
			q.seen[h] = len(q.terms)
			q.terms = append(q.terms, Term{Hash: h, TF: q.terms[at].TF, Group: q.terms[at].Group})
		}
	}
}
