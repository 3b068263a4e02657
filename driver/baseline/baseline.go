// Package baseline is the referee lane: a fixed, fully specified ranking that other drivers
// are measured against and that the kernel falls back to. It is not tuned and must not be.
package baseline

import (
	"context"

	"github.com/memkernel/memkernel/driver"
	"github.com/memkernel/memkernel/kernel/mem"
)

// Name is the driver's name.
const Name = "baseline"

// The specification's constants.
const (
	laneFactor = 2   // a lane holds laneFactor·k rows, at least minLane
	minLane    = 10  //
	poolFactor = 8   // the lexical pool holds poolFactor lanes, at least minPool rows
	minPool    = 128 //
	laneWeight = 0.5 // of each of the two lanes
)

// New returns the baseline driver. It has no state.
func New() driver.Driver { return baseline{} }

type baseline struct{}

var (
	_ driver.Driver     = baseline{}
	_ driver.Prefetcher = baseline{}
)

// Name implements driver.Driver.
func (baseline) Name() string { return Name }

func lane(k int) int { return max(laneFactor*k, minLane) }
func pool(k int) int { return max(poolFactor*lane(k), minPool) }

// Prefetch implements driver.Prefetcher.
func (baseline) Prefetch(q driver.Query) driver.Prefetch {
	return driver.Prefetch{Lexical: pool(q.K), Vector: lane(q.K)}
}

// Plan implements driver.Driver: the best rows of the lexical pool and of the vector arm,
// each lane min-max normalised, merged half and half, ordered by score with the ref as the
// tie-break, cut to K and trimmed to the token budget with the first result always kept. If
// the vector arm is down the lexical lane ranks alone.
func (baseline) Plan(ctx context.Context, view driver.ScopedView, q driver.Query) (driver.Plan, error) {
	words, err := view.Candidates(ctx, driver.CandidateQuery{Text: q.Text, Limit: pool(q.K)})
	if err != nil {
		return driver.Plan{}, err
	}
	merged := newMerge()
	merged.add(words[:min(len(words), lane(q.K))], func(c *driver.Candidate) float64 { return c.BM25 })
	near, err := nearest(ctx, view, q)
	if err != nil && ctx.Err() != nil {
		return driver.Plan{}, err
	}
	merged.add(near, func(c *driver.Candidate) float64 { return float64(c.Cosine) })
	return driver.NewPlan(q, merged.rows), nil
}

func nearest(ctx context.Context, view driver.ScopedView, q driver.Query) ([]driver.Candidate, error) {
	embedding, err := view.Embed(ctx, q.Text)
	if err != nil {
		return nil, err
	}
	return view.Vector(ctx, driver.VectorQuery{Embedding: embedding, Limit: lane(q.K)})
}

type merge struct {
	index map[mem.ID]int
	rows  []driver.Scored
}

func newMerge() *merge { return &merge{index: map[mem.ID]int{}} }

// add merges a lane: its scores are scaled to [0, 1], all to 1 where they are equal; a row
// that a lane lacks gets nothing from it.
func (m *merge) add(rows []driver.Candidate, score func(*driver.Candidate) float64) {
	if len(rows) == 0 {
		return
	}
	low, high := score(&rows[0]), score(&rows[0])
	for i := range rows {
		low, high = min(low, score(&rows[i])), max(high, score(&rows[i]))
	}
	for i := range rows {
		c := &rows[i]
		scaled := 1.0
		if high > low {
			scaled = (score(c) - low) / (high - low)
		}
		at, ok := m.index[c.Ref]
		if !ok {
			at = len(m.rows)
			m.index[c.Ref] = at
			m.rows = append(m.rows, driver.Scored{Ref: c.Ref, Tokens: c.Tokens})
		}
		m.rows[at].Score += mem.Score(laneWeight * scaled)
	}
}
