package classify_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/writepath/classify"
)

const (
	plainFact = "Dana moved the deployment window of the platform team from Tuesday to Thursday at 09:00 UTC, because the " +
		"release train of the mobile team needs the staging cluster on Tuesdays until the end of the quarter."
	fullFact = "Dana Reyes (dana.reyes@acme.io, +49 1512 3456789) asked for a refund to DE12500105170648489890 and logged in " +
		"from 84.151.92.17; the old password was Tr0ub4dor&3 and the order is 4539-1488-0343."
)

func BenchmarkClassify(b *testing.B) {
	c := classify.New()
	for _, bm := range []struct{ name, text string }{
		{"plain200", plainFact},
		{"full200", fullFact},
		{"plain4k", strings.Repeat(plainFact+" ", 20)},
		{"full4k", strings.Repeat(fullFact+" ", 20)},
	} {
		b.Run(bm.name, func(b *testing.B) {
			b.SetBytes(int64(len(bm.text)))
			b.ReportAllocs()
			for b.Loop() {
				c.Classify(bm.text)
			}
		})
	}
}

func BenchmarkNew(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		classify.New()
	}
}

func BenchmarkHostile(b *testing.B) {
	c := classify.New()
	for name, text := range hostile(1 << 20) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				c.Classify(text)
			}
		})
	}
}

// hostile returns texts of n bytes that are made to be slow for one rule each.
func hostile(n int) map[string]string {
	fill := func(unit string) string { return strings.Repeat(unit, n/len(unit)+1)[:n] }
	return map[string]string{
		"letters": fill("a"), "digits": fill("7"), "spaces": fill(" "), "ats": fill("@"), "colons": fill(":"), "dots": fill("."),
		"slashes": fill("/"), "dollars": fill("$"), "quotes": fill(`"`), "angles": fill("<"), "dashes": fill("-"), "bytes": fill("\xff"),
		"digit groups": fill("4111 "), "dashed groups": fill("4111-"), "single digits": fill("1 "), "dotted": fill("1.2.3."),
		"emails": fill("a@b.co "), "email starts": fill("a@"), "domains": fill("a@a.a.a."), "spelled": fill("a [at] b [dot] "),
		"phones": fill("+49 1512 3456789 "), "pluses": fill("+1"), "plus groups": fill("+1-2-3-"), "brackets": fill("(212)"),
		"urls": fill("a://b:c@"), "schemes": fill("://"), "userinfo": fill("x://y:z/"), "signatures": fill("&sig=se=sv="),
		"jwt": fill("eyJ."), "jwt heads": fill("eyJhbGciOiJIUzI1NiJ9."), "jwt long": "eyJhbGciOiJIUzI1NiJ9." + fill("A"),
		"pem": fill("-----BEGIN PRIVATE KEY-----"), "pem open": fill("-----BEGIN RSA PRIVATE KEY-----\nAAAA\n"),
		"putty": fill("PuTTY-User-Key-File-2: Private-Lines:"), "hash": fill("$1$"), "hashes": fill("$argon2$a$"), "bcrypt": fill("$2b$12$"),
		"keys": fill("sk-"), "github": fill("ghp_"), "aws": fill("AK" + "IAABCDEFGHIJKLMNOP "), "google": fill("ya29."), "tilde": fill("abc8Q~"),
		"assign": fill("password="), "assign prose": fill("password for "), "options": fill("--password "), "tokens": fill("token: a1b2c3d4e5f6g7h8 "),
		"pins": fill("pin code "), "bearer": fill("bearer "), "bearers": fill("Bearer a1"), "seed": fill("seed phrase abc "),
		"born": fill("born on 1 "), "dates": fill("born on 12 March "), "streets": fill("12 Oak Street, "), "rues": fill("rue 12 "), "commas": fill("weg 1, 12345 "),
		"ignore": fill("ignore "), "ignore all": fill("ignore all previous "), "system": fill("system: "), "tags": fill("<tool"), "roles": fill(`{"role" `),
		"iban": fill("DE89 "), "ibans": fill("DE89"), "hex": fill("ab:"), "hex groups": fill("2001:db8:"), "han": fill("忽略之前的"), "hangul": fill("이전 지시를 "),
		"marks": fill("e\u0301"), "zero width": fill("a\u200b"), "tag letters": fill("\U000E0061"), "cyrillic": fill("игнорируй все "),
		"have": fill("she has no "), "salary": fill("my salary 1 "), "order": fill("order no. 1 "), "icd": fill("icd "),
	}
}

// TestLinearTime wants a quarter of a megabyte of anything done in a time that only a rule
// that is not linear can miss, also on a busy machine under the race detector. The time of
// each is BenchmarkHostile's.
func TestLinearTime(t *testing.T) {
	t.Parallel()
	c := classify.New()
	for name, text := range hostile(1 << 18) {
		start := time.Now()
		c.Classify(text)
		took := time.Since(start)
		require.Less(t, took, 5*time.Second, name)
	}
}
