package entity

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// patterns finds what its form gives away, and takes code out of sight.
func (r *reading) patterns() {
	var spans []span
	text := r.text
	for i := 0; i < len(text); {
		if n := codeLen(text[i:]); n > 0 {
			spans = append(spans, span{i, i + n})
			i += n
			continue
		}
		c, size := utf8.DecodeRuneInString(text[i:])
		if unicode.IsSpace(c) || strings.ContainsRune(openers, c) {
			i += size
			continue
		}
		end := i + chunkLen(text[i:])
		for _, part := range parts(text[i:end]) {
			word := text[i+part.start : i+part.end]
			if t, n := formOf(word); n > 0 {
				r.add(i+part.start, i+part.start+n, t, Certain)
				spans = append(spans, span{i + part.start, i + part.start + n})
			}
		}
		i = end
	}
	r.take(spans)
}

const (
	openers = `([{<"'“”„«»‘’「『《（【,;`
	closers = `)]}>"'”“»«’‘」』》）】,;:!?.…。、，！？`
)

// codeLen returns the length of the code that s begins with: between back quotes, on one line
// or between fences.
func codeLen(s string) int {
	if s[0] != '`' {
		return 0
	}
	if strings.HasPrefix(s, "```") {
		if i := strings.Index(s[3:], "```"); i >= 0 {
			return i + 6
		}
		return 3
	}
	if i := strings.IndexAny(s[1:], "`\n"); i > 0 && s[1+i] == '`' {
		return i + 2
	}
	return 1
}

// chunkLen returns the length of what s begins with up to white space or a back quote, and of
// no more than a name may have ten times over.
func chunkLen(s string) int {
	for i, r := range s {
		if i > 0 && (unicode.IsSpace(r) || r == '`') || i > 10*MaxName {
			return i
		}
	}
	return len(s)
}

// parts divides a chunk at marks that no form has inside, and trims marks off the ends.
func parts(chunk string) []span {
	link := strings.Contains(chunk, "://")
	var out []span
	start := 0
	cut := func(end int) {
		s := chunk[start:end]
		left := strings.TrimLeft(s, openers)
		from := start + len(s) - len(left)
		to := from + len(strings.TrimRight(left, closers))
		if strings.HasSuffix(chunk[from:to], "'s") || strings.HasSuffix(chunk[from:to], "’s") {
			to = from + len(bareName(chunk[from:to]))
		}
		if to > from {
			out = append(out, span{from, to})
		}
	}
	for i, r := range chunk {
		if strings.ContainsRune(`<>"“”„«»「」『』《》（）【】，。、`, r) || !link && strings.ContainsRune(`()[]{},;|`, r) || cjk(r) {
			cut(i)
			start = i + utf8.RuneLen(r)
		}
	}
	cut(len(chunk))
	return out
}

// formOf returns the type and the length of the form that a word has, 0 for none.
func formOf(w string) (Type, int) {
	switch {
	case strings.Contains(w, "://"):
		if isLink(w) {
			return URL, len(w)
		}
	case strings.HasPrefix(w, "www.") && isDomain(w):
		return URL, len(w)
	case w[0] == '@':
		if n := handleLen(w[1:]); n >= 2 {
			return Handle, n + 1
		}
	case strings.Contains(w, "@"):
		w = strings.TrimPrefix(w, "mailto:")
		if isEmail(w) {
			return Email, len(w)
		}
	case isIdentifier(w):
		return Identifier, len(w)
	}
	return Other, 0
}

func isLink(w string) bool {
	scheme, rest, _ := strings.Cut(w, "://")
	if len(scheme) < 2 || len(scheme) > 12 || len(rest) < 3 {
		return false
	}
	for _, b := range []byte(scheme) {
		if (b < 'a' || b > 'z') && (b < 'A' || b > 'Z') && b != '+' {
			return false
		}
	}
	return true
}

func isEmail(w string) bool {
	local, domain, _ := strings.Cut(w, "@")
	if local == "" || len(local) > 64 || !isDomain(domain) {
		return false
	}
	for _, c := range local {
		if !letterLike(c) && !strings.ContainsRune("._%+-'", c) {
			return false
		}
	}
	return true
}

func isDomain(w string) bool {
	w, _, _ = strings.Cut(w, "/")
	labels := strings.Split(w, ".")
	if len(labels) < 2 {
		return false
	}
	for _, l := range labels {
		if l == "" || len(l) > 63 {
			return false
		}
		for _, c := range l {
			if !letterLike(c) && c != '-' {
				return false
			}
		}
	}
	top := labels[len(labels)-1]
	return len(top) >= 2 && !strings.ContainsAny(top, "0123456789-")
}

// handleLen returns the length of the handle that s begins with, without its @.
func handleLen(s string) int {
	n := 0
	for n < len(s) && (s[n] == '_' || s[n] == '-' || s[n] == '.' || isAlnum(s[n])) {
		n++
	}
	for n > 0 && !isAlnum(s[n-1]) && s[n-1] != '_' {
		n--
	}
	if n > 40 || n > 0 && s[0] >= '0' && s[0] <= '9' {
		return 0
	}
	return n
}

func isAlnum(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

// isIdentifier reports a ticket (MK-123), a UUID, or a longer word in which capitals and digits
// are mixed as in an order number.
func isIdentifier(w string) bool {
	if len(w) < 4 || len(w) > 64 {
		return false
	}
	if len(w) == 36 && w[8] == '-' && w[13] == '-' && w[18] == '-' && w[23] == '-' {
		return strings.Trim(strings.ToLower(w), "0123456789abcdef-") == ""
	}
	if prefix, digits, ok := strings.Cut(w, "-"); ok && len(prefix) >= 2 && len(prefix) <= 10 && len(digits) >= 1 && len(digits) <= 10 {
		if strings.Trim(digits, "0123456789") == "" && strings.Trim(prefix[1:], "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == "" && prefix[0] >= 'A' && prefix[0] <= 'Z' {
			return !standard(prefix)
		}
	}
	var uppers, digits int
	for i := range len(w) {
		switch b := w[i]; {
		case b >= 'A' && b <= 'Z':
			uppers++
		case b >= '0' && b <= '9':
			digits++
		case b == '-' || b == '_':
		default:
			return false
		}
	}
	return len(w) >= 6 && uppers >= 2 && digits >= 2
}

// standard reports a prefix behind which a number is no ticket: COVID-19, UTF-8.
func standard(prefix string) bool {
	switch prefix {
	case "COVID", "UTF", "UTC", "GMT", "SHA", "AES", "RSA", "ISO", "GPT", "MP", "PM", "CET", "TOP", "AK", "B", "F", "A":
		return true
	default:
		return false
	}
}
