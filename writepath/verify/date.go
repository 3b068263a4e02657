package verify

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// date is a day, month or year as far as it is told; 0 is untold.
type date struct{ y, m, d int }

// quantity is a number and the word that it counts, if one follows.
type quantity struct {
	values  []string // the ways to read it
	of      string
	negated bool
}

// figures are the numbers and dates of a text.
type figures struct {
	numbers []quantity
	dates   [][]date     // each with the ways to read it
	used    map[int]bool // tokens that are part of a date
}

// figuresOf reads the numbers and dates of a text.
func (l *lexicon) figuresOf(tokens []token, negated []bool) figures {
	f := figures{used: map[int]bool{}}
	for i := range tokens {
		if f.used[i] {
			continue
		}
		t := &tokens[i]
		if m := l.month(t); m > 0 {
			f.named(tokens, i, m)
			continue
		}
		if t.kind != number {
			continue
		}
		if d, ok := numericDates(t.text); ok {
			f.dates = append(f.dates, d)
			f.used[i] = true
			continue
		}
		f.hanDate(tokens, i)
	}
	for i := range tokens {
		if t := &tokens[i]; t.kind == number && !f.used[i] {
			q := quantity{values: readings(t.text), negated: negated[i]}
			for _, next := range tokens[i+1 : min(len(tokens), i+3)] {
				if next.kind == word && next.text == "pm" && len(q.values) > 0 {
					q.values = afternoon(q.values)
				}
				if next.unit == t.unit && (next.kind == word || next.kind == han) && !next.free {
					q.of = next.text
					break
				}
			}
			f.numbers = append(f.numbers, q)
		}
	}
	return f
}

// month returns the month that a word names. May and March are also other words.
func (l *lexicon) month(t *token) int {
	if t.kind != word {
		return 0
	}
	if ambiguous := t.text == "may" || t.text == "march" || t.text == "mar" || t.text == "mars" || t.text == "jan"; ambiguous && !t.cap {
		if t.text != "mars" {
			return 0
		}
	}
	return l.months[t.text]
}

// named reads a date around a month's name: "7 May 2023", "May 7th, 2023", "May 2023".
func (f *figures) named(tokens []token, at, month int) {
	d := date{m: month}
	f.used[at] = true
	small := func(i int) int {
		if i < 0 || i >= len(tokens) || tokens[i].kind != number || f.used[i] {
			return 0
		}
		n, err := strconv.Atoi(strings.Trim(tokens[i].text, ".,"))
		if err != nil {
			return 0
		}
		return n
	}
	use := func(i int) { f.used[i] = true }
	for i := at - 1; i >= at-3 && i >= 0; i-- {
		if n := small(i); n >= 1 && n <= 31 {
			d.d = n
			use(i)
			break
		}
		if !tokens[i].free && tokens[i].text != "th" && tokens[i].text != "st" && tokens[i].text != "nd" && tokens[i].text != "rd" {
			break
		}
	}
	for i := at + 1; i <= at+4 && i < len(tokens); i++ {
		n := small(i)
		switch {
		case n >= 1 && n <= 31 && d.d == 0:
			d.d = n
			use(i)
		case n >= 1000 && n <= 9999:
			d.y = n
			use(i)
			f.dates = append(f.dates, []date{d})
			return
		case n != 0 || !tokens[i].free && len(tokens[i].text) > 2:
			f.dates = append(f.dates, []date{d})
			return
		}
		if i < len(tokens) && len(tokens[i].text) == 2 && d.d != 0 && tokens[i].kind == word {
			use(i) // 7th
		}
	}
	f.dates = append(f.dates, []date{d})
}

// hanDate reads 2023年5月7日 and its parts.
func (f *figures) hanDate(tokens []token, at int) {
	var d date
	i := at
	for i+1 < len(tokens) && tokens[i].kind == number && tokens[i+1].kind == han {
		n, err := strconv.Atoi(tokens[i].text)
		unit := tokens[i+1].text
		switch {
		case err != nil:
			return
		case strings.HasPrefix(unit, "年") && d.y == 0 && n >= 1000:
			d.y = n
		case strings.HasPrefix(unit, "月") && d.m == 0 && n <= 12:
			d.m = n
		case (strings.HasPrefix(unit, "日") || strings.HasPrefix(unit, "号")) && d.m != 0 && n <= 31:
			d.d = n
		default:
			n = 0
		}
		if n == 0 {
			break
		}
		f.used[i] = true
		// What follows the unit without a space is a word of its own.
		if _, size := utf8.DecodeRuneInString(unit); size < len(unit) {
			tokens[i+1].text = unit[size:]
		} else {
			f.used[i+1] = true
		}
		i += 2
	}
	if d != (date{}) {
		f.dates = append(f.dates, []date{d})
	}
}

// numericDates reads 2023-05-07, 7.5.2023 and 5/7/2023, of which the last is two dates.
func numericDates(s string) ([]date, bool) {
	sep := strings.IndexAny(s, "-/.")
	if sep < 0 {
		return nil, false
	}
	parts := strings.Split(s, s[sep:sep+1])
	if len(parts) != 3 {
		return nil, false
	}
	var n [3]int
	for i, p := range parts {
		var err error
		if n[i], err = strconv.Atoi(p); err != nil {
			return nil, false
		}
	}
	ok := func(d date) bool { return d.y >= 1000 && d.y <= 9999 && d.m >= 1 && d.m <= 12 && d.d >= 1 && d.d <= 31 }
	var out []date
	for _, d := range []date{{n[0], n[1], n[2]}, {n[2], n[1], n[0]}, {n[2], n[0], n[1]}} {
		if american := d.m == n[0] && d.y != n[0]; american && s[sep] != '/' {
			continue
		}
		if ok(d) && !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	return out, len(out) > 0
}

// readings returns the numbers that a text of digits can be: 1,000 and 1.000 are a thousand
// or one; 15:00 is 15.
func readings(s string) []string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) && r > '9' {
			return '0' + digitValue(r)
		}
		return r
	}, s)
	if h, m, ok := strings.Cut(s, ":"); ok {
		if m == "00" {
			return []string{plain(h)}
		}
		return []string{plain(h) + ":" + m}
	}
	grouped := strings.NewReplacer(",", "", ".", "", "'", "").Replace
	last := strings.LastIndexAny(s, ".,")
	if last < 0 || strings.Count(s, s[last:last+1]) > 1 {
		return []string{plain(grouped(s))}
	}
	fraction := strings.TrimRight(s[last+1:], "0")
	decimal := plain(grouped(s[:last]))
	if fraction != "" {
		decimal += "." + fraction
	}
	if len(s)-last-1 == 3 && !strings.ContainsAny(s[:last], ".,") {
		return []string{plain(grouped(s)), decimal}
	}
	return []string{decimal}
}

func plain(s string) string {
	if t := strings.TrimLeft(s, "0"); t != "" {
		return t
	}
	return "0"
}

func digitValue(r rune) rune {
	v := r
	for unicode.IsDigit(v-1) && r-v < 9 {
		v--
	}
	return r - v
}

func afternoon(values []string) []string {
	for _, v := range values {
		h, m, clock := strings.Cut(v, ":")
		if n, err := strconv.Atoi(h); err == nil && n < 12 {
			later := itoa(n + 12)
			if clock {
				later += ":" + m
			}
			values = append(values, later)
		}
	}
	return values
}

// day returns the date as a time, as exactly as it is told, and how many days it leaves open.
func (d date) day() (time.Time, int) {
	open := 0
	m, day := d.m, d.d
	if m == 0 {
		m, open = 7, 183
	}
	if day == 0 {
		day = 15
		open = max(open, 16)
	}
	return time.Date(d.y, time.Month(m), day, 0, 0, 0, 0, time.UTC), open
}
