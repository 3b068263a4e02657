package extract_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/writepath/extract"
)

// FuzzAnswer: whatever a model sends, nothing panics, what is stored can be stored, nothing
// is lost, and the calls are counted.
func FuzzAnswer(f *testing.F) {
	for _, s := range []string{
		good, good[:50], "```json\n" + good + "```", `[{"text":"a\u0000"}]`, "[[[[", `{"facts":[{"text":"\ud800"}]}`,
		`{"facts":[1,null,"x",{"text":"t","event_time":"0000-00-00","entities":[1],"certainty":1e999}]}`, "{\"facts\":[{\"text\":\"\xff\"}]}", "{", `{"`,
	} {
		f.Add([]byte(s), []byte(good))
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		s := answers(string(first), string(second))
		r := run(t, s, extract.Options{MaxFacts: 5, MaxFactBytes: 40}, extract.Input{Text: source})
		require.NotEmpty(t, r.Facts)
		require.LessOrEqual(t, len(r.Facts), 5)
		require.LessOrEqual(t, s.calls(), 2)
		require.Equal(t, r.Reason != extract.ReasonNone, r.Verbatim)
		for _, fact := range r.Facts {
			require.True(t, utf8.ValidString(fact.Text) && !strings.Contains(fact.Text, "\x00") && strings.TrimSpace(fact.Text) != "")
			require.True(t, fact.Kind.Valid())
			require.True(t, fact.Certainty >= 0 && fact.Certainty <= 1)
			require.False(t, fact.EventTime.IsZero() && !fact.EventEnd.IsZero())
			for _, e := range fact.Entities {
				require.True(t, utf8.ValidString(e) && !strings.Contains(e, "\x00"))
			}
		}
		for _, x := range r.Rejected {
			require.True(t, x.Reason.Valid())
			require.True(t, utf8.ValidString(x.Text) && !strings.Contains(x.Text, "\x00"))
			require.LessOrEqual(t, len(x.Text), 40)
		}
	})
}

// TestHostileAnswersTakeBoundedWork runs the shapes that make a parser try again and again.
func TestHostileAnswersTakeBoundedWork(t *testing.T) {
	t.Parallel()
	const size = 1<<20 - 100
	for name, unit := range map[string]string{
		"open lists": "[", "open objects": `{"a":`, "strings": `{"`, "almost": `{"facts":[{"text":"x"},`,
		"items": `7,`, "commas": "{,", "text": "x",
	} {
		answer := strings.Repeat(unit, size/len(unit))
		if name == "items" {
			answer = `{"facts":[` + answer + `{"text":"x"}]}`
		}
		begun := time.Now()
		r := run(t, answers(answer), extract.Options{}, extract.Input{Text: source})
		require.Equal(t, extract.ReasonBadJSON, r.Reason, name)
		require.Less(t, time.Since(begun), 20*time.Second, name)
		require.Less(t, len(r.Rejected), 2*2001, name)
		t.Logf("%s: %s", name, time.Since(begun).Round(time.Millisecond))
	}
}
