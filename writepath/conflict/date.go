package conflict

import (
	"strconv"
	"strings"
)

// date is a day of the year, with the year or 0 if it was not said.
type date struct{ year, month, day int }

// parseDate reads "3 May", "3rd of May", "May 3", "the 3rd of May 1990", "1990-05-03". What
// people read in two ways, such as 03/05/1990, is no date here.
func parseDate(value []string) (date, bool) {
	if len(value) > 0 && value[0] == "the" {
		value = value[1:]
	}
	if len(value) == 1 {
		return parseISO(value[0])
	}
	if len(value) > 2 && value[1] == "of" {
		value = append([]string{value[0]}, value[2:]...)
	}
	if len(value) != 2 && len(value) != 3 {
		return date{}, false
	}
	var d date
	d.day, d.month = dayNumber(value[0]), monthNumber(value[1])
	if d.month == 0 {
		d.day, d.month = dayNumber(value[1]), monthNumber(value[0])
	}
	if len(value) == 3 {
		if d.year = yearNumber(value[2]); d.year == 0 {
			return date{}, false
		}
	}
	return d, d.exists()
}

func parseISO(w string) (date, bool) {
	parts := strings.Split(w, "-")
	if len(parts) != 3 || len(parts[1]) != 2 || len(parts[2]) != 2 {
		return date{}, false
	}
	month, err := strconv.Atoi(parts[1])
	if err != nil {
		return date{}, false
	}
	d := date{yearNumber(parts[0]), month, dayNumber(parts[2])}
	return d, d.year != 0 && d.exists()
}

// exists reports whether some year has the day.
func (d date) exists() bool {
	switch d.month {
	case 1, 3, 5, 7, 8, 10, 12:
		return d.day >= 1 && d.day <= 31
	case 4, 6, 9, 11:
		return d.day >= 1 && d.day <= 30
	case 2:
		return d.day >= 1 && d.day <= 29
	default:
		return false
	}
}

func (d date) against(other date) Relation {
	switch {
	case d.month != other.month || d.day != other.day, d.year != 0 && other.year != 0 && d.year != other.year:
		return Contradicts
	case d.year != 0 && other.year == 0:
		return Refines
	default:
		return Same
	}
}

// dateWord reports a word behind which a date may have a comma.
func dateWord(w string) bool {
	w = strings.ToLower(w)
	return dayNumber(w) != 0 || monthNumber(w) != 0
}

func dayNumber(w string) int {
	for _, suffix := range []string{"st", "nd", "rd", "th"} {
		w = strings.TrimSuffix(w, suffix)
	}
	return number(w, 2, 31)
}

func yearNumber(w string) int {
	if len(w) != 4 {
		return 0
	}
	return number(w, 4, 9999)
}

// number reads at most digits of ASCII, up to most; 0 if it is no such number.
func number(w string, digits, most int) int {
	if w == "" || len(w) > digits {
		return 0
	}
	n := 0
	for i := range len(w) {
		if w[i] < '0' || w[i] > '9' {
			return 0
		}
		n = n*10 + int(w[i]-'0')
	}
	if n > most {
		return 0
	}
	return n
}

func monthNumber(w string) int {
	switch w {
	case "january", "jan":
		return 1
	case "february", "feb":
		return 2
	case "march", "mar":
		return 3
	case "april", "apr":
		return 4
	case "may":
		return 5
	case "june", "jun":
		return 6
	case "july", "jul":
		return 7
	case "august", "aug":
		return 8
	case "september", "sep", "sept":
		return 9
	case "october", "oct":
		return 10
	case "november", "nov":
		return 11
	case "december", "dec":
		return 12
	default:
		return 0
	}
}
