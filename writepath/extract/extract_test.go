package extract_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/kernel/model"
	"github.com/memkernel/memkernel/writepath/extract"
)

const source = "Mira: I moved to Lisbon in May. I play the cello."

const good = `{"facts":[{"text":"Mira moved to Lisbon.","kind":"experience","event_time":"2024-05-01","event_end":null,"entities":["Mira","Lisbon"],"certainty":0.9},` +
	`{"text":"Mira plays the cello.","kind":"skill","event_time":null,"event_end":null,"entities":["Mira"],"certainty":1}]}`

func texts(r *extract.Result) []string {
	var out []string
	for _, f := range r.Facts {
		out = append(out, f.Text)
	}
	return out
}

func run(t *testing.T, llm model.LLM, opts extract.Options, in extract.Input) extract.Result {
	t.Helper()
	r, err := extract.New(llm, opts).Extract(t.Context(), in)
	require.NoError(t, err)
	return r
}

// TestAnswers goes through what models send back.
func TestAnswers(t *testing.T) {
	t.Parallel()
	two := []string{"Mira moved to Lisbon.", "Mira plays the cello."}
	for name, c := range map[string]struct {
		turns  []turn
		facts  []string
		reason extract.Reason
		calls  int
		reject []mem.RejectReason
	}{
		"good":               {turns: []turn{{text: good}}, facts: two, calls: 1},
		"fenced":             {turns: []turn{{text: "```json\n" + good + "\n```"}}, facts: two, calls: 1},
		"text around":        {turns: []turn{{text: "Sure [as asked]! Here {it} is:\n" + good + "\nAnything else? :-}"}}, facts: two, calls: 1},
		"bare list":          {turns: []turn{{text: good[len(`{"facts":`) : len(good)-1]}}, facts: two, calls: 1},
		"thinks first":       {turns: []turn{{text: `<think>{"facts":[]} is too few</think>` + good}}, facts: two, calls: 1},
		"list named twice":   {turns: []turn{{text: `{"facts":[{"text":"Mira moved to Lisbon."}],"facts":[{"text":"Mira plays the cello."}]}`}}, facts: two, calls: 1},
		"minimal":            {turns: []turn{{text: `{"facts":[{"text":" Mira plays the cello. "}]}`}}, facts: two[1:], calls: 1},
		"cut, repaired":      {turns: []turn{{text: good[:len(good)-40]}, {text: good}}, facts: two, calls: 2},
		"cut twice":          {turns: []turn{{text: good[:len(good)-40]}, {text: good[:len(good)-2]}}, facts: []string{source}, reason: extract.ReasonBadJSON, calls: 2},
		"cut behind a whole": {turns: []turn{{text: `{"facts":[]} or rather ` + good[:len(good)-40]}, {text: good}}, facts: two, calls: 2},
		"no JSON":            {turns: []turn{{text: "I cannot help with that."}}, facts: []string{source}, reason: extract.ReasonBadJSON, calls: 2},
		"nothing":            {turns: []turn{{text: ""}}, facts: []string{source}, reason: extract.ReasonBadJSON, calls: 2},
		"other object":       {turns: []turn{{text: `{"error":"overloaded"}`}, {text: good}}, facts: two, calls: 2},
		"facts is null":      {turns: []turn{{text: `{"facts":null}`}}, facts: []string{source}, reason: extract.ReasonNoFacts, calls: 1},
		"facts is an object": {turns: []turn{{text: `{"facts":{"text":"x"}}`}, {text: good}}, facts: two, calls: 2},
		"empty":              {turns: []turn{{text: `{"facts":[]}`}}, facts: []string{source}, reason: extract.ReasonNoFacts, calls: 1},
		"some malformed": {
			turns:  []turn{{text: `{"facts":["Mira is nice",{"text":7},{"fact":"x"},null,{"text":"Mira plays the cello."},[1]]}`}},
			facts:  two[1:],
			calls:  1,
			reject: []mem.RejectReason{mem.RejectMalformed, mem.RejectMalformed, mem.RejectMalformed, mem.RejectMalformed, mem.RejectMalformed},
		},
		"all malformed, repaired": {turns: []turn{{text: `{"facts":["Mira is nice"]}`}, {text: good}}, facts: two, calls: 2},
		"all malformed twice": {
			turns: []turn{{text: `{"facts":["a"]}`}, {text: `{"facts":["b","c"]}`}}, facts: []string{source}, reason: extract.ReasonBadJSON, calls: 2,
			reject: []mem.RejectReason{mem.RejectMalformed, mem.RejectMalformed},
		},
		"repeats itself": {
			turns:  []turn{{text: `{"facts":[{"text":"Mira plays the cello."},{"text":"mira  plays the CELLO."}]}`}},
			facts:  two[1:],
			calls:  1,
			reject: []mem.RejectReason{mem.RejectDuplicate},
		},
		"blank, NUL, not a character": {
			turns:  []turn{{text: `{"facts":[{"text":"  "},{"text":"a\u0000b"},{"text":"\ud800 x"},{"text":"Mira plays the cello."}]}`}},
			facts:  two[1:],
			calls:  1,
			reject: []mem.RejectReason{mem.RejectEmpty, mem.RejectMalformed, mem.RejectMalformed},
		},
		"fails once":  {turns: []turn{{err: errFake}, {text: good}}, facts: two, calls: 2},
		"fails twice": {turns: []turn{{err: errFake}}, facts: []string{source}, reason: extract.ReasonModelFailed, calls: 2},
		"fails the repair": {
			turns: []turn{{text: "?"}, {err: errFake}}, facts: []string{source}, reason: extract.ReasonModelFailed, calls: 2,
		},
		"bad after a failure": {turns: []turn{{err: errFake}, {text: "?"}}, facts: []string{source}, reason: extract.ReasonBadJSON, calls: 2},
		"neither": {
			turns: []turn{{do: func(context.Context, model.Request) (*model.Response, error) { return nil, nil }}}, //nolint:nilnil // the fault under test
			facts: []string{source}, reason: extract.ReasonModelFailed, calls: 2,
		},
		"panics": {
			turns: []turn{{do: func(context.Context, model.Request) (*model.Response, error) { panic(source) }}},
			facts: []string{source}, reason: extract.ReasonModelFailed, calls: 2,
		},
		"leaks the examples": {
			turns: []turn{{text: `{"facts":[{"text":"Brixolda works."},{"text":"The user started as a welder at Quorvane Dockworks."},` +
				`{"text":"Mira does not eat walnuts any more."},{"text":"TULLIVEX is the owner."},{"text":"Mira plays the cello."}]}`}},
			facts: two[1:], calls: 1,
			reject: []mem.RejectReason{mem.RejectExampleLeak, mem.RejectExampleLeak, mem.RejectExampleLeak, mem.RejectExampleLeak},
		},
		"leaks only": {
			turns: []turn{{text: `{"facts":[{"text":"Brixolda works."}]}`}}, facts: []string{source}, reason: extract.ReasonNoFacts, calls: 1,
			reject: []mem.RejectReason{mem.RejectExampleLeak},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &script{turns: c.turns}
			r := run(t, s, extract.Options{}, extract.Input{Text: source})
			require.Equal(t, c.facts, texts(&r))
			require.Equal(t, c.reason, r.Reason)
			require.Equal(t, c.reason != extract.ReasonNone, r.Verbatim)
			require.Equal(t, c.calls, r.Calls)
			require.Equal(t, c.calls, s.calls())
			var reasons []mem.RejectReason
			for _, x := range r.Rejected {
				reasons = append(reasons, x.Reason)
			}
			require.Equal(t, c.reject, reasons)
			if r.Err != nil {
				require.NotContains(t, r.Err.Error(), "Mira", "an error tells nothing of the input")
			}
			if r.Reason != extract.ReasonNone && r.Reason != extract.ReasonNoFacts {
				require.Error(t, r.Err)
			}
		})
	}
}

func TestNoModelIsVerbatim(t *testing.T) {
	t.Parallel()
	at := time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC)
	r := run(t, nil, extract.Options{}, extract.Input{Text: " " + source + "\n", Kind: mem.KindEpisode, EventTime: at})
	require.Equal(t, extract.Result{
		Facts:    []extract.Fact{{Text: " " + source + "\n", Kind: mem.KindEpisode, EventTime: at, Certainty: 1, Verbatim: true}},
		Verbatim: true, Reason: extract.ReasonNoModel, Parts: 1,
	}, r)
}

func TestAModelThatHangsIsATimeout(t *testing.T) {
	t.Parallel()
	hanging := func() *script { return &script{turns: []turn{{do: hang}}} }

	s := hanging()
	r := run(t, s, extract.Options{Timeout: 10 * time.Millisecond}, extract.Input{Text: source})
	require.Equal(t, extract.ReasonTimeout, r.Reason)
	require.Equal(t, []string{source}, texts(&r))
	require.Equal(t, 1, s.calls(), "there is no time for a second call")

	s = hanging()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	r, err := extract.New(s, extract.Options{}).Extract(ctx, extract.Input{Text: source})
	require.NoError(t, err, "the caller's deadline keeps the input too")
	require.Equal(t, extract.ReasonTimeout, r.Reason)

	s = hanging()
	r = run(t, s, extract.Options{Timeout: 10 * time.Millisecond, PartTokens: 4}, extract.Input{Text: source})
	require.Greater(t, r.Parts, 2)
	require.Equal(t, 1, s.calls(), "the other parts are not waited for")
	require.Equal(t, source, strings.Join(texts(&r), ""))

	ctx, cancel = context.WithCancel(t.Context())
	cancelling := &script{turns: []turn{{do: func(ctx context.Context, req model.Request) (*model.Response, error) {
		cancel()
		return hang(ctx, req)
	}}}}
	_, err = extract.New(cancelling, extract.Options{}).Extract(ctx, extract.Input{Text: source})
	require.ErrorIs(t, err, context.Canceled)
}

func TestRetryIsTheCallersChoice(t *testing.T) {
	t.Parallel()
	s := &script{turns: []turn{{err: errFake}}}
	r := run(t, s, extract.Options{Retry: func(err error) bool { return !errors.Is(err, errFake) }}, extract.Input{Text: source})
	require.Equal(t, 1, s.calls())
	require.Equal(t, extract.ReasonModelFailed, r.Reason)
	require.ErrorIs(t, r.Err, errFake)
}

func TestFactsAreCappedInOrder(t *testing.T) {
	t.Parallel()
	var list []string
	for i := range 700 {
		list = append(list, fmt.Sprintf(`{"text":"fact number %d"}`, i))
	}
	answer := `{"facts":[` + strings.Join(list, ",") + `]}`
	for opt, want := range map[int]int{0: 100, 7: 7, 500: 500, 9999: extract.MaxFacts} {
		r := run(t, answers(answer), extract.Options{MaxFacts: opt}, extract.Input{Text: source})
		require.Len(t, r.Facts, want)
		require.Equal(t, fmt.Sprintf("fact number %d", want-1), r.Facts[want-1].Text)
		require.Len(t, r.Rejected, 700-want)
		require.Equal(t, extract.Rejected{Text: fmt.Sprintf("fact number %d", want), Reason: mem.RejectTooMany}, r.Rejected[0])
		require.False(t, r.Verbatim)
	}
}

func TestALongFactIsRejectedAndCut(t *testing.T) {
	t.Parallel()
	r := run(t, answers(`{"facts":[{"text":"`+strings.Repeat("é", 20)+`"},{"text":"short"}]}`), extract.Options{MaxFactBytes: 15}, extract.Input{Text: source})
	require.Equal(t, []extract.Rejected{{Text: strings.Repeat("é", 7), Reason: mem.RejectTooLong}}, r.Rejected)
	require.Equal(t, []string{"short"}, texts(&r))
}

func TestAnExampleThatTheInputHasIsNoLeak(t *testing.T) {
	t.Parallel()
	r := run(t, answers(`{"facts":[{"text":"Brixolda does not eat walnuts any more."}]}`), extract.Options{},
		extract.Input{Text: "brixolda says she's off walnuts"})
	require.Empty(t, r.Rejected)
	require.Len(t, r.Facts, 1)
}

func TestUnusableInputIsAnError(t *testing.T) {
	t.Parallel()
	s := answers(good)
	for _, in := range []extract.Input{
		{},
		{Text: " \n"},
		{Text: "a\x00b"},
		{Text: "a\xffb"},
		{Text: strings.Repeat("x", extract.MaxInputBytes+1)},
		{Text: source, Kind: "rumour"},
		{Text: source, Source: "\xff"},
		{Text: source, Source: strings.Repeat("x", extract.MaxSourceBytes+1)},
		{Text: source, Now: time.Date(12024, 1, 1, 0, 0, 0, 0, time.UTC)},
		{Text: "\x00", Prepared: []extract.Fact{{Text: "x"}}},
	} {
		_, err := extract.New(s, extract.Options{}).Extract(t.Context(), in)
		require.Error(t, err)
		require.True(t, errors.Is(err, mem.ErrInvalid) || errors.Is(err, mem.ErrTooLarge), "%v", err)
	}
	require.Zero(t, s.calls())
}

func TestPreparedFactsCostNothing(t *testing.T) {
	t.Parallel()
	s := answers(good)
	in := extract.Input{Kind: mem.KindGoal}
	for i := range 120 {
		in.Prepared = append(in.Prepared, extract.Fact{Text: fmt.Sprintf("fact %d", i), Verbatim: true})
	}
	in.Prepared[1] = extract.Fact{Text: "fact 0"}
	in.Prepared[2] = extract.Fact{Text: "bad\xff"}
	in.Prepared[3] = extract.Fact{
		Text: "odd", Kind: "rumour", Certainty: 2, EventEnd: time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC), Entities: []string{"A", "A", ""},
	}
	r := run(t, s, extract.Options{}, in)
	require.Zero(t, s.calls())
	require.Zero(t, r.Calls)
	require.False(t, r.Verbatim)
	require.Len(t, r.Facts, 100)
	require.Len(t, r.Rejected, 20)
	require.Equal(t, mem.RejectDuplicate, r.Rejected[0].Reason)
	require.Equal(t, mem.RejectMalformed, r.Rejected[1].Reason)
	require.Equal(t, mem.RejectTooMany, r.Rejected[2].Reason)
	require.Equal(t, extract.Fact{Text: "fact 0", Kind: mem.KindGoal}, r.Facts[0])
	require.Equal(t, extract.Fact{
		Text: "odd", Kind: mem.KindGoal, Certainty: 1, Entities: []string{"A"},
		Flaws: []extract.Flaw{extract.FlawKind, extract.FlawCertainty, extract.FlawEntities, extract.FlawEventEndWithout},
	}, r.Facts[1])
}

func TestUsageIsSummed(t *testing.T) {
	t.Parallel()
	r := run(t, answers("?", good), extract.Options{}, extract.Input{Text: source})
	require.Equal(t, model.Usage{PromptTokens: 200, AnswerTokens: 20}, r.Usage)
}

func TestAnExtractorIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	e := extract.New(answers(good), extract.Options{})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			r, err := e.Extract(context.Background(), extract.Input{Text: source})
			if err != nil || len(r.Facts) != 2 {
				panic("a call got another's result")
			}
		})
	}
	wg.Wait()
}

func TestTheSchemaIsJSON(t *testing.T) {
	t.Parallel()
	s := answers(good)
	run(t, s, extract.Options{}, extract.Input{Text: source})
	require.True(t, json.Valid(s.requests[0].Schema))
	require.NotContains(t, strings.ToLower(string(s.requests[0].Schema)), "provenance")
	require.NotContains(t, strings.ToLower(string(s.requests[0].Schema)), "trust")
}
