package lexical

import (
	"unicode"
	"unicode/utf8"
)

// mixed handles a segment that is not plain ASCII: it is cut where the treatment of its
// characters changes ("API를" is one word to UAX #29), and characters of pair scripts are
// gathered across segments, because UAX #29 gives each of them its own.
func (a *analyzer) mixed(s string) {
	start := 0 // of the current stretch of classWord or classHangul
	current := classWord
	useful := false // whether the stretch holds a letter, digit or symbol
	cut := func(end int) {
		if useful && end > start {
			if current == classHangul {
				a.hangul(s[start:end])
			} else {
				a.word(s[start:end])
			}
		}
		useful = false
	}
	for i, r := range s {
		c := classOf(r)
		if c == classSEA && digitOf(r) >= 0 {
			c = classWord
		}
		switch c {
		case classHan, classKana, classSEA:
			cut(i)
			if n := len(a.pending); n > 0 && pairScript(a.pending[n-1]) != pairScript(r) {
				a.flush()
			}
			a.pending = append(a.pending, r)
			start = i + utf8.RuneLen(r)
			current = classWord
			continue
		case classWord, classHangul:
			if c == classWord && (unicode.Is(unicode.M, r) || ignorable(r)) {
				if len(a.pending) > 0 && start == i {
					start = i + utf8.RuneLen(r) // a mark on a pair-script character
				}
				continue // a mark goes with what it stands on
			}
		}
		a.flush()
		if c != current {
			cut(i)
			start, current = i, c
		}
		if !useful {
			useful = unicode.IsLetter(r) || unicode.IsNumber(r) || r >= 0x2190 && unicode.Is(unicode.So, r)
		}
	}
	cut(len(s))
}

// pairScript reports which pair-script family a character belongs to: pairs are made
// across Han and kana, but not across families.
func pairScript(r rune) bool { return classOf(r) == classSEA }

// flush turns the pending run into tokens.
func (a *analyzer) flush() {
	run := a.pending
	if len(run) == 0 {
		return
	}
	a.pending = run[:0]
	if len(run) == 1 {
		a.exact(run, false)
		return
	}
	for i, r := range run {
		if i+1 < len(run) {
			a.exact(run[i:i+2], false)
		}
		if classOf(r) == classHan {
			a.exact(run[i:i+1], true)
		}
	}
}

// hangul handles one Korean word.
func (a *analyzer) hangul(s string) {
	start := len(a.buf)
	a.buf = append(a.buf, s...)
	a.push(start, kindExact, scriptOther, false)
	n := utf8.RuneCountInString(s)
	if n > maxWord || n < 2 {
		return
	}
	if base := stripParticle(s); base != s {
		start = len(a.buf)
		a.buf = append(a.buf, base...)
		a.push(start, kindExact, scriptOther, true)
	}
	if n < 3 {
		return // its only pair is the word
	}
	prev := -1
	for i := range s {
		if prev >= 0 {
			_, size := utf8.DecodeRuneInString(s[i:])
			start = len(a.buf)
			a.buf = append(a.buf, s[prev:i+size]...)
			a.push(start, kindExact, scriptOther, true)
		}
		prev = i
	}
}

// exact appends characters as a finished token.
func (a *analyzer) exact(run []rune, extra bool) {
	start := len(a.buf)
	for _, r := range run {
		a.buf = utf8.AppendRune(a.buf, r)
	}
	a.push(start, kindExact, scriptOther, extra)
}
