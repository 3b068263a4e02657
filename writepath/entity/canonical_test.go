package entity_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/writepath/entity"
)

func TestCanonicalKey(t *testing.T) {
	t.Parallel()
	for want, names := range map[string][]string{
		"ada lovelace":       {"Ada Lovelace", "ADA  LOVELACE", " ada\tlovelace\n", "Ada Lovelace's", "Ada Lovelace’s", "Dr. Ada Lovelace", "Prof. Dr. Ada Lovelace", "\"Ada Lovelace\"", "Ａｄａ Ｌｏｖｅｌａｃｅ", "Ms Ada Lovelace,", "(Ada Lovelace)", "Ada\u200b Lovelace"},
		"james":              {"James", "James'", "James's"},
		"acme":               {"Acme", "Acme Inc", "Acme, Inc.", "ACME Corp.", "Acme GmbH", "Acme GmbH & Co. KG", "The Acme Company", "acme ltd"},
		"müller":             {"Müller", "Herr Müller", "Frau Dr. Müller", "MÜLLER", "Mu\u0308ller"},
		"strasse":            {"Straße", "STRASSE"},
		"jrr tolkien":        {"J. R. R. Tolkien", "J.R.R. Tolkien", "JRR Tolkien"},
		"general motors":     {"General Motors", "General Motors Co."},
		"phil collins":       {"Phil Collins"},
		"田中":                 {"田中", "田中さん", "田中先生"},
		"ソラ":                 {"ソラ", "株式会社ソラ", "ソラ株式会社"},
		"gmbh":               {"GmbH"},
		"dr":                 {"Dr.", "Dr"},
		"the":                {"The"},
		"ada@example.com":    {"Ada@Example.com", "ada@example.com"},
		"@ada":               {"@Ada"},
		"https://x.org/Path": {"https://X.org/Path", "HTTPS://x.org/Path"},
		"https://x.org":      {"https://x.org/", "https://x.org"},
		"o'brien":            {"O'Brien", "O’Brien"},
		"c++":                {"C++"},
		"c#":                 {"C#"},
		"at&t":               {"AT&T", "AT&T Inc."},
		"jean-luc":           {"Jean-Luc", "Jean‑Luc"},
		"":                   {"", " ", "...", "\u200b", "\x00", "()"},
		"istanbul":           {"İstanbul", "Istanbul"},
		"mk-123":             {"MK-123"},
		"a\ufffdb":           {"a\xffb"},
	} {
		for _, name := range names {
			require.Equal(t, want, entity.CanonicalKey(name), "%q", name)
		}
	}
	require.NotEqual(t, entity.CanonicalKey("José"), entity.CanonicalKey("Jose"))
	require.NotEqual(t, entity.CanonicalKey("@ada"), entity.CanonicalKey("Ada"))
	require.NotEqual(t, entity.CanonicalKey("C"), entity.CanonicalKey("C++"))
}

func FuzzCanonicalKey(f *testing.F) {
	for _, s := range []string{"Dr. Ada's", "株式会社ソラさん", "https://İ.org/%", "a.b.c d.", "ſ ß ǰ ΐ", "´'s'", "The The", "Inc Inc", "．．'ｓ", "a'S's’", "&", "@.", "x://y", "ſ.\u0301.'s", "さん://İ́ſ\xff", "ﬀ ﷺ", "İ"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if len(name) > 2000 {
			name = name[:2000]
		}
		key := entity.CanonicalKey(name)
		require.Equal(t, key, entity.CanonicalKey(key), "%q", name)
		require.Equal(t, strings.TrimSpace(key), key)
		require.NotContains(t, key, "  ")
		for _, short := range entity.ShortKeys(name, entity.Other) {
			require.NotEqual(t, key, short.Key)
			require.NotEmpty(t, short.Key)
		}
	})
}
