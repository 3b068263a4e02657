package fusion_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/driver"
)

const second = 1000 // milliseconds

var every = driver.Query{Text: "x", K: 1000}

// talk makes rows a second apart with scores that rise and fall together, as those of a
// conversation do, and one at each of some times that has a score of its own.
func talk(own map[int]float64) []driver.Candidate {
	scores := map[int]float64{}
	for i := range 60 {
		scores[i*second] = 0.2 + 0.8*float64(i/10%2)
	}
	for at, s := range own {
		scores[at] = s
	}
	return ranked(scores)
}

// strangers makes rows a second apart whose scores have nothing to do with each other.
func strangers(own map[int]float64) []driver.Candidate {
	r := rand.New(rand.NewPCG(2, 2))
	scores := map[int]float64{}
	for i := range 60 {
		scores[i*second] = 0.2 + 0.8*float64(i%2) + 0.01*r.Float64()
	}
	for at, s := range own {
		scores[at] = s
	}
	return ranked(scores)
}

func ranked(scores map[int]float64) []driver.Candidate {
	v := crowd(1, 0)
	for at, s := range scores {
		v.words = append(v.words, words(at, s)...)
	}
	sortWords(v.words)
	return v.words
}

// TestNeighboursLend: of two rows that are alike, the one next to a good one is better.
func TestNeighboursLend(t *testing.T) {
	t.Parallel()
	items := plan(t, &view{words: talk(map[int]float64{5 * second: 3})}, every)
	require.Equal(t, 5*second, order(items)[0])
	alone := score(t, items, 25*second)
	previous, next, secondNext := score(t, items, 4*second), score(t, items, 6*second), score(t, items, 7*second)
	require.Greater(t, next, previous, "an answer follows its question")
	require.Greater(t, previous, secondNext)
	require.Greater(t, secondNext, alone)
	require.InDelta(t, alone, score(t, items, 2*second), 1e-12, "three rows away is away")
}

// TestStrangersLendNothing: where the scores of neighbours do not go together, the order is that
// of the words.
func TestStrangersLendNothing(t *testing.T) {
	t.Parallel()
	rows := strangers(map[int]float64{5 * second: 3})
	items := plan(t, &view{words: rows}, every)
	for i := range items {
		require.Equal(t, rows[i].Ref, items[i].Ref)
	}
	require.InDelta(t, score(t, items, 14*second), score(t, items, 6*second), 0.02, "next to the best is no advantage")
}

// TestLendingGrows with how far the scores of neighbours go together.
func TestLendingGrows(t *testing.T) {
	t.Parallel()
	const hot = 250 * second
	share := func(together float64) float64 {
		r := rand.New(rand.NewPCG(3, 3))
		scores, level := map[int]float64{}, 0.0
		for i := range 500 {
			level = together*level + r.Float64()
			scores[i*second] = level
		}
		scores[hot] = 40
		items := plan(t, &view{words: ranked(scores)}, every)
		require.Equal(t, hot, order(items)[0])
		return score(t, items, hot+second)
	}
	none, little, all := share(-0.5), share(0.12), share(0.8)
	require.Less(t, none, 0.02)
	require.Greater(t, little, 0.05)
	require.Less(t, little, 0.4)
	require.Greater(t, all, 0.45)
}

// TestOtherDaysLendNothing: a row that was written long after lends as little as one far away.
func TestOtherDaysLendNothing(t *testing.T) {
	t.Parallel()
	const day = 24 * 3600 * second
	last := 59 * second
	at := func(gap int) float64 {
		items := plan(t, &view{words: talk(map[int]float64{last: 3, last + gap: 0.2})}, every)
		return score(t, items, last+gap)
	}
	soon, later, nextDay := at(second), at(3*second), at(day)
	require.Greater(t, soon, 2*later)
	require.Greater(t, later, 2*nextDay)
}

// TestSizes: a row of a few words is worth less than one that says something, and being very
// large is worth no more than being large.
func TestSizes(t *testing.T) {
	t.Parallel()
	peaks := map[int]int{10 * second: 1, 20 * second: 10, 30 * second: 20, 40 * second: 40, 50 * second: 500}
	own := map[int]float64{}
	for at := range peaks {
		own[at] = 9
	}
	rows := strangers(own)
	for i := range rows {
		if tokens, ok := peaks[when(rows[i].Ref)]; ok {
			rows[i].Tokens = tokens
		}
	}
	items := plan(t, &view{words: rows}, every)
	require.Equal(t, []int{40 * second, 50 * second, 30 * second, 20 * second, 10 * second}, order(items)[:5])
	require.InDelta(t, score(t, items, 40*second), score(t, items, 50*second), 1e-12)
	require.Less(t, score(t, items, 20*second), 0.8*score(t, items, 30*second))
	for i := range rows {
		rows[i].Tokens = -i % 2
	}
	items = plan(t, &view{words: rows}, every)
	require.Positive(t, items[len(items)-1].Score, "a row of no size counts as one token")
}
