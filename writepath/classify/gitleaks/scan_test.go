package gitleaks_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/writepath/classify"
	"github.com/memkernel/memkernel/writepath/classify/gitleaks"
)

// example is a text with the values in it that are secrets, in order.
type example struct {
	name, text string
	want       []found
}

// found is a finding with its text, of which start is the first byte.
type found struct {
	kind  classify.Kind
	start int
	value string
}

func newScanner(tb testing.TB, cfg gitleaks.Config) *gitleaks.Scanner {
	tb.Helper()
	s, err := gitleaks.New(cfg)
	require.NoError(tb, err)
	return s
}

// scan returns what was found, and wants it in order and apart.
func scan(tb testing.TB, s *gitleaks.Scanner, text string) []found {
	tb.Helper()
	findings, err := s.Scan(context.Background(), text)
	require.NoError(tb, err)
	var all []found
	end := 0
	for _, f := range findings {
		require.True(tb, f.Start >= end && f.Start < f.End && f.End <= len(text), "%v in %d bytes", findings, len(text))
		require.True(tb, f.Kind.Secret(), f.Kind)
		end = f.End
		all = append(all, found{f.Kind, f.Start, text[f.Start:f.End]})
	}
	return all
}

// unknown are secrets that the built-in classifier does not find, each in a sentence.
func unknown() []example {
	var all []example
	for _, v := range []struct {
		name, before, value, after string
		kind                       classify.Kind
	}{
		{name: "1Password", value: "A3-" + draw(digits+upper, 6, "a") + "-" + draw(digits+upper, 11, "b") + "-" + draw(digits+upper, 5, "c") + "-" + draw(digits+upper, 5, "d") + "-" + draw(digits+upper, 5, "e")},
		{name: "Adobe", value: "p8e-" + draw(digits+lower, 32, "adobe")},
		{name: "AWS Bedrock", value: "ABSK" + draw(alnum, 120, "bedrock")},
		{name: "ClickHouse", value: "4b1d" + draw(alnum, 38, "clickhouse")},
		{name: "Clojars", value: "CLOJARS_" + draw(digits+lower, 60, "clojars")},
		{name: "Duffel", value: "duffel_test_" + draw(alnum, 43, "duffel")},
		{name: "Flutterwave", value: "FLWSECK_TEST-" + draw(hex, 32, "flutterwave") + "-X"},
		{name: "Frame.io", value: "fio-u-" + draw(alnum, 64, "frameio")},
		{name: "GitLab session", before: "Cookie: ", value: "_gitlab_session=" + draw(digits+lower, 32, "session"), kind: classify.GitLabToken},
		{name: "Grafana", value: "eyJrIjoi" + draw(alnum, 80, "grafana")},
		{name: "Harness", value: "pat." + draw(alnum, 22, "a") + "." + draw(alnum, 24, "b") + "." + draw(alnum, 20, "c")},
		{name: "HubSpot", before: `"hubspot": "`, value: uuid("hubspot"), after: `"`},
		{name: "Infracost", value: "ico-" + draw(alnum, 32, "infracost")},
		{name: "Intra42", value: "s-s4t2ud-" + draw(hex, 64, "intra42")},
		{name: "JWT in base64", value: "ZXlKaGJHY2lPaU" + draw(alnum, 120, "jwt"), kind: classify.JWT},
		{name: "MaxMind", value: draw(alnum, 6, "a") + "_" + draw(alnum, 29, "b") + "_mmk"},
		{name: "Octopus", value: "API-" + draw(digits+upper, 26, "octopus")},
		{name: "OpenShift", value: "sha256~" + draw(alnum, 43, "openshift")},
		{name: "Prefect", value: "pnu_" + draw(alnum, 36, "prefect")},
		{name: "ReadMe", value: "rdme_" + draw(digits+lower, 70, "readme")},
		{name: "Scalingo", value: "tk-us-" + draw(alnum, 48, "scalingo")},
		{name: "SettleMint", value: "sm_pat_" + draw(alnum, 16, "settlemint")},
		{name: "Shippo", value: "shippo_live_" + draw(hex, 40, "shippo")},
		{name: "Sidekiq", before: "https://", value: draw(hex, 8, "a") + ":" + draw(hex, 8, "b"), after: "@gems.contribsys.com/", kind: classify.URLPassword},
		{name: "Teams webhook", value: "https://acme.webhook.office.com/webhookb2/" + uuid("a") + "@" + uuid("b") + "/IncomingWebhook/" + draw(hex, 32, "c") + "/" + uuid("d")},
		{name: "Twitch", before: "twitch: ", value: draw(digits+lower, 30, "twitch")},
	} {
		if v.kind == "" {
			v.kind = classify.SaaSToken
		}
		before := "Zoë says that it is " + v.before
		all = append(all, example{v.name, before + v.value + v.after + " for now.", []found{{v.kind, len(before), v.value}}})
	}
	return all
}

// TestFindsWhatTheClassifierDoesNot shows what the adapter is for.
func TestFindsWhatTheClassifierDoesNot(t *testing.T) {
	t.Parallel()
	s, builtin := newScanner(t, gitleaks.Config{}), classify.New()
	for _, e := range unknown() {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			for _, f := range builtin.Classify(e.text).Findings {
				require.NotEqual(t, e.want[0].value, e.text[f.Start:f.End], "found without gitleaks")
			}
			require.Equal(t, e.want, scan(t, s, e.text))
		})
	}
}

// places returns a text made of parts. Those at odd places are findings of a kind.
func places(kind classify.Kind, parts ...string) example {
	var e example
	for i, p := range parts {
		if i%2 == 1 {
			e.want = append(e.want, found{kind, len(e.text), p})
		}
		e.text += p
	}
	return e
}

// TestPlaces: a finding is the bytes of the secret, wherever in the text it is.
func TestPlaces(t *testing.T) {
	t.Parallel()
	ico, pnu := "ico-"+draw(alnum, 32, "x"), "pnu_"+draw(alnum, 36, "y")
	key := draw(alnum, 20, "z")
	const saas = classify.SaaSToken
	s := newScanner(t, gitleaks.Config{})
	for name, e := range map[string]example{
		"empty":                    places(saas, ""),
		"nothing":                  places(saas, "We deploy on Thursdays."),
		"alone":                    places(saas, "", ico),
		"two":                      places(saas, "old ", ico, ", new ", pnu, "."),
		"same twice":               places(saas, "old ", ico, " and again ", ico, " end"),
		"same on many lines":       places(saas, "\n", ico, "\n\n", ico, "\nx\n", ico, "\n"),
		"touching":                 places(saas, "", ico, " ", ico),
		"quoted":                   places(classify.APIKey, `api_key = "`, key, `"`),
		"name and value":           places(classify.APIKey, `{"auth_token":"`, key, `","n":1}`),
		"same as a name":           places(classify.APIKey, `api_key = "`, key, `"; `+"\n"+`other `, key, ` too`),
		"again in a URL":           places(classify.APIKey, `secret_token=`, key, "\nGET https://x.example/?t=", key, "&y=1"),
		"characters before":        places(saas, "Zoë wrote in 東京 🗝️: ", ico, " – für später"),
		"characters around":        places(saas, "«", ico, "» "),
		"line ends of Windows":     places(saas, "one\r\ntwo: ", ico, "\r\nthree\r\n", pnu, "\r\n"),
		"last without line end":    places(saas, "one\ntwo\n", ico),
		"bytes that are not UTF-8": places(saas, "\xff\xfe\n\x80 ", ico, " \xc3"),
		"zero bytes":               places(saas, "a\x00b ", ico, "\n\x00"),
		"private key":              places(classify.PrivateKey, "Key:\n", pem("RSA PRIVATE KEY", "\n", 12), "\nend"),
		"private keys, Windows":    places(classify.PrivateKey, "", pem("EC PRIVATE KEY", "\r\n", 4), "\r\n\r\n", pem("PRIVATE KEY", "\r\n", 4), "\r\n"),
		"private key in a string":  places(classify.PrivateKey, `{"k":"`, pem("PRIVATE KEY", `\n`, 9), `\n"}`),
		"command":                  places(classify.Authorization, "curl -X POST \\\n  -H \"Authorization: Bearer ", key, "\" https://x.example"),
		"a call":                   places(saas, "token = qXvZw8bUrkPl3mTnDs4(x)"),
		"excused by a comment":     places(saas, "", ico, " # gitleaks:allow"),
		"excused by its line":      places(classify.APIKey, `--mount=type=secret, api_key = "`, key, `"`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, e.want, scan(t, s, e.text))
		})
	}
}

// TestGroupsPlace: the secret is the group's bytes, not the first that look like it.
func TestGroupsPlace(t *testing.T) {
	t.Parallel()
	s := newScanner(t, gitleaks.Config{TOML: "[[rules]]\nid = 'a'\nregex = '''a(aa)'''\n[[rules]]\nid = 'b'\nregex = '''(b+) b+ (b+)'''\nsecretGroup = 2"})
	for _, e := range []example{places(classify.APIKey, "x a", "aa", " a"), places(classify.APIKey, "b b ", "b", " b")} {
		require.Equal(t, e.want, scan(t, s, e.text))
	}
}

// TestLongText: what is found does not depend on where in a long text it stands.
func TestLongText(t *testing.T) {
	t.Parallel()
	s := newScanner(t, gitleaks.Config{})
	ico, key := "ico-"+draw(alnum, 32, "x"), pem("PRIVATE KEY", "\n", 40)
	for name, fill := range map[string]string{"words": "the kiln is lit ", "lines": "lit\n", "no space": "窯", "no characters": "\x80"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, n := range []int{48<<10 - 7, 64<<10 - 20, 64<<10 - 1, 100 << 10} {
				before := strings.Repeat(fill, n/len(fill)) + "\n"
				for _, e := range []example{
					places(classify.SaaSToken, before, ico, "\n"+before),
					places(classify.PrivateKey, before, key, "\n"),
				} {
					require.Equal(t, e.want, scan(t, s, e.text), n)
				}
			}
		})
	}
}

// TestPieces: a long text is never scanned in one piece, which takes time by the square, and a
// secret of 15 KiB lies whole in one of them.
func TestPieces(t *testing.T) {
	t.Parallel()
	for _, fill := range []string{"the kiln is lit ", "a", "é", "窯", "🗝️", "\x80", "\n"} {
		for _, n := range []int{0, 1, 64 << 10, 64<<10 + 1, 100_000, 1 << 20} {
			text := strings.Repeat(fill, n/len(fill)+1)[:n]
			pieces := gitleaks.Pieces(text)
			require.Zero(t, pieces[0][0])
			require.Equal(t, n, pieces[len(pieces)-1][1])
			for i, p := range pieces {
				require.LessOrEqual(t, p[1]-p[0], 64<<10)
				if i > 0 {
					require.Greater(t, p[1], pieces[i-1][1], "it goes on")
					require.LessOrEqual(t, p[0], pieces[i-1][1]-15<<10)
					if utf8.ValidString(text) {
						require.True(t, utf8.RuneStart(text[p[0]]) && utf8.RuneStart(text[pieces[i-1][1]]))
					}
				}
			}
		}
	}
}

// TestConcurrentUse: one scanner for all, and every caller gets its own answer.
func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	s, examples := newScanner(t, gitleaks.Config{}), unknown()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for _, e := range examples {
				findings, err := s.Scan(t.Context(), e.text)
				if err != nil || len(findings) != 1 || e.text[findings[0].Start:findings[0].End] != e.want[0].value {
					t.Errorf("%s: %v, %v", e.name, findings, err)
				}
			}
		})
	}
	wg.Wait()
}

// TestCancelled: half an answer is none.
func TestCancelled(t *testing.T) {
	t.Parallel()
	s := newScanner(t, gitleaks.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, text := range []string{"", "We deploy on Thursdays.", unknown()[0].text} {
		findings, err := s.Scan(ctx, text)
		require.ErrorIs(t, err, context.Canceled)
		require.Empty(t, findings)
	}
}

// TestPanic: a fault of gitleaks is an error. A Scanner that New did not make has one.
func TestPanic(t *testing.T) {
	t.Parallel()
	findings, err := new(gitleaks.Scanner).Scan(t.Context(), "We deploy on Thursdays.")
	require.ErrorContains(t, err, "panicked")
	require.NotContains(t, err.Error(), "Thursdays")
	require.Empty(t, findings)
}
