package classify

import (
	"sort"
	"strings"
	"unicode/utf8"
)

// wordSet is a set of word classes.
type wordSet [2]uint64

func setOf(classes ...wordClass) wordSet {
	var s wordSet
	for _, c := range classes {
		s[c>>6] |= 1 << (c & 63)
	}
	return s
}

func (s wordSet) has(c wordClass) bool { return s[c>>6]&(1<<(c&63)) != 0 }

func (s wordSet) meets(t wordSet) bool { return s[0]&t[0]|s[1]&t[1] != 0 }

func (s wordSet) union(t wordSet) wordSet { return wordSet{s[0] | t[0], s[1] | t[1]} }

// hit is a word or a pair of words that the lexicon knows, with its place in the text and its
// number among all words there.
type hit struct {
	start, end, ord int
	set             wordSet
}

// maxWord is the length in bytes of the longest word that is looked up.
const maxWord = 31

// lexicon tells the classes of words.
type lexicon struct {
	entries map[string]wordSet
	// filter has a bit for every single word, by a cheap hash, so that most other words cost
	// no look-up.
	filter [1 << filterBits / 64]uint64
	// pictographs are the first characters of entries in scripts without spaces.
	pictographs map[rune]bool
}

func newLexicon() *lexicon {
	l := &lexicon{entries: map[string]wordSet{}, pictographs: map[rune]bool{}}
	for class, words := range vocabulary() {
		for w := range strings.FieldsSeq(words) {
			w = strings.ReplaceAll(w, "_", " ")
			l.entries[w] = l.entries[w].union(setOf(class))
			l.index(w)
		}
	}
	return l
}

// markBeginnings gives the words that begin a phrase a class of their own.
func (l *lexicon) markBeginnings(phrases []phrase) {
	var firsts wordSet
	for i := range phrases {
		firsts = firsts.union(setOf(phrases[i].steps[0]))
	}
	for w, set := range l.entries {
		if set.meets(firsts) {
			l.entries[w] = set.union(setOf(beginsPhrase))
		}
	}
}

func (l *lexicon) index(entry string) {
	if r, _ := utf8.DecodeRuneInString(entry); classOfRune(r) == pictograph {
		l.pictographs[r] = true
		return
	}
	first, second, pair := strings.Cut(entry, " ")
	l.admit(first)
	if pair {
		l.entries[first] = l.entries[first].union(setOf(beginsPair))
		l.admit(second)
	}
}

const filterBits = 15

func filterIndex[T string | []byte](word T) uint32 {
	n := len(word)
	h := uint32(word[0])<<16 | uint32(word[n-1])<<8 | uint32(word[n/2])
	return (h*31 + uint32(n&0xFF)) * 2654435761 >> (32 - filterBits)
}

func (l *lexicon) admit(word string) {
	i := filterIndex(word)
	l.filter[i/64] |= 1 << (i % 64)
}

func (l *lexicon) mayKnow(word []byte) bool {
	i := filterIndex(word)
	return l.filter[i/64]&(1<<(i%64)) != 0
}

// anyHit reports whether a word of the class occurs.
func (s *scan) anyHit(c wordClass) bool {
	for i := range s.hits {
		if s.hits[i].set.has(c) {
			return true
		}
	}
	return false
}

// hitsBefore returns the number of hits that begin before pos.
func (s *scan) hitsBefore(pos int) int {
	return sort.Search(len(s.hits), func(i int) bool { return s.hits[i].start >= pos })
}

// near reports whether a word of the class stands at most before bytes before start or after
// bytes after end.
func (s *scan) near(c wordClass, start, end, before, after int) bool {
	first := s.hitsBefore(start)
	for i := first - 1; i >= 0 && s.hits[i].start >= start-before-maxWord; i-- {
		if h := &s.hits[i]; h.set.has(c) && h.end <= start && start-h.end <= before {
			return true
		}
	}
	for i := first; i < len(s.hits) && s.hits[i].start <= end+after; i++ {
		if s.hits[i].set.has(c) {
			return true
		}
	}
	return false
}

// maxNameGap is how far a name may stand before what it names.
const maxNameGap = 24

// named reports whether the last word before pos is of the class: "invoice no. 123" and
// "order #123", but not "paid the invoice with 123". Words like "number" and "is" may stand
// between.
func (s *scan) named(c wordClass, pos int) bool {
	at := pos
	for i := s.hitsBefore(pos) - 1; i >= 0; i-- {
		h := &s.hits[i]
		if h.end > at {
			if h.set.has(c) && h.end <= pos { // the second word of a pair, seen first
				return true
			}
			continue
		}
		if pos-h.end > maxNameGap || s.lettersIn(h.end, at) {
			return false
		}
		if h.set.has(c) {
			return true
		}
		if !h.set.has(wordFiller) {
			return false
		}
		at = h.start
	}
	return false
}

func (s *scan) lettersIn(from, to int) bool {
	for i := from; i < to; i++ {
		if s.bytes[s.text[i]]&(letter|high) != 0 {
			return true
		}
	}
	return false
}
