package classify

import "strings"

// findPrivateKeys looks for private keys in PEM, also with escaped line breaks and when cut
// off, and for those of PuTTY. A certificate or a public key is none.
func (s *scan) findPrivateKeys() {
	const begin = "-----BEGIN "
	for i := strings.Index(s.text, begin); i >= 0; {
		label, _, ok := strings.Cut(s.text[i+len(begin):min(len(s.text), i+len(begin)+64)], "-----")
		head := i + len(begin)
		next := head
		if ok && (strings.HasSuffix(label, "PRIVATE KEY") || label == "PGP PRIVATE KEY BLOCK") {
			next = s.endOfPEM(head + len(label) + len("-----"))
			s.add(PrivateKey, weightShape, i, next)
		}
		n := strings.Index(s.text[next:], begin)
		if n < 0 {
			break
		}
		i = next + n
	}
	if i := strings.Index(s.text, "PuTTY-User-Key-File-"); i >= 0 {
		if n := strings.Index(s.text[i:], "Private-Lines:"); n >= 0 {
			s.add(PrivateKey, weightShape, i, s.endOfBase64(i+n+len("Private-Lines:")))
		}
	}
}

// endOfPEM returns where a block whose body begins at i ends: behind its last line or, if that
// is missing, behind the last that can belong to it.
func (s *scan) endOfPEM(i int) int {
	n := strings.Index(s.text[i:], "-----")
	if n >= 0 && strings.HasPrefix(s.text[i+n:], "-----END ") {
		if m := strings.Index(s.text[i+n+len("-----END "):min(len(s.text), i+n+80)], "-----"); m >= 0 {
			return i + n + len("-----END ") + m + len("-----")
		}
	}
	return s.endOfBase64(i)
}

// endOfBase64 returns the end of the lines of base64, numbers and headers at i. The last line
// counts only if it is written in base64 from its start to its end.
func (s *scan) endOfBase64(i int) int {
	end := i
	for i < len(s.text) {
		c := s.text[i]
		escaped := c == '\\' && i+1 < len(s.text) && strings.IndexByte("nr", s.text[i+1]) >= 0
		switch {
		case escaped:
			i += 2
		case c == '\n' || c == '\r' || c == ' ' || c == '\t':
			i++
		case s.bytes.has(s.text, i, alnumeric|slash|equals):
			stop := s.bytes.run(s.text, i, len(s.text), alnumeric|slash|equals)
			if stop-i < 16 && !s.bytes.has(s.text, stop-1, equals) {
				return end // a word
			}
			i, end = stop, stop
		default:
			return end
		}
	}
	return end
}
