// Package console is how the examples deal with people: texts that fit in a column, numbers
// that can be read, a report on how far a long task is, Ctrl-C and exit codes. Clip is for
// texts of memories and files: none may command the terminal.
package console

import (
	"strconv"
	"strings"
	"unicode"
)

// Clip makes a text fit in a column of a terminal: one line, nothing that a terminal would
// take for a command, at most n characters.
func Clip(text string, n int) string {
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

// Grouped writes a number with commas: 5,882.
func Grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
