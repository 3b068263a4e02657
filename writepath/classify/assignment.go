package classify

import "strings"

// findAssignments looks for passwords, keys and tokens by their names: what stands behind
// "password:", "api_key =", "the PIN is" or "Authorization: Bearer", if it could be one.
func (s *scan) findAssignments() {
	for i := range s.hits {
		h := &s.hits[i]
		switch {
		case h.set.has(wordPassword):
			s.passwordAfter(h)
		case h.set.has(wordKeyName):
			s.keyAfter(h)
		case h.set.has(wordPIN):
			s.pinAfter(h)
		case h.set.has(wordBearer):
			s.bearerAfter(h)
		case h.set.has(wordBasic):
			s.basicAfter(h)
		case h.set.has(wordCurl):
			s.userAfter(h)
		case h.set.has(wordSeed):
			s.seedAfter(h)
		}
	}
}

// linkage is how a value hangs on its name.
type linkage int

const (
	verb   linkage = iota // the password is x
	spaced                // password: x, password = x
	tight                 // PASSWORD=x, --password x
)

// value is what stands behind a name.
type value struct {
	start, end int
	link       linkage
	quoted     bool
}

// Bounds on the parts of an assignment, in bytes.
const (
	maxNameTail = 40
	maxPurpose  = 40
	maxValue    = 512
)

// valueAfter reads the value of the name that ends at end. Between them may stand the rest of
// an identifier, what the thing is for, and a separator.
func (s *scan) valueAfter(h *hit) (value, bool) {
	i := s.nameEnd(h)
	if i < 0 {
		return value{}, false
	}
	option := strings.HasPrefix(s.text[s.bytes.back(s.text, h.start, maxNameTail, alnumeric|dash|underscore):], "--")
	if s.bytes.has(s.text, i, colon) && s.bytes.has(s.text, h.start-1, colon) {
		return value{}, false // a field of user:password:rest
	}
	i = s.skipAny(i, "\"'`)]*\\", 3)
	v := value{}
	j := s.skipAny(i, " \t", 8)
	if strings.HasPrefix(s.text[j:], "value=") { // <add key="Password" value="x"/>
		j += len("value")
	}
	switch n := separator(s.text[j:]); {
	case s.closesTag(h, j):
		v.link = tight
		v, ok := s.readValue(v, j+1)
		return v, ok && strings.HasPrefix(s.text[v.end:], "</")
	case n > 0:
		v.link = spaced
		if j == i && !s.blank(j+n) {
			v.link = tight
		}
		i = s.skipAny(j+n, " \t", 8)
	case n < 0:
		return v, false
	case option && j > i:
		v.link, i = tight, j
	default:
		if i = s.verbAfter(j); i < 0 {
			return v, false
		}
		v.link = verb
	}
	if name := s.bytes.back(s.text, h.start, maxNameTail, alnumeric|underscore|dash); name > 0 && v.link == tight && i < len(s.text) &&
		s.text[i] == s.text[name-1] && strings.IndexByte("\"'`", s.text[i]) >= 0 && s.text[h.end] != s.text[i] {
		return v, false // "PASSWORD=" in quotes, with nothing behind the sign
	}
	return s.readValue(v, i)
}

// closesTag reports whether the name stands in a tag that ends at i: <password>x</password>.
func (s *scan) closesTag(h *hit, i int) bool {
	if i >= len(s.text) || s.text[i] != '>' {
		return false
	}
	open := s.bytes.back(s.text, h.start, maxNameTail, alnumeric|underscore|dash|dot|colon)
	return open > 0 && s.text[open-1] == '<'
}

// nameEnd returns where the identifier around h ends, or -1 if its last words say that the
// value is not the secret itself.
func (s *scan) nameEnd(h *hit) int {
	end := s.bytes.run(s.text, h.end, maxNameTail, alnumeric|underscore|dash)
	if end == h.end {
		return end
	}
	if s.text[end-1] == '-' {
		return -1
	}
	for i := s.hitsBefore(h.end); i < len(s.hits) && s.hits[i].start < end; i++ {
		if s.hits[i].set.has(wordNotValue) {
			return -1
		}
	}
	return end
}

// separator returns the length of the separator that text begins with; 0 if there is none and
// -1 if it is a comparison.
func separator(text string) int {
	switch {
	case hasAnyPrefix(text, "==", "!=", "=~"):
		return -1
	case hasAnyPrefix(text, "=>", ":=", "->", "?="):
		return 2
	case hasAnyPrefix(text, ":", "=", "|"):
		return 1
	case hasAnyPrefix(text, ":", "→"):
		return 3
	default:
		return 0
	}
}

// verbAfter returns where the value begins if a verb that gives it stands at i, perhaps behind
// what the thing is for: "for the router is". It returns -1 if not.
func (s *scan) verbAfter(i int) int {
	limit := min(len(s.text), i+maxPurpose)
	purpose := false
	for n := 0; i < limit && n < 7; n++ {
		end := i
		for end < limit && (s.bytes.has(s.text, end, letter|high|dash|underscore|digit) || s.text[end] == '\'') {
			end++
		}
		if end == i {
			break
		}
		word := strings.ToLower(s.text[i:end])
		next := s.skipAny(end, " \t", 4)
		if isOneOf(word, "is was has ist lautet lautete war est es era é e är er jest lyder") {
			for range 3 {
				next = s.skipWord(next, "now still simply just currently been changed reset updated set to jetzt maintenant ahora")
			}
			if s.text[next:min(len(s.text), next+1)] == ":" {
				next = s.skipAny(next+1, " \t", 4)
			}
			return next
		}
		if n == 0 {
			purpose = isOneOf(word, "for of to on at in für fur vom zum zur pour du de del para da do per voor til i la")
		}
		if !purpose {
			return -1
		}
		if m := separator(s.text[next:]); m > 0 {
			return s.skipAny(next+m, " \t", 4)
		}
		i = next
	}
	return -1
}

func (s *scan) skipWord(i int, list string) int {
	end := s.bytes.run(s.text, i, 16, letter)
	if end > i && isOneOf(strings.ToLower(s.text[i:end]), list) {
		return s.skipAny(end, " \t", 4)
	}
	return i
}

// skipAny skips at most limit bytes of the given ones.
func (s *scan) skipAny(i int, chars string, limit int) int {
	for n := 0; n < limit && i < len(s.text) && strings.IndexByte(chars, s.text[i]) >= 0; n++ {
		i++
	}
	return i
}

func (s *scan) blank(i int) bool { return i >= len(s.text) || s.text[i] <= ' ' }

// readValue finds the extent of the value at i: to the closing quote, or to white space and
// less the punctuation of the sentence.
func (s *scan) readValue(v value, i int) (value, bool) {
	limit := min(len(s.text), i+maxValue)
	if i >= limit {
		return v, false
	}
	if size, closing := quoteAt(s.text[i:]); size > 0 {
		n := strings.Index(s.text[i+size:limit], closing)
		if n <= 0 || strings.Contains(s.text[i+size:i+size+n], "\n") {
			return v, false
		}
		v.start, v.end, v.quoted = i+size, i+size+n, true
		return v, true
	}
	end := i
	for end < limit && s.text[end] > ' ' {
		if s.bytes[s.text[end]]&inKey&^mark != 0 {
			end++
			continue
		}
		if strings.IndexByte("\"'`<>|", s.text[end]) >= 0 || strings.HasPrefix(s.text[end:], "。") {
			break
		}
		if s.text[end] == ';' || s.text[end] == '&' && s.parameterAt(end+1) || s.text[end] == ',' && !s.bytes.has(s.text, end+1, alnumeric) ||
			s.text[end] == '\\' && end+1 < limit && strings.IndexByte(`nrtf"'`, s.text[end+1]) >= 0 {
			break
		}
		end++
	}
	for end > i && strings.IndexByte(".,:?)]}", s.text[end-1]) >= 0 {
		end--
	}
	v.start, v.end = i, end
	return v, end > i
}

// parameterAt reports whether a name and = stand at i, as in a query string.
func (s *scan) parameterAt(i int) bool {
	end := s.bytes.run(s.text, i, 40, alnumeric|underscore|dash)
	return end > i && s.bytes.has(s.text, end, equals)
}

// quoteAt returns the length of the opening quote that text begins with, and the quote that
// closes it.
func quoteAt(text string) (size int, closing string) {
	switch {
	case hasAnyPrefix(text, `"`, "'", "`"):
		return 1, text[:1]
	case strings.HasPrefix(text, `\"`):
		return 2, `\"`
	case strings.HasPrefix(text, "“"):
		return len("“"), "”"
	case strings.HasPrefix(text, "„"):
		return len("„"), "“"
	case strings.HasPrefix(text, "«"):
		return len("«"), "»"
	default:
		return 0, ""
	}
}
