package classify

// idRule is a national identifier made of digits alone.
type idRule struct {
	kind Kind
	name wordClass
	// free lists the layouts that are so distinctive that no name is needed, each with the
	// separator that it is written with: "3-2-4:-"; an empty layout is digits in one.
	free  []string
	valid func(d []byte) bool
}

// idRules are the rules by number of digits.
type idRules [maxDigits + 1][]idRule

func newIDRules() *idRules {
	var r idRules
	add := func(n int, k Kind, name wordClass, valid func([]byte) bool, free ...string) {
		r[n] = append(r[n], idRule{k, name, free, valid})
	}
	add(8, ChileanRUT, nameRUT, validRUT, "1-3-3-1:.")
	add(9, AmericanSSN, nameSSN, validSSN, "3-2-4:-")
	add(9, CanadianSIN, nameSIN, validSIN)
	add(9, DutchBSN, nameBSN, validBSN)
	add(9, AustralianTFN, nameTFN, validTFN)
	add(9, PortugueseNIF, nameNIF, validNIF)
	add(9, ChileanRUT, nameRUT, validRUT, "2-3-3-1:.")
	add(9, CzechBirthNumber, nameCzech, validOldCzech)
	add(10, BritishNHS, nameNHS, validNHS)
	add(10, SwedishPNR, nameSwedish, validPNR, "6-4:-")
	add(10, DanishCPR, nameCPR, validCPR)
	add(10, CzechBirthNumber, nameCzech, validCzech, "6-4:/")
	add(11, GermanTaxID, nameGerman, validGermanTaxID)
	add(11, BelgianRRN, nameRRN, validRRN, "2-2-2-3-2:.")
	add(11, PolishPESEL, namePESEL, validPESEL)
	add(11, NorwegianFNR, nameNorwegian, validFNR, "6-5: ")
	add(11, BrazilianCPF, nameCPF, validCPF, "3-3-3-2:.")
	add(11, TurkishKimlik, nameTurkish, validKimlik)
	add(12, SwedishPNR, nameSwedish, validLongPNR, "8-4:-")
	add(12, IndianAadhaar, nameAadhaar, validAadhaar)
	add(12, JapaneseMyNumber, nameMyNumber, validMyNumber)
	add(13, SwissAHV, nameAHV, validAHV, "3-4-4-2:.", "")
	add(13, KoreanRRN, nameKorean, validKorean, "6-7:-")
	add(13, SouthAfricanID, nameSouthAfrican, validSouthAfrican)
	add(15, FrenchNIR, nameNIR, validNIR, "1-2-2-2-3-3-2: ", "")
	add(18, ChineseID, nameChinese, validChinese, "")
	return &r
}

// nameReach is how far from an identifier its name may stand, before it and after.
const (
	nameReach      = 48
	nameReachAfter = 16
)

// nationalIn adds the national identifier that the chain is.
func (s *scan) nationalIn(c *chain) bool {
	d := c.digits[:c.n]
	if sameDigits(d) || datelike(c) {
		return false
	}
	for n := range s.ids[c.n] {
		r := &s.ids[c.n][n]
		named := s.near(r.name, c.start, c.end, nameReach, nameReachAfter)
		if !named && (!r.distinctive(c) || s.named(wordReference, c.start)) || !r.valid(d) {
			continue
		}
		if r.kind == AmericanSSN && !named && s.phoneNamed(c.start, c.end) {
			continue
		}
		if r.kind == SwedishPNR && !named && clockTime(d[len(d)-4:]) {
			continue // a day and a time, as in the names of builds
		}
		s.add(r.kind, weightChecked, c.start, c.end)
		return true
	}
	return false
}

func (r *idRule) distinctive(c *chain) bool {
	for _, f := range r.free {
		if f == "" && c.groups == 1 || f != "" && c.sep == f[len(f)-1] && c.layout(f[:len(f)-2]) {
			return true
		}
	}
	return false
}

func clockTime(d []byte) bool { return atoi(string(d[:2])) < 24 && atoi(string(d[2:])) < 60 }

// birthday reports whether d begins with a date as year, month, day.
func birthday(d []byte) bool { return day(atoi(string(d[2:4])), atoi(string(d[4:6]))) }

// dayFirst reports whether d begins with a date as day, month, year.
func dayFirst(d []byte) bool { return day(atoi(string(d[2:4])), atoi(string(d[:2]))) }

func validSSN(d []byte) bool {
	area, group, serial := atoi(string(d[:3])), atoi(string(d[3:5])), atoi(string(d[5:]))
	switch string(d) {
	case "078051120", "219099999", "123456789", "457555462", "987654321", "111223333", "123121234", "123456780":
		return false // printed in advertisements and forms
	}
	if area >= 900 { // an ITIN, which has the same form
		return group >= 50 && group <= 65 || group >= 70 && group <= 88 || group >= 90 && group <= 92 || group >= 94
	}
	return area > 0 && area != 666 && group > 0 && serial > 0
}

func validSIN(d []byte) bool { return d[0] != '0' && d[0] != '8' && luhn(d) }

func validBSN(d []byte) bool {
	return (weigh(d[:8], "98765432")-int(d[8]-'0'))%11 == 0 && string(d) != "123456782" && string(d) != "111222333"
}

func validTFN(d []byte) bool { return weigh(d, "14375869a")%11 == 0 && string(d) != "123456782" }

func validNIF(d []byte) bool {
	check := 11 - weigh(d[:8], "98765432")%11
	if check > 9 {
		check = 0
	}
	return (d[0] >= '1' && d[0] <= '3') && check == int(d[8]-'0') && string(d) != "123456789"
}

func validRUT(d []byte) bool {
	return rutCheck(d[:len(d)-1]) == d[len(d)-1] && string(d) != "123456785" && string(d) != "111111111"
}

// rutCheck returns the check digit of a Chilean number, which can be K.
func rutCheck(d []byte) byte {
	sum := 0
	for i := range d {
		sum += int(d[len(d)-1-i]-'0') * (2 + i%6)
	}
	return "0K987654321"[sum%11]
}

func validNHS(d []byte) bool {
	check := 11 - weigh(d[:9], "a98765432")%11
	return check%11 == int(d[9]-'0') && check != 10 && string(d) != "9434765919" && string(d) != "1234567881"
}

func validPNR(d []byte) bool {
	of := atoi(string(d[4:6]))
	if of > 60 { // the number of a person not in the register
		of -= 60
	}
	return day(atoi(string(d[2:4])), of) && luhn(d) && string(d) != "8112189876" && string(d) != "1212121212"
}

func validLongPNR(d []byte) bool {
	return (string(d[:2]) == "19" || string(d[:2]) == "20") && validPNR(d[2:])
}

func validCPR(d []byte) bool { return dayFirst(d) && string(d[6:]) != "0000" }

func validCzech(d []byte) bool {
	month := atoi(string(d[2:4])) % 50
	return day(month, atoi(string(d[4:6]))) && rest(d, 11) == 0 && string(d) != "7360285163"
}

func validOldCzech(d []byte) bool {
	return atoi(string(d[:2])) < 54 && day(atoi(string(d[2:4]))%50, atoi(string(d[4:6])))
}

// validGermanTaxID wants, besides the check digit, that among the first ten digits exactly
// one occurs two or three times.
func validGermanTaxID(d []byte) bool {
	var count [10]int
	for _, c := range d[:10] {
		count[c-'0']++
	}
	repeated := 0
	for _, n := range count {
		if n > 3 {
			return false
		}
		if n > 1 {
			repeated++
		}
	}
	return repeated == 1 && d[0] != '0' && mod1110(d) && string(d) != "86095742719" && string(d) != "65929970489"
}

func validRRN(d []byte) bool {
	check := atoi(string(d[9:]))
	month := atoi(string(d[2:4]))
	if month > 12 || string(d) == "85073003328" {
		return false
	}
	body := rest(d[:9], 97)
	return 97-body == check || 97-(body+2_000_000_000%97)%97 == check
}

func validPESEL(d []byte) bool {
	return day(atoi(string(d[2:4]))%20, atoi(string(d[4:6]))) && weigh(d, "13791379131")%10 == 0 &&
		string(d) != "44051401359" && string(d) != "02070803628"
}

func validFNR(d []byte) bool {
	return day(atoi(string(d[2:4]))%40, atoi(string(d[:2]))%40) && weigh(d, "37618945210")%11 == 0 && weigh(d, "54327654321")%11 == 0
}

func validCPF(d []byte) bool {
	return weigh(d[:9], "a98765432")*10%11%10 == int(d[9]-'0') && weigh(d[:10], "ba98765432")*10%11%10 == int(d[10]-'0') &&
		string(d) != "12345678909"
}

func validKimlik(d []byte) bool {
	odd, even := weigh(d[:9], "101010101"), weigh(d[:8], "01010101")
	return d[0] != '0' && ((odd*7-even)%10+10)%10 == int(d[9]-'0') && weigh(d[:10], "1111111111")%10 == int(d[10]-'0') &&
		string(d) != "10000000146"
}

func validAadhaar(d []byte) bool { return d[0] >= '2' && verhoeff(d) }

func validMyNumber(d []byte) bool {
	r := weigh(d[:11], "65432765432") % 11
	if r <= 1 {
		return d[11] == '0'
	}
	return int(d[11]-'0') == 11-r
}

func validAHV(d []byte) bool {
	return string(d[:3]) == "756" && weigh(d, "1313131313131")%10 == 0 && string(d) != "7569217076985" && string(d) != "7561234567897"
}

func validKorean(d []byte) bool {
	return birthday(d) && d[6] >= '1' && d[6] <= '8' && (11-weigh(d[:12], "234567892345")%11)%10 == int(d[12]-'0')
}

func validSouthAfrican(d []byte) bool {
	return birthday(d) && d[10] <= '2' && luhn(d) && string(d) != "8001015009087"
}

func validNIR(d []byte) bool {
	month := atoi(string(d[3:5]))
	ok := (d[0] == '1' || d[0] == '2') && (month >= 1 && month <= 12 || month >= 20 && month <= 42 || month >= 50)
	return ok && 97-rest(d[:13], 97) == atoi(string(d[13:])) && string(d) != "255081416802538"
}

func validChinese(d []byte) bool {
	year := atoi(string(d[6:10]))
	return d[0] >= '1' && d[0] <= '8' && year >= 1900 && year <= 2099 && day(atoi(string(d[10:12])), atoi(string(d[12:14]))) &&
		chineseCheck(d[:17]) == d[17] && string(d[:17]) != "11010519491231002"
}

func chineseCheck(d []byte) byte { return "10X98765432"[weigh(d, "79a584216379a5842")%11] }
