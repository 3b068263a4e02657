package lexical

import "strings"

// Query turns a query's text into at most maxTerms terms (0 or less: no bound), the most
// useful first: words in the order of the text, then alternatives. Every word yields its
// stem in the language the text seems to have, and the other stems it could have as
// alternatives with the same Group, so that a document whose language was judged
// differently is still found. TF is how often the word occurs.
//
// Function words are left out as long as another word remains. They are in the index, but
// they are most of the postings and carry next to nothing: without them the evidence of
// conversational questions is found among the first ten rows more often, not less (from
// 63 to 68 in a hundred on LoCoMo), and a third to a half of the postings is read.
//
// Query is safe for concurrent use and always returns the same for the same text. A text
// without letters, digits or symbols has no terms.
func Query(text string, maxTerms int) []Term {
	a := acquire()
	defer a.release()
	a.tokenize(text)
	q := querier{a: a, lang: a.detect.best(), seen: make(map[int64]int, len(a.tokens))}
	q.words(false)
	if len(q.terms) == 0 {
		q.words(true)
	}
	q.alternatives(maxTerms)
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

// words adds the main form of every token that is, or is not, a function word.
func (q *querier) words(function bool) {
	for i, t := range q.a.tokens {
		if q.a.function(t, q.lang) != function {
			continue
		}
		h := hashTerm(q.a.term(t, q.lang))
		if at, ok := q.seen[h]; ok {
			q.terms[at].TF++
			continue
		}
		q.seen[h] = len(q.terms)
		q.terms = append(q.terms, Term{Hash: h, TF: 1, Group: len(q.terms) + 1})
		q.from = append(q.from, i)
	}
}

// alternatives adds the other stems of the words added so far, unless there are as many
// as wanted.
func (q *querier) alternatives(maxTerms int) {
	for at, n := 0, len(q.terms); at < n && (maxTerms <= 0 || len(q.terms) < maxTerms); at++ {
		t := q.a.tokens[q.from[at]]
		if t.kind != kindWord || t.script != scriptLatin {
			continue
		}
		for l := english; l < latinLanguages; l++ {
			if l != q.lang {
				q.alternative(at, q.a.term(t, l))
			}
		}
		for _, respelt := range respell(string(q.a.text(t))) {
			q.alternative(at, q.a.stemmed([]byte(respelt), german, scriptLatin))
		}
	}
}

// alternative adds another form of the word at a place in terms.
func (q *querier) alternative(at int, form []byte) {
	h := hashTerm(form)
	if _, ok := q.seen[h]; ok {
		return
	}
	q.seen[h] = len(q.terms)
	q.terms = append(q.terms, Term{Hash: h, TF: q.terms[at].TF, Group: q.terms[at].Group})
}

// respell returns a word with its umlauts written out, and with what may be written-out
// umlauts put back: Muenchen is how a keyboard without ü types München.
func respell(word string) []string {
	written, put := word, word
	for _, pair := range [...][2]string{{"ä", "ae"}, {"ö", "oe"}, {"ü", "ue"}} {
		written = strings.ReplaceAll(written, pair[0], pair[1])
		put = strings.ReplaceAll(put, pair[1], pair[0])
	}
	var out []string
	for _, respelt := range [...]string{written, put} {
		if respelt != word {
			out = append(out, respelt)
		}
	}
	return out
}
