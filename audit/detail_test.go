package audit_test

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/audit"
)

// pair is one key=value of a detail.
type pair struct{ key, value string }

// parseDetail reads a detail back by the letter of its format: pairs separated by one blank,
// a value either quoted or up to the next blank.
func parseDetail(tb testing.TB, detail string) []pair {
	tb.Helper()
	var out []pair
	for rest := detail; rest != ""; {
		key, after, ok := strings.Cut(rest, "=")
		require.True(tb, ok, "%q has no key at %q", detail, rest)
		require.NotContains(tb, key, " ", "%q", detail)
		value, _, _ := strings.Cut(after, " ")
		if strings.HasPrefix(after, `"`) {
			quoted, err := strconv.QuotedPrefix(after)
			require.NoError(tb, err, "%q", detail)
			value, err = strconv.Unquote(quoted)
			require.NoError(tb, err, "%q", detail)
			after = after[len(quoted):]
		} else {
			require.NotContains(tb, value, `"`, "%q", detail)
			after = after[len(value):]
		}
		out = append(out, pair{key, value})
		rest, ok = strings.CutPrefix(after, " ")
		require.True(tb, ok || after == "", "%q: %q follows a value", detail, after)
	}
	return out
}

func TestDetailShapes(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]*audit.Detail{
		"":                                     new(audit.Detail),
		"returned=2 tokens=60 driver=baseline": new(audit.Detail).Int("returned", 2).Int("tokens", 60).Str("driver", "baseline"),
		"driver_fallback=mem0->baseline":       new(audit.Detail).Str("driver_fallback", "mem0->baseline"),
		"n=-9223372036854775808":               new(audit.Detail).Int("n", math.MinInt64),
		`a="" b="two words" c="a=b"`:           new(audit.Detail).Str("a", "").Str("b", "two words").Str("c", "a=b"),
		`a="\"" b="\\" c="\n"`:                 new(audit.Detail).Str("a", `"`).Str("b", `\`).Str("c", "\n"),
		`target="acme/\u00e9\u202e"`:           new(audit.Detail).Str("target", "acme/é\u202e"),
		`a="\x00\xff"`:                         new(audit.Detail).Str("a", "\x00\xff"),
	} {
		require.Equal(t, want, d.String())
	}
}

// Values that try to end their own and begin another pair.
func TestDetailCannotBeForged(t *testing.T) {
	t.Parallel()
	for _, value := range []string{
		"x driver=y", `" driver=x`, `x" driver="y`, `\" driver=x`, `\`, `\\" driver=x`, "x\ndriver=y", "x\tdriver=y",
		"x\u00a0driver=y", "x\u2028driver=y", "x\u3000driver=y", "=", "x=y", "driver=x returned=99", "'", "`", "\x00", "\xff",
		"\xed\xa0\x80", "\uFEFFx", "\u202Ex", "", " ", "x ", " x", "\uFFFD", "\U0010FFFF",
	} {
		d := new(audit.Detail).Str("first", value).Int("n", 1).Str("last", value)
		require.Equal(t, []pair{{"first", value}, {"n", "1"}, {"last", value}}, parseDetail(t, d.String()), "%q", value)
	}
}

// FuzzDetail reads every detail back and gets exactly what was put in.
func FuzzDetail(f *testing.F) {
	f.Add("x driver=y", `" driver=x`, int64(1))
	f.Add(`\`, "\n", int64(-1))
	f.Add("", "\xff\x00", int64(math.MaxInt64))
	f.Fuzz(func(t *testing.T, a, b string, n int64) {
		detail := new(audit.Detail).Str("a", a).Int("n", n).Str("b", b).String()
		require.Equal(t, []pair{{"a", a}, {"n", strconv.FormatInt(n, 10)}, {"b", b}}, parseDetail(t, detail))
		for _, r := range detail {
			require.True(t, r <= unicode.MaxASCII && unicode.IsPrint(r), "%q", detail)
		}
	})
}
