package classify

import (
	"strings"
	"unicode/utf8"
)

// reader reads the words of one text.
type reader struct {
	lex  *lexicon
	hits []hit
	ord  int
	// pair holds a word that begins pairs, a space and the word after it.
	pair      [2*maxWord + 1]byte
	headLen   int // 0 if the last word begins no pair
	headStart int
	hidden    bool
}

// readWords finds the words of the text that the lexicon knows.
func (s *scan) readWords() {
	r := reader{lex: s.words, hits: make([]hit, 0, min(8+len(s.text)/8, 1024))}
	r.read(s.text, s.bytes)
	s.hits, s.hidden = r.hits, r.hidden
}

func (r *reader) read(text string, parts *alphabets) {
	var word [maxWord + 4]byte
	for i := 0; i < len(text); {
		p := parts[text[i]]
		switch {
		case p&letter != 0:
			i = r.word(text, i, word[:0], parts)
		case p&high == 0:
			if p&digit != 0 {
				r.headLen = 0 // a number between two words
			}
			i++
		default:
			c, size := utf8.DecodeRuneInString(text[i:])
			switch classOfRune(c) {
			case pictograph:
				i = r.pictograph(text, i, c, size)
			case partOfWord:
				i = r.word(text, i, word[:0], parts)
			default:
				r.note(text, i, c)
				i += size
			}
		}
	}
}

// note remembers characters that hide something. The flags of parts of countries are written
// with tag characters too, behind a black flag.
func (r *reader) note(text string, i int, c rune) {
	if !r.hidden && hides(c) {
		before := strings.TrimRightFunc(text[max(0, i-40):i], hides)
		r.hidden = !strings.HasSuffix(before, "\U0001F3F4")
	}
}

// word reads the word that begins at i and returns its end. A capital after a small letter
// begins a new word, as in apiKey.
func (r *reader) word(text string, i int, buf []byte, parts *alphabets) int {
	start := i
	plain := true
scan:
	for i < len(text) {
		b := text[i]
		switch p := parts[b]; {
		case p&letter != 0:
			if p&upperCase != 0 && i > start && parts[text[i-1]]&lowerCase != 0 {
				break scan
			}
			if len(buf) <= maxWord {
				buf = append(buf, lowerASCII(b))
			}
			i++
		case p&high == 0:
			break scan
		default:
			c, size := utf8.DecodeRuneInString(text[i:])
			switch classOfRune(c) {
			case partOfWord:
				if len(buf) <= maxWord {
					buf = appendFolded(buf, c)
				}
				plain = false
				r.note(text, i, c)
			case unseen:
			default:
				break scan
			}
			i += size
		}
	}
	if !plain {
		buf = unmask(buf)
	}
	r.look(start, i, buf)
	return i
}

// look looks a word up, by itself and with the word before it.
func (r *reader) look(start, end int, word []byte) {
	r.ord++
	n := len(word)
	if n == 0 || n > maxWord || !r.lex.mayKnow(word) {
		r.headLen = 0
		return
	}
	if r.headLen > 0 && start-r.headStart <= 2*maxWord+8 {
		pair := append(append(r.pair[:r.headLen], ' '), word...)
		if set, ok := r.lex.entries[string(pair)]; ok {
			r.hits = append(r.hits, hit{r.headStart, end, r.ord, set})
		}
	}
	set := r.lex.entries[string(word)]
	if set != (wordSet{}) && set != setOf(beginsPair) {
		r.hits = append(r.hits, hit{start, end, r.ord, set})
	}
	r.headLen = 0
	if set.has(beginsPair) {
		r.headLen, r.headStart = copy(r.pair[:maxWord], word), start
	}
}

// maxPictographs is the length in characters of the longest entry in a script without spaces.
const maxPictographs = 8

// pictograph looks up the longest entry that begins at i and returns where to go on.
func (r *reader) pictograph(text string, i int, c rune, size int) int {
	r.headLen = 0
	r.ord++
	if !r.lex.pictographs[c] {
		return i + size
	}
	var best wordSet
	bestEnd := 0
	end := i
	for range maxPictographs {
		next, n := utf8.DecodeRuneInString(text[end:])
		if n == 0 || classOfRune(next) != pictograph {
			break
		}
		end += n
		if set, ok := r.lex.entries[text[i:end]]; ok {
			best, bestEnd = set, end
		}
	}
	if bestEnd == 0 {
		return i + size
	}
	r.hits = append(r.hits, hit{i, bestEnd, r.ord, best})
	return bestEnd
}
