package gitleaks_test

import (
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/writepath/classify/gitleaks"
)

// FuzzScan wants of every text that it is scanned without a panic, twice alike, into findings
// that lie between characters, and that it can be redacted until nothing is found.
func FuzzScan(f *testing.F) {
	for _, e := range unknown() {
		f.Add(e.text)
	}
	for _, text := range hostile(400) {
		f.Add(text)
	}
	f.Add(pem("RSA PRIVATE KEY", "\r\n", 6))
	f.Add("curl -u 'user:" + draw(alnum, 20, "curl") + "' \\\n -H \"X-Api-Key: " + draw(alnum, 30, "key") + "\"")
	s := newScanner(f, gitleaks.Config{})
	f.Fuzz(func(t *testing.T, text string) {
		got := scan(t, s, text)
		require.Equal(t, got, scan(t, s, text))
		for _, g := range got {
			if utf8.ValidString(text) {
				require.True(t, utf8.ValidString(g.value), "%q", g.value)
			}
		}
		rounds(t, s, text)
	})
}
