package lexical

import (
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"github.com/clipperhouse/uax29/v2/words"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// maxWord is the length in characters above which a word is taken as it stands: not
// split, not stemmed, not looked up. Longer "words" are keys, hashes, encoded data or
// attacks; the longest words of ordinary prose stay below 50.
const maxWord = 64

// keepScratch bounds, in bytes of buffer, the analyzers that go back to the pool, so that
// one huge text does not pin its memory for good.
const keepScratch = 1 << 16

// analyzer cuts one text into tokens. It belongs to one call at a time.
type analyzer struct {
	buf     []byte // the text of all tokens
	tokens  []token
	pending []rune // a run of pair-script characters, not yet turned into tokens
	hashes  []int64
	scratch []byte
	detect  detector
	stemmer stemmer
	fold    cases.Caser
}

//nolint:gochecknoglobals // a pool of scratch memory; holds nothing between calls
var pool = sync.Pool{New: func() any {
	return &analyzer{fold: cases.Fold(), stemmer: stemmer{env: snowballstem.NewEnv("")}}
}}

func acquire() *analyzer {
	a, _ := pool.Get().(*analyzer)
	a.buf, a.tokens, a.pending, a.hashes = a.buf[:0], a.tokens[:0], a.pending[:0], a.hashes[:0]
	a.detect = detector{}
	return a
}

// release returns the analyzer to the pool, with the text wiped: memory text must not
// outlive its call in a buffer that nobody knows of.
func (a *analyzer) release() {
	if cap(a.buf) > keepScratch || cap(a.tokens) > keepScratch/8 || cap(a.hashes) > keepScratch/8 ||
		cap(a.pending) > keepScratch/8 {
		return
	}
	clear(a.buf[:cap(a.buf)])
	clear(a.scratch[:cap(a.scratch)])
	clear(a.pending[:cap(a.pending)])
	a.stemmer.env.SetCurrent("")
	pool.Put(a)
}

// tokenize fills tokens and the evidence about the language.
func (a *analyzer) tokenize(text string) {
	if !isASCII(text) {
		if !utf8.ValidString(text) {
			text = strings.ToValidUTF8(text, " ")
		}
		if !norm.NFKC.IsNormalString(text) {
			text = norm.NFKC.String(text)
		}
	}
	for it := words.FromString(text); it.Next(); {
		a.segment(it.Value())
	}
	a.flush()
}

// segment handles one segment of UAX #29: a word, or the space and punctuation between.
func (a *analyzer) segment(s string) {
	if s[0] < utf8.RuneSelf {
		if len(s) == 1 && !isAlnum(s[0]) {
			a.flush()
			return
		}
		if isASCII(s) {
			a.flush()
			if hasAlnum(s) {
				a.word(s)
			}
			return
		}
	}
	a.mixed(s)
}

func isAlnum(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9'
}

func hasAlnum(s string) bool {
	for i := range len(s) {
		if isAlnum(s[i]) {
			return true
		}
	}
	return false
}

// push appends the buffer from start on as a token.
func (a *analyzer) push(start int, k kind, s script, extra bool) {
	if start == len(a.buf) {
		return
	}
	a.tokens = append(a.tokens, token{start: start, end: len(a.buf), kind: k, script: s, extra: extra})
}

func (a *analyzer) text(t token) []byte { return a.buf[t.start:t.end] }
