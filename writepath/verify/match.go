package verify

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// mark says what the lexicon knows of a word.
func (l *lexicon) mark(t *token) {
	t.negate, t.after = l.negations[t.text], l.negatesAfter[t.text]
	if strings.ContainsAny(t.text, "않없못") {
		t.negate = true
	}
	t.free = l.free[t.text]
	if n, ok := l.numbers[t.text]; ok && n > 0 {
		t.kind, t.text = number, itoa(n)
	}
}

// same reports whether two folded words can be forms of one. Two names must be the same but
// for a case ending.
func (l *lexicon) same(a, b string, names bool) bool {
	if a == b {
		return true
	}
	if g := l.groups[a]; g != 0 && g == l.groups[b] {
		return true
	}
	p := prefix(a, b)
	ra, rb := a[p:], b[p:]
	if names {
		const caseEndings = " s es n en e er em ns "
		return p >= 3 && (ra == "" && strings.Contains(caseEndings, " "+rb+" ") || rb == "" && strings.Contains(caseEndings, " "+ra+" "))
	}
	if l.inflected(a, p, ra, rb) {
		return true
	}
	// German participles: gekauft, kaufe.
	if ga, gb := strings.TrimPrefix(a, "ge"), strings.TrimPrefix(b, "ge"); (ga != a) != (gb != b) {
		p = prefix(ga, gb)
		return p >= 3 && l.inflected(ga, p, ga[p:], gb[p:])
	}
	return false
}

func (l *lexicon) inflected(a string, p int, ra, rb string) bool {
	n := utf8.RuneCountInString(a[:p])
	if a[:p] != "" && a[0] >= utf8.RuneSelf { // alphabets whose endings are not known here
		return n >= 2 && isHangul(a) || n >= 4 && utf8.RuneCountInString(ra) <= 3 && utf8.RuneCountInString(rb) <= 3
	}
	if n < 3 {
		return false
	}
	ra, rb = undouble(a[:p], ra), undouble(a[:p], rb)
	if n == 3 && (len(ra) > 3 || len(rb) > 3) {
		return false
	}
	if slices.Contains(l.gendered, a[:p]) && ra != "" && rb != "" && ra[0] != rb[0] {
		return false
	}
	return l.endings[ra] && l.endings[rb]
}

// undouble takes off a consonant that a stem doubles before an ending: run, running.
func undouble(stem, rest string) string {
	if len(rest) > 2 && rest[0] == stem[len(stem)-1] && !strings.ContainsRune("aeiou", rune(rest[0])) {
		return rest[1:]
	}
	return rest
}

func isHangul(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return r >= 0xAC00 && r <= 0xD7A3
}

// prefix returns the length of what two words begin with, in whole characters.
func prefix(a, b string) int {
	p := 0
	for p < len(a) && p < len(b) && a[p] == b[p] {
		p++
	}
	for p > 0 && p < len(a) && !utf8.RuneStart(a[p]) {
		p--
	}
	return p
}
