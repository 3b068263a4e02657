package lexical

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// word handles one word of a script written with spaces, as UAX #29 delimits it and
// before case folding, which would hide the humps of getUserName.
func (a *analyzer) word(s string) {
	start := len(a.buf)
	a.buf = appendFolded(a.buf, s, &a.fold)
	w := a.buf[start:]
	if len(w) == 0 {
		return
	}
	if len(w) > maxWord && utf8.RuneCount(w) > maxWord {
		a.push(start, kindExact, scriptOther, false)
		return
	}
	switch shape := shapeOf(s, w); {
	case shape.digits && !shape.letters:
		a.number(start)
	case shape.ordinal:
		a.buf = a.buf[:len(a.buf)-2]
		a.push(start, kindExact, scriptOther, false)
	case shape.compound:
		a.compound(s, start)
	case shape.plural:
		a.buf = a.buf[:len(a.buf)-1]
		a.plain(start, false)
	case shape.apostrophe:
		a.apostrophe(start)
	default:
		first := len(a.tokens) == 0
		a.plain(start, false)
		if n := len(a.tokens); n > 0 {
			a.tokens[n-1].name = shape.capitals > 1 || shape.capitals == 1 && !first && len(s) > 1
		}
	}
}

// plain makes the buffer from start on a word to be stemmed.
func (a *analyzer) plain(start int, extra bool) {
	w := a.buf[start:]
	if len(w) == 0 {
		return
	}
	r, _ := utf8.DecodeRune(w)
	s, k := scriptOf(r), kindWord
	if r < utf8.RuneSelf && (r < 'a' || r > 'z') {
		k = kindExact
	}
	if s == scriptOther {
		k = kindExact
	}
	if k == kindWord && s == scriptLatin && !extra {
		a.detect.see(w)
	}
	a.push(start, k, s, extra)
}

// shape is what a word looks like.
type shape struct {
	digits, letters, apostrophe bool
	compound                    bool // has humps, joiners, or letters beside digits
	ordinal                     bool // 1st, 22nd, 3rd, 7th
	plural                      bool // of an abbreviation: PDFs, URLs, TVs
	capitals                    int
}

func shapeOf(s string, folded []byte) shape {
	var sh shape
	lower, first := false, true
	var last, last2 rune
	for i, r := range s {
		switch {
		case r >= 'a' && r <= 'z':
			sh.compound = sh.compound || unicode.IsUpper(last2) && hump(last2, last, s[i:])
			sh.letters, lower = true, true
		case r >= 'A' && r <= 'Z':
			sh.compound = sh.compound || lower
			sh.letters, lower = true, false
			sh.capitals++
		case r == '\'' || r == '\u2019' || r == '\u02BC' || r == '\uFF07':
			sh.apostrophe, lower = true, false
		case r == '_' || r == '.' || r == ':' || r == ',' || r == ';' || r == '\u00B7':
			sh.compound, lower = sh.compound || !first, false
		case digitOf(r) >= 0:
			sh.digits, lower = true, false
		case r >= utf8.RuneSelf:
			up := unicode.IsUpper(r)
			sh.compound = sh.compound || up && lower
			if up {
				sh.capitals++
			}
			lower = !up && unicode.IsLower(r)
			sh.letters = true
		}
		first = false
		last2, last = last, r
	}
	if sh.digits && sh.letters {
		sh.ordinal = isOrdinal(folded)
		sh.compound = true
	}
	// No stemmer takes the s off a word without vowels.
	sh.plural = last == 's' && unicode.IsUpper(last2) && strings.ToUpper(s[:len(s)-1]) == s[:len(s)-1]
	return sh
}

func isOrdinal(w []byte) bool {
	n := len(w) - 2
	if n < 1 || n > 4 {
		return false
	}
	for _, b := range w[:n] {
		if b < '0' || b > '9' {
			return false
		}
	}
	switch string(w[n:]) {
	case "st", "nd", "rd", "th":
		return true
	}
	return false
}

// number handles digits with separators. Thousands separators go (1,000 and 1.000 are
// 1000), a leading zero of a two-digit number goes (05 is 5, as days and months are
// written both ways), anything else stays and its groups are terms as well (07.05.2023).
func (a *analyzer) number(start int) {
	w := a.buf[start:]
	if !bytes.ContainsFunc(w, func(r rune) bool { return r < '0' || r > '9' }) {
		a.digits(start, false)
		return
	}
	if isThousands(w) {
		n := 0
		for _, b := range w {
			if b >= '0' && b <= '9' {
				w[n] = b
				n++
			}
		}
		a.buf = a.buf[:start+n]
		a.push(start, kindExact, scriptOther, false)
		return
	}
	end := len(a.buf)
	a.push(start, kindExact, scriptOther, false)
	a.eachPart(start, end, func(from, to int) {
		at := len(a.buf)
		a.buf = append(a.buf, a.buf[from:to]...)
		a.digits(at, true)
	})
}

func (a *analyzer) digits(start int, extra bool) {
	if w := a.buf[start:]; len(w) == 2 && w[0] == '0' {
		w[0] = w[1]
		a.buf = a.buf[:start+1]
	}
	a.push(start, kindExact, scriptOther, extra)
}

// isThousands reports whether w is one to three digits and then groups of exactly three.
func isThousands(w []byte) bool {
	group, groups := 0, 0
	var separator byte
	for _, b := range w {
		switch {
		case b >= '0' && b <= '9':
			group++
		case (b == ',' || b == '.') && (separator == 0 || separator == b):
			if group == 0 || group > 3 || groups > 0 && group != 3 {
				return false
			}
			separator = b
			group, groups = 0, groups+1
		default:
			return false
		}
	}
	return groups > 0 && group == 3
}

// eachPart calls yield for every maximal range of letters and digits in buf[from:to].
func (a *analyzer) eachPart(from, to int, yield func(from, to int)) {
	begin := -1
	for i := from; i < to; i++ {
		b := a.buf[i]
		if isAlnum(b) || b >= utf8.RuneSelf {
			if begin < 0 {
				begin = i
			}
			continue
		}
		if begin >= 0 {
			yield(begin, i)
			begin = -1
		}
	}
	if begin >= 0 {
		yield(begin, to)
	}
}
