package store

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/queries"
	"github.com/memkernel/memkernel/writepath"
	"github.com/memkernel/memkernel/writepath/conflict"
)

// CheckJob adds the job that checks memories that are held, within their transaction.
type CheckJob struct {
	// Add sends one statement if Brief says so; see Place.
	Add   func(ctx context.Context, tx pgx.Tx, ids []mem.ID) error
	Brief func() bool
}

func statusOf(d *writepath.Draft) mem.Status {
	if d.Held {
		return mem.StatusHeld
	}
	return mem.StatusActive
}

// send carries out the steps of the parts, with the job that checks what they hold.
func (b *Batch) send(ctx context.Context, parts []Part, steps []queries.Step) error {
	var held []mem.ID
	var job *CheckJob
	for _, p := range parts {
		for i, dec := range p.Decisions {
			if d := p.Write.drafts[i]; dec.Action.Stores() && d.Held {
				held, job = append(held, d.ID), &p.Write.Check
			}
		}
	}
	switch {
	case len(held) > 0 && b.tx != nil:
		if err := queries.Pipeline(ctx, b.tx, steps...); err != nil {
			return mapErr(err)
		}
		return mapErr(job.Add(ctx, b.tx, held))
	case len(held) > 0:
		return b.store.withJob(ctx, steps, job.Brief(), func(ctx context.Context, tx pgx.Tx) error { return job.Add(ctx, tx, held) })
	case b.tx != nil:
		return mapErr(queries.Pipeline(ctx, b.tx, steps...))
	default:
		return b.store.atomic(ctx, steps...)
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

// probeCases returns the step that finds the open cases that a draft would overturn, if it is a
// person's, and says what it replaces.
func (w *Write) probeCases(d *draft) []queries.Step {
	d.cases = nil
	if d.Provenance != mem.ProvenanceManual {
		return nil
	}
	ns := w.Who.Namespace()
	return []queries.Step{func(ctx context.Context, q *queries.Queries) error {
		rows, err := q.CaseOfTarget(ctx, queries.CaseOfTargetParams{
			Tenant: w.Who.Tenant(), Namespace: ns.String(), Target: optionalID(d.Supersedes), ContentKey: optional(d.ContentKey),
			Now: w.Now, MaxRows: maxOpenCases,
		})
		d.cases = nil
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
			d.cases = append(d.cases, c)
		}
		return err
	}}
}

// Overturns counts the cases that the write settles if that is decided on its drafts.
func (w *Write) Overturns(decisions []writepath.Decision) (n int) {
	for i, dec := range decisions {
		if d := w.drafts[i]; dec.Action == writepath.Supersede && !d.Held {
			n += len(d.cases)
		}
	}
	return n
}

// overturn returns the steps by which a person's memory that replaces another settles the open
// cases about that one. They go behind the step that ends it: from then on no other can be
// opened. writepath.ErrStale reports that there are others than were found.
func (d *stored) overturn() []queries.Step {
	if d.Provenance != mem.ProvenanceManual {
		return nil
	}
	w, cases := d.of, int64(len(d.cases))
	tenant, ns, victim := w.Who.Tenant(), w.Who.Namespace().String(), d.victim
	by := mem.Memory{ID: d.ID, Namespace: w.Who.Namespace(), Provenance: d.Provenance, Supersedes: victim}
	var marks []queries.Step
	for i := range d.cases {
		settled, err := conflict.Overturn(&d.cases[i].Case, &by, conflict.Sides{From: d.cases[i].from})
		if err != nil {
			cases-- // it is about another head than the one that is to be replaced; that is noticed
			continue
		}
		for _, change := range settled.Changes {
			marks = append(marks, markCheck(tenant, ns, change.Memory, w.Now))
		}
	}
	return append([]queries.Step{func(ctx context.Context, q *queries.Queries) error {
		_, err := q.CaseOverturn(ctx, queries.CaseOverturnParams{
			Tenant: tenant, Namespace: ns, ID: uuid.UUID(victim), ResolvedAt: &w.Now, ResolvedBy: w.Who.Actor(), Cases: cases,
		})
		return err
	}}, marks...)
}
