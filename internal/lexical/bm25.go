package lexical

import (
	"math"
	"sync"
)

// Parameters of BM25. k1 and b are the values Robertson and Zaragoza recommend ("The
// Probabilistic Relevance Framework: BM25 and Beyond", 2009, section 3.5) and Lucene
// ships.
const (
	k1 = 1.2
	b  = 0.75
)

// saturation is the BM25 score that Saturate maps to one half: one term that a single row
// of some six hundred has, once, at average length (ln(1 + 600/1.5) = 6).
const saturation = 6.0

// fixed is the scale of the integer arithmetic that scores are summed in. Integer sums do
// not depend on the order of the postings, so ties stay ties and equal inputs give equal
// outputs to the last bit. With 2^30 the resolution is 1e-9 and sums up to 8e9 fit.
const fixed = 1 << 30

// maxQueryTF bounds the weight of a repeated query word, and with it the sums.
const maxQueryTF = 1000

// Posting says that a row contains a term.
type Posting struct {
	ID     [16]byte // the row
	Term   int64    // hash of the term, as in Term.Hash
	TF     int32    // how often the row has it
	Length int32    // Doc.Length of the row
	Tokens int32    // token cost of the row, handed through to Scored
}

// Stats describes the rows a caller can see.
type Stats struct {
	Docs        int64 // number of rows
	TotalLength int64 // sum of their Doc.Length
}

// Scored is one ranked row.
type Scored struct {
	ID     [16]byte
	Score  float64 // BM25, unbounded above; see Saturate
	Tokens int32
}

// BM25 ranks the rows of the postings for a query, best first, ties by ID, at most limit
// of them (0 or less: all).
//
// A term's document frequency is the number of its postings, since each posting is one
// row the caller can see; a group of alternatives (Term.Group) shares the sum of theirs,
// at most the number of rows. The weight is ln(1 + (N-df+0.5)/(df+0.5)), the form of
// Robertson and Sparck Jones that Lucene keeps positive for terms in more than half of
// the rows. N comes from stats, but is never less than a df: counters may lag behind.
//
// Postings may come in any order and must not repeat a (row, term) pair; those of terms
// not in the query are ignored. BM25 keeps nothing of its arguments and is safe for
// concurrent use.
func BM25(stats Stats, query []Term, postings []Posting, limit int) []Scored {
	if len(query) == 0 || len(postings) == 0 {
		return nil
	}
	weights := weigh(stats, query, postings)
	average := 0.0
	if stats.Docs > 0 && stats.TotalLength > 0 {
		average = float64(stats.TotalLength) / float64(stats.Docs)
	}
	t, _ := tallies.Get().(*tally)
	defer tallies.Put(t)
	t.reset(len(postings))
	for i := range postings {
		p := &postings[i]
		weight, ok := weights[p.Term]
		if !ok {
			continue
		}
		length := 1.0 // relative to the average; neutral when there is none
		if average > 0 {
			length = float64(max(p.Length, 0)) / average
		}
		tf := float64(max(p.TF, 1))
		score := weight * tf * (k1 + 1) / (tf + k1*(1-b+b*length))
		t.add(p, int64(score*fixed))
	}
	return t.top(limit)
}

// weigh returns the idf of every query term, times its frequency in the query.
func weigh(stats Stats, query []Term, postings []Posting) map[int64]float64 {
	weights := make(map[int64]float64, len(query))
	for _, q := range query {
		weights[q.Hash] = 0
	}
	for i := range postings {
		if df, ok := weights[postings[i].Term]; ok {
			weights[postings[i].Term] = df + 1
		}
	}
	groups := make(map[int]float64, len(query))
	for _, q := range query {
		if q.Group != 0 {
			groups[q.Group] += weights[q.Hash]
		}
	}
	docs := float64(max(stats.Docs, 0))
	for _, df := range weights {
		docs = max(docs, df)
	}
	for _, q := range query {
		df := weights[q.Hash]
		if q.Group != 0 {
			df = min(groups[q.Group], docs)
		}
		idf := math.Log(1 + (docs-df+0.5)/(df+0.5))
		weights[q.Hash] = idf * float64(min(max(q.TF, 1), maxQueryTF))
	}
	return weights
}

// Saturate maps a BM25 score to [0, 1): s/(s+c) with c = 6, so that absolute thresholds
// can be set. A score of c is about one rare term found once. Negative and undefined
// scores give 0. The weight of a rare term grows with the logarithm of the number of rows,
// so the same match saturates a little more in a larger memory.
func Saturate(score float64) float64 {
	if !(score > 0) {
		return 0
	}
	if math.IsInf(score, 1) {
		return 1
	}
	return score / (score + saturation)
}

//nolint:gochecknoglobals // a pool of scratch memory; holds nothing between calls
var tallies = sync.Pool{New: func() any { return new(tally) }}
