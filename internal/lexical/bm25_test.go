package lexical_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/internal/lexical"
)

func rowID(n uint64) (id [16]byte) {
	binary.BigEndian.PutUint64(id[8:], n)
	return id
}

// reference is BM25 straight from the formula, in floating point, over maps.
func reference(stats lexical.Stats, query []lexical.Term, postings []lexical.Posting) map[[16]byte]float64 {
	df := map[int64]float64{}
	for _, p := range postings {
		df[p.Term]++
	}
	n := float64(max(stats.Docs, 0))
	group := map[int]float64{}
	for _, q := range query {
		n = max(n, df[q.Hash])
		group[q.Group] += df[q.Hash]
	}
	average := float64(stats.TotalLength) / float64(stats.Docs)
	scores := map[[16]byte]float64{}
	for _, q := range query {
		d := df[q.Hash]
		if q.Group != 0 {
			d = min(group[q.Group], n)
		}
		idf := math.Log(1 + (n-d+0.5)/(d+0.5))
		for _, p := range postings {
			if p.Term != q.Hash {
				continue
			}
			norm := 1.0
			if stats.Docs > 0 && stats.TotalLength > 0 {
				norm = 1 - 0.75 + 0.75*float64(p.Length)/average
			}
			tf := float64(p.TF)
			scores[p.ID] += float64(q.TF) * idf * tf * 2.2 / (tf + 1.2*norm)
		}
	}
	return scores
}

// corpus makes postings of random rows for terms 1 to terms, and a query for all of them.
func corpus(rng *rand.Rand, rows, terms int) (lexical.Stats, []lexical.Term, []lexical.Posting) {
	var stats lexical.Stats
	var postings []lexical.Posting
	for r := range rows {
		length := int32(1 + rng.IntN(60))
		stats.Docs++
		stats.TotalLength += int64(length)
		for term := range terms {
			if rng.IntN(term+2) == 0 {
				postings = append(postings, lexical.Posting{
					ID: rowID(uint64(r)), Term: int64(term), TF: int32(1 + rng.IntN(4)), Length: length, Tokens: int32(r),
				})
			}
		}
	}
	rng.Shuffle(len(postings), func(i, j int) { postings[i], postings[j] = postings[j], postings[i] })
	var query []lexical.Term
	for term := range terms {
		query = append(query, lexical.Term{Hash: int64(term), TF: 1 + rng.IntN(2), Group: rng.IntN(terms)})
	}
	return stats, query, postings
}

func TestBM25AgainstReference(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		stats, query, postings := corpus(rng, 1+rng.IntN(200), 1+rng.IntN(12))
		want := reference(stats, query, postings)
		got := lexical.BM25(stats, query, postings, 0)
		require.Len(t, got, len(want))
		for _, s := range got {
			require.InDelta(t, want[s.ID], s.Score, 1e-6)
		}
		require.True(t, slices.IsSortedFunc(got, func(x, y lexical.Scored) int {
			if x.Score != y.Score {
				return int(math.Copysign(1, y.Score-x.Score))
			}
			return bytes.Compare(x.ID[:], y.ID[:])
		}))
		limit := 1 + rng.IntN(30)
		require.Equal(t, got[:min(limit, len(got))], lexical.BM25(stats, query, postings, limit))
		rng.Shuffle(len(postings), func(i, j int) { postings[i], postings[j] = postings[j], postings[i] })
		require.Equal(t, got, lexical.BM25(stats, query, postings, 0), "order of the postings must not matter")
	}
}

func TestBM25Edges(t *testing.T) {
	t.Parallel()
	one := []lexical.Posting{{ID: rowID(1), Term: 7, TF: 1, Length: 5, Tokens: 9}}
	query := []lexical.Term{{Hash: 7, TF: 1}}

	assert.Empty(t, lexical.BM25(lexical.Stats{Docs: 3, TotalLength: 15}, nil, one, 10))
	assert.Empty(t, lexical.BM25(lexical.Stats{Docs: 3, TotalLength: 15}, query, nil, 10))
	assert.Empty(t, lexical.BM25(lexical.Stats{}, []lexical.Term{{Hash: 8, TF: 1}}, one, 10))

	got := lexical.BM25(lexical.Stats{Docs: 3, TotalLength: 15}, query, one, 10)
	require.Len(t, got, 1)
	assert.InDelta(t, math.Log(1+2.5/1.5), got[0].Score, 1e-8) // average length: the tf part is 1
	assert.Equal(t, int32(9), got[0].Tokens)

	// Counters that lag behind, or are nonsense, still give finite, positive scores.
	for _, stats := range []lexical.Stats{{}, {Docs: -1, TotalLength: -1}, {Docs: 1}, {TotalLength: 1}, {Docs: 1, TotalLength: math.MaxInt64}} {
		many := []lexical.Posting{one[0], {ID: rowID(2), Term: 7}, {ID: rowID(3), Term: 7, TF: -1, Length: -1}}
		for _, s := range lexical.BM25(stats, query, many, 0) {
			assert.Positive(t, s.Score)
			assert.False(t, math.IsInf(s.Score, 0))
		}
	}
}

// A row whose word was stemmed another way is weighed like the rest, not like a rarity.
func TestBM25GroupSharesDocumentFrequency(t *testing.T) {
	t.Parallel()
	var postings []lexical.Posting
	for i := range uint64(10) {
		postings = append(postings, lexical.Posting{ID: rowID(i), Term: 1, TF: 1, Length: 10})
	}
	postings = append(postings, lexical.Posting{ID: rowID(10), Term: 2, TF: 1, Length: 10})
	stats := lexical.Stats{Docs: 100, TotalLength: 1000}
	got := lexical.BM25(stats, []lexical.Term{{Hash: 1, TF: 1, Group: 1}, {Hash: 2, TF: 1, Group: 1}}, postings, 0)
	require.Len(t, got, 11)
	assert.Equal(t, got[0].Score, got[10].Score) //nolint:testifylint // equal to the bit is the claim
}

func TestSaturate(t *testing.T) {
	t.Parallel()
	for _, s := range []float64{0, -1, math.NaN(), math.Inf(-1)} {
		assert.Zero(t, lexical.Saturate(s))
	}
	assert.InDelta(t, 0.5, lexical.Saturate(6), 1e-12)
	assert.Less(t, lexical.Saturate(5), lexical.Saturate(5.1))
	assert.LessOrEqual(t, lexical.Saturate(math.MaxFloat64), 1.0)
	assert.InDelta(t, 1, lexical.Saturate(math.Inf(1)), 0)
}

func FuzzBM25(f *testing.F) {
	f.Add(uint64(1), uint64(2), 10, 3, 5)
	f.Fuzz(func(t *testing.T, a, b uint64, rows, terms, limit int) {
		if rows < 1 || rows > 100 || terms < 1 || terms > 20 {
			t.Skip()
		}
		stats, query, postings := corpus(rand.New(rand.NewPCG(a, b)), rows, terms)
		want := reference(stats, query, postings)
		got := lexical.BM25(stats, query, postings, limit)
		if limit > 0 {
			require.Len(t, got, min(limit, len(want)))
		} else {
			require.Len(t, got, len(want))
		}
		for _, s := range got {
			require.InDelta(t, want[s.ID], s.Score, 1e-6)
		}
	})
}

func BenchmarkBM25(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	query := make([]lexical.Term, 12)
	for i := range query {
		query[i] = lexical.Term{Hash: int64(rng.Uint64()), TF: 1, Group: 1 + i/2}
	}
	ids := make([][16]byte, 12_000)
	for i := range ids {
		binary.BigEndian.PutUint64(ids[i][:8], 0x0190_0000_0000_7000+uint64(i)<<8)
		binary.BigEndian.PutUint64(ids[i][8:], rng.Uint64())
	}
	postings := make([]lexical.Posting, 20_000)
	for i := range postings {
		postings[i] = lexical.Posting{ID: ids[rng.IntN(len(ids))], Term: query[rng.IntN(12)].Hash, TF: 1, Length: 20}
	}
	stats := lexical.Stats{Docs: 60_000, TotalLength: 1_200_000}
	b.ReportAllocs()
	for b.Loop() {
		lexical.BM25(stats, query, postings, 50)
	}
}
