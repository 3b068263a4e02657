package extract_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/kernel/model"
	"github.com/memkernel/memkernel/writepath/extract"
)

// partsOf returns the parts that a text is cut into.
func partsOf(t *testing.T, text string, tokens int) []string {
	t.Helper()
	s := &script{turns: []turn{{err: errFake}}}
	e := extract.New(s, extract.Options{PartTokens: tokens, MaxParts: 1 << 20, Retry: func(error) bool { return false }})
	r, err := e.Extract(t.Context(), extract.Input{Text: text})
	require.NoError(t, err)
	require.Equal(t, len(r.Facts), r.Parts)
	return texts(&r)
}

func TestPartsEndWhereTheTextDoes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"One two. Three four. Five.": {"One two.", " Three four.", " Five."},
		"aaaa bbb\n\ncccc d. e":      {"aaaa bbb\n\n", "cccc d. e"},
		"aaaa b. c\ndddd. eee":       {"aaaa b. c\n", "dddd. eee"},
		"今日は晴れです。明日は雨が降るでしょう。":       {"今日は晴れです。", "明日は雨が降るでしょう。"},
		"aaaaaaaaaaaaaaaaaaaaaaaaaa": {"aaaaaaaaaaaa", "aaaaaaaaaaaa", "aa"},
		"1234567 v1.2.3 z":           {"1234567 ", "v1.2.3 z"},
	} {
		require.Equal(t, want, partsOf(t, text, 3))
	}
}

func TestEachPartHasTwoCalls(t *testing.T) {
	t.Parallel()
	n := 0
	s := &script{turns: []turn{{do: func(context.Context, model.Request) (*model.Response, error) {
		n++
		switch n {
		case 1, 3: // parts one and two need a repair
			return &model.Response{JSON: []byte("?")}, nil
		case 4: // part two is not repaired
			return nil, errFake
		}
		return &model.Response{JSON: fmt.Appendf(nil, `{"facts":[{"text":"fact %d"}]}`, n)}, nil
	}}}}
	text := "Aaaa bbbb. Cccc dddd. Eeee ffff."
	r := run(t, s, extract.Options{PartTokens: 3}, extract.Input{Text: text})
	require.Equal(t, 3, r.Parts)
	require.Equal(t, 5, r.Calls)
	require.Equal(t, []string{"fact 2", " Cccc dddd.", "fact 5"}, texts(&r))
	require.True(t, r.Verbatim)
	require.Equal(t, extract.ReasonModelFailed, r.Reason)

	s = answers(good)
	r = run(t, s, extract.Options{PartTokens: 3, MaxParts: 2}, extract.Input{Text: text})
	require.Zero(t, s.calls())
	require.Equal(t, extract.ReasonTooManyParts, r.Reason)
	require.Equal(t, []string{text}, texts(&r))

	s = answers(`{"facts":[{"text":"fact"}]}`)
	r = run(t, s, extract.Options{PartTokens: 3, MaxFacts: 1}, extract.Input{Text: text})
	require.Equal(t, 1, s.calls(), "no call for facts that cannot be taken")
	require.Equal(t, extract.ReasonTooManyFacts, r.Reason)
	require.Equal(t, []string{"fact", " Cccc dddd.", " Eeee ffff."}, texts(&r))
}

func TestOneCallByDefault(t *testing.T) {
	t.Parallel()
	s := answers(good)
	text := strings.Repeat("All work and no play.\n\n", extract.MaxInputBytes/23)
	r := run(t, s, extract.Options{}, extract.Input{Text: text})
	require.Equal(t, 1, s.calls())
	require.Equal(t, 1, r.Parts)
	require.Contains(t, s.requests[0].Prompt, text)
}

func FuzzSplit(f *testing.F) {
	f.Add("One. Two!\n\nThree? 四。五", 2)
	f.Add("a\n\n\n \n b", 1)
	f.Fuzz(func(t *testing.T, text string, tokens int) {
		if mem.CheckText("Text", text, 4096) != nil || tokens < 1 || tokens > 1000 {
			return
		}
		parts := partsOf(t, text, tokens)
		require.NotEmpty(t, parts)
		at := 0
		for _, p := range parts {
			require.True(t, utf8.ValidString(p))
			require.LessOrEqual(t, mem.EstimateTokens(p), tokens)
			i := strings.Index(text[at:], p)
			require.GreaterOrEqual(t, i, 0, "parts are in the text, in order")
			require.Empty(t, strings.TrimSpace(text[at:at+i]), "and leave nothing out but white space")
			at += i + len(p)
		}
		require.Empty(t, strings.TrimSpace(text[at:]))
	})
}
