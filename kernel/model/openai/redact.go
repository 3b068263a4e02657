package openai

import "strings"

// redactor decides which words of a server may be repeated.
type redactor struct {
	key   string
	texts []string
}

// word returns a server's word if it is one, such as a code or an id, and not something
// that the server was sent; otherwise nothing.
func (r redactor) word(s string) string {
	const longest = 64
	if s == "" || len(s) > longest || strings.ContainsFunc(s, odd) {
		return ""
	}
	if r.key != "" && (strings.Contains(r.key, s) || strings.Contains(s, r.key)) {
		return ""
	}
	for _, text := range r.texts {
		if strings.Contains(text, s) {
			return ""
		}
	}
	return s
}

func odd(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-', r == '.':
		return false
	default:
		return true
	}
}
