package audit_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/audit"
)

func TestPurpose(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", audit.MaxPurpose)
	for _, c := range []struct{ name, query, want string }{
		{"empty", "", ""},
		{"short", "when?", "when?"},
		{"exactly 200 two-byters", long, long},
		{"201", long + "x", long},
		{"the 200th is wide", strings.Repeat("x", 199) + "日本", strings.Repeat("x", 199) + "日"},
		{"the 201st is wide", strings.Repeat("x", 200) + "日", strings.Repeat("x", 200)},
		{"emoji", strings.Repeat("😀", 300), strings.Repeat("😀", 200)},
		{"a megabyte", strings.Repeat("日", 350_000), strings.Repeat("日", 200)},
		{"a mark of the cut character goes", strings.Repeat("x", 200) + "\u0301", strings.Repeat("x", 200)},
		{"lines stay", "a\nb=c", "a\nb=c"},
	} {
		got := audit.Purpose(c.query)
		require.Equal(t, c.want, got, c.name)
		require.True(t, utf8.ValidString(got), c.name)
		require.LessOrEqual(t, utf8.RuneCountInString(got), audit.MaxPurpose, c.name)
	}
}

func FuzzPurpose(f *testing.F) {
	f.Add(strings.Repeat("é", 201))
	f.Add("\xff\xe2\x82")
	f.Fuzz(func(t *testing.T, query string) {
		got := audit.Purpose(query)
		require.True(t, strings.HasPrefix(query, got))
		require.Equal(t, min(utf8.RuneCountInString(query), audit.MaxPurpose), utf8.RuneCountInString(got))
		require.Equal(t, utf8.ValidString(query[:len(got)]), utf8.ValidString(got))
		if utf8.ValidString(query) {
			require.True(t, utf8.ValidString(got))
		}
	})
}
