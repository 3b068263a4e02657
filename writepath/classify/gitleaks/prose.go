package gitleaks

// minWord is the length in bytes of the shortest word that may be a secret by its shape.
const minWord = 16

// endWords returns text with a space in the place of every byte that ends a long word with a
// digit in it, so that all is where it was. Many rules want a secret to end as it would in source
// code: with white space, a quote or a semicolon, not with the comma or full stop of a sentence.
// If there is nothing to replace it returns text itself.
func endWords(text string) string {
	var ended []byte
	length, digit := 0, false
	for i := range len(text) {
		c := text[i]
		if inWord(c) || (c == '.' || c == ':') && i+1 < len(text) && inWord(text[i+1]) {
			length++
			digit = digit || c >= '0' && c <= '9'
			continue
		}
		if length >= minWord && digit && !endsSecret(c) {
			if ended == nil {
				ended = []byte(text)
			}
			ended[i] = ' '
		}
		length, digit = 0, false
	}
	if ended == nil {
		return text
	}
	return string(ended)
}

func inWord(c byte) bool {
	switch {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		return true
	}
	switch c {
	case '_', '-', '+', '/', '=', '~', '@', '%':
		return true
	}
	return false
}

// endsSecret reports whether the rules know c as the end of a secret.
func endsSecret(c byte) bool {
	switch c {
	case ' ', '\t', '\n', '\v', '\f', '\r', '"', '\'', '`', ';', '\\':
		return true
	}
	return false
}
