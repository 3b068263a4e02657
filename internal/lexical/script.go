package lexical

// class says which of the package's treatments a character gets.
type class uint8

const (
	classWord   class = iota // scripts that put spaces between words
	classHan                 // ideographs: pairs and single characters
	classKana                // Hiragana, Katakana, Bopomofo: pairs
	classSEA                 // Thai, Lao, Khmer, Myanmar: pairs of code points
	classHangul              // words, particle-free words and pairs
)

// classOf classifies one character. Ranges are the blocks of the Unicode standard;
// everything that is in none of them is written with spaces, or is rare enough for the
// words of UAX #29 to do.
func classOf(r rune) class {
	switch {
	case r < 0x0E00:
		return classWord
	case r <= 0x0EFF: // Thai, Lao
		return classSEA
	case r >= 0x1000 && r <= 0x109F: // Myanmar
		return classSEA
	case r >= 0x1100 && r <= 0x11FF: // Hangul Jamo
		return classHangul
	case r >= 0x1780 && r <= 0x17FF: // Khmer
		return classSEA
	case r < 0x2E80:
		return classWord
	case r <= 0x2FDF, r == 0x3005, r == 0x3007: // radicals, iteration mark, zero
		return classHan
	case r >= 0x3041 && r <= 0x312F: // Hiragana, Katakana, Bopomofo
		return classKana
	case r >= 0x3130 && r <= 0x318F: // Hangul compatibility Jamo
		return classHangul
	case r >= 0x31A0 && r <= 0x31FF: // Bopomofo and Katakana extensions
		return classKana
	case r >= 0x3400 && r <= 0x4DBF, r >= 0x4E00 && r <= 0x9FFF: // Han
		return classHan
	case r >= 0xA960 && r <= 0xA97F: // Hangul Jamo extended A
		return classHangul
	case r >= 0xA9E0 && r <= 0xA9FF, r >= 0xAA60 && r <= 0xAA7F: // Myanmar extended
		return classSEA
	case r >= 0xAC00 && r <= 0xD7FF: // Hangul syllables, Jamo extended B
		return classHangul
	case r >= 0xF900 && r <= 0xFAFF, r >= 0x20000 && r <= 0x3FFFF: // Han
		return classHan
	case r >= 0x1B000 && r <= 0x1B16F: // Kana supplement and extensions
		return classKana
	}
	return classWord
}

// script is the alphabet of a word of classWord, which picks its stemmer.
type script uint8

const (
	scriptOther script = iota
	scriptLatin
	scriptGreek
	scriptCyrillic
	scriptHebrew
	scriptArabic
	scriptDevanagari
	scriptTamil
)

// scriptOf classifies a letter; the first letter of a word decides for all of it.
func scriptOf(r rune) script {
	switch {
	case r < 0x0250, r >= 0x1E00 && r <= 0x1EFF, r >= 0x2C60 && r <= 0x2C7F, r >= 0xA720 && r <= 0xA7FF:
		return scriptLatin
	case r >= 0x0370 && r <= 0x03FF, r >= 0x1F00 && r <= 0x1FFF:
		return scriptGreek
	case r >= 0x0400 && r <= 0x052F, r >= 0x2DE0 && r <= 0x2DFF, r >= 0xA640 && r <= 0xA69F:
		return scriptCyrillic
	case r >= 0x0590 && r <= 0x05FF:
		return scriptHebrew
	case r >= 0x0600 && r <= 0x06FF, r >= 0x0750 && r <= 0x077F, r >= 0x08A0 && r <= 0x08FF:
		return scriptArabic
	case r >= 0x0900 && r <= 0x097F:
		return scriptDevanagari
	case r >= 0x0B80 && r <= 0x0BFF:
		return scriptTamil
	}
	return scriptOther
}

// digitOf returns the value of a decimal digit of the scripts in common use, or -1.
func digitOf(r rune) rune {
	switch {
	case r < '0':
		return -1
	case r <= '9':
		return r - '0'
	case r < 0x0660:
		return -1
	}
	// Each script's digits are ten consecutive code points that start here.
	for _, zero := range [...]rune{
		0x0660, 0x06F0, 0x07C0, 0x0966, 0x09E6, 0x0A66, 0x0AE6, 0x0B66, 0x0BE6, 0x0C66,
		0x0CE6, 0x0D66, 0x0E50, 0x0ED0, 0x0F20, 0x1040, 0x17E0, 0x1810,
	} {
		if r >= zero && r <= zero+9 {
			return r - zero
		}
	}
	return -1
}
