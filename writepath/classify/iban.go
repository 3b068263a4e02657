package classify

import "strings"

// newIBANLengths returns the length of an IBAN by country.
func newIBANLengths() map[string]int {
	const table = `AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29
		ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28
		LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29
		RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30`
	m := map[string]int{}
	for entry := range strings.FieldsSeq(table) {
		m[entry[:2]] = atoi(entry[2:])
	}
	return m
}

// maxIBAN is the longest IBAN there can be.
const maxIBAN = 34

// ibanAt adds the IBAN that begins at i, written in one or in groups with one separator, and
// returns its end, or 0.
func (s *scan) ibanAt(i int) int {
	if i+15 > len(s.text) || !s.bytes.has(s.text, i+2, digit) || !s.bytes.has(s.text, i+3, digit) {
		return 0
	}
	country := strings.ToUpper(s.text[i : i+2])
	want := s.ibans[country]
	if want == 0 {
		return 0
	}
	var buf [maxIBAN]byte
	n, end, mod := 0, i, 0
	for end < len(s.text) && n < want {
		c, size := s.separatorAt(end)
		switch {
		case size == 1 && s.bytes[c]&alnumeric != 0:
			buf[n] = upperASCII(c)
			n++
		case (c == ' ' || c == '-') && n >= 4 && s.bytes.has(s.text, end+size, alnumeric) && s.bytes.has(s.text, end-1, alnumeric):
		default:
			return 0
		}
		end += size
	}
	if n < want || s.bytes.has(s.text, end, alnumeric|underscore) {
		return 0
	}
	for k := range want {
		mod = mod97(mod, buf[(k+4)%want])
	}
	if mod != 1 || sampleIBAN(string(buf[:n])) || sameDigits(buf[4:n]) {
		return 0
	}
	s.add(IBAN, weightChecked, i, end)
	return end
}

func upperASCII(b byte) byte {
	if 'a' <= b && b <= 'z' {
		return b - 'a' + 'A'
	}
	return b
}

// mod97 takes one more character of an IBAN into the remainder.
func mod97(mod int, c byte) int {
	if c >= 'A' {
		return (mod*100 + int(c-'A') + 10) % 97
	}
	return (mod*10 + int(c-'0')) % 97
}

// sampleIBAN reports whether the number is one that the standards and the banks print as an
// example.
func sampleIBAN(number string) bool {
	return isOneOf(number, "DE89370400440532013000 GB82WEST12345698765432 GB29NWBK60161331926819 FR1420041010050500013M02606 "+
		"NL91ABNA0417164300 ES9121000418450200051332 IT60X0542811101000000123456 CH9300762011623852957 AT611904300234573201 "+
		"BE68539007547034 PL61109010140000071219812874 SE4550000000058398257466 DK5000400440116243 NO9386011117947 "+
		"PT50000201231234567890154 IE29AIBK93115212345678 FI2112345600000785 LU280019400644750000 GR1601101250000000012300695 "+
		"DE75512108001245126199 DE02120300000000202051")
}
