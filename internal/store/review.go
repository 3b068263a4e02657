package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/queries"
	"github.com/memkernel/memkernel/writepath"
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

// probeCases returns the step that counts the open cases that a draft would overturn, if it is a
// person's, and says what it replaces.
func (w *Write) probeCases(d *draft) []queries.Step {
	if d.Provenance != mem.ProvenanceManual {
		return nil
	}
	return []queries.Step{func(ctx context.Context, q *queries.Queries) error {
		rows, err := q.CaseOfTarget(ctx, queries.CaseOfTargetParams{
			Tenant: w.Who.Tenant(), Namespace: w.Who.Namespace().String(), Target: optionalID(d.Supersedes), ContentKey: optional(d.ContentKey),
		})
		for _, r := range rows {
			d.noteCases(mem.ID(r.ID), r.OpenCases)
		}
		return err
	}}
}

// Overturns counts the cases that the write settles if that is decided on its drafts.
func (w *Write) Overturns(decisions []writepath.Decision) (n int64) {
	for i, dec := range decisions {
		if d := w.drafts[i]; dec.Action == writepath.Supersede && !d.Held {
			n += d.cases[dec.Memory]
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
	cases := d.cases[d.victim]
	return []queries.Step{overturn(d.of.Who.Namespace(), d.victim, d.of.Who.Actor(), d.of.Now, &cases)}
}

// overturn returns the step that settles the open cases about a memory that a person has replaced
// and that is locked; cases is how many there must be, nil for any.
func overturn(ns acl.Namespace, victim mem.ID, actor string, now time.Time, cases *int64) queries.Step {
	return func(ctx context.Context, q *queries.Queries) error {
		_, err := q.CaseOverturn(ctx, queries.CaseOverturnParams{
			Tenant: ns.Tenant(), Namespace: ns.String(), ID: uuid.UUID(victim), ResolvedAt: &now, ResolvedBy: actor, Cases: cases,
		})
		return err
	}
}
