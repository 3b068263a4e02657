package extract

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/memkernel/memkernel/kernel/mem"
)

// split cuts a text into parts of at most PartTokens. The parts joined are the text, but for
// parts of white space alone, which are left out.
func (e *Extractor) split(text string) []string {
	if e.opts.PartTokens == 0 || mem.EstimateTokens(text) <= e.opts.PartTokens {
		return []string{text}
	}
	var parts []string
	for text != "" {
		n := boundary(text, 4*e.opts.PartTokens)
		if strings.TrimSpace(text[:n]) != "" {
			parts = append(parts, text[:n])
		}
		text = text[n:]
	}
	return parts
}

// boundary returns where the best part of at most runes characters ends: behind the last
// paragraph in its second half, or else the last line, sentence, word or character.
func boundary(text string, runes int) int {
	window, half := len(text), 0
	count := 0
	for i := range text {
		if count == runes/2 {
			half = i
		}
		if count == runes {
			window = i
			break
		}
		count++
	}
	if window == len(text) {
		return window
	}
	best, rank := window, 0
	for i, r := range text[half:window] {
		at := half + i + utf8.RuneLen(r)
		if got := breaks(text, at, r); got > 0 && got >= rank {
			best, rank = at, got
		}
	}
	return best
}

// breaks returns how good a place it is to cut behind the character r, which ends at at.
func breaks(text string, at int, r rune) int {
	next, _ := utf8.DecodeRuneInString(text[at:])
	switch {
	case r == '\n' && at >= 2 && blankLine(text[:at]):
		return 4
	case r == '\n':
		return 3
	case strings.ContainsRune("。！？｡", r), strings.ContainsRune(".!?…", r) && unicode.IsSpace(next):
		return 2
	case unicode.IsSpace(r):
		return 1
	default:
		return 0
	}
}

// blankLine reports whether a text that ends in a line break ends in an empty line.
func blankLine(text string) bool {
	before := strings.TrimRight(text[max(0, len(text)-9):len(text)-1], " \t\r")
	return strings.HasSuffix(before, "\n")
}
