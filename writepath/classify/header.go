package classify

import (
	"encoding/base64"
	"strings"
)

// bearerAfter adds the token of a bearer header.
func (s *scan) bearerAfter(h *hit) {
	i := s.skipAny(h.end, " :", 3)
	if i == h.end {
		return
	}
	end := s.bytes.run(s.text, i, 4096, inKey&^(colon|at))
	for end > i && s.text[end-1] == '.' {
		end--
	}
	if v := s.text[i:end]; len(v) >= minKey && looksDrawn(v, 3.0) && sortsOf(v).digits > 0 && !strings.Contains(v, "://") {
		s.add(Authorization, weightPlaced, i, end)
	}
}

// basicAfter adds the value of a basic header: base64 of a name, a colon and a password.
func (s *scan) basicAfter(h *hit) {
	i := s.skipAny(h.end, " ", 2)
	end := s.bytes.run(s.text, i, 1024, alnumeric|slash|equals)
	if end-i < 8 || i == h.end {
		return
	}
	raw, err := base64.StdEncoding.DecodeString(s.text[i:end])
	if err != nil {
		return
	}
	user, pass, ok := strings.Cut(string(raw), ":")
	if ok && plausiblePassword(user, pass) && printable(user) {
		s.add(Authorization, weightPlaced, i, end)
	}
}

// maxCommand bounds how far behind its name an option of a command is looked for.
const maxCommand = 256

// userAfter adds the password of a command's option -u name:password.
func (s *scan) userAfter(h *hit) {
	command, _, _ := strings.Cut(s.text[h.end:min(len(s.text), h.end+maxCommand)], "\n")
	for _, option := range []string{" -u ", " -u", " --user ", " --user="} {
		n := strings.Index(command, option)
		if n < 0 {
			continue
		}
		i := s.skipAny(h.end+n+len(option), `"'`, 1)
		end := i
		for end < min(len(s.text), i+maxUserinfo) && s.text[end] > ' ' && strings.IndexByte("\"'`", s.text[end]) < 0 {
			end++
		}
		user, pass, ok := strings.Cut(s.text[i:end], ":")
		if ok && len(pass) >= minPassword && len(pass) <= maxPassword && plausiblePassword(user, pass) && !notSecretValue(pass, false) {
			s.add(Password, weightPlaced, end-len(pass), end)
		}
		return
	}
}

func printable(v string) bool {
	for i := range len(v) {
		if v[i] < ' ' || v[i] > '~' {
			return false
		}
	}
	return true
}

// seedAfter adds the words of a recovery phrase: twelve to twenty-four, in threes, of small
// letters and nothing else.
func (s *scan) seedAfter(h *hit) {
	i := s.skipAny(h.end, " :=\"'\n", 4)
	i = s.skipAny(s.skipWord(i, "is are was"), " :=\"'\n", 4)
	start, end, words := i, i, 0
	for words <= 24 {
		stop := s.bytes.run(s.text, i, 9, lowerCase)
		if stop-i < 3 || stop-i > 8 || s.bytes.has(s.text, stop, alnumeric|high) {
			break
		}
		words, end = words+1, stop
		i = s.skipAny(stop, " ", 1)
		if i == stop {
			break
		}
	}
	if words >= 12 && words <= 24 && words%3 == 0 && !s.bytes.has(s.text, i, letter) {
		s.add(SeedPhrase, weightNamed, start, end)
	}
}
