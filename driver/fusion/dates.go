package fusion

import (
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// around is added on either side of a date: the question may be from another time zone, and what
// happened is often told a day later.
const around = 24 * time.Hour

// window returns the time that a text names, from the first of its dates to the last. Dates are
// 2023-05-08, 2023/5/8, 2023-05, 8.5.2023, 25/5/2023 and 5/25/2023 where only one of the two numbers
// can be a month, 2023年5月8日 and 2023년 5월, and with the name of a month in English, German,
// French, Spanish, Portuguese, Italian or Dutch: 8 May 2023, May 8th, 2023, May 2023, 8. Mai 2023, 8 de
// mayo de 2023. A date without a year is none, and a year alone is too little of one.
func window(text string) (from, to time.Time, ok bool) {
	words := split(text)
	for at := 0; at < len(words); {
		d, taken := words[at:].date()
		if taken == 0 {
			at++
			continue
		}
		at += taken
		first, end, valid := d.span()
		if !valid {
			continue
		}
		if !ok || first.Before(from) {
			from = first
		}
		if !ok || end.After(to) {
			to = end
		}
		ok = true
	}
	if !ok {
		return time.Time{}, time.Time{}, false
	}
	// Both are inclusive, and times are kept to the microsecond.
	return from.Add(-around), to.Add(around - time.Microsecond), true
}

// date is a day, or with day 0 a month.
type date struct{ year, month, day int }

// span returns the beginning and the end of the date, if there is such a date.
func (d date) span() (from, end time.Time, ok bool) {
	from = time.Date(d.year, time.Month(d.month), max(1, d.day), 0, 0, 0, 0, time.UTC)
	if d.year < 1 || d.year >= 9999 || int(from.Month()) != d.month || d.day > 0 && from.Day() != d.day {
		return time.Time{}, time.Time{}, false
	}
	if d.day == 0 {
		return from, from.AddDate(0, 1, 0), true
	}
	return from, from.AddDate(0, 0, 1), true
}

// word is a run of digits or of letters, and what stands between it and the one before.
type word struct {
	text, gap string
	number    int // of digits, else -1
}

type words []word

// split cuts a text into words. The signs for year, month and day of Chinese, Japanese and Korean
// are words of their own.
func split(text string) words {
	if strings.IndexFunc(text, isDigit) < 0 {
		return nil
	}
	var out words
	gap, begin := 0, 0
	kind := 0
	add := func(end int) {
		if kind != 0 {
			w := word{text: text[begin:end], gap: text[gap:begin], number: -1}
			if kind == digits {
				if n, err := strconv.Atoi(w.text); err == nil && len(w.text) <= 4 {
					w.number = n
				}
			}
			out = append(out, w)
			gap = end
		}
	}
	for at, r := range text {
		if k := kindOf(r); k != kind || k == sign {
			add(at)
			kind, begin = k, at
		}
	}
	add(len(text))
	return out
}

const (
	digits = iota + 1
	letters
	sign
)

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

func kindOf(r rune) int {
	switch {
	case isDigit(r):
		return digits
	case strings.ContainsRune("年月日号號년월일", r):
		return sign
	case unicode.IsLetter(r), unicode.IsMark(r):
		return letters
	}
	return 0
}

// date reads a date at the beginning of the words and returns how many it took, 0 if there is
// none.
func (w words) date() (date, int) {
	for _, form := range [...]func(words) (date, int){words.numeric, words.signed, words.named} {
		if d, taken := form(w); taken > 0 {
			return d, taken
		}
	}
	return date{}, 0
}

// at returns the i-th number if it has as many digits as allowed.
func (w words) at(i, least, most int) (int, bool) {
	if i >= len(w) || w[i].number < 0 || len(w[i].text) < least || len(w[i].text) > most {
		return 0, false
	}
	return w[i].number, true
}

func (w words) year(i int) (int, bool)  { return w.at(i, 4, 4) }
func (w words) short(i int) (int, bool) { return w.at(i, 1, 2) }

// joined reports whether the i-th word follows its predecessor with nothing but sep between.
func (w words) joined(i int, sep string) bool { return i < len(w) && w[i].gap == sep }

// numeric reads 2023-05-08, 2023-05, 8.5.2023 and 25/5/2023.
func (w words) numeric() (date, int) {
	if len(w) < 2 {
		return date{}, 0
	}
	sep := w[1].gap
	if sep != "-" && sep != "/" && sep != "." {
		return date{}, 0
	}
	third := w.joined(2, sep)
	if y, ok := w.year(0); ok {
		m, isMonth := w.short(1)
		d, isDay := w.short(2)
		switch {
		case isMonth && third && isDay:
			return date{y, m, d}, 3
		case isMonth && !third && sep == "-" && len(w[1].text) == 2:
			return date{y, m, 0}, 2
		}
		return date{}, 0
	}
	a, okA := w.short(0)
	b, okB := w.short(1)
	y, okY := w.year(2)
	switch {
	case !okA || !okB || !okY || !third || sep == "-":
		return date{}, 0
	case sep == "." || a > 12:
		return date{y, b, a}, 3
	case b > 12 || a == b:
		return date{y, a, b}, 3
	}
	return date{}, 0
}

// signed reads 2023年5月8日 and 2023년 5월.
func (w words) signed() (date, int) {
	y, ok := w.year(0)
	m, isMonth := w.short(2)
	if !ok || !isMonth || len(w) < 4 || !w[1].is("年", "년") || !w[3].is("月", "월") {
		return date{}, 0
	}
	if d, isDay := w.short(4); isDay && len(w) > 5 && w[5].is("日", "号", "號", "일") {
		return date{y, m, d}, 6
	}
	return date{y, m, 0}, 4
}

// named reads 8 May 2023, May 8th, 2023 and May 2023.
func (w words) named() (date, int) {
	at, day, month := 0, 0, 0
	if d, ok := w.short(at); ok {
		day, at = d, w.past(at+1)
	}
	if at < len(w) {
		month = monthNamed(w[at].text)
	}
	if month == 0 {
		return date{}, 0
	}
	at = w.past(at + 1)
	if d, ok := w.short(at); ok && day == 0 {
		day, at = d, w.past(at+1)
	}
	if y, ok := w.year(at); ok {
		return date{y, month, day}, at + 1
	}
	return date{}, 0
}

// past skips what stands between the parts of a date: the ending of an ordinal number, an article
// or a preposition.
func (w words) past(at int) int {
	for at < len(w) && w[at].is("st", "nd", "rd", "th", "er", "º", "ª", "o", "the", "of", "de", "del", "di", "du") {
		at++
	}
	return at
}

func (w word) is(texts ...string) bool {
	for _, text := range texts {
		if strings.EqualFold(w.text, text) {
			return true
		}
	}
	return false
}

// longestMonth is the length in characters of the longest name of a month.
const longestMonth = 10

// monthNamed returns the month of that name, 0 if there is none. The languages share most names.
func monthNamed(name string) int {
	if utf8.RuneCountInString(name) > longestMonth {
		return 0
	}
	switch strings.ToLower(name) {
	case "january", "jan", "januar", "jänner", "janvier", "enero", "janeiro", "gennaio", "januari":
		return 1
	case "february", "feb", "februar", "février", "fevrier", "febrero", "fevereiro", "febbraio", "februari":
		return 2
	case "march", "mar", "märz", "maerz", "mars", "marzo", "março", "marco", "maart":
		return 3
	case "april", "apr", "avril", "abril", "aprile":
		return 4
	case "may", "mai", "mayo", "maio", "maggio", "mei":
		return 5
	case "june", "jun", "juni", "juin", "junio", "junho", "giugno":
		return 6
	case "july", "jul", "juli", "juillet", "julio", "julho", "luglio":
		return 7
	case "august", "aug", "août", "aout", "agosto", "augustus":
		return 8
	case "september", "sept", "sep", "septembre", "septiembre", "setembro", "settembre":
		return 9
	case "october", "oct", "oktober", "octobre", "octubre", "outubro", "ottobre":
		return 10
	case "november", "nov", "novembre", "noviembre", "novembro":
		return 11
	case "december", "dec", "dezember", "décembre", "decembre", "diciembre", "dezembro", "dicembre": //nolint:misspell // French
		return 12
	}
	return 0
}
