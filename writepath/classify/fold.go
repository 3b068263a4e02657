package classify

import (
	"unicode"
	"unicode/utf8"
)

// latinBase has the base letters of U+00C0 to U+017F in order; * stands for what is no letter
// or folds to two.
const latinBase = "aaaaaa*ceeeeiiiidnooooo*ouuuuyt*aaaaaa*ceeeeiiiidnooooo*ouuuuyty" +
	"aaaaaaccccccccddddeeeeeeeeeegggggggghhhhiiiiiiiiii**jjkkkllllllllllnnnnnnnnn" +
	"oooooo**rrrrrrssssssssttttttuuuuuuuuuuuuwwyyyzzzzzzs"

// appendFolded appends the letter r as the lexicon has it: lower case, Latin letters without
// accents, full-width and tag letters as ASCII.
func appendFolded(dst []byte, r rune) []byte {
	switch {
	case r < utf8.RuneSelf:
		return append(dst, lowerASCII(byte(r&0x7F)))
	case r == 'ß' || r == 'ẞ':
		return append(dst, "ss"...)
	case r == 'æ' || r == 'Æ':
		return append(dst, "ae"...)
	case r == 'œ' || r == 'Œ':
		return append(dst, "oe"...)
	case r >= 0xC0 && r <= 0x17F && latinBase[r-0xC0] != '*':
		return append(dst, latinBase[r-0xC0])
	case r >= 0xFF21 && r <= 0xFF5A:
		return append(dst, lowerASCII(byte(r-0xFF21)+'A'))
	case r >= tagFirst && r <= tagLast:
		return append(dst, lowerASCII(byte(r-tagFirst)+' '))
	default:
		return utf8.AppendRune(dst, unicode.ToLower(r))
	}
}

func lowerASCII(b byte) byte {
	if 'A' <= b && b <= 'Z' {
		return b + 'a' - 'A'
	}
	return b
}

// Tag characters repeat ASCII and are not shown.
const (
	tagFirst = 0xE0020
	tagLast  = 0xE007E
)

// wordRune says what a character that is not ASCII does to the word it stands in.
type wordRune int

const (
	endsWord wordRune = iota
	partOfWord
	unseen // and without a meaning
	pictograph
)

func classOfRune(r rune) wordRune {
	switch {
	case r == 0xAD, r == 0x34F, r >= 0x200B && r <= 0x200F, r >= 0x2060 && r <= 0x2064, r == 0xFEFF,
		r >= 0xFE00 && r <= 0xFE0F, r >= 0x300 && r <= 0x36F:
		return unseen
	case r >= 0x3040 && r <= 0x30FF, r >= 0x3400 && r <= 0x9FFF, r >= 0xAC00 && r <= 0xD7A3:
		return pictograph // without spaces between words, or with endings grown on
	case r >= tagFirst && r <= tagLast:
		if a := r - tagFirst + ' '; a >= 'A' && a <= 'Z' || a >= 'a' && a <= 'z' {
			return partOfWord
		}
		return endsWord
	case unicode.IsLetter(r), unicode.Is(unicode.M, r):
		return partOfWord
	default:
		return endsWord
	}
}

// hides reports whether r shows nothing, or changes the order of what is shown.
func hides(r rune) bool { return r >= tagFirst && r <= tagLast || r == 0x202D || r == 0x202E }

// unmask replaces letters of other alphabets that look like Latin ones, in a word that mixes
// them.
func unmask(word []byte) []byte {
	var latin, other bool
	for _, b := range word {
		latin = latin || b < utf8.RuneSelf
		other = other || b >= utf8.RuneSelf
	}
	if !latin || !other {
		return word
	}
	out := make([]byte, 0, len(word))
	for _, r := range string(word) {
		switch r {
		case 'а', 'α':
			r = 'a'
		case 'е', 'ε':
			r = 'e'
		case 'о', 'ο':
			r = 'o'
		case 'р', 'ρ':
			r = 'p'
		case 'с', 'ϲ':
			r = 'c'
		case 'у', 'γ':
			r = 'y'
		case 'х', 'χ':
			r = 'x'
		case 'і', 'ι':
			r = 'i'
		case 'ѕ':
			r = 's'
		case 'ј':
			r = 'j'
		case 'һ':
			r = 'h'
		case 'ԁ':
			r = 'd'
		case 'ν', 'ѵ':
			r = 'v'
		case 'т', 'τ':
			r = 't'
		case 'к', 'κ':
			r = 'k'
		case 'м':
			r = 'm'
		case 'н':
			r = 'n'
		}
		out = utf8.AppendRune(out, r)
	}
	return out
}
