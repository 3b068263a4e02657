package mem_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel/mem"
)

func TestEstimateTokens(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"": 0, "a": 1, "abcd": 1, "abcde": 2, "日本語日": 1, "日本語日本": 2, "\xff\xff\xff\xff\xff": 2,
		strings.Repeat("x", 4000): 1000,
	} {
		require.Equal(t, want, mem.EstimateTokens(text), "%q", text)
	}
}

func TestCheckTextAndLabel(t *testing.T) {
	t.Parallel()
	const limit = 16
	for _, c := range []struct {
		name, value string
		text, label error // nil: accepted
		reason      string
	}{
		{"plain", "hello", nil, nil, ""},
		{"at the limit", strings.Repeat("x", limit), nil, nil, ""},
		{"one over", strings.Repeat("x", limit+1), mem.ErrTooLarge, mem.ErrTooLarge, "17 bytes, at most 16"},
		{"bytes count, not characters", strings.Repeat("é", 9), mem.ErrTooLarge, mem.ErrTooLarge, "18 bytes"},
		{"size is told before content", strings.Repeat("\x00", limit+1), mem.ErrTooLarge, mem.ErrTooLarge, ""},
		{"empty", "", mem.ErrInvalid, nil, "blank"},
		{"blank", " \t\r\n\u00a0\u2003", mem.ErrInvalid, nil, "blank"},
		{"NUL", "ab\x00c", mem.ErrInvalid, mem.ErrInvalid, "NUL byte at offset 2"},
		{"invalid UTF-8", "ab\xff", mem.ErrInvalid, mem.ErrInvalid, "UTF-8 at offset 2"},
		{"lone surrogate", "\xed\xa0\x80", mem.ErrInvalid, mem.ErrInvalid, "UTF-8 at offset 0"},
		{"cut-off rune", "a\xe2\x82", mem.ErrInvalid, mem.ErrInvalid, "UTF-8 at offset 1"},
		{"a real replacement character is text", "\uFFFD\xc3", mem.ErrInvalid, mem.ErrInvalid, "UTF-8 at offset 3"},
		{"replacement character", "a\uFFFDb", nil, nil, ""},
		{"BOM, bidi, controls", "\uFEFF\u202Ex\x1b\x7f", nil, nil, ""},
		{"lines", "a\r\nb=c", nil, nil, ""},
	} {
		for kind, check := range map[string]struct {
			got, want error
		}{
			"text":  {mem.CheckText("Field", c.value, limit), c.text},
			"label": {mem.CheckLabel("Field", c.value, limit), c.label},
		} {
			if check.want == nil {
				require.NoError(t, check.got, "%s as %s", c.name, kind)
				continue
			}
			require.ErrorIs(t, check.got, check.want, "%s as %s", c.name, kind)
			require.Equal(t, "Field", fieldOf(check.got), c.name)
			require.ErrorContains(t, check.got, c.reason, c.name)
		}
	}
}

func TestCleanQuery(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"":              "",
		"plain é 日":     "plain é 日",
		"a\x00b":        "a\uFFFDb",
		"\xff\xfea":     "\uFFFDa", // a run is one character
		"a\xed\xa0\x80": "a\uFFFD",
		"\x00\x00":      "\uFFFD\uFFFD",
		"\uFFFD":        "\uFFFD",
		"a\nb=c":        "a\nb=c",
	} {
		require.Equal(t, want, mem.CleanQuery(query), "%q", query)
	}
}

func FuzzCleanQuery(f *testing.F) {
	f.Add("a\x00\xff\xed\xa0\x80b")
	f.Fuzz(func(t *testing.T, query string) {
		clean := mem.CleanQuery(query)
		require.True(t, utf8.ValidString(clean))
		require.NotContains(t, clean, "\x00")
		require.Equal(t, clean, mem.CleanQuery(clean))
		if utf8.ValidString(query) && !strings.Contains(query, "\x00") {
			require.Equal(t, query, clean)
		}
	})
}

func TestCheckTime(t *testing.T) {
	t.Parallel()
	east := time.FixedZone("east", 14*3600)
	for _, ok := range []time.Time{
		{},
		noon, time.Date(1, 1, 1, 0, 0, 0, 1, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC),
		time.Date(10_000, 1, 1, 13, 0, 0, 0, east), // still 9999 in UTC
	} {
		require.NoError(t, mem.CheckTime("EventTime", ok), ok)
	}
	for _, bad := range []time.Time{
		time.Date(0, 12, 31, 0, 0, 0, 0, time.UTC), time.Date(-5000, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(300_000, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(1, 1, 1, 13, 0, 0, 0, east), // the year 0 in UTC
	} {
		err := mem.CheckTime("EventTime", bad)
		require.ErrorIs(t, err, mem.ErrInvalid, bad)
		require.Equal(t, "EventTime", fieldOf(err))
	}
}

func TestKindsAndProvenance(t *testing.T) {
	t.Parallel()
	seen := map[mem.Kind]bool{}
	for _, k := range mem.Kinds() {
		require.True(t, k.Valid())
		require.False(t, seen[k])
		seen[k] = true
	}
	require.Len(t, seen, 12)
	for _, k := range []mem.Kind{"", "Fact", "fact ", "fact\x00"} {
		require.False(t, k.Valid(), "%q", k)
	}
	for p, rank := range map[mem.Provenance]int{
		"manual": 50, "document": 40, "live-fetch": 40, "consolidation": 30, "swap-import": 20, "conversation": 10,
		"": 0, "Manual": 0, "system": 0,
	} {
		require.Equal(t, rank, p.Rank(), "%q", p)
		require.Equal(t, rank > 0, p.Valid(), "%q", p)
	}
	m := mem.Memory{}
	require.True(t, m.Current())
	m.ValidTo = noon
	require.False(t, m.Current())
}
