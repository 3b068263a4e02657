package classify

// luhn reports whether the digits pass the test of ISO/IEC 7812.
func luhn(d []byte) bool {
	sum := 0
	for i := range d {
		n := int(d[len(d)-1-i] - '0')
		if i%2 == 1 {
			if n *= 2; n > 9 {
				n -= 9
			}
		}
		sum += n
	}
	return sum%10 == 0
}

// weigh sums the digits times the weights, one digit a weight.
func weigh(d []byte, weights string) int {
	sum := 0
	for i := range weights {
		w := int(weights[i] - '0')
		if weights[i] >= 'a' { // a is 10, b 11
			w = int(weights[i]-'a') + 10
		}
		sum += int(d[i]-'0') * w
	}
	return sum
}

// rest returns the number that the digits make, modulo m.
func rest(d []byte, m int) int {
	n := 0
	for _, c := range d {
		n = (n*10 + int(c-'0')) % m
	}
	return n
}

// mod1110 reports whether the digits pass ISO/IEC 7064, MOD 11,10.
func mod1110(d []byte) bool {
	p := 10
	for _, c := range d[:len(d)-1] {
		s := (int(c-'0') + p) % 10
		if s == 0 {
			s = 10
		}
		p = s * 2 % 11
	}
	return (11-p)%10 == int(d[len(d)-1]-'0')
}

// verhoeff reports whether the digits pass Verhoeff's test.
func verhoeff(d []byte) bool {
	const (
		mul = "0123456789" + "1234067895" + "2340178956" + "3401289567" + "4012395678" +
			"5987604321" + "6598710432" + "7659821043" + "8765932104" + "9876543210"
		perm = "0123456789" + "1576283094" + "5803796142" + "8916043527" + "9453126870" + "4286573901" + "2793806415" + "7046913258"
	)
	c := byte('0')
	for i := range d {
		p := perm[i%8*10+int(d[len(d)-1-i]-'0')]
		c = mul[int(c-'0')*10+int(p-'0')]
	}
	return c == '0'
}

// sameDigits reports whether all digits are the same.
func sameDigits(d []byte) bool {
	for _, c := range d {
		if c != d[0] {
			return false
		}
	}
	return true
}

// day reports whether a month and a day can be those of a date.
func day(month, day int) bool { return month >= 1 && month <= 12 && day >= 1 && day <= 31 }
