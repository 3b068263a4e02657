package classify

import "strings"

// findPasswordHashes looks for hashes as crypt, Argon2 and Django write them: what can be
// guessed back at leisure is as good as the password.
func (s *scan) findPasswordHashes() {
	for from := 0; ; {
		n := strings.IndexByte(s.text[from:], '$')
		if n < 0 {
			return
		}
		i := from + n
		start, end := s.hashAt(i)
		if end > 0 {
			s.add(PasswordHash, weightShape, start, end)
			from = end
			continue
		}
		from = i + 1
	}
}

func (s *scan) hashAt(i int) (start, end int) {
	rest := s.text[i:]
	const crypt = alnumeric | dot | slash
	switch {
	case hasAnyPrefix(rest, "$2a$", "$2b$", "$2y$", "$2x$"):
		// The cost, then 53 characters of salt and hash.
		if e := s.bytes.run(s.text, i+7, 54, crypt); len(rest) > 7 && rest[6] == '$' && e-i-7 == 53 {
			return i, e
		}
	case hasAnyPrefix(rest, "$1$", "$5$", "$6$", "$apr1$", "$y$", "$7$", "$sha1$"):
		return i, s.dollarParts(i, crypt|dollar(rest), 22)
	case hasAnyPrefix(rest, "$argon2", "$scrypt$", "$pbkdf2"):
		return i, s.dollarParts(i, crypt|dash|equals, 22)
	case strings.HasSuffix(s.text[max(0, i-13):i], "pbkdf2_sha256"):
		if e := s.dollarParts(i, crypt|equals, 22); e > 0 {
			return i - 13, e
		}
	}
	return 0, 0
}

// dollar is here for shadow's rounds=5000 in the forms of SHA.
func dollar(rest string) alphabet {
	if strings.HasPrefix(rest, "$5$") || strings.HasPrefix(rest, "$6$") {
		return equals
	}
	return 0
}

// dollarParts returns the end of parts of the set, each behind a $, the last of at least last
// bytes; 0 if they are not that.
func (s *scan) dollarParts(i int, set alphabet, last int) int {
	end, size := i, 0
	for n := 0; n < 6 && end < len(s.text) && s.text[end] == '$'; n++ {
		from := end + 1
		end = s.bytes.run(s.text, from, 256, set)
		for n < 4 && end < len(s.text) && s.text[end] == ',' && end-from < 256 { // Argon2's parameters
			end = s.bytes.run(s.text, end+1, 256, set)
		}
		size = end - from
	}
	if size < last {
		return 0
	}
	return end
}
