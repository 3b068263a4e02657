package lexical

import "math/bits"

// language is a language the package can stem. The order is the order in which ties are
// broken, the default first.
type language uint8

const (
	english language = iota
	spanish
	french
	german
	portuguese
	italian
	dutch
	turkish
	romanian
	swedish
	danish
	norwegian
	finnish
	hungarian
	russian // this and the following are chosen by script
	arabic
	tamil
	hindi
)

// latinLanguages is the number of languages that detection chooses from.
const latinLanguages = russian

// languageSet is a bit set of languages.
type languageSet uint32

func setOf(ls ...language) languageSet {
	var s languageSet
	for _, l := range ls {
		s |= 1 << l
	}
	return s
}

func (s languageSet) has(l language) bool { return s&(1<<l) != 0 }

// detectWords bounds how many words of a text are looked at: a few hundred settle the
// question, and the cost of detection must not grow with the text.
const detectWords = 400

// detector adds up evidence for each Latin-script language.
type detector struct {
	score [latinLanguages]int
	words int
}

// see counts one folded word. A function word counts the more, the fewer languages share
// it; a word's telling letter counts a little, because names and loanwords carry them too.
func (d *detector) see(word []byte) {
	if d.words >= detectWords {
		return
	}
	d.words++
	if set := functionWordSet(word); set != 0 {
		d.add(set, 12/bits.OnesCount32(uint32(set)))
	}
	if set := letterEvidence(word); set != 0 {
		d.add(set, 3/min(3, bits.OnesCount32(uint32(set))))
	}
}

func (d *detector) add(set languageSet, weight int) {
	for ; set != 0; set &= set - 1 {
		d.score[bits.TrailingZeros32(uint32(set))] += weight
	}
}

// best returns the likeliest language, English when nothing speaks for any.
func (d *detector) best() language {
	best := english
	for l := english; l < latinLanguages; l++ {
		if d.score[l] > d.score[best] {
			best = l
		}
	}
	return best
}

// letterEvidence returns the languages that a letter of the word speaks for, none for a
// word in plain ASCII.
func letterEvidence(word []byte) languageSet {
	ascii := true
	for _, b := range word {
		if b >= 0x80 {
			ascii = false
			break
		}
	}
	if ascii {
		return 0
	}
	var set languageSet
	for _, r := range string(word) {
		set |= letterLanguages(r)
	}
	return set
}

func letterLanguages(r rune) languageSet {
	switch r {
	case 'ä':
		return setOf(german, swedish, finnish)
	case 'ö':
		return setOf(german, swedish, finnish, turkish, hungarian)
	case 'ü':
		return setOf(german, turkish, hungarian)
	case 'å':
		return setOf(swedish, danish, norwegian)
	case 'æ', 'ø':
		return setOf(danish, norwegian)
	case 'ñ', '¿', '¡':
		return setOf(spanish)
	case 'ã', 'õ':
		return setOf(portuguese)
	case 'ç':
		return setOf(french, portuguese, turkish)
	case 'ê':
		return setOf(french, portuguese)
	case 'è', 'ù':
		return setOf(french, italian)
	case 'ë', 'ï':
		return setOf(french, dutch)
	case 'î':
		return setOf(french, romanian)
	case 'œ', 'û':
		return setOf(french)
	case 'ì', 'ò':
		return setOf(italian)
	case 'ş', 'ğ', 'ı':
		return setOf(turkish)
	case 'ă', 'ș', 'ț', 'ţ':
		return setOf(romanian)
	case 'ő', 'ű':
		return setOf(hungarian)
	case 'í', 'ú':
		return setOf(spanish, portuguese, hungarian)
	case 'á', 'ó':
		return setOf(spanish, portuguese, hungarian)
	}
	return 0
}
