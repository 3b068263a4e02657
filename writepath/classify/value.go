package classify

import (
	"math"
	"strings"
)

// placeholder reports whether a value stands for one that the reader is to put in: published
// examples, sequences, fillers. Only what is plainly no secret is one.
func placeholder(v string) bool {
	v = v[:min(len(v), maxMeasured)]
	for i := range len(v) {
		var words string
		switch lowerASCII(v[i]) {
		case 'e':
			words = "example"
		case 'x':
			words = "xxxx"
		case 'y':
			words = "your_ your- yourapi yourtoken yoursecret yourpass"
		case 'p':
			words = "placeholder"
		case 'c':
			words = "changeme change_me change-me"
		case 'r':
			words = "replace redacted"
		case 'd':
			words = "dummy deadbeef"
		case 'i':
			words = "insert"
		case 'm':
			words = "my_secret my-secret mysecret my_api my-api"
		case 'f':
			words = "foobar fake"
		case 's':
			words = "sample"
		case 't':
			words = "todo"
		case 'a':
			words = "abcdefghij"
		case '0':
			words = "0123456789 00000000"
		case '1':
			words = "1234567890"
		case '.':
			words = "..."
		case '*':
			words = "****"
		case '$':
			words = "${"
		case '{':
			words = "{{"
		case '<', '>':
			return true
		case 0xE2:
			words = "… ••••"
		default:
			continue
		}
		if foldPrefix(v[i:], words) {
			return true
		}
	}
	return distinct(v) <= 2
}

// foldPrefix reports whether v begins with one of the words of a list, in any case.
func foldPrefix(v, list string) bool {
	for w := range strings.FieldsSeq(list) {
		if len(v) >= len(w) && strings.EqualFold(v[:len(w)], w) {
			return true
		}
	}
	return false
}

// distinct counts the different bytes of v.
func distinct(v string) int {
	var seen [256]bool
	n := 0
	for i := range len(v) {
		if !seen[v[i]] {
			seen[v[i]] = true
			n++
		}
	}
	return n
}

// maxMeasured is how much of a value is measured.
const maxMeasured = 256

// entropy returns the Shannon entropy of v in bits a byte.
func entropy(v string) float64 {
	v = v[:min(len(v), maxMeasured)]
	var count [256]int
	for i := range len(v) {
		count[v[i]]++
	}
	bits := 0.0
	for _, n := range count {
		if n > 0 {
			p := float64(n) / float64(len(v))
			bits -= p * math.Log2(p)
		}
	}
	return bits
}

// looksDrawn reports whether v could have been drawn at random: enough entropy, and more than
// one sort of character.
func looksDrawn(v string, bits float64) bool {
	var sorts [3]bool
	for i := range len(v) {
		switch c := v[i]; {
		case '0' <= c && c <= '9':
			sorts[0] = true
		case 'a' <= c && c <= 'z':
			sorts[1] = true
		case 'A' <= c && c <= 'Z':
			sorts[2] = true
		}
	}
	return (sorts[0] && (sorts[1] || sorts[2]) || sorts[1] && sorts[2]) && entropy(v) >= bits && !placeholder(v)
}

// onlyOf reports whether v has bytes of the set only.
func onlyOf(bytes *alphabets, v string, set alphabet) bool {
	return bytes.run(v, 0, len(v), set) == len(v)
}
