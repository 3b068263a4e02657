package classify

import (
	"strconv"
	"strings"
)

// shape is the published form of a key: literal text and counted runs of bytes of a set.
type shape struct {
	kind  Kind
	parts []part
}

type part struct {
	literal  string
	set      alphabet
	min, max int
}

// shapes are the known forms by the byte that they begin with.
type shapes [256][]shape

func newShapes() *shapes {
	var all shapes
	bytes := newAlphabets()
	for line := range strings.Lines(shapeTable) {
		kind, patterns, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok {
			continue
		}
		for pattern := range strings.FieldsSeq(patterns) {
			sh := shape{Kind(kind), parseShape(pattern)}
			for b := range 256 {
				if first := sh.parts[0]; first.literal != "" && first.literal[0] == byte(b) || first.literal == "" && bytes[b]&first.set != 0 {
					all[b] = append(all[b], sh)
				}
			}
		}
	}
	return &all
}

// parseShape reads a pattern such as ghp_{a36}: a letter for the set, then the count or the
// bounds of it. The table is ours, so what does not fit is a mistake in it.
func parseShape(pattern string) []part {
	var parts []part
	for pattern != "" {
		literal, rest, run := strings.Cut(pattern, "{")
		if literal != "" {
			parts = append(parts, part{literal: literal})
		}
		if !run {
			return parts
		}
		spec, after, _ := strings.Cut(rest, "}")
		least, most, ranged := strings.Cut(spec[1:], "-")
		p := part{set: setNamed(spec[0])}
		p.min, _ = strconv.Atoi(least)
		p.max = p.min
		if ranged {
			p.max, _ = strconv.Atoi(most)
		}
		parts, pattern = append(parts, p), after
	}
	return parts
}

func setNamed(name byte) alphabet {
	switch name {
	case 'd':
		return digit
	case 'x':
		return digit | lowerHex
	case 'b':
		return digit2to7 | upperCase
	case 'l':
		return letter
	case 'm':
		return digit | lowerCase
	case 'c':
		return digit | upperCase
	case 'a':
		return alnumeric
	case 'w':
		return alnumeric | underscore
	case 'u':
		return alnumeric | underscore | dash
	case 'v':
		return alnumeric | underscore | dash | dot
	case 'z':
		return alnumeric | slash | equals
	default:
		panic("no alphabet " + string(name))
	}
}

// match returns the end of the shape at i, or 0. A shape must not go on behind its end: one
// byte more and it is something else.
func (sh *shape) match(bytes *alphabets, text string, i int) int {
	for n := range sh.parts {
		p := &sh.parts[n]
		if p.literal != "" {
			if !strings.HasPrefix(text[i:], p.literal) {
				return 0
			}
			i += len(p.literal)
			continue
		}
		end := bytes.run(text, i, p.max, p.set)
		if end-i < p.min {
			return 0
		}
		i = end
	}
	last := sh.parts[len(sh.parts)-1].set
	if bytes.has(text, i, last&^(slash|dot)|alnumeric|underscore) {
		return 0
	}
	return i
}

// minKeyRun is the length of the shortest run of key bytes that can hold a key.
const minKeyRun = 20

// findKeys looks for keys of known shape in every run of bytes that is long enough.
func (s *scan) findKeys() {
	for i := 0; i < len(s.text); {
		if !s.bytes.has(s.text, i, inKey) {
			i++
			continue
		}
		end := s.bytes.run(s.text, i, len(s.text), inKey)
		if end-i >= minKeyRun {
			s.keysIn(i, end)
		}
		i = end
	}
}

// keysIn tries every place of a run where a key can begin: behind a byte of no key, and
// behind the letter of an escaped line break.
func (s *scan) keysIn(i, end int) {
	if i > 0 && s.text[i-1] == '\\' && strings.IndexByte("nrt", s.text[i]) >= 0 {
		i++
	}
	for i < end {
		if !s.bytes.has(s.text, i, alnumeric) {
			if s.text[i] == '~' {
				s.azureSecretAt(i)
			}
			i++
			continue
		}
		if strings.HasPrefix(s.text[i:], "bot") && s.bytes.has(s.text, i+3, digit) {
			i += len("bot") // as in the URLs of Telegram
		}
		if stop := s.keyAt(i); stop > 0 {
			i = stop
			continue
		}
		for i < end && s.bytes.has(s.text, i, alnumeric|underscore|dash) {
			i++
		}
	}
}

// keyAt adds the key that begins at i and returns its end, or 0.
func (s *scan) keyAt(i int) int {
	if strings.HasPrefix(s.text[i:], "eyJ") {
		if end := s.jwtAt(i); end > 0 {
			s.add(JWT, weightShape, i, end)
			return end
		}
	}
	known := s.shapes[s.text[i]]
	for n := range known {
		end := known[n].match(s.bytes, s.text, i)
		if end == 0 {
			continue
		}
		if placeholder(s.text[i:end]) {
			return end
		}
		s.add(known[n].kind, weightShape, i, end)
		if known[n].kind == AWSAccessKey {
			s.awsSecretNear(i, end)
		}
		return end
	}
	return 0
}

// awsSecretReach is how far from its key id a bare secret may stand.
const awsSecretReach = 120

// awsSecretNear looks for the secret of a key pair: forty bytes of base64 near the id.
func (s *scan) awsSecretNear(start, end int) {
	const set = alnumeric | slash
	for i := max(0, start-awsSecretReach); i < min(len(s.text), end+awsSecretReach); {
		stop := s.bytes.run(s.text, i, 200, set)
		if stop-i == 40 && !s.bytes.has(s.text, i-1, set) && !s.bytes.has(s.text, stop, set|equals) && looksDrawn(s.text[i:stop], 4.0) &&
			!onlyOf(s.bytes, s.text[i:stop], digit|lowerHex) {
			s.add(AWSSecretKey, weightNamed, i, stop)
		}
		i = max(stop, i+1)
	}
}

// azureSecretAt adds the application secret of Microsoft's directory whose mark 8Q~ ends at
// the byte given.
func (s *scan) azureSecretAt(mark int) {
	const set = alnumeric | underscore | dash | dot | tilde
	start := mark - 5
	if start < 0 || s.text[mark-1] != 'Q' || !s.bytes.has(s.text, mark-2, digit) || s.bytes.has(s.text, start-1, set) {
		return
	}
	end := s.bytes.run(s.text, start, 64, set)
	for end > mark && s.text[end-1] == '.' {
		end--
	}
	if n := end - mark - 1; s.bytes.run(s.text, start, 3, set) == start+3 && n >= 31 && n <= 34 {
		s.add(AzureKey, weightShape, start, end)
	}
}
