package entity

import (
	"unicode"
	"unicode/utf8"
)

// shape is how a word is written.
type shape int

const (
	lower shape = iota
	capital
	allCaps // two letters or more
	mixed   // a capital inside, as in PostgreSQL
	number
)

// token is a word with its place. Words of Latin and similar scripts only: runs of Chinese,
// Japanese and Korean are looked at elsewhere.
type token struct {
	start, end int
	word       string // the text's own
	folded     string
	shape      shape
	// first says that a sentence, a line or a quotation begins here.
	first bool
	// joined says that nothing but spaces divides the word from the one before.
	joined bool
	// dot says that a full stop follows at once.
	dot bool
	// taken says that the word is part of a mention or of code already.
	taken bool
}

// letterLike reports whether r is part of a word.
func letterLike(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Mc, r)
}

// cjk reports whether r is of a script that is written without capitals and spaces, or, as
// Korean, with endings grown on to the words.
func cjk(r rune) bool {
	return r >= 0x2E80 && (unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) || r == 'ー' || r == '々')
}

// inner reports whether r can stand between two letters of one word.
func inner(r rune) bool {
	switch r {
	case '\'', '’', '-', '‐', '‑', '&':
		return true
	default:
		return false
	}
}

// endsSentence reports whether a word behind r may have its capital from its place alone.
func endsSentence(r rune) bool {
	switch r {
	case '.', '!', '?', '…', ':', '\n', '\r', '"', '“', '„', '«', '»', '‹', '¿', '¡', '(', '[', '{', '*', '•', '#', '>', '|', '–', '—', ';',
		'\u2028', '\u2029', '。', '！', '？':
		return true
	default:
		return false
	}
}

// tokenize splits a text into words.
func tokenize(text string) []token {
	var out []token
	first, joined := true, true
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case cjk(r):
			first, joined = false, false
			i += size
			continue
		case !letterLike(r):
			if endsSentence(r) {
				first, joined = true, false
			} else if !unicode.IsSpace(r) {
				joined = false
			}
			if r == '.' && len(out) > 0 && out[len(out)-1].end == i {
				out[len(out)-1].dot = true
				if abbreviates(&out[len(out)-1]) {
					first, joined = false, true
				}
			}
			i += size
			continue
		}
		end := wordEnd(text, i)
		for _, t := range split(text, i, end) {
			t.first, t.joined = first, joined
			out = append(out, t)
			first, joined = false, true
		}
		i = end
	}
	return out
}

// wordEnd returns where the word that begins at start ends.
func wordEnd(text string, start int) int {
	end := start
	for end < len(text) {
		r, size := utf8.DecodeRuneInString(text[end:])
		if letterLike(r) && !cjk(r) {
			end += size
			continue
		}
		if inner(r) && end > start {
			next, n := utf8.DecodeRuneInString(text[end+size:])
			if n > 0 && letterLike(next) && !cjk(next) {
				end += size
				continue
			}
		}
		break
	}
	return end
}

// split cuts a possessive off the end of a word, and an article or preposition that has lost
// its vowel (l'Europe, d'Anna) off its beginning.
func split(text string, start, end int) []token {
	var out []token
	if cut := elision(text[start:end]); cut > 0 {
		out = append(out, newToken(text, start, start+cut))
		start += cut
	}
	bare := start + len(bareName(text[start:end]))
	return append(out, newToken(text, start, bare))
}

func newToken(text string, start, end int) token {
	w := text[start:end]
	return token{start: start, end: end, word: w, folded: fold(w), shape: shapeOf(w)}
}

// elision returns the length of the elided word that a French or Italian word begins with.
func elision(w string) int {
	for i, r := range w {
		if r != '\'' && r != '’' {
			if i > 5 {
				return 0
			}
			continue
		}
		after := i + utf8.RuneLen(r)
		next, _ := utf8.DecodeRuneInString(w[after:])
		switch w[:i] {
		case "l", "d", "qu", "s", "n", "m", "t", "j", "c", "dell", "all", "nell", "dall", "sull", "un":
			return after
		case "L", "D", "Qu", "C", "J", "N", "S", "M", "T":
			// O'Brien and D'Angelo are names; L'Europe and J'habite begin a sentence. Which of
			// the two it is only the lists can tell.
			if unicode.IsLower(next) || w[:i] != "D" && knownName(fold(w[after:])) {
				return after
			}
		}
		return 0
	}
	return 0
}

// bareName returns a name without a possessive ending.
func bareName(w string) string {
	for _, end := range []string{"'s", "’s", "'S", "’S"} {
		if len(w) > len(end) && w[len(w)-len(end):] == end {
			return w[:len(w)-len(end)]
		}
	}
	return w
}

func shapeOf(w string) shape {
	var letters, uppers, digits int
	firstUpper, afterHyphen, innerUpper := false, true, false
	for _, r := range w {
		switch {
		case unicode.IsUpper(r) || unicode.IsTitle(r):
			firstUpper = firstUpper || letters == 0 && digits == 0
			innerUpper = innerUpper || !afterHyphen
			letters++
			uppers++
			afterHyphen = false
		case unicode.IsLetter(r):
			letters++
			afterHyphen = false
		case unicode.IsDigit(r):
			digits++
			afterHyphen = false
		default:
			afterHyphen = true
		}
	}
	switch {
	case letters == 0:
		return number
	case uppers == letters && letters > 1:
		return allCaps
	case uppers > 0 && innerUpper && !scottish(w):
		return mixed
	case firstUpper:
		return capital
	default:
		return lower
	}
}

// scottish reports a name like McDonald or MacLeod, whose inner capital means nothing.
func scottish(w string) bool {
	for _, prefix := range []string{"Mc", "Mac", "De", "Di", "Le", "La", "Van", "Fitz"} {
		if len(w) > len(prefix)+2 && w[:len(prefix)] == prefix && shapeOf(w[len(prefix):]) == capital {
			return true
		}
	}
	return false
}
