package main

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// hits are results: turns and, behind each, its session.
func hits(pairs ...int) []hit {
	var out []hit
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, hit{pairs[i], pairs[i+1]})
	}
	return out
}

// others are n results that are no evidence, of session 1.
func others(n int) []hit {
	var out []hit
	for i := range n {
		out = append(out, hit{1000 + i, 1})
	}
	return out
}

// TestScore holds the metrics against values worked out by hand.
func TestScore(t *testing.T) {
	t.Parallel()
	apart := func(sessions ...int) (out []hit) {
		for i, s := range sessions {
			out = append(out, hit{2000 + i, s})
		}
		return out
	}
	for name, tt := range map[string]struct {
		results            []hit
		evidence, sessions []int
		want               map[metric]float64 // 0 for the others
	}{
		"nothing found": {nil, []int{7}, []int{3}, nil},
		"the first of one": {
			hits(7, 3),
			[]int{7},
			[]int{3},
			map[metric]float64{recall5: 1, recall10: 1, recall20: 1, mrr: 1, ndcg10: 1, all10: 1, sessionAny10: 1, sessionAll10: 1},
		},
		"third and sixth of two": {
			append(append(others(2), hits(7, 2)...), append(others(2), hits(8, 3)...)...),
			[]int{7, 8},
			[]int{2, 3},
			map[metric]float64{
				recall5: 0.5, recall10: 1, recall20: 1, mrr: 1.0 / 3,
				// (1/log2(4) + 1/log2(7)) / (1/log2(2) + 1/log2(3))
				ndcg10: (0.5 + 1/math.Log2(7)) / (1 + 1/math.Log2(3)),
				all10:  1, sessionAny10: 1, sessionAll10: 1,
			},
		},
		"places 10 and 11": { // the last that counts, and the first that does not
			append(others(9), hits(7, 2, 8, 2)...),
			[]int{7, 8},
			[]int{2},
			map[metric]float64{
				recall10: 0.5, recall20: 1, mrr: 0.1, ndcg10: (1 / math.Log2(11)) / (1 + 1/math.Log2(3)), sessionAny10: 1, sessionAll10: 1,
			},
		},
		"place 21": {
			append(others(20), hits(7, 1)...),
			[]int{7},
			[]int{1},
			map[metric]float64{mrr: 1.0 / 21, sessionAny10: 1, sessionAll10: 1},
		},
		"one of three": {
			hits(8, 2),
			[]int{7, 8, 9},
			[]int{1, 2, 3},
			map[metric]float64{
				recall5: 1.0 / 3, recall10: 1.0 / 3, recall20: 1.0 / 3, mrr: 1, ndcg10: 1 / (1 + 1/math.Log2(3) + 0.5), sessionAny10: 1,
			},
		},
		"a session without its turn":      {apart(4, 4, 5), []int{7}, []int{5}, map[metric]float64{sessionAny10: 1, sessionAll10: 1}},
		"one session of two":              {apart(4, 5), []int{7, 8}, []int{5, 6}, map[metric]float64{sessionAny10: 1}},
		"the tenth session":               {apart(1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 10, 11), []int{7}, []int{10}, map[metric]float64{sessionAny10: 1, sessionAll10: 1}},
		"the eleventh session":            {apart(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11), []int{7}, []int{11}, nil},
		"the tenth and the eleventh":      {apart(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11), []int{7}, []int{10, 11}, map[metric]float64{sessionAny10: 1}},
		"more evidence than places count": moreThanTen(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := score(tt.results, tt.evidence, tt.sessions)
			for m := range metricCount {
				require.InDelta(t, tt.want[m], got[m], 1e-12, m.String())
			}
		})
	}
}

// moreThanTen has twelve evidence turns in the first twelve places: the best there could be.
func moreThanTen() (tt struct {
	results            []hit
	evidence, sessions []int
	want               map[metric]float64
},
) {
	for i := range 12 {
		tt.results = append(tt.results, hit{i, 1})
		tt.evidence = append(tt.evidence, i)
	}
	tt.sessions = []int{1}
	tt.want = map[metric]float64{
		recall5: 5.0 / 12, recall10: 10.0 / 12, recall20: 1, mrr: 1, ndcg10: 1, sessionAny10: 1, sessionAll10: 1,
	}
	return tt
}

func TestQuantile(t *testing.T) {
	t.Parallel()
	hundred := make([]int, 100)
	for i := range hundred {
		hundred[i] = i + 1
	}
	for q, want := range map[float64]int{0: 1, 0.025: 3, 0.5: 50, 0.95: 95, 0.951: 96, 1: 100} {
		require.Equal(t, want, quantile(hundred, q), q)
	}
	require.Equal(t, 7, quantile([]int{7}, 0.5))
	require.Equal(t, 1, quantile([]int{1, 2}, 0.5))
}

func TestBootstrap(t *testing.T) {
	t.Parallel()
	var rows [][]float64
	for i := range 100 {
		half := float64(i % 2)
		rows = append(rows, []float64{half, 1, half + 0.25, math.Sqrt(float64(i))})
	}
	got := bootstrap(rows)
	// A mean of roots is hardly ever the same by chance.
	require.Equal(t, got, bootstrap(rows), "the same every time")
	require.Equal(t, figure{1, 1, 1}, got[1])
	require.InDelta(t, 0.5, got[0].Mean, 1e-12)
	// The mean of 100 coins has a standard deviation of 0.05: 1.96 of them to either side.
	require.InDelta(t, 0.402, got[0].Low, 0.015)
	require.InDelta(t, 0.598, got[0].High, 0.015)
	// Columns are drawn together, so a column that is another one and a quarter has its interval.
	require.InDelta(t, got[0].Low+0.25, got[2].Low, 1e-9)
	require.InDelta(t, got[0].High+0.25, got[2].High, 1e-9)
	require.Empty(t, bootstrap(nil))
}
