package gitleaks_test

import (
	"strings"
	"testing"
	"time"

	"github.com/memkernel/memkernel/writepath/classify"
	"github.com/memkernel/memkernel/writepath/classify/gitleaks"
)

// Texts like those of the benchmarks of package classify.
const (
	plainFact = "Dana moved the deployment window of the platform team from Tuesday to Thursday at 09:00 UTC, because the " +
		"release train of the mobile team needs the staging cluster on Tuesdays until the end of the quarter."
	keyFact = "Dana Reyes (dana.reyes@acme.io) keeps the API keys and access tokens of the staging cluster in the team's vault, " +
		"the session secret of the client in the deployment: the password is changed every quarter."
)

// BenchmarkScan reports the time beside that of the built-in classifier on the same text.
func BenchmarkScan(b *testing.B) {
	s, builtin := newScanner(b, gitleaks.Config{}), classify.New()
	leak := unknown()[0].text
	for _, bm := range []struct{ name, text string }{
		{"plain200", plainFact},
		{"keywords200", keyFact},
		{"secret200", leak + " " + plainFact[:120]},
		{"plain4k", strings.Repeat(plainFact+" ", 20)},
		{"keywords4k", strings.Repeat(keyFact+" ", 20)},
		{"secret4k", leak + strings.Repeat(" "+plainFact, 20)},
	} {
		b.Run(bm.name, func(b *testing.B) {
			b.SetBytes(int64(len(bm.text)))
			b.ReportAllocs()
			var builtinTime, scanTime time.Duration
			for b.Loop() {
				start := time.Now()
				builtin.Classify(bm.text)
				middle := time.Now()
				if _, err := s.Scan(b.Context(), bm.text); err != nil {
					b.Fatal(err)
				}
				scanTime += time.Since(middle)
				builtinTime += middle.Sub(start)
			}
			b.ReportMetric(float64(scanTime)/float64(builtinTime), "times-builtin")
			b.ReportMetric(float64(scanTime.Nanoseconds())/float64(b.N), "scan-ns/op")
		})
	}
}

func BenchmarkNew(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		newScanner(b, gitleaks.Config{})
	}
}

// hostile returns texts of n bytes that are made to be slow.
func hostile(n int) map[string]string {
	fill := func(unit string) string { return strings.Repeat(unit, n/len(unit)+1)[:n] }
	drawn := func(before string, length int, after string) string {
		var b strings.Builder
		for i := 0; b.Len() < n; i++ {
			b.WriteString(before + draw(alnum, length, before+strings.Repeat("x", i%97)+digits[i%10:]) + after)
		}
		return b.String()[:n]
	}
	var nested strings.Builder // values that begin alike, over and over
	for i := 0; nested.Len() < n; i++ {
		nested.WriteString("key=" + strings.Repeat("a1B2c3D4e5F6g7H8", 9)[i%16:16+i%16+i%101] + " ")
	}
	return map[string]string{
		"letters": fill("a"), "digits": fill("7"), "spaces": fill(" "), "lines": fill("\n"), "bytes": fill("\xff"), "characters": fill("窯"),
		"keywords": fill("key token secret api "), "names": fill("api_key = "), "values on one line": drawn("api_key = ", 20, "; "),
		"values on lines": drawn("api_key = ", 20, "\n"), "the same value": fill("key=Ab3dEfGh9jKlMn0p "), "nested": nested.String()[:n],
		"repeated": fill("a1B2c3D4e5F6g7H8"), "tokens": drawn("ghp_", 36, " "), "sentences": drawn("ico-", 32, ", "),
		"begin": fill("-----BEGIN PRIVATE KEY-----\n"), "curl": fill("curl -u "), "curl header": fill(`curl -H "`), "curl lines": fill("curl\n"),
		"teams": fill("https://a.webhook.office.com/webhookb2/"), "jwt": fill("eyJ."), "jwt64": fill("ZXlKaGJHY2lPaU"), "facebook": fill("123456789012345|"),
		"marks": fill("[redacted:api_key]"), "mark starts": fill("[redacted:"), "long words": fill("a1b2c3d4e5f6g7h8i9,"),
	}
}

func TestHostile(t *testing.T) {
	t.Parallel()
	s := newScanner(t, gitleaks.Config{})
	for _, text := range hostile(1 << 11) {
		scan(t, s, text)
	}
}

func BenchmarkHostile(b *testing.B) {
	s, n := newScanner(b, gitleaks.Config{}), 1<<20
	if testing.Short() {
		n = 1 << 16
	}
	for name, text := range hostile(n) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				scan(b, s, text)
			}
		})
	}
}
