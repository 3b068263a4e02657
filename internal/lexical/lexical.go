package lexical

import "slices"

// Version changes whenever the same text would yield other terms than before. Rows
// indexed under another version must be analyzed again.
const Version = 1

// Term is one term of a text.
type Term struct {
	// Hash identifies the term: the 64-bit FNV-1a hash of its UTF-8 bytes. It is the same
	// in every process and on every platform.
	Hash int64
	// TF is how often the term occurs, at least 1.
	TF int
	// Group is 0 in a document. In a query, terms with the same Group are alternatives
	// for one word (its stems in several languages) and share one document frequency.
	Group int
}

// Doc is an analyzed document.
type Doc struct {
	// Terms are sorted by Hash, each Hash once.
	Terms []Term
	// Length is the number of words, or of character pairs in scripts without spaces: the
	// document length of BM25. Parts of compounds and other terms that stand beside a
	// word do not count.
	Length int
}

// Analyze turns a document's text into terms. It never fails: invalid UTF-8 separates
// words, and a text without letters, digits or symbols has no terms. It is safe for
// concurrent use, takes time linear in the text, and always returns the same for the same
// text.
func Analyze(text string) Doc {
	a := acquire()
	defer a.release()
	a.tokenize(text)
	lang := a.detect.best()
	doc := Doc{}
	for _, t := range a.tokens {
		a.hashes = append(a.hashes, hashTerm(a.term(t, lang)))
		if !t.extra {
			doc.Length++
		}
	}
	slices.Sort(a.hashes)
	distinct := 0
	for i, h := range a.hashes {
		if i == 0 || h != a.hashes[i-1] {
			distinct++
		}
	}
	doc.Terms = make([]Term, 0, distinct)
	for i, h := range a.hashes {
		if i > 0 && h == a.hashes[i-1] {
			doc.Terms[len(doc.Terms)-1].TF++
			continue
		}
		doc.Terms = append(doc.Terms, Term{Hash: h, TF: 1})
	}
	return doc
}

// term returns the final form of a token in a text of the given language. The result is
// valid until the next call.
func (a *analyzer) term(t token, lang language) []byte {
	w := a.text(t)
	if t.kind == kindExact {
		return w
	}
	switch t.script {
	case scriptLatin:
		if functionWordSet(w).has(lang) {
			break // closed-class words do not inflect, and stemming them is wasted time
		}
		return a.stemmed(w, lang, t.script)
	case scriptCyrillic:
		return a.stemmed(w, russian, t.script)
	case scriptArabic:
		return a.stemmed(w, arabic, t.script)
	case scriptTamil:
		return a.stemmed(w, tamil, t.script)
	case scriptDevanagari:
		return a.stemmed(w, hindi, t.script)
	case scriptGreek, scriptHebrew, scriptOther: // no stemmer
	}
	return a.base(w, t.script)
}

// function reports whether a token is a function word of the language.
func (a *analyzer) function(t token, lang language) bool {
	return t.kind == kindWord && t.script == scriptLatin && !t.name && functionWordSet(a.text(t)).has(lang)
}

func (a *analyzer) stemmed(w []byte, l language, s script) []byte {
	stem := a.stemmer.stem(string(w), l)
	a.scratch = append(a.scratch[:0], stem...)
	return a.base(a.scratch, s)
}

// base removes accents. The result may alias the scratch buffer.
func (a *analyzer) base(w []byte, s script) []byte {
	if isASCII(w) {
		return w
	}
	w = appendBase(make([]byte, 0, 2*len(w)), w, s)
	a.scratch = append(a.scratch[:0], w...)
	return a.scratch
}

// Walk calls yield with every term of the text in order, as the document side sees it,
// and whether it is a function word (article, pronoun, preposition...) of the text's
// language. It stops when yield returns false. The bytes are valid only during the call.
// Extra terms (parts of compounds, single Han characters) follow the term they belong to.
func Walk(text string, yield func(term []byte, function bool) bool) {
	a := acquire()
	defer a.release()
	a.tokenize(text)
	lang := a.detect.best()
	for _, t := range a.tokens {
		if !yield(a.term(t, lang), a.function(t, lang)) {
			return
		}
	}
}

// Words returns the terms that Walk yields, as strings.
func Words(text string) []string {
	var out []string
	Walk(text, func(term []byte, _ bool) bool {
		out = append(out, string(term))
		return true
	})
	return out
}
