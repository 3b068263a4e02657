package classify

import (
	"strings"
	"unicode/utf8"
)

// Bounds of RFC 5321, in bytes.
const (
	maxLocal  = 64
	maxDomain = 253
)

// findEmails looks for addresses in the common subset of RFC 5322, letters of all scripts
// included, and for those that hide their signs in brackets.
func (s *scan) findEmails() {
	for from := 0; s.present&at != 0; {
		n := strings.IndexByte(s.text[from:], '@')
		if n < 0 {
			break
		}
		i := from + n
		from = i + 1
		if start, end := s.emailAround(i); end > 0 {
			s.add(Email, weightContact, start, end)
			from = end
		}
	}
	for i := range s.hits {
		if h := &s.hits[i]; h.set.has(wordAt) && s.bracketed(h.start, h.end) {
			s.spelledEmail(h.start-1, h.end+1)
		}
	}
}

// emailAround returns the extent of the address with the @ at i; an end of 0 means none.
func (s *scan) emailAround(i int) (start, end int) {
	start = s.localStart(i)
	if start == i || s.text[i-1] == '.' || strings.Contains(s.text[start:i], "..") {
		return 0, 0
	}
	end = s.domainEnd(i + 1)
	if end == 0 || s.notMail(start, i, end) {
		return 0, 0
	}
	return start, end
}

const localParts = alnumeric | underscore | dash | dot

// localStart returns where the local part that ends at i begins. It begins with a letter or a
// digit.
func (s *scan) localStart(i int) int {
	n := i
	for n > max(0, i-maxLocal) && (s.bytes.has(s.text, n-1, localParts|high) || strings.IndexByte("+%'", s.text[n-1]) >= 0) {
		n--
	}
	for n < i && !s.startsName(n) {
		n++
	}
	return n
}

func (s *scan) startsName(i int) bool {
	if s.text[i] < utf8.RuneSelf {
		return s.bytes.has(s.text, i, alnumeric)
	}
	r, size := utf8.DecodeRuneInString(s.text[i:])
	return size > 1 && classOfRune(r) == partOfWord
}

// domainEnd returns the end of the domain at i, 0 if there is none: labels with dots between,
// the last of which can be a top level.
func (s *scan) domainEnd(i int) int {
	end, label := i, i
	best := 0
	for end < min(len(s.text), i+maxDomain) {
		if s.text[end] == '.' {
			if end == label {
				break
			}
			label = end + 1
			end++
			continue
		}
		if !s.bytes.has(s.text, end, alnumeric|dash|high) || s.text[end] >= utf8.RuneSelf && !s.startsName(end) {
			break
		}
		_, size := utf8.DecodeRuneInString(s.text[end:])
		end += size
		if label > i && s.topLevel(s.text[label:end]) {
			best = end
		}
	}
	if best != end && (best == 0 || s.text[best] != '.') {
		return 0 // the last label goes on and is no top level
	}
	return best
}

// topLevel reports whether a label can be a top-level domain and is no extension of a file or
// a unit.
func (s *scan) topLevel(label string) bool {
	if len(label) < 2 || len(label) > 24 && !strings.HasPrefix(label, "xn--") {
		return false
	}
	if !onlyOf(s.bytes, label, letter|high) && !strings.HasPrefix(strings.ToLower(label), "xn--") {
		return false
	}
	switch strings.ToLower(label) {
	case "png", "jpg", "jpeg", "gif", "svg", "webp", "ico", "css", "js", "jsx", "ts", "tsx", "json", "html", "htm", "xml", "yaml", "yml",
		"toml", "txt", "pdf", "csv", "py", "java", "class", "jar", "exe", "dll", "so", "go", "rb", "vue", "lock", "log", "conf":
		return false // a file
	case "service", "socket", "target", "timer", "mount", "slice", "scope":
		return false // a unit
	case "local", "localhost", "internal", "localdomain", "lan", "home", "test", "invalid":
		return false // no public domain
	default:
		return true
	}
}

// notMail reports whether what looks like an address is something else: a login, a handle, a
// repository, the identifier of a message, or a sender that takes no mail.
func (s *scan) notMail(start, i, end int) bool {
	local := strings.ToLower(s.text[start:i])
	if isOneOf(local, "git noreply no-reply no_reply donotreply do-not-reply mailer-daemon notifications") {
		return true
	}
	if start > 0 && s.text[start-1] == '@' || s.bytes.has(s.text, end, at) || s.inAuthority(start) {
		return true
	}
	if s.bytes.has(s.text, end, colon) && s.bytes.has(s.text, end+1, alnumeric|slash|tilde) {
		return true
	}
	return s.near(wordSSH, start, start, 24, 0) || start > 0 && s.text[start-1] == '<' && s.near(wordMessageID, start, start, 12, 0)
}

// inAuthority reports whether i lies in the userinfo of a URL.
func (s *scan) inAuthority(i int) bool {
	for n := i - 1; n >= max(0, i-maxLocal); n-- {
		switch c := s.text[n]; {
		case c == '/':
			return n >= 2 && s.text[n-1] == '/' && s.text[n-2] == ':'
		case c <= ' ', c == '?', c == '<', c == '(', c == ',':
			return false
		}
	}
	return false
}

// bracketed reports whether a word stands in brackets.
func (s *scan) bracketed(start, end int) bool {
	if start == 0 || end >= len(s.text) {
		return false
	}
	open := strings.IndexByte("[({<", s.text[start-1])
	return open >= 0 && s.text[end] == "])}>"[open]
}

// spelledEmail adds an address whose @ is a word in brackets, from open to end.
func (s *scan) spelledEmail(open, end int) {
	local := open
	if s.bytes.has(s.text, local-1, localParts) || local > 0 && s.text[local-1] == ' ' {
		local = s.skipBack(local)
	}
	start := s.localStart(local)
	i := s.skipAny(end, " ", 1)
	for dots := 0; ; dots++ {
		stop := s.bytes.run(s.text, i, 63, alnumeric|dash)
		if stop == i {
			return
		}
		if next := s.dotAt(stop); next > 0 {
			i = next
			continue
		}
		if start < local && dots > 0 && s.topLevel(s.text[i:stop]) {
			s.add(Email, weightContact, start, stop)
		}
		return
	}
}

func (s *scan) skipBack(i int) int {
	if i > 0 && s.text[i-1] == ' ' {
		return i - 1
	}
	return i
}

// dotAt returns the end of a dot at i, itself or as a word in brackets, or 0.
func (s *scan) dotAt(i int) int {
	if s.bytes.has(s.text, i, dot) && s.bytes.has(s.text, i+1, alnumeric) {
		return i + 1
	}
	from := s.skipAny(i, " ", 1)
	if hasAnyPrefix(strings.ToLower(s.text[from:min(len(s.text), from+5)]), "[dot]", "(dot)", "{dot}") {
		return s.skipAny(from+5, " ", 1)
	}
	return 0
}
