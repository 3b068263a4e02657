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
	case FinnishHETU: // its sign is the century
		return string(k) + ":" + strings.ToUpper(written)
	default:
		return string(k) + ":" + lettersAndDigits(written)
	}
}

// plainEmail writes an address without what hides its signs, in lower case. The part before
// the @ could be another person's in upper case; no mail system that people use works so.
func plainEmail(written string) string {
	low := strings.ToLower(written)
	if strings.Contains(low, "@") {
		return low
	}
	return strings.NewReplacer("[at]", "@", "(at)", "@", "{at}", "@", "<at>", "@", "[dot]", ".", "(dot)", ".", "{dot}", ".", " ", "").Replace(low)
}

func lettersAndDigits(written string) string {
	out := make([]byte, 0, len(written))
	for i := range len(written) {
		if c := upperASCII(written[i]); '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' {
			out = append(out, c)
		}
	}
	return string(out)
}
