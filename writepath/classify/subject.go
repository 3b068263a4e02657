package classify

import "strings"

// Subject returns the identifier of the person or account that a finding of kind k points to,
// the same for every way to write it: "email:dana@example.org", "phone:+4915123456789",
// "iban:DE89370400440532013000", "us_ssn:536228147". An erasure names its subject like that.
// For a kind that points to nobody it is empty.
func Subject(k Kind, written string) string {
	if !k.subject() {
		return ""
	}
	switch k {
	case Email:
		return string(k) + ":" + plainEmail(written)
	case Phone:
		return string(k) + ":" + phoneDigits(written)
	case IPAddress:
		return string(k) + ":" + plainIP(written)
	default:
		return string(k) + ":" + lettersAndDigits(written)
	}
}

// plainEmail writes an address without what hides its signs, in lower case. The part before
// the @ could be another person's in upper case; no mail system that people use works so.
func plainEmail(written string) string {
	low := strings.ToLower(written)
	for _, open := range []string{"[", "(", "{", "<"} {
		closing := map[string]string{"[": "]", "(": ")", "{": "}", "<": ">"}[open]
		low = strings.ReplaceAll(low, open+"at"+closing, "@")
		low = strings.ReplaceAll(low, open+"dot"+closing, ".")
	}
	return strings.ReplaceAll(low, " ", "")
}

func lettersAndDigits(written string) string {
	out := make([]byte, 0, len(written))
	for i := range len(written) {
		switch c := upperASCII(written[i]); {
		case '0' <= c && c <= '9', 'A' <= c && c <= 'Z':
			out = append(out, c)
		case c == '+' || c == '-' && i == 6 && len(written) == 11:
			out = append(out, c) // the century in a Finnish number
		}
	}
	return string(out)
}
