package gitleaks_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp/syntax"
	"strings"
	"sync"
	"testing"

	"github.com/spf13/viper"
	"github.com/stretchr/testify/require"
	"github.com/zricethezav/gitleaks/v8/config"
	"github.com/zricethezav/gitleaks/v8/logging"

	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/writepath/classify"
	"github.com/memkernel/memkernel/writepath/classify/gitleaks"
)

// logged is what gitleaks has written to its log, at the level that it has in a host.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// TestMain fails if any test made gitleaks log something: its log goes to standard error and has
// texts in it.
func TestMain(m *testing.M) {
	var log logged
	logging.Logger = logging.Logger.Output(&log)
	code := m.Run()
	if log.text.Len() > 0 {
		fmt.Printf("FAIL: gitleaks logged %s\n", &log.text)
		code = max(code, 1)
	}
	os.Exit(code)
}

const withDefaults = "[extend]\nuseDefault = true\n"

func TestTOML(t *testing.T) {
	t.Parallel()
	ico := "ico-" + draw(alnum, 32, "x")
	const zebra = `
[[rules]]
id = "zebra"
regex = '''zebra-([a-z]{6})'''
keywords = ["zebra"]
`
	const stripes = `
[[rules.required]]
id = "stripes"
withinLines = 1
[[rules]]
id = "stripes"
regex = '''stripes'''
skipReport = true
`
	for name, tc := range map[string]struct {
		cfg  gitleaks.Config
		text string
		want []string
	}{
		"none":                    {gitleaks.Config{}, "zebra-abcdef " + ico, []string{"saas_token " + ico}},
		"a rule":                  {gitleaks.Config{TOML: zebra}, "zebra-abcdef " + ico, []string{"api_key abcdef"}},
		"a rule more":             {gitleaks.Config{TOML: withDefaults + zebra}, "zebra-abcdef " + ico, []string{"api_key abcdef", "saas_token " + ico}},
		"its group":               {gitleaks.Config{TOML: strings.Replace(zebra, "-(", "(-)(", 1) + "secretGroup = 2"}, "zebra-abcdef", []string{"api_key abcdef"}},
		"named as a kind":         {gitleaks.Config{TOML: strings.Replace(zebra, `"zebra"`, `"seed-phrase"`, 1)}, "zebra-abcdef", []string{"seed_phrase abcdef"}},
		"personal data is none":   {gitleaks.Config{TOML: strings.Replace(zebra, `"zebra"`, `"email"`, 1)}, "zebra-abcdef", []string{"api_key abcdef"}},
		"a rule off":              {gitleaks.Config{TOML: withDefaults + `disabledRules = ["infracost-api-token", "infracost-api-token"]`}, ico, nil},
		"an entropy":              {gitleaks.Config{TOML: withDefaults + "[[rules]]\nid = 'infracost-api-token'\nentropy = 7.0"}, ico, nil},
		"a keyword":               {gitleaks.Config{TOML: withDefaults + "[[rules]]\nid = 'infracost-api-token'\nregex = '''price (\\w+)'''\nkeywords = ['price']"}, "price a1b2c3d4e5f6g7h8", []string{"saas_token a1b2c3d4e5f6g7h8"}},
		"a list of the rule":      {gitleaks.Config{TOML: withDefaults + "[[rules]]\nid = 'infracost-api-token'\n[[rules.allowlists]]\nstopwords = ['" + strings.ToLower(ico[8:16]) + "']"}, ico, nil},
		"a list":                  {gitleaks.Config{TOML: withDefaults + "[allowlist]\nregexes = ['''^ico-''']"}, ico, nil},
		"lists":                   {gitleaks.Config{TOML: withDefaults + "[[allowlists]]\nregexes = ['''^ico-''']\n[[allowlists]]\nstopwords = ['x']"}, ico, nil},
		"a list for a rule":       {gitleaks.Config{TOML: withDefaults + "[[allowlists]]\ntargetRules = ['infracost-api-token']\nregexes = ['''^ico-''']"}, ico, nil},
		"a list by line":          {gitleaks.Config{TOML: withDefaults + "[[allowlists]]\nregexTarget = 'line'\nregexes = ['''^# ''']"}, "# " + ico, nil},
		"a list for another":      {gitleaks.Config{TOML: withDefaults + "[[allowlists]]\ntargetRules = ['jwt']\nregexes = ['''^ico-''']"}, ico, []string{"saas_token " + ico}},
		"a file's rule":           {gitleaks.Config{TOML: zebra + "[[rules]]\nid = 'file'\npath = '''.*'''"}, "zebra-abcdef", []string{"api_key abcdef"}},
		"a multi-part rule":       {gitleaks.Config{TOML: zebra + stripes}, "zebra-abcdef\n\n\nstripes zebra-ghijkl", []string{"api_key ghijkl"}},
		"a short value elsewhere": {gitleaks.Config{TOML: zebra}, "abcdef zebra-abcdef", []string{"api_key abcdef"}},
		"a published example":     {gitleaks.Config{TOML: withDefaults}, "ico-abcdefghijklmnopqrstuvwxyz012345", nil},
		"line ends around":        {gitleaks.Config{TOML: "[[rules]]\nid = 'a'\nregex = '''\\n+(b)?c+\\n+'''"}, "a\n\nbccc\n\nd", []string{"api_key bccc"}},

		"allowed":            {gitleaks.Config{Allow: []string{"^ico-"}}, ico, nil},
		"allowed in part":    {gitleaks.Config{Allow: []string{"nothing", ico[10:14]}}, ico, nil},
		"only the other":     {gitleaks.Config{Allow: []string{"(?i)^ICO$", "^pnu_"}}, ico, []string{"saas_token " + ico}},
		"flags of one alone": {gitleaks.Config{Allow: []string{"(?i)nothing", "^ICO-"}}, ico, []string{"saas_token " + ico}},
		"allowed and TOML":   {gitleaks.Config{TOML: withDefaults + zebra, Allow: []string{"^ico-", "^abc"}}, ico + " zebra-abcdef", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, f := range scan(t, newScanner(t, tc.cfg), tc.text) {
				got = append(got, string(f.kind)+" "+f.value)
			}
			require.Equal(t, tc.want, got)
		})
	}
}

func TestInvalidConfig(t *testing.T) {
	t.Parallel()
	const rule = "[[rules]]\nid = 'a'\n"
	for name, tc := range map[string]struct {
		cfg           gitleaks.Config
		field, reason string
	}{
		"no TOML":              {gitleaks.Config{TOML: "{"}, "TOML", "cannot be read"},
		"nothing in it":        {gitleaks.Config{TOML: "title = 'mine'"}, "TOML", "no rules"},
		"a name mistyped":      {gitleaks.Config{TOML: rule + "regexp = 'a'"}, "TOML", "regexp"},
		"a bad expression":     {gitleaks.Config{TOML: rule + "regex = '('"}, "TOML", "missing closing"},
		"a bad list":           {gitleaks.Config{TOML: rule + "regex = 'a'\n[[rules.allowlists]]\nregexes = ['[']"}, "TOML", "missing closing"},
		"an empty list":        {gitleaks.Config{TOML: withDefaults + "[[allowlists]]\ndescription = 'x'"}, "TOML", "at least one check"},
		"no such group":        {gitleaks.Config{TOML: rule + "regex = 'a'\nsecretGroup = 3"}, "TOML", "group 3"},
		"a rule without words": {gitleaks.Config{TOML: rule}, "TOML", "no effect"},
		"a file":               {gitleaks.Config{TOML: "[extend]\npath = '/etc/passwd'"}, "TOML", "no file"},
		"a URL":                {gitleaks.Config{TOML: "[extend]\nurl = 'https://x.example'"}, "TOML", "no URL"},
		"nothing to disable":   {gitleaks.Config{TOML: rule + "regex = 'a'\n[extend]\ndisabledRules = ['jwt']"}, "TOML", "useDefault"},
		"disabled mistyped":    {gitleaks.Config{TOML: withDefaults + "disabledRules = ['jwtt']"}, "TOML", `"jwtt"`},
		"no such target":       {gitleaks.Config{TOML: withDefaults + "[[allowlists]]\ntargetRules = ['jwtt']\nstopwords = ['x']"}, "TOML", "jwtt"},
		"needs what is not":    {gitleaks.Config{TOML: rule + "regex = 'a'\n[[rules.required]]\nid = 'b'"}, "TOML", "'b'"},
		"Allow":                {gitleaks.Config{Allow: []string{"a", "("}}, "Allow", "missing closing"},
		"Allow of everything":  {gitleaks.Config{Allow: []string{"a", "b*"}}, "Allow", `"b*" allows everything`},
		"Allow of nothing":     {gitleaks.Config{Allow: []string{""}}, "Allow", "allows everything"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := gitleaks.New(tc.cfg)
			require.Nil(t, s)
			var invalid *mem.InvalidError
			require.ErrorAs(t, err, &invalid)
			require.ErrorIs(t, err, mem.ErrInvalid)
			require.Equal(t, tc.field, invalid.Field)
			require.Contains(t, invalid.Reason, tc.reason)
		})
	}
}

// TestNothingFromOutside: what lies about where a host runs does not decide what is found, and
// the host's own configuration by viper stays as it is.
func TestNothingFromOutside(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	const nothing = "[[rules]]\nid = 'nothing'\nregex = '''^$'''\n"
	for _, name := range []string{".gitleaks.toml", "gitleaks.toml", "config.toml"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(nothing), 0o600))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".gitleaksignore"), []byte(":infracost-api-token:0\n"), 0o600))
	t.Setenv("GITLEAKS_CONFIG", filepath.Join(dir, ".gitleaks.toml"))
	t.Setenv("GITLEAKS_CONFIG_TOML", nothing)
	// The host uses gitleaks too, which leaves its traces in global variables.
	_, err := (&config.ViperConfig{Extend: config.Extend{UseDefault: true}}).Translate()
	require.NoError(t, err)
	viper.Reset()
	viper.Set("extend.useDefault", true)
	before := viper.AllSettings()

	e := places(classify.SaaSToken, "", "ico-"+draw(alnum, 32, "x"), "")
	for _, toml := range []string{"", withDefaults} {
		require.Equal(t, e.want, scan(t, newScanner(t, gitleaks.Config{TOML: toml}), e.text))
	}
	require.Equal(t, before, viper.AllSettings())
	require.Empty(t, viper.ConfigFileUsed())
}

// TestPinned: the package comment names the version that go.mod does.
func TestPinned(t *testing.T) {
	t.Parallel()
	mod, err := os.ReadFile("go.mod")
	require.NoError(t, err)
	doc, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	_, after, ok := strings.Cut(string(mod), "github.com/zricethezav/gitleaks/v8 ")
	require.True(t, ok)
	require.Contains(t, string(doc), "gitleaks "+strings.Fields(after)[0]+".")
}

// TestGroupsAreSecrets holds for each default rule that the group which gitleaks takes for the
// secret is not a part of it, as one in a repetition or before much else is. It is there for the
// day of another version of gitleaks; the two exceptions are those of groupsParts.
func TestGroupsAreSecrets(t *testing.T) {
	t.Parallel()
	v := viper.New()
	v.SetConfigType("toml")
	require.NoError(t, v.ReadConfig(strings.NewReader(config.DefaultConfig)))
	var c config.ViperConfig
	require.NoError(t, v.Unmarshal(&c))
	var parts []string
	for _, r := range c.Rules {
		if r.Regex == "" || r.SecretGroup > 0 {
			continue
		}
		tree, err := syntax.Parse(r.Regex, syntax.Perl)
		require.NoError(t, err, r.ID)
		if isPart(tree, 0) {
			parts = append(parts, r.ID)
		}
	}
	require.Equal(t, []string{"jwt-base64", "microsoft-teams-webhook"}, parts)
}

// maxBehind is how many characters behind a secret may belong to its match. The name of a host
// does in one rule.
const maxBehind = 20

// isPart reports whether the outermost groups of an expression, which behind characters follow,
// are parts of what it is about.
func isPart(e *syntax.Regexp, behind int) bool {
	switch e.Op {
	case syntax.OpCapture:
		return behind > maxBehind
	case syntax.OpStar, syntax.OpPlus, syntax.OpRepeat:
		return e.MaxCap() > 0
	case syntax.OpConcat:
		for i := len(e.Sub) - 1; i >= 0; i-- {
			if isPart(e.Sub[i], behind) {
				return true
			}
			behind += atLeast(e.Sub[i])
		}
	case syntax.OpAlternate, syntax.OpQuest:
		for _, sub := range e.Sub {
			if isPart(sub, behind) {
				return true
			}
		}
	default:
	}
	return false
}

// atLeast returns the length in characters of the shortest match of an expression.
func atLeast(e *syntax.Regexp) int {
	n := 0
	switch e.Op {
	case syntax.OpLiteral:
		return len(e.Rune)
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return 1
	case syntax.OpCapture, syntax.OpPlus:
		return atLeast(e.Sub[0])
	case syntax.OpRepeat:
		return e.Min * atLeast(e.Sub[0])
	case syntax.OpConcat:
		for _, sub := range e.Sub {
			n += atLeast(sub)
		}
	case syntax.OpAlternate:
		n = atLeast(e.Sub[0])
		for _, sub := range e.Sub[1:] {
			n = min(n, atLeast(sub))
		}
	default:
	}
	return n
}
