package lexical

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// compound handles a word made of words: identifiers, host names, model numbers. The
// whole is one term, unstemmed, and every part of two characters or more another. A word
// of nothing but single letters between dots is an abbreviation: U.S.A. is usa.
func (a *analyzer) compound(s string, start int) {
	if acronym(a.buf[start:]) {
		w := a.buf[start:]
		n := 0
		for _, b := range w {
			if b != '.' {
				w[n] = b
				n++
			}
		}
		a.buf = a.buf[:start+n]
		a.plain(start, false)
		return
	}
	a.push(start, kindExact, scriptOther, false)
	part := 0
	var prev rune
	emit := func(end int) {
		if utf8.RuneCountInString(s[part:end]) < 2 && (end == part || digitOf(firstRune(s[part:])) < 0) {
			return
		}
		at := len(a.buf)
		a.buf = appendFolded(a.buf, s[part:end], &a.fold)
		if len(a.buf) > at && a.buf[at] >= '0' && a.buf[at] <= '9' {
			a.digits(at, true)
		} else {
			a.plain(at, true)
		}
	}
	for i, r := range s {
		switch {
		case unicode.Is(unicode.M, r):
			continue
		case !unicode.IsLetter(r) && digitOf(r) < 0:
			emit(i)
			part = i + utf8.RuneLen(r)
		case i == part:
		case hump(prev, r, s[i+utf8.RuneLen(r):]):
			emit(i)
			part = i
		}
		prev = r
	}
	if part > 0 {
		emit(len(s))
	}
}

// hump reports whether a new part begins at r: after a change between letters and
// digits, at a capital after a small letter, and at the last capital of a run of them
// before two small letters (HTTPServer, but not PDFs).
func hump(prev, r rune, rest string) bool {
	if (digitOf(prev) >= 0) != (digitOf(r) >= 0) {
		return true
	}
	if !unicode.IsUpper(r) {
		return false
	}
	if unicode.IsLower(prev) {
		return true
	}
	next, size := utf8.DecodeRuneInString(rest)
	return unicode.IsUpper(prev) && unicode.IsLower(next) && unicode.IsLower(firstRune(rest[size:]))
}

func firstRune(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

func acronym(w []byte) bool {
	if len(w) < 3 {
		return false
	}
	for i, b := range w {
		if i%2 == 0 && (b < 'a' || b > 'z') || i%2 == 1 && b != '.' {
			return false
		}
	}
	return true
}

// apostrophe handles a word with an apostrophe in it, by a rule that needs no language:
//
//   - an elided article or pronoun in front goes (l'homme, dell'anno, qu'il);
//   - n't stays, joined (don't is dont, as it is often typed);
//   - any other ending after I, or after two characters or more, goes (Anna's, I'll,
//     Ankara'nın);
//   - otherwise the two sides are joined (O'Brien is obrien).
//
// Outside the Latin script the apostrophe is part of the word and is dropped.
func (a *analyzer) apostrophe(start int) {
	w := a.buf[start:]
	i := bytes.IndexByte(w, '\'')
	head, tail := w[:i], w[i+1:]
	latin := len(head) > 0 && scriptOf(firstRune(string(head))) == scriptLatin
	switch {
	case latin && len(tail) > 1 && elision(head) && bytes.IndexByte(tail, '\'') < 0:
		a.buf = append(a.buf[:start], tail...)
	case latin && string(tail) == "t" && head[len(head)-1] == 'n':
		a.buf = append(a.buf[:start+i], 't')
	case latin && (utf8.RuneCount(head) >= 2 || head[0] == 'i'):
		a.buf = a.buf[:start+i]
	default:
		n := 0
		for _, b := range w {
			if b != '\'' {
				w[n] = b
				n++
			}
		}
		a.buf = a.buf[:start+n]
	}
	a.plain(start, false)
}

func elision(head []byte) bool {
	switch string(head) {
	case "l", "d", "j", "m", "t", "s", "n", "c", "qu", "jusqu", "lorsqu", "puisqu", "quoiqu",
		"un", "dell", "all", "nell", "sull", "dall", "quell", "quest", "bell", "sant", "c\u00E8", "dov", "com", "anch", "tutt", "coll":
		return true
	}
	return false
}
