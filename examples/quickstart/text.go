package main

import (
	"strconv"
	"strings"
	"unicode"
)

// clip makes a text fit in a column of a terminal: one line, nothing that a terminal would
// take for a command, at most n characters.
func clip(text string, n int) string {
	printable := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
	clean := strings.Join(strings.Fields(printable), " ")
	runes := []rune(clean)
	if len(runes) <= n {
		return clean
	}
	return string(runes[:n-1]) + "…"
}

// grouped writes a number with commas: 5,882.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// below strips the tenant from a path; "" is the tenant itself.
func below(tenant, path string) string {
	return strings.TrimPrefix(strings.TrimPrefix(path, tenant), "/")
}

// listed joins the first names of a list.
func listed(names []string) string {
	const most = 3
	if len(names) > most+1 {
		return strings.Join(names[:most], ", ") + " and " + grouped(len(names)-most) + " more"
	}
	return strings.Join(names, ", ")
}
