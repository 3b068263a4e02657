package conflict

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// minSubjectRunes is the length from which a word can be a subject, as in the reasoning graph.
const minSubjectRunes = 4

// sharesSubject reports whether both texts have a word in common that can name what they are
// about: a name, by its capital, or a word of minSubjectRunes that is not a filler. It errs
// towards true: a text without such a word, or in a script that writes no spaces, shares its
// subject with every other.
func sharesSubject(incoming, other string) bool {
	words, open := subjects(incoming)
	if open || len(words) == 0 {
		return true
	}
	others, open := subjects(other)
	if open {
		return true
	}
	for w := range words {
		if others[w] {
			return true
		}
	}
	return false
}

// subjects returns the words, lower-cased, that can name a subject; open reports that the text
// cannot be cut into words.
func subjects(text string) (words map[string]bool, open bool) {
	words = map[string]bool{}
	for _, w := range strings.FieldsFunc(text, func(r rune) bool { return !wordRune(r) }) {
		if strings.ContainsFunc(w, unspaced) {
			return nil, true
		}
		first, _ := utf8.DecodeRuneInString(w)
		lower := strings.ToLower(w)
		if !filler(lower) && (unicode.IsUpper(first) || utf8.RuneCountInString(w) >= minSubjectRunes) {
			words[lower] = true
		}
	}
	return words, false
}

func wordRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
}

// unspaced reports a letter of a script that writes no spaces between words.
func unspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao,
		unicode.Khmer, unicode.Myanmar, unicode.Tibetan)
}

// filler reports a word that says nothing of the subject. "The" and its like are here because
// a sentence begins with a capital.
func filler(w string) bool {
	switch w {
	case "that", "this", "with", "from", "have", "been", "were", "will", "they", "their", "about", "which",
		"the", "a", "an", "i", "it", "he", "she", "we", "you", "my", "his", "her", "its", "our", "your",
		"is", "are", "in", "on", "at", "to", "of", "and", "or", "not", "no", "does", "doesn", "these", "those", "there":
		return true
	default:
		return false
	}
}

// maxSentenceWords bounds the sentences that a rule reads: what is longer has room for a clause
// that changes its meaning.
const maxSentenceWords = 16

// sentence is a text that is one plain sentence.
type sentence struct {
	// words are as written, lower the same in lower case with contractions written out.
	words, lower []string
}

// plain reads a text that is one statement of letters, digits, apostrophes and hyphens, with
// full stop or without. Of anything else, such as a question, a quotation, a list, a second
// sentence or a clause set off by a comma, it says so. Commas are allowed where a date has one.
func plain(text string) (sentence, bool) {
	text = strings.TrimSpace(text)
	text = strings.TrimSuffix(text, ".")
	text = strings.NewReplacer("\u2019", "'").Replace(text)
	var s sentence
	for _, w := range strings.Fields(text) {
		if strings.HasSuffix(w, ",") && dateWord(strings.TrimSuffix(w, ",")) {
			w = strings.TrimSuffix(w, ",")
		}
		for _, r := range w {
			if !wordRune(r) && r != '\'' && r != '-' && r != '+' {
				return sentence{}, false
			}
		}
		lower := strings.ToLower(w)
		if stem, ok := strings.CutSuffix(lower, "n't"); ok && (stem == "is" || stem == "does" || stem == "has") {
			s.words = append(s.words, w[:len(stem)], "not")
			s.lower = append(s.lower, stem, "not")
			continue
		}
		s.words, s.lower = append(s.words, w), append(s.lower, lower)
	}
	return s, len(s.words) > 0 && len(s.words) <= maxSentenceWords
}

// sameWords reports that two texts are the same words in the same order, whatever their case,
// spacing and final full stop.
func sameWords(a, b string) bool {
	x := strings.Fields(strings.TrimSuffix(strings.TrimSpace(a), "."))
	y := strings.Fields(strings.TrimSuffix(strings.TrimSpace(b), "."))
	if len(x) != len(y) || len(x) == 0 {
		return false
	}
	for i := range x {
		if !strings.EqualFold(x[i], y[i]) {
			return false
		}
	}
	return true
}
