package verify

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// kind says what a token is.
type kind int

const (
	word   kind = iota
	number      // digits, with what stands between them
	han         // a run of Han characters
	kana        // a run of Hiragana: endings and particles
)

// token is a piece of a text that can be compared.
type token struct {
	kind   kind
	text   string // folded; for number as written
	cap    bool   // begins with a capital letter
	first  bool   // of its unit
	free   bool   // needs no evidence
	negate bool   // it negates its scope
	after  bool   // and that only behind itself
	scope  int    // clauses within which a negation holds
	unit   int    // clauses that have a subject of their own
}

// unitInfo is what is known of a unit.
type unitInfo struct {
	speaker  string // folded words of the label of the turn
	question bool
	third    bool // somebody else is spoken of or to
}

// textTokens is a text cut up.
type textTokens struct {
	tokens []token
	units  []unitInfo
	scopes int
}

// maxWord bounds the characters of a word that are compared.
const maxWord = 64

// cut splits a text into tokens.
func (l *lexicon) cut(text string) textTokens {
	c := cutter{lexicon: l, text: norm.NFKC.String(text)}
	c.units = append(c.units, unitInfo{})
	lineStart := true
	for c.at < len(c.text) {
		if lineStart {
			c.label()
			lineStart = false
			continue
		}
		lineStart = c.text[c.at] == '\n'
		c.next(c.text[c.at:])
	}
	return c.textTokens
}

type cutter struct {
	*lexicon
	textTokens
	text    string
	at      int
	speaker string
	began   bool // the unit has a token
}

// next takes what rest begins with.
func (c *cutter) next(rest string) {
	r, size := utf8.DecodeRuneInString(rest)
	switch {
	case unicode.IsDigit(r):
		c.take(number, numberEnd(rest))
	case isHan(r):
		c.take(han, spanOf(rest, isHan))
	case unicode.Is(unicode.Hiragana, r):
		c.take(kana, spanOf(rest, func(r rune) bool { return unicode.Is(unicode.Hiragana, r) }))
	case isKatakana(r):
		c.take(word, spanOf(rest, isKatakana))
	case unicode.IsLetter(r):
		c.take(word, spanOf(rest, func(r rune) bool {
			return (unicode.IsLetter(r) || unicode.IsMark(r)) && !isHan(r) && !isKatakana(r) && !unicode.Is(unicode.Hiragana, r)
		}))
	default:
		c.punctuation(r)
		c.at += size
	}
}

func isHan(r rune) bool { return unicode.Is(unicode.Han, r) || r == '々' }

func isKatakana(r rune) bool { return unicode.Is(unicode.Katakana, r) || r == 'ー' }

// spanOf returns the length of the run of characters that belong.
func spanOf(s string, belongs func(rune) bool) int {
	for i, r := range s {
		if !belongs(r) {
			return i
		}
	}
	return len(s)
}

// numberEnd returns the length of a number, date or time of day.
func numberEnd(s string) int {
	end := 0
	for i, r := range s {
		switch {
		case unicode.IsDigit(r):
			end = i + utf8.RuneLen(r)
		case !strings.ContainsRune(".,:-/'", r) || i != end:
			return end
		}
	}
	return end
}

// label takes the name of a speaker at the beginning of a line, as in "Ann: hello".
func (c *cutter) label() {
	line := c.text[c.at:]
	if i := strings.IndexByte(line, '\n'); i >= 0 {
		line = line[:i]
	}
	const longest = 60
	colon := strings.IndexByte(line[:min(len(line), longest)], ':')
	if colon <= 0 || strings.HasPrefix(line[colon:], "://") {
		return
	}
	name := strings.TrimSpace(line[:colon])
	if i := strings.LastIndexByte(name, ']'); i >= 0 {
		name = strings.TrimSpace(name[i+1:])
	}
	r, _ := utf8.DecodeRuneInString(name)
	if words := len(strings.Fields(name)); words == 0 || words > 3 || !unicode.IsLetter(r) || strings.ContainsAny(name, ".,;!?()\"") {
		return
	}
	c.speaker = fold(name)
	c.nextUnit(true)
	at := c.at
	c.at += strings.Index(line, name)
	for c.at < at+colon {
		c.next(c.text[c.at : at+colon])
	}
	c.nextUnit(true)
	c.at = at + colon + 1
}

// nextUnit begins a new unit, and a new scope of negation if it is more than a conjunction.
func (c *cutter) nextUnit(scope bool) {
	if scope {
		c.scopes++
	}
	if !c.began && c.units[len(c.units)-1].speaker == c.speaker {
		return
	}
	c.units = append(c.units, unitInfo{speaker: c.speaker})
	c.began = false
}

func (c *cutter) punctuation(r rune) {
	switch r {
	case '?', '؟':
		c.units[len(c.units)-1].question = true
		c.nextUnit(true)
	case '$':
		c.add(token{kind: word, text: "dollars"})
	case '€':
		c.add(token{kind: word, text: "euro"})
	case '£':
		c.add(token{kind: word, text: "pounds"})
	case ',', ';', ':', '(', ')', '.', '!', '\n', '。', '、', '—', '–', '…', '"', '«', '»', '「', '」':
		c.nextUnit(true)
	}
}

// take adds the next n bytes as a token.
func (c *cutter) take(k kind, n int) {
	written := c.text[c.at : c.at+n]
	c.at += n
	if k == han {
		c.takeHan(written)
		return
	}
	r, _ := utf8.DecodeRuneInString(written)
	t := token{kind: k, text: written, cap: unicode.IsUpper(r)}
	switch k {
	case word:
		t.text = fold(cutRunes(written, maxWord))
		c.mark(&t)
	case kana:
		t.free, t.negate = true, negatesInKana(written)
	case number, han:
	}
	if c.contraction(&t) {
		return
	}
	if c.conjunctions[t.text] {
		c.nextUnit(c.contrasts[t.text])
	}
	c.add(t)
}

// contraction deals with what follows an apostrophe: "don't", "Ann's", "n'aime".
func (c *cutter) contraction(t *token) bool {
	if len(c.tokens) == 0 || c.at-len(t.text) < 2 || t.kind != word {
		return false
	}
	before := c.text[:c.at-len(t.text)]
	if !strings.HasSuffix(before, "'") && !strings.HasSuffix(before, "’") {
		return false
	}
	last := &c.tokens[len(c.tokens)-1]
	switch t.text {
	case "t":
		if strings.HasSuffix(last.text, "n") {
			last.negate, last.free = true, true
			return true
		}
	case "s", "m", "re", "ve", "ll", "d":
		return true
	}
	return false
}

func (c *cutter) add(t token) {
	t.unit, t.scope, t.first = len(c.units)-1, c.scopes, !c.began
	c.tokens = append(c.tokens, t)
	c.began = true
}

func cutRunes(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// fold lowers letters and takes off the accents of those alphabets that lose nothing by it.
func fold(s string) string {
	var b strings.Builder
	for _, r := range norm.NFD.String(strings.ToLower(s)) {
		switch {
		case unicode.Is(unicode.Mn, r) && r < 0x500:
		case r == 'ß':
			b.WriteString("ss")
		case r == 'œ':
			b.WriteString("oe")
		case r == 'æ':
			b.WriteString("ae")
		default:
			b.WriteRune(r)
		}
	}
	return norm.NFC.String(b.String())
}
