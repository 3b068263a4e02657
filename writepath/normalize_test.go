package writepath_test

import (
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/unicode/norm"

	"github.com/memkernel/memkernel/writepath"
)

func TestNormalize(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                           "",
		"  The  Deploy\tWindow\r\n ": "the deploy window",
		"a\u00a0b\u2003c\u3000d":     "a b c d",
		"a\u200bb":                   "a\u200bb", // no white space
		"STRASSE":                    "strasse",
		"Straße":                     "strasse",
		"Stra\u1e9ee":                "strasse",        // capital sharp s
		"ΣΊΣΥΦΟΣ":                    "σίσυφοσ",        // final and medial sigma are one
		"\u0130stanbul":              "i\u0307stanbul", // a dotted I stays dotted
		"I\u0307stanbul":             "i\u0307stanbul",
		"Istanbul":                   "istanbul",
		"\u0131stanbul":              "\u0131stanbul", // a dotless i is another letter
		"Cafe\u0301":                 "caf\u00e9",
		"CAF\u00c9":                  "caf\u00e9",
		"\u212Bngström":              "\u00e5ngström",
		"2026-03-01, 10:00 UTC!":     "2026-03-01, 10:00 utc!",
		"\uff21\uff11":               "\uff41\uff11", // full width letters fold, digits stay
		"x² ≠ x2":                    "x² ≠ x2",
	} {
		require.Equal(t, want, writepath.Normalize(text), "%q", text)
	}
}

func TestDedupeKey(t *testing.T) {
	t.Parallel()
	const base = "The deploy window is Tuesday, 3 March 2026, 10:00 UTC."
	for _, same := range []string{
		base,
		"the DEPLOY window is tuesday, 3 march 2026, 10:00 utc.",
		"\n The  deploy\twindow is Tuesday,\u00a03 March 2026, 10:00 UTC.  ",
	} {
		require.Equal(t, writepath.DedupeKey(base), writepath.DedupeKey(same), "%q", same)
	}
	seen := map[[32]byte]string{writepath.DedupeKey(base): base}
	for _, other := range []string{
		"The deploy window is Tuesday, 4 March 2026, 10:00 UTC.",
		"The deploy window is Tuesday, 3 March 2027, 10:00 UTC.",
		"The deploy window is Tuesday, 3 March 2026, 11:00 UTC.",
		"The deploy window is Tuesday, 3 March 2026, 10:00 UTC",
		"The deploy window is Tuesday, 3March 2026, 10:00 UTC.",
		"The deploy window is not Tuesday, 3 March 2026, 10:00 UTC.",
		"The deploy window is Tuesday, ３ March 2026, 10:00 UTC.",
		base + " [entities: deploy]", // what looks like an annotation is text
	} {
		key := writepath.DedupeKey(other)
		require.Empty(t, seen[key], "%q", other)
		seen[key] = other
	}
}

// FuzzNormalize: the two Unicode spellings of a text are one fact, and so is a text and its
// normal form.
func FuzzNormalize(f *testing.F) {
	for _, s := range []string{"Café  au lait", "Straße", "\u0130\u0131I\u0307", "ﬁ\u0345\u0301", "A\u030A\n 3\u00a04", "한국어", "\u1f80\u0345"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		want := writepath.DedupeKey(text)
		if !utf8.ValidString(text) {
			return // never stored
		}
		require.Equal(t, want, writepath.DedupeKey(norm.NFD.String(text)))
		require.Equal(t, want, writepath.DedupeKey(norm.NFC.String(text)))
		require.Equal(t, want, writepath.DedupeKey(" "+text+"\n"))
		require.True(t, norm.NFC.IsNormalString(writepath.Normalize(text)))
	})
}
