package classify_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/writepath/classify"
)

func corpus() []example {
	return slices.Concat(tunedSecrets(), tunedPersonal(), tunedLookalikes(), tunedLabels(),
		heldOutSecrets(), heldOutPersonal(), heldOutLookalikes(), heldOutLabels(), secondHeldOut())
}

// requireSound checks what holds for every result of every text.
func requireSound(tb testing.TB, c *classify.Classifier, text string) {
	tb.Helper()
	r := c.Classify(text)
	end := 0
	for _, f := range r.Findings {
		require.GreaterOrEqual(tb, f.Start, end, "findings are in order and do not overlap")
		require.Greater(tb, f.End, f.Start)
		require.LessOrEqual(tb, f.End, len(text))
		require.NotEmpty(tb, f.Kind.Class())
		if utf8.ValidString(text) {
			require.True(tb, f.Start == len(text) || utf8.RuneStart(text[f.Start]), "a finding begins with a character")
			require.True(tb, f.End == len(text) || utf8.RuneStart(text[f.End]), "a finding ends with a character")
		}
		end = f.End
	}
	require.True(tb, slices.IsSorted(r.SecretKinds))
	require.True(tb, slices.IsSorted(r.PIISubjects))
	require.Equal(tb, classify.DestinationsFor(r.Sensitivity), r.Destinations)
	for _, s := range r.PIISubjects {
		kind, id, ok := strings.Cut(s, ":")
		require.True(tb, ok)
		require.NotEmpty(tb, id)
		require.NotEmpty(tb, classify.Kind(kind).Class())
	}
	redacted := classify.Redact(text, r.Findings)
	if len(r.SecretKinds) == 0 {
		require.Equal(tb, text, redacted)
	}
	require.Equal(tb, r, c.Classify(text), "the same text gets the same result")
}

func TestInvariants(t *testing.T) {
	t.Parallel()
	c := classify.New()
	for _, e := range corpus() {
		requireSound(t, c, e.text)
	}
	for _, text := range hostile(2000) {
		requireSound(t, c, text)
	}
}

// Nothing of a secret survives a redaction, and nothing in its place looks like one.
func TestRedact(t *testing.T) {
	t.Parallel()
	c := classify.New()
	for _, e := range corpus() {
		redacted := classify.Redact(e.text, c.Classify(e.text).Findings)
		for _, w := range e.want {
			if classify.Kind(w.kind).Secret() {
				require.NotContains(t, redacted, w.value)
				require.Contains(t, redacted, "[redacted:"+w.kind+"]")
			} else {
				require.Contains(t, redacted, w.value)
			}
		}
		require.Empty(t, c.Classify(redacted).SecretKinds, redacted)
	}
	require.Equal(t, "a [redacted:password] b", classify.Redact("a hunter2 b", []classify.Finding{
		{Kind: classify.Password, Start: 2, End: 9}, {Kind: classify.Email, Start: 10, End: 11},
	}))
}

// TestMarksStay: no scanner makes a redaction endless by taking marks for secrets.
func TestMarksStay(t *testing.T) {
	t.Parallel()
	const mark, other = "[redacted:api_key]", "[redacted:seed_phrase]"
	for _, e := range []struct{ text, found, want string }{
		{mark, mark, mark},
		{mark, "redacted:api_key", mark},
		{mark, "key", mark},
		{"a " + mark + " b", " " + mark, "a[redacted:password] b"},
		{"a " + mark + " b", "key] b", "a [redacted:password]"},
		{"a " + mark + " b", "a [red", "[redacted:password] b"},
		{mark + " and " + other, "key] and [red", "[redacted:password]"},
		{mark + other, mark + other, "[redacted:password]"},
		{mark + other, other, mark + other},
		{"https://" + mark + "@example.org/", "api_key", "https://" + mark + "@example.org/"},
		{"[redacted:hunter22]", "hunter22", "[redacted:[redacted:password]]"}, // of no kind
		{"[redacted:email]", "email", "[redacted:[redacted:password]]"},       // nobody redacts one
		{"[redacted:api_key", "api_key", "[redacted:[redacted:password]"},
		{"[redacted:[redacted:api_key]", "api_key", "[redacted:[redacted:api_key]"},
	} {
		start := strings.Index(e.text, e.found)
		var r classify.Result
		require.NoError(t, r.Merge(e.text, []classify.Finding{{Kind: classify.Password, Start: start, End: start + len(e.found)}}))
		require.Equal(t, e.want, classify.Redact(e.text, r.Findings), "%s in %s", e.found, e.text)
	}
	c := classify.New()
	for _, text := range []string{"https://" + mark + "@example.org/", "https://user:" + mark + "@example.org/", "password: " + other} {
		require.Empty(t, c.Classify(text).SecretKinds, text)
	}
	var r classify.Result
	require.NoError(t, r.Merge(mark, []classify.Finding{{Kind: classify.Health, Start: 3, End: 9}}))
	require.Equal(t, []classify.Finding{{Kind: classify.Health, Start: 3, End: 9}}, r.Findings, "what is not redacted takes its own bytes")
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	c := classify.New()
	examples := corpus()
	want := make([]classify.Result, len(examples))
	for i, e := range examples {
		want[i] = c.Classify(e.text)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i, e := range examples {
				if got := c.Classify(e.text); !slices.Equal(got.Findings, want[i].Findings) || !slices.Equal(got.Labels, want[i].Labels) {
					t.Errorf("another result for %q", e.text)
				}
			}
		})
	}
	wg.Wait()
}

func FuzzClassify(f *testing.F) {
	for _, e := range corpus() {
		f.Add(e.text)
	}
	for _, text := range hostile(120) {
		f.Add(text)
	}
	c := classify.New()
	f.Fuzz(func(t *testing.T, text string) { requireSound(t, c, text) })
}
