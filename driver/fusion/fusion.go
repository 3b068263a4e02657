package fusion

import (
	"context"
	"errors"
	"math"

	"github.com/memkernel/memkernel/driver"
	"github.com/memkernel/memkernel/kernel/mem"
)

// Name is the driver's name.
const Name = "fusion"

// How many rows of each arm are looked at.
const (
	// lexicalPool is as many as a view returns: they have been scored anyway, and a row may
	// matter for the one after it.
	lexicalPool = 1000
	// vectorPool is small: the further down, the less a nearness says. It is K if that is more.
	vectorPool = 100
)

// Trust is how far an embedder's nearness is to be trusted before the question is known, from 0,
// not at all, to 1.
type Trust float64

const (
	// Spelling is for embedders that compare how texts are written, such as the hashing embedder:
	// next to exact words they add little.
	Spelling Trust = 0.1
	// Meaning is for embedding models.
	Meaning Trust = 0.4
)

// New returns the driver for an embedder. A trust outside of 0 to 1 counts as the nearer end, one
// that is no number as 0. Drivers of the same trust are equal.
func New(trust Trust) driver.Driver {
	if !(trust > 0) {
		trust = 0
	}
	return fusion{trust: float64(min(trust, 1))}
}

type fusion struct{ trust float64 }

var (
	_ driver.Driver     = fusion{}
	_ driver.Prefetcher = fusion{}
)

// Name implements driver.Driver.
func (fusion) Name() string { return Name }

// Prefetch implements driver.Prefetcher.
func (f fusion) Prefetch(q driver.Query) driver.Prefetch {
	p := driver.Prefetch{Lexical: lexicalPool}
	if f.trust > 0 {
		p.Vector = max(vectorPool, q.K)
	}
	return p
}

// Plan implements driver.Driver. If one arm fails, the other ranks alone; if both do, their
// errors are returned. Scores are from 0 to 1, the best is 1.
func (f fusion) Plan(ctx context.Context, view driver.ScopedView, q driver.Query) (driver.Plan, error) {
	want := f.Prefetch(q)
	words, wordsErr := view.Candidates(ctx, driver.CandidateQuery{Text: q.Text, Limit: want.Lexical})
	if over(ctx, wordsErr) {
		return driver.Plan{}, wordsErr
	}
	near, nearErr := nearest(ctx, view, q.Text, want.Vector)
	if over(ctx, nearErr) {
		return driver.Plan{}, nearErr
	}
	if wordsErr != nil && (nearErr != nil || want.Vector == 0) {
		return driver.Plan{}, errors.Join(wordsErr, nearErr)
	}
	then, err := during(ctx, view, q)
	if over(ctx, err) {
		return driver.Plan{}, err
	}
	p := newPool(words, near, share(f.trust, words, near))
	p.lend()
	p.weigh()
	return driver.NewPlan(q, p.favour(then).scored()), nil
}

// over reports that the call is over: there is nobody left to rank for.
func over(ctx context.Context, err error) bool {
	return err != nil && (ctx.Err() != nil || errors.Is(err, mem.ErrViewClosed))
}

func nearest(ctx context.Context, view driver.ScopedView, text string, limit int) ([]driver.Candidate, error) {
	if limit == 0 {
		return nil, nil
	}
	embedding, err := view.Embed(ctx, text)
	if err != nil {
		return nil, err
	}
	return view.Vector(ctx, driver.VectorQuery{Embedding: embedding, Limit: limit})
}

// during returns rows of the time that the question names: those with its words, and if they are
// fewer than wanted the latest.
func during(ctx context.Context, view driver.ScopedView, q driver.Query) ([]driver.Candidate, error) {
	from, to, ok := window(q.Text)
	if !ok {
		return nil, nil
	}
	rows, err := view.Candidates(ctx, driver.CandidateQuery{Text: q.Text, Limit: lexicalPool, From: from, To: to})
	if err != nil || len(rows) >= q.K {
		return rows, err
	}
	latest, err := view.Candidates(ctx, driver.CandidateQuery{Limit: q.K, From: from, To: to})
	return append(rows, latest...), err
}

// spreadDepth is how many of an arm's first rows its best row is compared with.
const spreadDepth = 50

// share returns the vector arm's share of the merge.
func share(trust float64, words, near []driver.Candidate) float64 {
	switch {
	case len(near) == 0:
		return 0
	case len(words) == 0:
		return 1
	}
	depth := min(spreadDepth, len(near))
	v := spread(near, depth, func(c *driver.Candidate) float64 { return float64(c.Cosine) })
	w := spread(words, depth, func(c *driver.Candidate) float64 { return c.BM25 })
	if v+w == 0 {
		return trust
	}
	return min(1, 2*trust*v/(v+w))
}

// spread returns how many standard deviations the first of depth rows lies above their mean. Rows
// that are not there count as 0: they have none of the words.
func spread(rows []driver.Candidate, depth int, score func(*driver.Candidate) float64) float64 {
	rows = rows[:min(len(rows), depth)]
	sum := 0.0
	for i := range rows {
		sum += score(&rows[i])
	}
	mean := sum / float64(depth)
	square := mean * mean * float64(depth-len(rows))
	for i := range rows {
		d := score(&rows[i]) - mean
		square += d * d
	}
	above := score(&rows[0]) - mean
	if !(above > 1e-9*math.Abs(score(&rows[0]))) { // what is left when equal numbers are subtracted
		return 0
	}
	return above / math.Sqrt(square/float64(depth))
}
