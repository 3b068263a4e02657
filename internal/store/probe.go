package store

import (
	"bytes"
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/queries"
	"github.com/memkernel/memkernel/writepath"
	"github.com/memkernel/memkernel/writepath/entity"
)

// Probe returns the steps that read what bears on the drafts, one state for each write, to run with
// the gate.
func (b *Batch) Probe(states ...*writepath.State) []queries.Step {
	tenant, ns := b.who().Tenant(), b.who().Namespace().String()
	b.entities, b.aliases = nil, nil
	steps := []queries.Step{
		func(ctx context.Context, q *queries.Queries) error {
			b.place = place{} // what a transaction that was rolled back had made is gone
			id, err := q.NamespaceID(ctx, queries.NamespaceIDParams{Tenant: tenant, Path: ns})
			if err == nil {
				b.place = place(id)
				b.keepPlace()
			}
			return noRows(err)
		},
	}
	var keys [][]byte
	var person bool
	var names []entity.Mention
	var targets []queries.Step
	for i, w := range b.writes {
		st := states[i] //nolint:gosec // one for each write
		st.Standings = make([]writepath.Standing, len(w.drafts))
		if w.Attempt > 0 {
			steps = append(steps, w.probeTicket(st))
		}
		for j, d := range w.drafts {
			d.expired, d.cases = nil, nil
			person = person || d.Provenance == mem.ProvenanceManual
			keys, names = append(keys, d.DedupeKey[:]), append(names, d.Mentions...)
			targets = append(targets, w.probeTarget(d, &st.Standings[j])...)
		}
	}
	if receipts := b.probeReceipts(states); receipts != nil {
		steps = append(steps, receipts)
	}
	if len(keys) > 0 {
		steps = append(steps, b.probeDuplicates(keys, person, states))
	}
	// Behind the duplicates: of two looks at what changes, that at a chain's head must be the later
	// one, which also sees that the head is the text by then.
	steps = append(steps, targets...)
	if len(names) > 0 {
		steps = append(steps, b.store.knownEntities(b.who().Scope(), names, len(b.writes), &b.entities, &b.aliases)...)
	}
	if echoes := b.probeEchoes(states); echoes != nil {
		steps = append(steps, echoes)
	}
	return steps
}

// probeDuplicates returns the step that looks for current memories that say what a draft says, and
// for those that have expired and stand in its place; with cases, also for what a person's draft
// would overturn.
func (b *Batch) probeDuplicates(keys [][]byte, cases bool, states []*writepath.State) queries.Step {
	return func(ctx context.Context, q *queries.Queries) error {
		rows, err := q.MemoryDuplicateMany(ctx, queries.MemoryDuplicateManyParams{
			Tenant: b.who().Tenant(), Namespace: b.who().Namespace().String(), DedupeKeys: keys, Cases: cases,
		})
		if err != nil || len(rows) == 0 {
			return err
		}
		current := make(map[[32]byte]*queries.MemoryDuplicateManyRow, len(rows))
		for i := range rows {
			current[[32]byte(rows[i].DedupeKey)] = &rows[i]
		}
		for i, w := range b.writes {
			for j, d := range w.drafts {
				switch r := current[d.DedupeKey]; {
				case r == nil:
				case r.ExpiresAt != nil && !w.Now.Before(*r.ExpiresAt):
					d.expire(mem.ID(r.ID))
				default:
					st := &states[i].Standings[j]
					st.Duplicate, st.DuplicateProvenance = mem.ID(r.ID), mem.Provenance(r.Provenance)
					d.noteCases(st.Duplicate, r.OpenCases)
				}
			}
		}
		return nil
	}
}

// probeTarget returns the steps that look at what a draft is to replace, none if that is nothing.
func (w *Write) probeTarget(d *draft, st *writepath.Standing) []queries.Step {
	switch {
	case !d.Supersedes.IsZero():
		return append([]queries.Step{
			lookAtTarget(w.Who.Scope(), w.Who.Namespace(), d.Supersedes, d.Draft, w.Now, st), hidden(w.Who.Scope(), w.Who.Namespace(), d.Supersedes, &st.TargetHidden),
		}, w.probeCases(d)...)
	case d.ContentKey != "":
		return append([]queries.Step{w.probeRefresh(d, st)}, w.probeCases(d)...)
	default:
		return nil
	}
}

// probeRefresh returns the step that looks for the memory that is about the same thing.
func (w *Write) probeRefresh(d *draft, st *writepath.Standing) queries.Step {
	return func(ctx context.Context, q *queries.Queries) error {
		t, err := q.MemoryRefreshed(ctx, queries.MemoryRefreshedParams{
			Tenant: w.Who.Tenant(), Namespace: w.Who.Namespace().String(), ContentKey: d.ContentKey, Now: w.Now,
		})
		switch {
		case err != nil:
			return noRows(err)
		case t.Expired:
			d.expire(mem.ID(t.ID))
		default:
			st.Target = &writepath.Target{Own: true, Head: mem.ID(t.ID), Provenance: mem.Provenance(t.Provenance), Same: sameMemory(d.Draft, &storedMemory{
				key: t.DedupeKey, kind: t.Kind, source: t.Source, eventTime: t.EventTime, eventEnd: t.EventEnd, expiresAt: t.ExpiresAt,
			})}
		}
		return nil
	}
}

// probeEchoes returns the step that looks for what the writer was handed and says back, nil if
// no draft could be that.
func (b *Batch) probeEchoes(states []*writepath.State) queries.Step {
	var keys [][]byte
	for _, w := range b.writes {
		for _, d := range w.drafts {
			for i := range d.EchoKeys {
				keys = append(keys, d.EchoKeys[i][:])
			}
		}
	}
	if len(keys) == 0 {
		return nil
	}
	scope := b.who().Scope()
	return func(ctx context.Context, q *queries.Queries) error {
		rows, err := q.MemoryEchoed(ctx, queries.MemoryEchoedParams{
			Tenant: scope.Tenant(), Namespaces: scope.Namespaces(), Reader: b.who().Namespace().String(), DedupeKeys: keys, Now: b.writes[0].Now,
		})
		if err != nil {
			return err
		}
		handedOut := make(map[[32]byte]mem.ID, len(rows))
		for _, r := range rows {
			handedOut[[32]byte(r.DedupeKey)] = mem.ID(r.ID)
		}
		for _, st := range states {
			st.HandedOut = handedOut
		}
		return nil
	}
}

// probeReceipts returns the step that looks for earlier writes with the idempotency keys, nil if
// there are no keys.
func (b *Batch) probeReceipts(states []*writepath.State) queries.Step {
	p := queries.CaptureByKeyManyParams{Tenant: b.who().Tenant(), Namespace: b.who().Namespace().String(), Principal: b.who().Principal()}
	for _, w := range b.writes {
		if w.Attempt == 0 && w.IdempotencyKey != "" {
			p.IdempotencyKeys = append(p.IdempotencyKeys, w.IdempotencyKey)
		}
	}
	if len(p.IdempotencyKeys) == 0 {
		return nil
	}
	return func(ctx context.Context, q *queries.Queries) error {
		rows, err := q.CaptureByKeyMany(ctx, p)
		if err != nil || len(rows) == 0 {
			return err
		}
		earlier := make(map[string]*queries.CaptureByKeyManyRow, len(rows))
		for i := range rows {
			earlier[value(rows[i].IdempotencyKey)] = &rows[i]
		}
		for i, w := range b.writes {
			if w.Attempt == 0 && w.IdempotencyKey != "" {
				w.meet(earlier[w.IdempotencyKey], states[i])
			}
		}
		return nil
	}
}

// meet takes note of the earlier write with the idempotency key, nil if there is none.
func (w *Write) meet(c *queries.CaptureByKeyManyRow, st *writepath.State) {
	if c == nil {
		return
	}
	st.ForeignReceipt = !bytes.Equal(c.RequestDigest, w.Digest[:])
	switch {
	case st.ForeignReceipt:
	case c.State == captureDone:
		st.Receipt = c.Result
	default:
		// An earlier attempt got no further than its capture: carry on from there.
		w.Capture, w.captured = mem.ID(c.ID), true
	}
}

// lookAtTarget returns the step that looks at a memory that is to be ended now, and compares the
// head of its chain with the draft that is to replace it, if there is one.
func lookAtTarget(scope acl.Scope, own acl.Namespace, id mem.ID, d *writepath.Draft, now time.Time, st *writepath.Standing) queries.Step {
	return func(ctx context.Context, q *queries.Queries) error {
		t, err := q.MemoryTarget(ctx, queries.MemoryTargetParams{
			Tenant: scope.Tenant(), ID: uuid.UUID(id), Namespaces: scope.Namespaces(), Own: own.String(), Now: now,
		})
		if err != nil {
			return noRows(err)
		}
		st.Target = &writepath.Target{
			Own: t.Namespace == own.String(), Head: mem.ID(value(t.HeadID)), EndReason: mem.EndReason(t.EndReason),
			Provenance: mem.Provenance(value(t.HeadProvenance)),
			Same: d != nil && value(t.HeadStatus) == string(mem.StatusActive) && sameMemory(d, &storedMemory{
				key: t.HeadDedupeKey, kind: value(t.HeadKind), source: value(t.HeadSource),
				eventTime: t.HeadEventTime, eventEnd: t.HeadEventEnd, expiresAt: t.HeadExpiresAt,
			}),
		}
		return nil
	}
}

// storedMemory is what of a memory a draft could differ in.
type storedMemory struct {
	key                            []byte
	kind, source                   string
	eventTime, eventEnd, expiresAt *time.Time
}

// sameMemory reports whether a stored memory is the draft in every respect.
func sameMemory(d *writepath.Draft, m *storedMemory) bool {
	return bytes.Equal(m.key, d.DedupeKey[:]) && m.kind == string(d.Kind) && m.source == d.Source &&
		utc(m.eventTime).Equal(d.EventTime) && utc(m.eventEnd).Equal(d.EventEnd) && utc(m.expiresAt).Equal(d.ExpiresAt)
}
