package entity

import (
	"strings"
	"unicode/utf8"
)

// sense is a set of what a word can be.
type sense uint32

const (
	isStop sense = 1 << iota
	isGiven
	isAmbiguousGiven
	isUnclearFirst
	isPlace
	isOrg
	isProduct
	isEvent
	isTitleWord
	isRank
	isLegal
	isOrgWord
	isPlaceWord
	isEventWord
	isProductWord
	isOfWord
	isPersonVerb
	beforePerson
	beforePlace
	beforeOrg
	signsGerman
	signsFrench
	signsSpanish
	signsEnglish
	isDeterminer
	isGermanStop
	isRomanceStop
)

// known is what is a name by the lists alone.
const known = isGiven | isPlace | isOrg | isProduct | isEvent

// table tells the senses of words and of names of several words.
type table struct {
	words map[string]sense
	// longest is the number of words of the longest name.
	longest int
}

// lexicon is read by every call.
//
//nolint:gochecknoglobals // a table, written once while the package initialises and only read afterwards
var lexicon = newTable()

func newTable() *table {
	t := &table{words: map[string]sense{}}
	for list, s := range map[string]sense{
		englishWords: isStop, germanWords: isGermanStop, romanceWords: isRomanceStop,
		givenNames: isGiven, ambiguousGiven: isAmbiguousGiven, unclearFirst: isUnclearFirst, places: isPlace, organizations: isOrg,
		products: isProduct, events: isEvent, titleWords: isTitleWord, rankWords: isRank, legalForms: isLegal, orgWords: isOrgWord, placeWords: isPlaceWord,
		eventWords: isEventWord, productWords: isProductWord, ofWords: isOfWord, personVerbs: isPersonVerb, personBefore: beforePerson,
		placeBefore: beforePlace, orgBefore: beforeOrg, germanSigns: signsGerman, frenchSigns: signsFrench, spanishSigns: signsSpanish,
		englishSigns: signsEnglish, germanDeterminers: isDeterminer,
	} {
		for w := range strings.FieldsSeq(list) {
			w = fold(strings.ReplaceAll(w, "_", " "))
			t.words[w] |= s
			t.longest = max(t.longest, strings.Count(w, " ")+1)
		}
	}
	return t
}

func sensesOf(folded string) sense { return lexicon.words[folded] }

func (s sense) has(t sense) bool { return s&t != 0 }

// knownName reports whether a folded word is a name by the lists alone.
func knownName(folded string) bool { return sensesOf(folded).has(known) }

func isTitle(folded string) bool { return sensesOf(strings.Trim(folded, ".")).has(isTitleWord) }

func isArticle(folded string) bool { return folded == articleWords }

func isLegalForm(folded string) bool { return sensesOf(strings.Trim(folded, ".")).has(isLegal) }

// listed guesses the type of a name that the lists have.
func listed(s sense) (Type, bool) {
	switch {
	case s.has(isPlace):
		return Place, true
	case s.has(isOrg):
		return Organization, true
	case s.has(isProduct):
		return Product, true
	case s.has(isEvent):
		return Event, true
	case s.has(isGiven | isAmbiguousGiven):
		return Person, true
	default:
		return Other, false
	}
}

// nounEnding reports whether a folded word ends as German common nouns do.
func nounEnding(folded string) bool {
	for end := range strings.FieldsSeq(germanNounEndings) {
		if strings.HasSuffix(folded, end) && utf8.RuneCountInString(folded) > utf8.RuneCountInString(end)+2 {
			return true
		}
	}
	return false
}

// language is what a text is taken to be written in.
type language int

const (
	english language = iota
	german
	french
	spanish
)

// guessLanguage counts function words. Without any a text is English, whose rules are the
// common ones.
func guessLanguage(tokens []token) language {
	var votes [4]int
	for i := range tokens {
		s := sensesOf(tokens[i].folded)
		for lang, sign := range [...]sense{english: signsEnglish, german: signsGerman, french: signsFrench, spanish: signsSpanish} {
			if s.has(sign) {
				votes[lang] += 2
			}
		}
		if s.has(isGermanStop) && !s.has(isStop) {
			votes[german]++
		}
	}
	best := english
	for lang, n := range votes {
		if n > votes[best] {
			best = language(lang)
		}
	}
	return best
}
