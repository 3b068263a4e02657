package baseline_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/driver"
	"github.com/memkernel/memkernel/driver/baseline"
	"github.com/memkernel/memkernel/kernel/mem"
)

// view is what one caller sees, in memory.
type view struct {
	words, near                   []driver.Candidate // best first
	wordsErr, embedErr, vectorErr error

	asked []string
}

func (v *view) Candidates(_ context.Context, q driver.CandidateQuery) ([]driver.Candidate, error) {
	v.asked = append(v.asked, fmt.Sprintf("words %q %d %t", q.Text, q.Limit, q.Detail))
	return v.words[:min(len(v.words), q.Limit)], v.wordsErr
}

func (v *view) Embed(_ context.Context, text string) ([]float32, error) {
	v.asked = append(v.asked, fmt.Sprintf("embed %q", text))
	return []float32{1}, v.embedErr
}

func (v *view) Vector(_ context.Context, q driver.VectorQuery) ([]driver.Candidate, error) {
	v.asked = append(v.asked, fmt.Sprintf("vector %v %d %t", q.Embedding, q.Limit, q.Detail))
	return v.near[:min(len(v.near), q.Limit)], v.vectorErr
}

func ref(n byte) mem.ID { return mem.ID{n} }

// words makes the lexical arm's rows, of one token each.
func words(rows ...any) []driver.Candidate {
	var out []driver.Candidate
	for i := 0; i < len(rows); i += 2 {
		out = append(out, driver.Candidate{Ref: ref(byte(rows[i].(int))), BM25: rows[i+1].(float64), Tokens: 1})
	}
	return out
}

// near makes the vector arm's rows, of one token each.
func near(rows ...any) []driver.Candidate {
	out := words(rows...)
	for i := range out {
		out[i].Cosine, out[i].BM25 = mem.Cosine(out[i].BM25), 0
	}
	return out
}

func plan(t *testing.T, v *view, q driver.Query) []driver.Ranked {
	t.Helper()
	p, err := baseline.New().Plan(t.Context(), v, q)
	require.NoError(t, err)
	return p.Items
}

func ranked(items ...any) []driver.Ranked {
	out := []driver.Ranked{}
	for i := 0; i < len(items); i += 2 {
		out = append(out, driver.Ranked{Ref: ref(byte(items[i].(int))), Score: mem.Score(items[i+1].(float64))})
	}
	return out
}

// TestConstants: a lane of max(2k, 10) rows from a pool of max(8 lanes, 128).
func TestConstants(t *testing.T) {
	t.Parallel()
	require.Equal(t, "baseline", baseline.New().Name())
	for k, want := range map[int]struct{ lane, pool int }{1: {10, 128}, 5: {10, 128}, 6: {12, 128}, 8: {16, 128}, 9: {18, 144}, 10: {20, 160}, 100: {200, 1600}} {
		q := driver.Query{Text: "x", K: k}
		fetcher, ok := baseline.New().(driver.Prefetcher)
		require.True(t, ok)
		require.Equal(t, driver.Prefetch{Lexical: want.pool, Vector: want.lane}, fetcher.Prefetch(q), k)
		v := &view{}
		plan(t, v, q)
		require.Equal(t, []string{
			fmt.Sprintf(`words "x" %d false`, want.pool), `embed "x"`, fmt.Sprintf("vector [1] %d false", want.lane),
		}, v.asked, "it asks for what it said it would")
	}
}

func TestMerge(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name        string
		words, near []driver.Candidate
		want        []driver.Ranked
	}{
		{"nothing", nil, nil, ranked()},
		{"one word alone", words(1, 7.0), nil, ranked(1, 0.5)},
		{"one neighbour alone", nil, near(1, -0.3), ranked(1, 0.5)},
		{"both arms agree", words(1, 7.0), near(1, 0.9), ranked(1, 1.0)},
		{"scaled between the best and the worst", words(1, 9.0, 2, 6.0, 3, 1.0), nil, ranked(1, 0.5, 2, 0.3125, 3, 0.0)},
		{"negative cosines", nil, near(1, 0.5, 2, -0.25, 3, -0.5), ranked(1, 0.5, 2, 0.125, 3, 0.0)},
		{"equal scores are all the best, the ref decides", words(9, 2.0, 3, 2.0, 5, 2.0), nil, ranked(3, 0.5, 5, 0.5, 9, 0.5)},
		{"half and half", words(1, 4.0, 2, 2.0, 3, 0.0), near(3, 0.75, 2, 0.5, 1, 0.25), ranked(1, 0.5, 2, 0.5, 3, 0.5)},
		{
			"a row that an arm lacks gets nothing from it", words(1, 4.0, 2, 0.0), near(3, 0.8, 2, 0.4),
			ranked(1, 0.5, 3, 0.5, 2, 0.0),
		},
		{"the scale of an arm does not matter", words(1, 4000.0, 2, 2000.0, 3, 0.0), near(2, 0.2, 1, 0.1), ranked(2, 0.75, 1, 0.5, 3, 0.0)},
	} {
		require.Equal(t, tc.want, plan(t, &view{words: tc.words, near: tc.near}, driver.Query{Text: "x", K: 10}), tc.name)
	}
}

// TestLane: what lies deeper in the pool than the lane does not count, nor does it stretch
// the scale.
func TestLane(t *testing.T) {
	t.Parallel()
	var pool []driver.Candidate
	for i := range 30 {
		pool = append(pool, driver.Candidate{Ref: ref(byte(i + 1)), BM25: float64(100 - i)})
	}
	items := plan(t, &view{words: pool}, driver.Query{Text: "x", K: 5})
	require.Len(t, items, 5)
	require.Equal(t, mem.Score(0.5), items[0].Score)
	require.InDelta(t, 0.5*8/9, float64(items[1].Score), 1e-12, "the tenth row is the worst of the lane")
	items = plan(t, &view{words: pool}, driver.Query{Text: "x", K: 20})
	require.Len(t, items, 20)
	require.InDelta(t, 0.5*28/29, float64(items[1].Score), 1e-12)
}

func TestBudget(t *testing.T) {
	t.Parallel()
	rows := words(1, 5.0, 2, 4.0, 3, 3.0, 4, 2.0, 5, 1.0)
	for i, tokens := range []int{40, 100, 30, 30, 5} {
		rows[i].Tokens = tokens
	}
	for _, tc := range []struct {
		name      string
		k, budget int
		want      []int
	}{
		{"no bound", 5, 0, []int{1, 2, 3, 4, 5}},
		{"all fit", 5, 205, []int{1, 2, 3, 4, 5}},
		{"one too many", 5, 204, []int{1, 2, 3, 4}},
		{"what is too large is left out, what fits behind it is not", 5, 75, []int{1, 3, 5}},
		{"exactly", 5, 70, []int{1, 3}},
		{"the first is kept though it alone is over", 5, 1, []int{1}},
		{"k counts before the budget", 2, 75, []int{1}},
	} {
		var got []int
		for _, it := range plan(t, &view{words: rows}, driver.Query{Text: "x", K: tc.k, TokenBudget: tc.budget}) {
			got = append(got, int(it.Ref[0]))
		}
		require.Equal(t, tc.want, got, tc.name)
	}
}

// TestArmsDown: without the vector arm the words rank alone; without words there is no plan.
func TestArmsDown(t *testing.T) {
	t.Parallel()
	down := errors.New("down")
	full := func() *view {
		return &view{words: words(1, 4.0, 2, 1.0), near: near(2, 0.9, 1, 0.1)}
	}
	q := driver.Query{Text: "x", K: 10}
	v := full()
	v.embedErr = down
	require.Equal(t, ranked(1, 0.5, 2, 0.0), plan(t, v, q))
	v = full()
	v.vectorErr, v.near = down, nil
	require.Equal(t, ranked(1, 0.5, 2, 0.0), plan(t, v, q))
	v = full()
	v.wordsErr = down
	_, err := baseline.New().Plan(t.Context(), v, q)
	require.ErrorIs(t, err, down)

	// A model that fails because nobody waits any more is no reason to go on.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	v = full()
	v.embedErr = ctx.Err()
	_, err = baseline.New().Plan(ctx, v, q)
	require.ErrorIs(t, err, context.Canceled)
}
