package fusion_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/driver"
	"github.com/memkernel/memkernel/driver/fusion"
	"github.com/memkernel/memkernel/kernel/mem"
)

var ten = driver.Query{Text: "x", K: 10}

func TestAsks(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		trust fusion.Trust
		k     int
		want  driver.Prefetch
		asked []string
	}{
		{fusion.Spelling, 10, driver.Prefetch{Lexical: 1000, Vector: 100}, []string{`words "x" 1000`, `embed "x"`, "vector [1] 100"}},
		{fusion.Meaning, 101, driver.Prefetch{Lexical: 1000, Vector: 101}, []string{`words "x" 1000`, `embed "x"`, "vector [1] 101"}},
		{0, 10, driver.Prefetch{Lexical: 1000}, []string{`words "x" 1000`}},
	} {
		d := fusion.New(tc.trust)
		require.Equal(t, "fusion", d.Name())
		fetcher, ok := d.(driver.Prefetcher)
		require.True(t, ok)
		q := driver.Query{Text: "x", K: tc.k}
		require.Equal(t, tc.want, fetcher.Prefetch(q))
		v := &view{}
		planBy(t, tc.trust, v, q)
		require.Equal(t, tc.asked, v.asked, "it asks for what it said it would, in no more calls")
	}
}

// TestTrust: drivers of the same trust are equal, and trusts out of range count as the nearest.
func TestTrust(t *testing.T) {
	t.Parallel()
	require.Equal(t, fusion.New(0), fusion.New(-1))
	require.Equal(t, fusion.New(0), fusion.New(fusion.Trust(math.NaN())))
	require.Equal(t, fusion.New(1), fusion.New(7))
	require.NotEqual(t, fusion.New(fusion.Spelling), fusion.New(fusion.Meaning))
}

func TestMerge(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name        string
		words, near []driver.Candidate
		want        []int
	}{
		{"nothing", nil, nil, nil},
		{"words alone", words(1, 9.0, 2, 3.0), nil, []int{1, 2}},
		{"vectors alone", nil, near(2, 0.9, 1, 0.3), []int{2, 1}},
		{"negative cosines", nil, near(2, -0.1, 1, -0.3, 3, -0.9), []int{2, 1, 3}},
		{"one of each", words(1, 7.0), near(2, 0.5), []int{1, 2}},
		{"the arms agree", words(1, 7.0, 2, 5.0, 3, 1.0), near(1, 0.7, 2, 0.5, 3, 0.1), []int{1, 2, 3}},
		{"the ref decides a tie", words(5, 2.0, 9, 2.0, 3, 2.0), nil, []int{3, 5, 9}},
		{"equal cosines", nil, near(5, 0.5, 9, 0.5, 3, 0.5), []int{3, 5, 9}},
		{"both arms flat, one row in both", words(1, 2.0, 2, 2.0), near(2, 0.5, 3, 0.5), []int{2, 1, 3}},
		{"scores of nothing", words(2, 0.0, 1, 0.0), nil, []int{1, 2}},
	} {
		items := plan(t, &view{words: tc.words, near: tc.near}, ten)
		require.Equal(t, tc.want, order(items), tc.name)
		if len(items) > 0 && tc.name != "scores of nothing" {
			require.Equal(t, mem.Score(1), items[0].Score, "%s: the best is 1", tc.name)
		}
	}
}

// flat is sixty rows of an arm, the first of which stands out from the others by so much.
func flat(from int, out float64, arm func(...any) []driver.Candidate) []driver.Candidate {
	rows := arm(from, 0.5+out)
	for i := 1; i < 60; i++ {
		rows = append(rows, arm(from+i, 0.5-0.0001*float64(i%7))...)
	}
	slices.SortStableFunc(rows[1:], func(a, b driver.Candidate) int {
		return cmp.Or(cmp.Compare(b.BM25, a.BM25), cmp.Compare(b.Cosine, a.Cosine))
	})
	return rows
}

// TestTheArmThatStandsOutDecides: with an embedder that is trusted as much as words, each arm's
// best row comes first where it stands out from its arm and the other's does not.
func TestTheArmThatStandsOutDecides(t *testing.T) {
	t.Parallel()
	const word, vector = 0, 1000
	items := planBy(t, 0.5, &view{words: flat(word, 0.3, words), near: flat(vector, 0.0002, near)}, ten)
	require.Equal(t, word, order(items)[0])
	items = planBy(t, 0.5, &view{words: flat(word, 0.0002, words), near: flat(vector, 0.3, near)}, ten)
	require.Equal(t, vector, order(items)[0])
	// A word that a single row has says more than a nearness that grows evenly.
	var even []driver.Candidate
	for i := range 60 {
		even = append(even, near(vector+i, 0.9-0.01*float64(i))...)
	}
	items = planBy(t, 0.5, &view{words: words(word, 1.0), near: even}, ten)
	require.Equal(t, word, order(items)[0])
	// Words that all rows have alike say nothing, even if the embedder is hardly trusted.
	var same []driver.Candidate
	for i := range 60 {
		same = append(same, words(i, 0.7)...)
	}
	nearness := flat(vector, 0.3, near)
	nearness[0].Ref = ref(30)
	require.Equal(t, 30, order(planBy(t, fusion.Spelling, &view{words: same, near: nearness}, ten))[0])
}

// TestTrustInTheEmbedder: the more it is trusted, the more its best row is worth.
func TestTrustInTheEmbedder(t *testing.T) {
	t.Parallel()
	const word, vector = 0, 1000
	last := 0.0
	for _, trust := range []fusion.Trust{fusion.Spelling, fusion.Meaning, 0.6} {
		items := planBy(t, trust, &view{words: flat(word, 0.3, words), near: flat(vector, 0.3, near)}, driver.Query{Text: "x", K: 200})
		ratio := score(t, items, vector) / score(t, items, word)
		require.Greater(t, ratio, last)
		last = ratio
	}
	require.Greater(t, last, 1.0)
}

func TestBudget(t *testing.T) {
	t.Parallel()
	rows := words(1, 9.0, 100, 5.0, 200, 3.0, 300, 2.0)
	for i, tokens := range []int{40, 61, 30, 30} {
		rows[i].Tokens = tokens
	}
	got := func(k, budget int) []int {
		return order(plan(t, &view{words: rows}, driver.Query{Text: "x", K: k, TokenBudget: budget}))
	}
	all := got(4, 0)
	require.Equal(t, []int{1, 100, 200, 300}, all)
	require.Equal(t, []int{1, 200, 300}, got(4, 100), "what is too large is left out, what fits behind it is not")
	require.Equal(t, []int{1}, got(4, 1), "the best is kept though it is over")
	require.Equal(t, []int{1}, got(2, 75), "k counts before the budget")
}

// TestArmsDown: either arm ranks alone; with both down there is no plan.
func TestArmsDown(t *testing.T) {
	t.Parallel()
	down, worse := errors.New("down"), errors.New("worse")
	full := func() *view { return &view{words: words(1, 4.0, 2, 1.0), near: near(2, 0.9, 1, 0.1)} }
	for name, tc := range map[string]struct {
		breakIt func(*view)
		want    []int
	}{
		"the embedder":                {func(v *view) { v.embedErr = down }, []int{1, 2}},
		"the vectors":                 {func(v *view) { v.vectorErr = down }, []int{1, 2}},
		"a text without features":     {func(v *view) { v.noVector, v.near = true, nil }, []int{1, 2}},
		"the words":                   {func(v *view) { v.wordsErr = down }, []int{2, 1}},
		"a text without words":        {func(v *view) { v.words = nil }, []int{2, 1}},
		"nothing is near, nothing is": {func(v *view) { v.words, v.near = nil, nil }, nil},
	} {
		v := full()
		tc.breakIt(v)
		require.Equal(t, tc.want, order(plan(t, v, ten)), name)
	}
	for name, breakIt := range map[string]func(*view){
		"embedder": func(v *view) { v.embedErr = worse },
		"vectors":  func(v *view) { v.vectorErr = worse },
	} {
		v := full()
		v.wordsErr = down
		breakIt(v)
		_, err := fusion.New(fusion.Meaning).Plan(t.Context(), v, ten)
		require.ErrorIs(t, err, down, name)
		require.ErrorIs(t, err, worse, name)
	}
	v := full()
	v.wordsErr = down
	_, err := fusion.New(0).Plan(t.Context(), v, ten)
	require.ErrorIs(t, err, down, "the other arm is not trusted")
}

// TestCallIsOver: an arm that fails because nobody waits any more is no reason to go on, at
// whichever call it happens.
func TestCallIsOver(t *testing.T) {
	t.Parallel()
	dated := driver.Query{Text: "x in May 2023", K: 10}
	calls := []struct {
		name  string
		fail  func(*view, error)
		asked int
	}{
		{"words", func(v *view, err error) { v.wordsErr = err }, 1},
		{"embed", func(v *view, err error) { v.embedErr = err }, 2},
		{"vector", func(v *view, err error) { v.vectorErr = err }, 3},
		{"dated", func(v *view, err error) { v.datedErr = err }, 4},
		{"latest", func(v *view, err error) { v.latestErr = err }, 5},
	}
	for _, tc := range calls {
		v := &view{words: words(1, 4.0), near: near(2, 0.9)}
		tc.fail(v, mem.ErrViewClosed)
		_, err := fusion.New(fusion.Meaning).Plan(t.Context(), v, dated)
		require.ErrorIs(t, err, mem.ErrViewClosed, tc.name)
		require.Len(t, v.asked, tc.asked, tc.name)

		ctx, cancel := context.WithCancel(t.Context())
		v = &view{words: words(1, 4.0), near: near(2, 0.9)}
		tc.fail(v, context.Canceled)
		v.after = func() {
			if len(v.asked) == tc.asked {
				cancel()
			}
		}
		_, err = fusion.New(fusion.Meaning).Plan(ctx, v, dated)
		require.ErrorIs(t, err, context.Canceled, tc.name)
		require.Len(t, v.asked, tc.asked, tc.name)
		cancel()
	}
}

// TestSamePlan: the same view and query give the same plan, from many goroutines too.
func TestSamePlan(t *testing.T) {
	t.Parallel()
	d := fusion.New(fusion.Meaning)
	q := driver.Query{Text: "what was it on 3 May 2023", K: 50}
	want := must(d.Plan(t.Context(), crowd(3, 800), q))
	require.Len(t, want.Items, 50)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 10 {
				got, err := d.Plan(context.WithoutCancel(t.Context()), crowd(3, 800), q)
				assert.NoError(t, err)
				assert.Equal(t, want, got)
			}
		})
	}
	wg.Wait()
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// crowd is a view of n rows with words, a hundred near ones and some of the time asked for.
func crowd(seed uint64, n int) *view {
	r := rand.New(rand.NewPCG(seed, 1))
	v := &view{}
	level := 0.0
	for i := range n {
		level = 0.7*level + r.ExpFloat64()
		c := driver.Candidate{Ref: ref(i*40 + r.IntN(30)), Tokens: 5 + r.IntN(60), BM25: level}
		v.words = append(v.words, c)
		if i%max(1, n/100) == 0 {
			c.Cosine, c.BM25 = mem.Cosine(r.Float64()), 0
			v.near = append(v.near, c)
		}
		if i%50 == 0 {
			v.dated = append(v.dated, driver.Candidate{Ref: ref(i*40 + 35), Tokens: 9, BM25: 1})
		}
	}
	sortWords(v.words)
	slices.SortFunc(v.near, func(a, b driver.Candidate) int { return cmp.Compare(b.Cosine, a.Cosine) })
	return v
}

// sortWords brings the lexical arm's rows into its order.
func sortWords(rows []driver.Candidate) {
	slices.SortFunc(rows, func(a, b driver.Candidate) int {
		return cmp.Or(cmp.Compare(b.BM25, a.BM25), bytes.Compare(a.Ref[:], b.Ref[:]))
	})
}

// FuzzPlan: whatever the arms say, a plan holds rows that were shown, each once, in order, with
// scores from 0 to 1.
func FuzzPlan(f *testing.F) {
	f.Add(uint64(1), 3, 3, 2, 0.4)
	f.Add(uint64(2), 0, 50, 0, 1.0)
	f.Add(uint64(3), 400, 0, 9, 0.0)
	f.Fuzz(func(t *testing.T, seed uint64, lexical, vector, dated int, trust float64) {
		r := rand.New(rand.NewPCG(seed, 2))
		shown := map[mem.ID]bool{}
		arm := func(n int) []driver.Candidate {
			var out []driver.Candidate
			seen := map[mem.ID]bool{}
			for range min(max(n, 0), 1000) {
				c := driver.Candidate{Tokens: r.IntN(100) - 1, BM25: r.ExpFloat64() * 8, Cosine: mem.Cosine(2*r.Float64() - 1)}
				if binaryRef := r.IntN(4) == 0; binaryRef {
					for i := range c.Ref {
						c.Ref[i] = byte(r.UintN(256))
					}
				} else {
					c.Ref = ref(r.IntN(500))
				}
				if seen[c.Ref] {
					continue
				}
				seen[c.Ref], shown[c.Ref] = true, true
				out = append(out, c)
			}
			return out
		}
		v := &view{words: arm(lexical), near: arm(vector), dated: arm(dated)}
		sortWords(v.words)
		slices.SortFunc(v.near, func(a, b driver.Candidate) int { return cmp.Compare(b.Cosine, a.Cosine) })
		items := planBy(t, fusion.Trust(trust), v, driver.Query{Text: "in May 2023", K: 2000})
		for i, it := range items {
			require.True(t, shown[it.Ref], "a row that was not shown")
			delete(shown, it.Ref)
			require.True(t, it.Score >= 0 && it.Score <= 1, "score %v", it.Score)
			if i > 0 {
				before := items[i-1]
				require.True(t, before.Score > it.Score || before.Score == it.Score && bytes.Compare(before.Ref[:], it.Ref[:]) < 0)
			}
		}
	})
}

// still is a view that answers without doing anything.
type still struct{ words, near []driver.Candidate }

func (s *still) Candidates(context.Context, driver.CandidateQuery) ([]driver.Candidate, error) {
	return s.words, nil
}
func (s *still) Embed(context.Context, string) ([]float32, error) { return nil, nil }
func (s *still) Vector(context.Context, driver.VectorQuery) ([]driver.Candidate, error) {
	return s.near, nil
}

// BenchmarkPlan is the time the driver itself takes.
func BenchmarkPlan(b *testing.B) {
	d := fusion.New(fusion.Spelling)
	for name, n := range map[string]int{"300rows": 300, "1000rows": 1000} {
		b.Run(name, func(b *testing.B) {
			v := crowd(1, n)
			rows := &still{words: v.words, near: v.near}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := d.Plan(b.Context(), rows, ten); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
