package classify

import "strings"

// mixedAt tries what is written with letters and digits on the run from i to end, and returns
// where it ends, or 0.
func (s *scan) mixedAt(i, end int) int {
	if onlyOf(s.bytes, s.text[i:end], letter) {
		if end-i == 2 {
			return s.spacedNINO(i)
		}
		return 0
	}
	if s.bytes.has(s.text, i, letter) && s.bytes.has(s.text, i+1, letter) {
		if stop := s.ibanAt(i); stop > 0 {
			return stop
		}
	}
	if s.bytes.has(s.text, end, underscore) || s.letterAt(end) || s.bytes.has(s.text, i-1, dash|dot|slash) && s.bytes.has(s.text, i-2, alnumeric) {
		return 0
	}
	kind, name := s.mixedKind(s.text[i:end])
	if kind == "" {
		return 0
	}
	// What is not written in capitals, as it is on paper, needs its name; so does what is often
	// a number in base sixteen.
	loose := s.named(wordReference, i) || s.text[i:end] != strings.ToUpper(s.text[i:end]) || kind == IrishPPS
	if loose && !s.near(name, i, end, nameReach, nameReachAfter) {
		return 0
	}
	s.add(kind, weightChecked, i, end)
	return end
}

// mixedKind says what the letters and digits are, with the class of its names.
func (s *scan) mixedKind(t string) (Kind, wordClass) {
	upper := strings.ToUpper(t)
	switch len(t) {
	case 8:
		if validPPS(upper) {
			return IrishPPS, namePPS
		}
	case 9:
		switch {
		case validDNI(upper):
			return SpanishDNI, nameDNI
		case validNIE(upper):
			return SpanishNIE, nameNIE
		case t == upper && validNRIC(t):
			return SingaporeNRIC, nameNRIC
		case t == upper && validNINO(t):
			return BritishNINO, nameNINO
		case t == upper && validPPS(t):
			return IrishPPS, namePPS
		}
	case 10:
		if t == upper && validPAN(t) {
			return IndianPAN, namePAN
		}
	case 11:
		if validHETU(upper) {
			return FinnishHETU, nameHETU
		}
	case 16:
		if validCF(upper) {
			return ItalianCF, nameCF
		}
	case 18:
		if validCURP(upper) {
			return MexicanCURP, nameCURP
		}
		if d := []byte(upper); d[17] == 'X' && allDigits(upper[:17]) && validChinese(d) {
			return ChineseID, nameChinese
		}
	}
	return "", 0
}

func allDigits(t string) bool {
	for i := range len(t) {
		if t[i] < '0' || t[i] > '9' {
			return false
		}
	}
	return t != ""
}

// pattern reports whether t has letters and digits where the pattern has A and 9.
func pattern(t, p string) bool {
	if len(t) != len(p) {
		return false
	}
	for i := range len(p) {
		c := t[i]
		if p[i] == 'A' && (c < 'A' || c > 'Z') || p[i] == '9' && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

const dniLetters = "TRWAGMYFPDXBNJZSQVHLCKE"

func validDNI(t string) bool {
	return pattern(t, "99999999A") && dniLetters[atoi(t[:8])%23] == t[8] && t != "12345678Z" && !sameDigits([]byte(t[:8]))
}

func validNIE(t string) bool {
	return pattern(t, "A9999999A") && t[0] >= 'X' && t[0] <= 'Z' && dniLetters[(int(t[0]-'X')*10_000_000+atoi(t[1:8]))%23] == t[8] &&
		t != "X1234567L" && !sameDigits([]byte(t[1:8]))
}

// validNINO applies the published rules for prefixes; the number has no check digit.
func validNINO(t string) bool {
	if !pattern(t, "AA999999A") || t[8] > 'D' || strings.IndexByte("DFIQUV", t[0]) >= 0 || strings.IndexByte("DFIOQUV", t[1]) >= 0 {
		return false
	}
	return !isOneOf(t[:2], "BG GB KN NK NT TN ZZ") && t[2:8] != "123456" && !sameDigits([]byte(t[2:8]))
}

// spacedNINO adds a number written as AB 12 34 56 C at i.
func (s *scan) spacedNINO(i int) int {
	const length = len("AB 12 34 56 C")
	if i+length > len(s.text) || s.text[i+2] != ' ' || s.bytes.has(s.text, i+length, alnumeric|underscore) {
		return 0
	}
	t := s.text[i : i+length]
	if t[5] != ' ' || t[8] != ' ' || t[11] != ' ' || !validNINO(t[:2]+t[3:5]+t[6:8]+t[9:11]+t[12:]) {
		return 0
	}
	s.add(BritishNINO, weightChecked, i, i+length)
	return i + length
}

func validNRIC(t string) bool {
	if !pattern(t, "A9999999A") || t == "S1234567D" {
		return false
	}
	sum := weigh([]byte(t[1:8]), "2765432")
	switch t[0] {
	case 'S':
		return "JZIHGFEDCBA"[sum%11] == t[8]
	case 'T':
		return "JZIHGFEDCBA"[(sum+4)%11] == t[8]
	case 'F':
		return "XWUTRQPNMLK"[sum%11] == t[8]
	case 'G':
		return "XWUTRQPNMLK"[(sum+4)%11] == t[8]
	default:
		return false
	}
}

func validPPS(t string) bool {
	if !pattern(t, "9999999A") && !pattern(t, "9999999AA") {
		return false
	}
	sum := weigh([]byte(t[:7]), "8765432")
	if len(t) == 9 && t[8] != 'W' {
		sum += int(t[8]-'A'+1) * 9
	}
	return "WABCDEFGHIJKLMNOPQRSTUV"[sum%23] == t[7] && t[:7] != "1234567"
}

// validPAN takes the numbers of persons; those of companies have another fourth letter.
func validPAN(t string) bool { return pattern(t, "AAAAA9999A") && t[3] == 'P' && t[:5] != "ABCPD" }

// validCF reports whether t is an Italian tax code, with letters in place of digits where two
// people would have the same.
func validCF(t string) bool {
	const odd = "0100050709131517192102041820110306081214161022252423"
	digits := "0123456789LMNPQRSTUV"
	for i := range len(t) {
		isDigit := strings.IndexByte(digits, t[i]) >= 0
		isLetter := t[i] >= 'A' && t[i] <= 'Z'
		switch i {
		case 6, 7, 9, 10, 12, 13, 14:
			if !isDigit {
				return false
			}
		case 8:
			if strings.IndexByte("ABCDEHLMPRST", t[i]) < 0 {
				return false
			}
		default:
			if !isLetter {
				return false
			}
		}
	}
	sum := 0
	for i := range 15 {
		v := int(t[i] - '0')
		if t[i] >= 'A' {
			v = int(t[i] - 'A')
		}
		if i%2 == 0 {
			v = atoi(odd[2*v : 2*v+2])
		}
		sum += v
	}
	return byte(sum%26)+'A' == t[15] && t != "RSSMRA85T10A562S" && t != "RSSMRA80A01H501U"
}

func validCURP(t string) bool {
	if !pattern(t[:16], "AAAA999999AAAAAA") || !allDigits(t[17:]) || strings.IndexByte("HMX", t[10]) < 0 || !birthday([]byte(t[4:10])) {
		return false
	}
	sum := 0
	for i := range 17 {
		v := int(t[i] - '0')
		if t[i] >= 'A' {
			if v = int(t[i]-'A') + 10; t[i] > 'N' {
				v++ // Ñ stands between N and O
			}
		}
		sum += v * (18 - i)
	}
	return (10-sum%10)%10 == int(t[17]-'0') && t != "HEGG560427MVZRRL04"
}

// signedID tries, on the digits at i, the identifiers that end with a letter behind a sign:
// the Finnish 131052-308T, the Chilean 12.345.678-K and the Spanish 12345678-Z.
func (s *scan) signedID(i int) int {
	end := s.bytes.run(s.text, i, 12, digit)
	var kind Kind
	var name wordClass
	switch end - i {
	case 6:
		if end+5 <= len(s.text) && validHETU(strings.ToUpper(s.text[i:end+5])) {
			kind, name, end = FinnishHETU, nameHETU, end+5
		}
	case 8:
		if end+2 <= len(s.text) && s.text[end] == '-' && validDNI(s.text[i:end]+s.text[end+1:end+2]) {
			kind, name, end = SpanishDNI, nameDNI, end+2
		}
	case 1, 2:
		n := end + len(".345.678-K")
		if n <= len(s.text) && strings.EqualFold(s.text[n-2:n], "-K") && s.text[end] == '.' && s.text[end+4] == '.' {
			d := s.text[i:end] + s.text[end+1:end+4] + s.text[end+5:end+8]
			if allDigits(d) && rutCheck([]byte(d)) == 'K' {
				kind, name, end = ChileanRUT, nameRUT, n
			}
		}
	}
	if kind == "" || s.bytes.has(s.text, end, alnumeric|underscore|dash) || s.named(wordReference, i) && !s.near(name, i, end, nameReach, nameReachAfter) {
		return 0
	}
	s.add(kind, weightChecked, i, end)
	return end
}

// validHETU wants a day of birth, the sign of a century and the check character.
func validHETU(t string) bool {
	if !allDigits(t[:6]) || !allDigits(t[7:10]) || strings.IndexByte("+-ABCDEFUVWXY", t[6]) < 0 || !dayFirst([]byte(t)) {
		return false
	}
	return "0123456789ABCDEFHJKLMNPRSTUVWXY"[atoi(t[:6]+t[7:10])%31] == t[10] && t != "131052-308T"
}
