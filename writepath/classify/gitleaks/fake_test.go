package gitleaks_test

import (
	"hash/fnv"
	"strings"
)

// Nothing in these tests was ever valid anywhere: values are drawn here by a fixed generator.

const (
	digits = "0123456789"
	lower  = "abcdefghijklmnopqrstuvwxyz"
	upper  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	hex    = digits + "abcdef"
	alnum  = digits + lower + upper
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

func uuid(seed string) string {
	s := draw(hex, 32, seed)
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}

func pem(label, newline string, lines int) string {
	all := []string{"-----" + "BEGIN " + label + "-----"}
	for i := range lines {
		all = append(all, draw(alnum+"+/", 64, label+digits[i%10:]))
	}
	return strings.Join(append(all, "-----"+"END "+label+"-----"), newline)
}
