package acl_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/acl"
)

func parse(tb testing.TB, path string) acl.Namespace {
	tb.Helper()
	n, err := acl.ParseNamespace(path)
	require.NoError(tb, err, "%q", path)
	return n
}

func TestParseNamespaceAccepts(t *testing.T) {
	t.Parallel()
	for _, path := range []string{
		"acme", "acme/eng/platform", "a", "-", "...", "acme/...", "acme/.hidden", "acme/eng.", "acme/..x",
		"acme/eng_", "acme/100%", `acme\`, `acme\eng`, `acme/it's`, `acme/"quoted"`, "acme/$1", "acme/*", "acme/?[a-z]",
		"acme/two words", " acme ", "acme/ ", "acme/😀", "acme/👩‍👩‍👧", "acme/\u200Fשלום", "acme/\u202Ebidi", "\uFEFFacme",
		"acme/caf\u00e9", "ACME/Eng", "acme/eng0", "acme/\uFFFD", "acme:eng",
		strings.Repeat("s/", acl.MaxNamespaceSegments-1) + "s",
		strings.Repeat("x", acl.MaxNamespaceBytes),
		"acme/" + strings.Repeat("é", 253) + "x", // 5 + 506 + 1 = 512 bytes
	} {
		n, err := acl.ParseNamespace(path)
		require.NoError(t, err, "%q", path)
		require.Equal(t, path, n.String())
		require.False(t, n.IsZero())
		first, _, _ := strings.Cut(path, "/")
		require.Equal(t, first, n.Tenant())
	}
}

func TestParseNamespaceRefuses(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{
		"empty":                   "",
		"slash alone":             "/",
		"leading slash":           "/acme",
		"trailing slash":          "acme/",
		"empty segment":           "acme//eng",
		"dot":                     ".",
		"dot segment":             "acme/./eng",
		"dot at the end":          "acme/.",
		"dot dot":                 "..",
		"dot dot segment":         "acme/../globex",
		"NUL":                     "acme\x00",
		"NUL inside":              "ac\x00me/eng",
		"trailing newline":        "acme\n",
		"newline inside":          "acme/eng\nfake",
		"carriage return":         "acme\r",
		"tab":                     "acme\teng",
		"escape":                  "acme/\x1b[31m",
		"DEL":                     "acme/\x7f",
		"C1 control":              "acme/\u0085",
		"line separator":          "acme/\u2028",
		"paragraph separator":     "acme/\u2029",
		"not NFC":                 "acme/cafe\u0301",
		"singleton of NFC":        "acme/\u212B", // the angstrom sign, canonically a letter
		"invalid UTF-8":           "acme/\xff",
		"cut-off rune":            "acme/\xe2\x82",
		"lone surrogate":          "acme/\xed\xa0\x80",
		"overlong slash":          "acme\xc0\xafeng",
		"17 segments":             strings.Repeat("s/", 16) + "s",
		"10,000 segments":         strings.Repeat("s/", 9_999) + "s",
		"513 bytes":               strings.Repeat("x", 513),
		"513 bytes in two-byters": "acme/" + strings.Repeat("é", 254),
	} {
		n, err := acl.ParseNamespace(path)
		require.ErrorIs(t, err, acl.ErrNamespace, name)
		require.True(t, n.IsZero(), name)
		require.Error(t, new(acl.Namespace).UnmarshalText([]byte(path+"/")), name)
	}
}

// The worked cases of the ancestor rule, and names that a prefix, a pattern or a folding
// comparison would take for each other.
func TestSees(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		caller, other string
		sees          bool
	}{
		{"acme/eng/platform", "acme/eng/platform", true},
		{"acme/eng/platform", "acme/eng", true},
		{"acme/eng/platform", "acme", true},
		{"acme/eng/platform", "acme/eng/platform/db", false},
		{"acme/eng/platform", "acme/sales", false},
		{"acme/eng/platform", "acme/engineering", false},
		{"acme/eng/platform", "acmecorp", false},
		{"acme", "acme/eng", false},
		{"acmecorp", "acme", false},
		{"acme", "acmecorp", false},
		{"acme/engX/a", "acme/eng_", false},
		{"acme/eng_/a", "acme/engX", false},
		{"acme/100abc", "acme/100%", false},
		{"acme/100%", "acme/100abc", false},
		{`acme\eng`, `acme\`, false},
		{`acme\eng`, "acme", false},
		{`acme/eng`, `acme\`, false},
		{"acme/eng0", "acme/eng", false},
		{"acme/eng-2", "acme/eng", false},
		{"acme/eng.", "acme/eng", false},
		{"acme/eng/x", "acme/ENG", false},
		{"acme/eng ", "acme/eng", false},
		{"acme/e", "acme/é", false},
	} {
		caller, other := parse(t, c.caller), parse(t, c.other)
		require.Equal(t, c.sees, caller.Sees(other), "%q sees %q", c.caller, c.other)
		require.Equal(t, c.sees, caller.InSubtree(other), "%q in subtree of %q", c.caller, c.other)
	}
}

func TestAncestors(t *testing.T) {
	t.Parallel()
	n := parse(t, `acme/e%g/it's`)
	require.Equal(t, []acl.Namespace{parse(t, "acme"), parse(t, "acme/e%g"), n}, n.Ancestors())
	parent, ok := n.Parent()
	require.True(t, ok)
	require.Equal(t, "acme/e%g", parent.String())
	_, ok = parse(t, "acme").Parent()
	require.False(t, ok)
}

func TestZeroNamespace(t *testing.T) {
	t.Parallel()
	var zero acl.Namespace
	acme := parse(t, "acme")
	require.True(t, zero.IsZero())
	require.Empty(t, zero.String())
	require.Empty(t, zero.Tenant())
	require.Empty(t, zero.Ancestors())
	_, ok := zero.Parent()
	require.False(t, ok)
	for _, pair := range [][2]acl.Namespace{{zero, zero}, {zero, acme}, {acme, zero}} {
		require.False(t, pair[0].Sees(pair[1]))
		require.False(t, pair[0].InSubtree(pair[1]))
	}
	text, err := zero.MarshalText()
	require.NoError(t, err)
	require.NoError(t, acme.UnmarshalText(text))
	require.True(t, acme.IsZero())
}

// inRange is what the database makes of Range: a byte-wise comparison.
func inRange(n, root acl.Namespace) bool {
	exact, from, to := root.Range()
	p := n.String()
	return p == exact || from <= p && p < to
}

// FuzzNamespace holds the rules against an independent reading of them: of segments, not
// of prefixes.
func FuzzNamespace(f *testing.F) {
	for _, s := range [][2]string{
		{"acme/eng/platform", "acme/eng"},
		{"acme/eng", "acme/eng/platform"},
		{"acme/engineering", "acme/eng"},
		{"acmecorp", "acme"},
		{"acme/eng_", "acme/engX"},
		{"acme/100%/x", "acme/100%"},
		{`acme\eng`, `acme\`},
		{"acme/eng0", "acme/eng"},
		{"acme/eng/", "acme//eng"},
		{"acme/eng\n", "acme/eng"},
		{"/acme", ""},
		{"acme/cafe\u0301", "acme/caf\u00e9"},
		{"a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p", "a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q"},
		{"0", "//"},
	} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		// The pair itself is seldom related; what is made of it is.
		for _, pair := range [][2]string{{a, b}, {b, a}, {a + "/" + b, a}, {a + b, a}, {a + "0", a}, {a, a}} {
			x, errX := acl.ParseNamespace(pair[0])
			y, errY := acl.ParseNamespace(pair[1])
			if errX != nil || errY != nil {
				checkRefusal(t, x, errX)
				checkRefusal(t, y, errY)
				continue
			}
			checkPair(t, x, y)
		}
	})
}

func checkRefusal(t *testing.T, n acl.Namespace, err error) {
	t.Helper()
	require.Equal(t, err != nil, n.IsZero())
	require.True(t, err == nil || errors.Is(err, acl.ErrNamespace))
}

func checkPair(t *testing.T, x, y acl.Namespace) {
	t.Helper()
	segX, segY := strings.Split(x.String(), "/"), strings.Split(y.String(), "/")
	below := len(segX) >= len(segY)
	for i := 0; below && i < len(segY); i++ {
		below = segX[i] == segY[i]
	}
	enumerated := false
	for _, n := range x.Ancestors() {
		enumerated = enumerated || n == y
		require.Equal(t, x.Tenant(), n.Tenant())
		require.Equal(t, n, parse(t, n.String()), "an ancestor is a valid namespace")
	}
	require.Equal(t, below, enumerated, "%q enumerates %q", x, y)
	require.Equal(t, below, x.Sees(y), "%q sees %q", x, y)
	require.Equal(t, below, x.InSubtree(y), "%q in subtree of %q", x, y)
	require.Equal(t, below, inRange(x, y), "%q in range of %q", x, y)
	require.Len(t, x.Ancestors(), len(segX))
	for _, s := range segX {
		require.NotContains(t, []string{"", ".", ".."}, s)
	}
	text, err := x.MarshalText()
	require.NoError(t, err)
	var back acl.Namespace
	require.NoError(t, back.UnmarshalText(text))
	require.Equal(t, x, back)
}
