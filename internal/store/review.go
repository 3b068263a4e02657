package store

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/queries"
	"github.com/memkernel/memkernel/writepath"
	"github.com/memkernel/memkernel/writepath/conflict"
)

// Review says what the check for contradictions means for a write.
type Review struct {
	// Unchecked has the new memory checked.
	Unchecked bool
	// Held keeps it out of sight until then. What it is to replace it replaces when it is
	// released.
	Held bool
	// Job adds the job that checks it, within the transaction; nil leaves it to the next round.
	// With Brief it sends one statement; see Place.
	Job   func(ctx context.Context, tx pgx.Tx, id mem.ID) error
	Brief bool
}

func (r *Review) status() mem.Status {
	if r.Held {
		return mem.StatusHeld
	}
	return mem.StatusActive
}

// counted returns what a new memory adds to its namespace's counters.
func (r *Review) counted(length int) (rows, words int64) {
	if r.Held {
		return 0, 0
	}
	return 1, int64(length)
}

// send carries out the steps of a decision, with the job if one is called for.
func (w *Write) send(ctx context.Context, dec writepath.Decision, steps []queries.Step) error {
	job := w.Review.Job
	if dec.Action == writepath.Duplicate {
		job = nil
	}
	add := func(ctx context.Context, tx pgx.Tx) error { return job(ctx, tx, w.Memory) }
	switch {
	case w.tx != nil:
		if err := queries.Pipeline(ctx, w.tx, steps...); err != nil || job == nil {
			return mapErr(err)
		}
		return mapErr(add(ctx, w.tx))
	case job != nil:
		return w.store.withJob(ctx, steps, w.Review.Brief, add)
	default:
		return w.store.atomic(ctx, steps...)
	}
}

// openCase is a case that waits for a person, with its incoming memory, nil if that was erased.
type openCase struct {
	conflict.Case

	from *mem.Memory
}

// maxOpenCases bounds how many cases one write overturns. A memory has at most MaxCandidates as
// the incoming one; it is the other of as many as contradict it.
const maxOpenCases = 1000

// probeCases returns the step that finds the open cases that the write would overturn: it is
// a person's, and names what it replaces.
func (w *Write) probeCases() []queries.Step {
	if w.Draft.Provenance != mem.ProvenanceManual {
		return nil
	}
	ns := w.Who.Namespace()
	return []queries.Step{func(ctx context.Context, q *queries.Queries) error {
		rows, err := q.CaseOfTarget(ctx, queries.CaseOfTargetParams{
			Tenant: w.Who.Tenant(), Namespace: ns.String(), Target: uuid.UUID(w.Draft.Supersedes), MaxRows: maxOpenCases,
		})
		w.cases = nil
		for _, r := range rows {
			c := openCase{Case: conflict.Case{
				Namespace: ns, From: mem.ID(r.FromID), To: mem.ID(r.ToID), State: conflict.Open,
				Action: conflict.Action(r.Action), Reason: conflict.Reason(r.Reason),
			}}
			if r.FromStatus != nil {
				c.from = &mem.Memory{ID: c.From, Namespace: ns, Status: mem.Status(*r.FromStatus)}
				if !r.FromCurrent {
					c.from.ValidTo = w.Now // when does not matter
				}
			}
			w.cases = append(w.cases, c)
		}
		return err
	}}
}

// Overturns counts the cases that the write settles if it is decided so.
func (w *Write) Overturns(dec writepath.Decision) int {
	if dec.Action != writepath.Supersede || w.Review.Held {
		return 0
	}
	return len(w.cases)
}

// overturn returns the steps by which a person's memory that replaces another settles the open
// cases about that one. They go behind the step that ends it: from then on no other can be
// opened. writepath.ErrStale reports that there are others than were found.
func (w *Write) overturn(victim mem.ID) ([]queries.Step, error) {
	if w.Draft.Provenance != mem.ProvenanceManual {
		return nil, nil
	}
	tenant, ns, actor := w.Who.Tenant(), w.Who.Namespace().String(), w.Who.Actor()
	by := mem.Memory{ID: w.Memory, Namespace: w.Who.Namespace(), Provenance: w.Draft.Provenance, Supersedes: victim}
	steps := []queries.Step{func(ctx context.Context, q *queries.Queries) error {
		_, err := q.CaseOverturn(ctx, queries.CaseOverturnParams{
			Tenant: tenant, Namespace: ns, ID: uuid.UUID(victim), ResolvedAt: &w.Now, ResolvedBy: actor, Cases: int64(len(w.cases)),
		})
		return err
	}}
	for i := range w.cases {
		c := &w.cases[i]
		settled, err := conflict.Overturn(&c.Case, &by, conflict.Sides{From: c.from})
		if err != nil {
			// The cases were found for another head than the one that is to be replaced.
			return nil, fmt.Errorf("%w: %w", writepath.ErrStale, err)
		}
		for _, change := range settled.Changes {
			steps = append(steps, markCheck(tenant, ns, change.Memory, w.Now))
		}
	}
	return steps, nil
}
