package classify

import (
	"strings"
	"unicode/utf8"
)

// minNumberDigits is how many digits a text needs to hold a number that matters.
const minNumberDigits = 4

// Bounds on a chain of digit groups.
const (
	maxGroups = 10
	maxDigits = 24
)

// chain is a row of groups of digits with one and the same separator, for example 2024-01-15
// or 4111 1111 1111 1111. Its extent is that of whole groups.
type chain struct {
	start, end int
	digits     [maxDigits]byte // '0' to '9'
	n          int
	sizes      [maxGroups]int
	ends       [maxGroups]int
	groups     int
	// sep is the separator, 0 for a single group, and mixed says that it is not the only one.
	sep   byte
	mixed bool
}

// findNumbers walks over all runs of letters and digits and tries what can begin there.
func (s *scan) findNumbers() {
	for i := 0; i < len(s.text); {
		p := s.bytes[s.text[i]]
		if p&alnumeric == 0 {
			if s.text[i] == ':' && s.bytes.has(s.text, i+1, colon) && !s.bytes.has(s.text, i-1, alnumeric|colon) {
				i = max(i+1, s.ipv6At(i))
				continue
			}
			i++
			continue
		}
		end := s.bytes.run(s.text, i, len(s.text), letter)
		if end-i != 2 && end > i && !s.bytes.has(s.text, end, digit|colon) {
			i = end // a word
			continue
		}
		end = s.bytes.run(s.text, end, len(s.text), alnumeric)
		if stop := s.numberAt(i, end); stop > i {
			end = stop
		}
		i = end
	}
}

// numberAt tries the run of letters and digits from i to end. It returns where the number
// that begins there ends, or 0. What begins inside of an identifier begins nowhere.
func (s *scan) numberAt(i, end int) int {
	if s.bytes.has(s.text, i-1, underscore) || s.letterBefore(i) {
		return 0
	}
	if end-i <= 4 && s.bytes.has(s.text, end, colon) && onlyOf(s.bytes, s.text[i:end], digit|lowerHex|upperHex) {
		if stop := s.ipv6At(i); stop > 0 {
			return stop
		}
	}
	if !onlyOf(s.bytes, s.text[i:end], digit) {
		return s.mixedAt(i, end)
	}
	if stop := s.phoneAt(i); stop > 0 {
		return stop
	}
	if stop := s.ipv4At(i); stop > 0 {
		return stop
	}
	return s.digitsAt(i)
}

// digitsAt tries cards and national identifiers on the chain at i, the longest first.
func (s *scan) digitsAt(i int) int {
	if s.continues(i) {
		return 0
	}
	c := s.chainAt(i)
	for ; c.groups > 0; c.shorten() {
		if c.n < 8 {
			break
		}
		if s.goesOn(&c) {
			continue
		}
		if s.cardIn(&c) || s.nationalIn(&c) || s.nationalPhone(&c) {
			return c.end
		}
	}
	return s.signedID(i)
}

// continues reports whether the digits at i belong to a number or a name that began before.
func (s *scan) continues(i int) bool {
	if i == 0 {
		return false
	}
	switch c := s.text[i-1]; c {
	case '.', ',', '/', '-', ':':
		return s.bytes.has(s.text, i-2, digit) || c == '-' && s.bytes.has(s.text, i-2, alnumeric)
	case '$', '#', '%', '~', '=':
		return c != '=' && c != '#'
	default:
		return s.bytes.has(s.text, i-1, alnumeric|underscore)
	}
}

// goesOn reports whether the number goes on behind the chain, so that the chain is only the
// front of it. Behind a space that is so if a group of the same size follows.
func (s *scan) goesOn(c *chain) bool {
	next := c.end
	if s.bytes.has(s.text, next, letter|underscore) || s.letterAt(next) {
		return true
	}
	sep, size := s.separatorAt(next)
	if !s.bytes.has(s.text, next+size, digit) {
		return next < len(s.text) && s.text[next] == '%'
	}
	switch sep {
	case '.', ',', '-', '/', ':':
		return true
	case ' ':
		from := next + size
		return c.sep == ' ' && s.bytes.run(s.text, from, 8, digit)-from == c.sizes[c.groups-1]
	default:
		return false
	}
}

// letterBefore reports whether a letter that is not ASCII ends at i, of a script with spaces.
func (s *scan) letterBefore(i int) bool {
	if !s.bytes.has(s.text, i-1, high) {
		return false
	}
	r, _ := utf8.DecodeLastRuneInString(s.text[:i])
	return classOfRune(r) == partOfWord
}

// letterAt reports the same of the letter that begins at i.
func (s *scan) letterAt(i int) bool {
	if !s.bytes.has(s.text, i, high) {
		return false
	}
	r, _ := utf8.DecodeRuneInString(s.text[i:])
	return classOfRune(r) == partOfWord
}

// chainAt reads the chain of groups at i.
func (s *scan) chainAt(i int) chain {
	c := chain{start: i}
	for c.groups < maxGroups {
		end := s.bytes.run(s.text, i, maxDigits+1, digit)
		if end == i || c.n+end-i > maxDigits {
			break
		}
		c.n += copy(c.digits[c.n:], s.text[i:end])
		c.sizes[c.groups], c.ends[c.groups] = end-i, end
		c.groups++
		c.end = end
		sep, size := s.separatorAt(end)
		if !s.bytes.has(s.text, end+size, digit) || strings.IndexByte(" -./", sep) < 0 || c.sep != 0 && sep != c.sep && !mayFollow(c.sep, sep) {
			break
		}
		if c.sep == 0 {
			c.sep = sep
		}
		c.mixed = c.mixed || sep != c.sep
		i = end + size
	}
	if c.groups == 1 {
		c.sep = 0
	}
	return c
}

// separatorAt returns the sign at i and its length, with the many spaces and dashes of
// typesetting as those of a keyboard.
func (s *scan) separatorAt(i int) (sep byte, size int) {
	if i >= len(s.text) {
		return 0, 0
	}
	if s.text[i] < utf8.RuneSelf {
		return s.text[i], 1
	}
	switch r, n := utf8.DecodeRuneInString(s.text[i:]); r {
	case 0xA0, 0x2007, 0x2009, 0x202F:
		return ' ', n
	case 0x2010, 0x2011, 0x2012, 0x2013, 0x2212:
		return '-', n
	default:
		return 0, n
	}
}

// mayFollow reports whether two separators occur in one number, as in 384.172.956-40.
func mayFollow(first, next byte) bool {
	return first == '.' && next == '-' || first == '-' && next == '.'
}

// shorten drops the last group.
func (c *chain) shorten() {
	c.groups--
	c.n -= c.sizes[c.groups]
	if c.groups > 0 {
		c.end = c.ends[c.groups-1]
	}
	if c.groups == 1 {
		c.sep = 0
	}
}

// layout reports whether the groups have the given sizes, written as in "3-2-4".
func (c *chain) layout(sizes string) bool {
	if len(sizes) != 2*c.groups-1 {
		return false
	}
	for n := range c.groups {
		if c.sizes[n] != int(sizes[2*n]-'0') {
			return false
		}
	}
	return true
}

func atoi(s string) int {
	n := 0
	for i := range len(s) {
		n = n*10 + int(s[i]-'0')
	}
	return n
}

// num returns the number that digits from i to j make.
func (c *chain) num(i, j int) int { return atoi(string(c.digits[i:j])) }

func (c *chain) String() string { return string(c.digits[:c.n]) }
