package classify_test

import (
	"encoding/base64"
	"hash/fnv"
	"strconv"
	"strings"
)

// Nothing in these tests was ever valid anywhere: keys are drawn here by a fixed generator,
// and identifiers are made up and given their check digits by code that shares nothing with
// what it tests.

const (
	digits   = "0123456789"
	lower    = "abcdefghijklmnopqrstuvwxyz"
	upper    = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	hex      = "0123456789abcdef"
	alnum    = digits + lower + upper
	base32   = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	urlChars = alnum + "-_"
	b64Chars = alnum + "+/"
)

// draw returns n characters of an alphabet, the same for the same seed.
func draw(alphabet string, n int, seed string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(seed))
	x := h.Sum64() | 1
	var b strings.Builder
	for range n {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		b.WriteByte(alphabet[(x>>20)%uint64(len(alphabet))])
	}
	return b.String()
}

// b64 returns the base64 of n drawn bytes.
func b64(n int, seed string) string {
	return base64.StdEncoding.EncodeToString([]byte(draw(alnum+"!$%&/()=?+*~#-_.:,;<>|", n, seed)))
}

func jwt(header, payload, seed string) string {
	e := base64.RawURLEncoding.EncodeToString
	return e([]byte(header)) + "." + e([]byte(payload)) + "." + draw(urlChars, 43, seed)
}

func pemBlock(label, seed string, lines int) string {
	var b strings.Builder
	b.WriteString("-----" + "BEGIN " + label + "-----\n")
	for i := range lines {
		b.WriteString(draw(b64Chars, 64, seed+strconv.Itoa(i)) + "\n")
	}
	b.WriteString("-----" + "END " + label + "-----")
	return b.String()
}

// pemInline is a PEM block as it stands in a JSON string.
func pemInline(label, seed string, lines int) string {
	return strings.ReplaceAll(pemBlock(label, seed, lines), "\n", `\n`)
}

func num(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

func itoa(n int) string { return strconv.Itoa(n) }

func two(n int) string { return itoa(n/10) + itoa(n%10) }

// weighted sums the digits of s times the weights.
func weighted(s string, weights ...int) int {
	sum := 0
	for i, w := range weights {
		sum += int(s[i]-'0') * w
	}
	return sum
}

// withLuhn appends the digit that makes s pass the Luhn test, by trying all ten.
func withLuhn(s string) string {
	for d := range 10 {
		t := s + itoa(d)
		sum := 0
		for i := range len(t) {
			n := int(t[len(t)-1-i] - '0')
			if i%2 == 1 {
				n *= 2
			}
			sum += n/10 + n%10
		}
		if sum%10 == 0 {
			return t
		}
	}
	panic("no Luhn digit")
}

// spaced cuts s into groups of the given sizes.
func spaced(s, sep string, sizes ...int) string {
	var parts []string
	for _, n := range sizes {
		parts = append(parts, s[:n])
		s = s[n:]
	}
	if s != "" {
		parts = append(parts, s)
	}
	return strings.Join(parts, sep)
}

// fours cuts s into groups of four.
func fours(s, sep string) string {
	var parts []string
	for len(s) > 4 {
		parts, s = append(parts, s[:4]), s[4:]
	}
	return strings.Join(append(parts, s), sep)
}
