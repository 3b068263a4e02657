package verify

import (
	"slices"
	"time"
)

// hasNumber returns in what respect the source lacks a number, or has it otherwise.
func (ix *index) hasNumber(q quantity) Mismatch {
	found, same, other, polar := false, false, false, false
	for _, v := range q.values {
		for _, s := range ix.numbers[v] {
			found = true
			polar = polar || s.negated == q.negated
			same = same || s.of == "" || q.of == "" || ix.same(q.of, s.of, false)
			other = other || s.of != ""
		}
		if !found && ix.hasYear(v) {
			found, polar = true, true
		}
	}
	switch {
	case !found:
		return MismatchNumber
	case !polar:
		return MismatchNegation
	case same || !other || q.of == "":
		return ""
	}
	// The number counts something else. That the fact words it otherwise is fine, unless the
	// source counts this with another number.
	for _, s := range ix.counts {
		if s.of != "" && ix.same(q.of, s.of, false) {
			return MismatchNumber
		}
	}
	return ""
}

// hasYear reports whether a number is a year that the source tells or implies.
func (ix *index) hasYear(v string) bool {
	if len(v) != 4 || v < "1000" {
		return false
	}
	var y int
	for _, r := range v {
		if r < '0' || r > '9' {
			return false
		}
		y = 10*y + int(r-'0')
	}
	return ix.hasDate(date{y: y})
}

// hasDate reports whether the source has a date, or one that its time completes, or moves from
// its time to it.
func (ix *index) hasDate(d date) bool {
	fits := func(a, b int) bool { return a == b || a == 0 }
	for _, s := range ix.dates {
		year := s.y
		if year == 0 && !ix.at.IsZero() && d.y >= ix.at.Year()-1 && d.y <= ix.at.Year()+1 {
			year = d.y
		}
		if fits(d.y, year) && fits(d.m, s.m) && fits(d.d, s.d) {
			return true
		}
	}
	for _, q := range ix.counts { // a year by itself; "five years ago"
		if d.m == 0 && slices.Contains(q.values, itoa(d.y)) {
			return true
		}
		if d.m == 0 && !ix.at.IsZero() && ix.relative[q.of] == 760 {
			for _, v := range q.values {
				if v == itoa(ix.at.Year()-d.y) || v == itoa(d.y-ix.at.Year()) {
					return true
				}
			}
		}
	}
	if ix.at.IsZero() || ix.moves == 0 || d.y == 0 {
		return false
	}
	day, open := d.day()
	away := day.Sub(ix.at).Abs()
	return away <= time.Duration(ix.moves+open)*24*time.Hour
}
