package main

import (
	"context"

	"github.com/memkernel/memkernel/driver"
	"github.com/memkernel/memkernel/kernel/mem"
)

// words ranks by BM25 alone. It and vectors are what the rankings that merge both are to be held
// against, and the smallest drivers there can be.
type words struct{}

// vectors ranks by nearness to the question's embedding alone.
type vectors struct{}

var _, _ driver.Driver = words{}, vectors{}

// own returns the drivers that the program brings with it. The kernel has the others.
func own() []driver.Driver { return []driver.Driver{words{}, vectors{}} }

// rankings are the drivers that can be compared.
func rankings() []string { return []string{"fusion", "baseline", "words", "vectors"} }

func (words) Name() string   { return "words" }
func (vectors) Name() string { return "vectors" }

func (words) Plan(ctx context.Context, view driver.ScopedView, q driver.Query) (driver.Plan, error) {
	rows, err := view.Candidates(ctx, driver.CandidateQuery{Text: q.Text, Limit: q.K})
	if err != nil {
		return driver.Plan{}, err
	}
	return planOf(q, rows, func(c *driver.Candidate) float64 { return c.BM25 }), nil
}

func (vectors) Plan(ctx context.Context, view driver.ScopedView, q driver.Query) (driver.Plan, error) {
	embedding, err := view.Embed(ctx, q.Text)
	if err != nil {
		return driver.Plan{}, err
	}
	rows, err := view.Vector(ctx, driver.VectorQuery{Embedding: embedding, Limit: q.K})
	if err != nil {
		return driver.Plan{}, err
	}
	return planOf(q, rows, func(c *driver.Candidate) float64 { return float64(c.Cosine) }), nil
}

func planOf(q driver.Query, rows []driver.Candidate, score func(*driver.Candidate) float64) driver.Plan {
	scored := make([]driver.Scored, len(rows))
	for i := range rows {
		scored[i] = driver.Scored{Ref: rows[i].Ref, Tokens: rows[i].Tokens, Score: mem.Score(score(&rows[i]))}
	}
	return driver.NewPlan(q, scored)
}
