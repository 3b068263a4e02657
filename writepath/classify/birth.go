package classify

import "strings"

// Years of birth that count. Who was born before the first is history.
const (
	firstBirthYear = 1905
	lastBirthYear  = 2035
)

// birthReach is how far behind the word a date of birth may stand.
const birthReach = 28

// findBirthDates looks for full dates behind words for birth.
func (s *scan) findBirthDates() {
	for i := range s.hits {
		h := &s.hits[i]
		if !h.set.has(wordBirth) || s.near(wordNotPerson, h.start, h.start, 24, 0) {
			continue
		}
		if start := s.dateBefore(h.start); start >= 0 {
			s.add(DateOfBirth, weightPhrase+1, start, s.dateAt(start))
			continue
		}
		for at := h.end; at < min(len(s.text), h.end+birthReach); at++ {
			c := s.text[at]
			if c == '\n' && at > h.end+2 || c == '.' && s.blank(at+1) && at > h.end {
				break
			}
			if !s.bytes.has(s.text, at, alnumeric|high) || s.bytes.has(s.text, at-1, alnumeric|high) {
				continue
			}
			if end := s.dateAt(at); end > 0 {
				s.add(DateOfBirth, weightPhrase+1, at, end)
				break
			}
			if s.bytes.has(s.text, at, digit) {
				break
			}
		}
	}
}

// dateBefore returns where a full date begins that ends right before i, or -1.
func (s *scan) dateBefore(i int) int {
	end := s.skipBack(i)
	for at := max(0, end-birthReach); at < end; at++ {
		if s.bytes.has(s.text, at, alnumeric|high) && !s.bytes.has(s.text, at-1, alnumeric|high) && s.dateAt(at) == end {
			return at
		}
	}
	return -1
}

// dateAt returns the end of the full date that begins at i, in the order of any country, with
// the month as a number or a word; 0 if there is none.
func (s *scan) dateAt(i int) int {
	if !s.bytes.has(s.text, i, digit) {
		return s.monthFirst(i)
	}
	c := s.chainAt(i)
	for c.groups > 3 {
		c.shorten()
	}
	switch {
	case c.groups == 3 && c.sep != ' ' && c.sizes[0] == 4 && birthYear(c.num(0, 4)) && s.dayOf(&c, 1, 2):
		return c.end
	case c.groups == 3 && c.sep != ' ' && (c.sizes[2] == 4 && birthYear(c.num(c.n-4, c.n)) || c.sizes[2] == 2) && (s.dayOf(&c, 1, 0) || s.dayOf(&c, 0, 1)):
		return c.end
	case c.sizes[0] == 4 && strings.HasPrefix(s.text[c.ends[0]:], "年"), c.sizes[0] == 4 && strings.HasPrefix(s.text[c.ends[0]:], "년"):
		if n := strings.IndexAny(s.text[i:min(len(s.text), i+24)], "日일"); n > 0 && birthYear(c.num(0, 4)) {
			return i + n + len("日")
		}
	case c.sizes[0] <= 2 && c.num(0, c.sizes[0]) <= 31:
		return s.monthAfter(c.ends[0])
	}
	return 0
}

func birthYear(y int) bool { return y >= firstBirthYear && y <= lastBirthYear }

// dayOf reports whether two groups of the chain can be a month and a day.
func (s *scan) dayOf(c *chain, month, of int) bool {
	group := func(n int) int {
		from := 0
		for k := range n {
			from += c.sizes[k]
		}
		return c.num(from, from+c.sizes[n])
	}
	return c.sizes[month] <= 2 && c.sizes[of] <= 2 && day(group(month), group(of))
}

// monthAfter reads ". March 1984" or "th of March, 1984" behind the day that ends at i.
func (s *scan) monthAfter(i int) int {
	i = s.skipWord(i, "st nd rd th er")
	i = s.skipAny(i, ".-/ ", 2)
	i = s.skipWord(i, "of de di")
	end := s.monthAt(i)
	if end == 0 {
		return 0
	}
	i = s.skipAny(end, ".,-/ ", 2)
	i = s.skipWord(i, "de del of")
	return s.yearAt(i)
}

// monthFirst reads "March 12, 1984".
func (s *scan) monthFirst(i int) int {
	end := s.monthAt(i)
	if end == 0 {
		return 0
	}
	i = s.skipAny(end, ". ", 2)
	end = s.bytes.run(s.text, i, 3, digit)
	if end == i || end-i > 2 || atoi(s.text[i:end]) > 31 {
		return 0
	}
	end = s.skipWord(end, "st nd rd th")
	return s.yearAt(s.skipAny(end, ", ", 2))
}

// monthAt returns the end of the name of a month that begins at i, or 0.
func (s *scan) monthAt(i int) int {
	for n := s.hitsBefore(i); n < len(s.hits) && s.hits[n].start == i; n++ {
		if s.hits[n].set.has(wordMonth) {
			return s.hits[n].end
		}
	}
	return 0
}

func (s *scan) yearAt(i int) int {
	end := s.bytes.run(s.text, i, 5, digit)
	if end-i != 4 || !birthYear(atoi(s.text[i:end])) {
		return 0
	}
	return end
}

//nolint:misspell // words of many languages
const monthWords = `january jan february feb march mar april apr may june jun july jul august aug september sep sept
	october oct november nov december dec januar janner februar marz mai juni juli oktober dezember januari februari maart
	mei augustus janvier fevrier mars avril juin juillet aout septembre octobre novembre decembre enero febrero marzo abril
	mayo junio julio agosto septiembre octubre noviembre diciembre gennaio febbraio aprile maggio giugno luglio settembre
	ottobre dicembre janeiro fevereiro marco maio junho julho setembro outubro novembro dezembro maj augusti marts
	stycznia lutego marca kwietnia maja czerwca lipca sierpnia wrzesnia pazdziernika listopada grudnia ocak subat mart
	nisan mayis haziran temmuz agustos eylul ekim kasim aralik января февраля марта апреля мая июня июля августа сентября
	октября ноября декабря`
