package lexical

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// isASCII reports whether s has no byte above 0x7F.
func isASCII[T string | []byte](s T) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// appendFolded appends the case folding of s (NFKC, valid UTF-8), in NFC, with decimal
// digits of every script as ASCII and typographic apostrophes as '. Characters that mean
// nothing to a reader (zero-width joiners, soft hyphens, variation selectors) are dropped.
func appendFolded(dst []byte, s string, fold *cases.Caser) []byte {
	if isASCII(s) {
		for i := range len(s) {
			b := s[i]
			if 'A' <= b && b <= 'Z' {
				b += 'a' - 'A'
			}
			dst = append(dst, b)
		}
		return dst
	}
	start := len(dst)
	for _, r := range norm.NFC.String(fold.String(s)) {
		switch {
		case r == '\u2019' || r == '\u02BC' || r == '\uFF07':
			r = '\''
		case r == 'ё':
			r = 'е' // as Russian mostly writes it, and before stemming, which minds
		case r == '\u0307' && len(dst) > start && dst[len(dst)-1] == 'i':
			continue // the folding of the Turkish capital İ is i and a dot
		case r >= 0x00AD && ignorable(r):
			continue
		default:
			if d := digitOf(r); d >= 0 {
				r = '0' + d
			}
		}
		dst = utf8.AppendRune(dst, r)
	}
	return dst
}

func ignorable(r rune) bool {
	switch {
	case r == 0x00AD, r == 0x034F, r == 0x0640: // soft hyphen, grapheme joiner, Arabic tatweel
		return true
	case r >= 0x200B && r <= 0x200F, r >= 0x2060 && r <= 0x206F, r == 0xFEFF:
		return true
	case r >= 0xFE00 && r <= 0xFE0F, r >= 0xE0000 && r <= 0xE0FFF:
		return true
	}
	return false
}

// appendBase appends a stem without its accents, for the scripts where a reader treats an
// accent as optional: Latin, Greek, Hebrew points, Arabic vowel signs and hamza carriers.
// Elsewhere a mark is a letter (Devanagari vowels, Cyrillic й) and stays; of Cyrillic, only
// stress marks are dropped.
//
// The price is that a few words of languages that count å, ä, ö or ñ as letters fall
// together (Swedish hår and här, Spanish año and ano); the gain is that text typed on
// another keyboard finds what it means.
func appendBase(dst, stem []byte, s script) []byte {
	switch s {
	case scriptLatin, scriptGreek, scriptHebrew, scriptArabic:
	case scriptCyrillic:
		for _, r := range string(stem) {
			if r == 0x0300 || r == 0x0301 {
				continue
			}
			dst = utf8.AppendRune(dst, r)
		}
		return dst
	default:
		return append(dst, stem...)
	}
	start := len(dst)
	var scratch [256]byte
	for _, r := range string(norm.NFD.Append(scratch[:0], stem...)) {
		switch r {
		case 'ø':
			r = 'o'
		case 'ł':
			r = 'l'
		case 'đ', 'ð':
			r = 'd'
		case 'ı':
			r = 'i'
		case 'ħ':
			r = 'h'
		case 'æ':
			dst = append(dst, 'a')
			r = 'e'
		case 'œ':
			dst = append(dst, 'o')
			r = 'e'
		case 'þ':
			dst = append(dst, 't')
			r = 'h'
		default:
			if r >= 0x0300 && unicode.Is(unicode.Mn, r) {
				continue
			}
		}
		dst = utf8.AppendRune(dst, r)
	}
	if len(dst) == start { // nothing but marks
		dst = append(dst, stem...)
	}
	return dst
}
