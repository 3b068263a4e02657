package classify

import "strings"

// phoneAt adds the telephone number that begins with the digits at i or the signs before
// them, and returns its end, or 0.
func (s *scan) phoneAt(i int) int {
	switch {
	case s.bytes.has(s.text, i-1, slash) && s.text[i-1] == '+' && !s.bytes.has(s.text, i-2, alnumeric|slash):
		return s.internationalPhone(i-1, i)
	case i >= 2 && s.text[i-1] == '(' && s.text[i-2] == '+':
		return s.internationalPhone(i-2, i)
	case i >= 1 && s.text[i-1] == '(' && !s.bytes.has(s.text, i-2, alnumeric):
		return s.bracketedPhone(i)
	case strings.HasPrefix(s.text[i:], "00") && !s.continues(i) && s.phoneNamed(i, i+2):
		return s.internationalPhone(i, i+2)
	default:
		return 0
	}
}

// dialled is a number as it is written: its digits and where each of its groups ends.
type dialled struct {
	digits [2*maxE164 + 1]byte
	n      int
	groups int
	ends   [maxE164 + 1]int // of the text, at the end of each group
	counts [maxE164 + 1]int // of the digits, there
}

// upTo returns the digits of the groups up to and with group n.
func (d *dialled) upTo(n int) string { return string(d.digits[:d.counts[n]]) }

// readDialled reads digits with the separators of telephone numbers, at most two in a row.
// The trunk zero in brackets is left out.
func (s *scan) readDialled(i int) dialled {
	var d dialled
	for i < len(s.text) && d.n <= maxE164 && d.groups <= maxE164 {
		if strings.HasPrefix(s.text[i:], "(0)") && d.n > 0 {
			i += 3
		}
		end := s.bytes.run(s.text, i, maxE164+1, digit)
		if end > i {
			d.n += copy(d.digits[d.n:], s.text[i:end])
			d.ends[d.groups], d.counts[d.groups] = end, d.n
			d.groups++
		}
		i = end
		last := byte(0)
		for range 3 {
			sep, size := s.separatorAt(i)
			if sep == 0 || strings.IndexByte(" -./()", sep) < 0 || strings.HasPrefix(s.text[i:], "(0)") {
				break
			}
			if sep == ' ' && last == ' ' {
				return d
			}
			i, last = i+size, sep
		}
		if !s.bytes.has(s.text, i, digit) && !strings.HasPrefix(s.text[i:], "(0)") {
			break
		}
	}
	return d
}

// internationalPhone adds the number from start whose country code begins at i, as many of
// its groups as the plan allows.
func (s *scan) internationalPhone(start, i int) int {
	d := s.readDialled(i)
	for n := d.groups - 1; n >= 0; n-- {
		end := d.ends[n]
		if s.bytes.has(s.text, end, letter|underscore) || s.letterAt(end) || s.decimalAt(end) || !s.plan.valid(d.upTo(n)) {
			continue
		}
		s.add(Phone, weightContact, start, end)
		return end
	}
	return 0
}

// decimalAt reports whether a decimal fraction of one digit stands at i.
func (s *scan) decimalAt(i int) bool {
	return s.bytes.has(s.text, i, dot) && s.bytes.has(s.text, i+1, digit) && !s.bytes.has(s.text, i+2, digit)
}

// bracketedPhone adds a number that begins with an area code in brackets, whose first digit
// stands at i.
func (s *scan) bracketedPhone(i int) int {
	code := s.bytes.run(s.text, i, 6, digit)
	if code-i < 2 || code >= len(s.text) || s.text[code] != ')' {
		return 0
	}
	d := s.readDialled(i)
	for n := d.groups - 1; n >= 1; n-- {
		digits := d.upTo(n)
		end := d.ends[n]
		if s.bytes.has(s.text, end, letter|underscore) {
			continue
		}
		american := code-i == 3 && validNANP(digits) && (n == 2 && d.counts[1] == 6 || n == 1)
		if american || s.phoneNamed(i-1, end) && s.nationalDigits(digits) {
			s.add(Phone, weightContact, i-1, end)
			return end
		}
	}
	return 0
}

// nationalPhone adds the chain if it is written like an American number, or stands beside a
// word for telephones and could be a number of some country.
func (s *scan) nationalPhone(c *chain) bool {
	digits := c.String()
	american := (c.layout("3-3-4") && validNANP(digits) || c.layout("1-3-3-4") && digits[0] == '1' && validNANP(digits[1:])) &&
		(c.sep == '-' || c.sep == '.') && !c.mixed
	if !american && !s.phoneNamed(c.start, c.end) {
		return false
	}
	if s.named(wordReference, c.start) || c.layout("3-2-4") || s.bytes.has(s.text, c.start-1, slash) || !american && (!s.nationalDigits(digits) || datelike(c)) {
		return false
	}
	s.add(Phone, weightContact, c.start, c.end)
	return true
}

// phoneReach is how far before a number a word for telephones may stand.
const phoneReach = 32

// phoneNamed reports whether the text says that the digits from start to end are a telephone
// number: a word for it right before them; or near them, if they are grouped like one.
func (s *scan) phoneNamed(start, end int) bool {
	if s.named(wordPhone, start) || s.named(wordCall, start) {
		return true
	}
	grouped := s.text[start] == '0' || s.text[start] == '(' || strings.ContainsAny(s.text[start:end], " -")
	return grouped && (s.near(wordPhone, start, end, phoneReach, 0) || s.near(wordCall, start, end, phoneReach, 0))
}

// nationalDigits reports whether digits can be a number without its country code.
func (s *scan) nationalDigits(digits string) bool {
	n := len(digits)
	if n < 7 || n > 13 || sameDigits([]byte(digits)) || strings.HasPrefix(strings.TrimLeft(digits, "0"), "12345678") {
		return false
	}
	if n == 10 && digits[0] >= '2' && digits[0] <= '9' && digits[3] >= '2' && (digits[3:8] == "55501" || digits[3:] == "5551212") {
		return false
	}
	national := strings.TrimLeft(digits, "0")
	for code := range s.plan.fiction {
		if digits[0] == '0' && hasAnyPrefix(national, s.plan.fiction[code]...) {
			return false
		}
	}
	return true
}

// datelike reports whether the groups are a date, two years or another sort of number.
func datelike(c *chain) bool {
	year := func(i int) bool { y := c.num(i, i+4); return y >= 1900 && y < 2100 }
	switch {
	case c.layout("4-4"):
		return year(0) || year(4)
	case c.layout("4-2-2"):
		return year(0)
	case c.layout("2-2-4"):
		return year(4)
	case c.groups == 1 && c.n == 8:
		return year(0) && day(c.num(4, 6), c.num(6, 8)) || year(4) && day(c.num(2, 4), c.num(0, 2))
	default:
		return false
	}
}

// phoneDigits returns the digits of a written number, with a + if it has its country code.
func phoneDigits(written string) string {
	var b strings.Builder
	international := strings.HasPrefix(written, "+") || strings.HasPrefix(written, "(+")
	written = strings.Replace(written, "(0)", "", 1)
	for i := range len(written) {
		if c := written[i]; '0' <= c && c <= '9' {
			b.WriteByte(c)
		}
	}
	digits := b.String()
	switch {
	case international:
		return "+" + digits
	case strings.HasPrefix(digits, "00"):
		return "+" + digits[2:]
	case validNANP(digits):
		return "+1" + digits
	case strings.HasPrefix(digits, "1") && validNANP(digits[1:]):
		return "+" + digits
	default:
		return digits
	}
}
