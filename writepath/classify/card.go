package classify

import "strings"

// cardIn adds the payment card that the chain is.
func (s *scan) cardIn(c *chain) bool {
	if c.n < 13 || c.n > 19 || !cardIssuer(c.digits[:c.n]) || !luhn(c.digits[:c.n]) || testCard(c.String()) {
		return false
	}
	named := s.near(wordCard, c.start, c.end, 40, 16)
	switch c.sep {
	case 0:
		// Thirteen digits are more often an article's number; nineteen anything.
		if (c.n == 13 || c.n > 16) && !named {
			return false
		}
	case ' ', '-':
		if !cardLayout(c) || c.mixed {
			return false
		}
	default:
		return false
	}
	if !named && (s.named(wordReference, c.start) || s.inTable(c)) {
		return false
	}
	s.add(PaymentCard, weightChecked, c.start, c.end)
	return true
}

// inTable reports whether the chain is a part of a row or a column of numbers: codes stand
// beside it, or its groups count up.
func (s *scan) inTable(c *chain) bool {
	if c.sep != ' ' {
		return false
	}
	before := s.bytes.back(s.text, s.skipBack(c.start), 6, alnumeric)
	after := s.bytes.run(s.text, s.skipAny(c.end, " ", 1), 6, alnumeric)
	if s.hasDigit(before, s.skipBack(c.start)) || s.hasDigit(s.skipAny(c.end, " ", 1), after) && after > c.end+4 {
		return true
	}
	return c.groups > 1 && c.num(4, 8) == c.num(0, 4)+1
}

func (s *scan) hasDigit(i, end int) bool {
	for ; i < end; i++ {
		if s.bytes[s.text[i]]&digit != 0 {
			return true
		}
	}
	return false
}

// cardLayout reports whether the groups are those that cards are printed in.
func cardLayout(c *chain) bool {
	return c.layout("4-4-4-4") || c.layout("4-6-5") || c.layout("4-6-4") || c.layout("4-4-4-4-3") || c.layout("4-4-5") || c.layout("4-4-4-4-2")
}

// cardIssuer reports whether the digits begin like those of a card network and are as many as
// it uses.
func cardIssuer(d []byte) bool {
	two, three, four := atoi(string(d[:2])), atoi(string(d[:3])), atoi(string(d[:4]))
	n := len(d)
	switch {
	case d[0] == '4':
		return n == 13 || n == 16 || n == 19
	case two >= 51 && two <= 55, four >= 2221 && four <= 2720:
		return n == 16
	case two == 34, two == 37:
		return n == 15
	case three >= 300 && three <= 305, two == 36, two == 38, two == 39, three == 309:
		return n == 14 || n == 16 || n == 19
	case four == 6011, three >= 644 && three <= 649, two == 65, two == 62, two == 81, four >= 3528 && four <= 3589, four >= 2200 && four <= 2204:
		return n >= 16 && n <= 19
	case two == 50, two >= 56 && two <= 58, two == 60, two == 63, two == 67, two == 68, two == 69:
		return n >= 13 && n <= 19 // Maestro, RuPay, Elo, Verve
	default:
		return false
	}
}

// testCard reports whether the number is one that a payment processor has published for
// tests, or one that is plainly made up.
func testCard(number string) bool {
	if distinct(number) <= 2 || strings.HasPrefix(number, "123456") {
		return true
	}
	return isOneOf(number, "4242424242424242 4000056655665556 4111111111111111 4012888888881881 4222222222222 4000000000000002 "+
		"5555555555554444 5105105105105100 5200828282828210 2223003122003222 2223000048400011 5454545454545454 378282246310005 "+
		"371449635398431 378734493671000 6011111111111117 6011000990139424 6011981111111113 3056930009020004 30569309025904 "+
		"38520000023237 36227206271667 3530111333300000 3566002020360505 6200000000000005 6200000000000047 6205500000000000004 "+
		"6759649826438453 4917610000000000 4462030000000000 4917300800000000 5019717010103742")
}
