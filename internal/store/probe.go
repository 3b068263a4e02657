package store

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/queries"
	"github.com/memkernel/memkernel/writepath"
)

// Probe returns the steps that read what bears on the drafts, to run with the gate.
func (w *Write) Probe(st *writepath.State) []queries.Step {
	tenant, ns := w.Who.Tenant(), w.Who.Namespace().String()
	st.Standings = make([]writepath.Standing, len(w.drafts))
	steps := []queries.Step{
		func(ctx context.Context, q *queries.Queries) error {
			w.place = place{} // what a transaction that was rolled back had made is gone
			id, err := q.NamespaceID(ctx, queries.NamespaceIDParams{Tenant: tenant, Path: ns})
			if err == nil {
				w.place = place(id)
				w.keepPlace()
			}
			return noRows(err)
		},
	}
	switch {
	case w.Attempt > 0:
		steps = append(steps, w.probeTicket(st))
	case w.IdempotencyKey != "":
		steps = append(steps, w.probeReceipt(st))
	}
	for i, d := range w.drafts {
		steps = append(steps, w.probeDraft(d, &st.Standings[i])...)
	}
	if mentions := slices.Concat(mentionsOf(w.drafts)...); len(mentions) > 0 {
		steps = append(steps, w.store.KnownEntities(w.Who.Scope(), mentions, &w.entities, &w.aliases)...)
	}
	if echoes := w.probeEchoes(st); echoes != nil {
		steps = append(steps, echoes)
	}
	return steps
}

func (w *Write) probeDraft(d *draft, st *writepath.Standing) []queries.Step {
	tenant, ns := w.Who.Tenant(), w.Who.Namespace().String()
	steps := []queries.Step{func(ctx context.Context, q *queries.Queries) error {
		d.expired = nil
		dup, err := q.MemoryDuplicate(ctx, queries.MemoryDuplicateParams{Tenant: tenant, Namespace: ns, DedupeKey: d.DedupeKey[:], Now: w.Now})
		switch {
		case err != nil:
			return noRows(err)
		case dup.Expired:
			d.expired = []mem.ID{mem.ID(dup.ID)}
		default:
			st.Duplicate = mem.ID(dup.ID)
		}
		return nil
	}}
	switch {
	case !d.Supersedes.IsZero():
		steps = append(steps, lookAtTarget(w.Who.Scope(), w.Who.Namespace(), d.Supersedes, d.Draft, w.Now, st), hidden(w.Who.Scope(), d.Supersedes, &st.TargetHidden))
	case d.ContentKey != "":
		steps = append(steps, w.probeRefresh(d, st))
	}
	return steps
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
			if id := mem.ID(t.ID); !slices.Contains(d.expired, id) {
				d.expired = append(d.expired, id)
			}
		default:
			st.Target = &writepath.Target{Own: true, Head: mem.ID(t.ID), Same: sameMemory(d.Draft, &storedMemory{
				key: t.DedupeKey, kind: t.Kind, source: t.Source, eventTime: t.EventTime, eventEnd: t.EventEnd, expiresAt: t.ExpiresAt,
			})}
		}
		return nil
	}
}

// probeEchoes returns the step that looks for what the writer was handed and says back, nil if
// no draft could be that.
func (w *Write) probeEchoes(st *writepath.State) queries.Step {
	var keys [][]byte
	for _, d := range w.drafts {
		for i := range d.EchoKeys {
			keys = append(keys, d.EchoKeys[i][:])
		}
	}
	if len(keys) == 0 {
		return nil
	}
	scope := w.Who.Scope()
	return func(ctx context.Context, q *queries.Queries) error {
		rows, err := q.MemoryEchoed(ctx, queries.MemoryEchoedParams{
			Tenant: scope.Tenant(), Namespaces: scope.Namespaces(), Reader: w.Who.Namespace().String(), DedupeKeys: keys, Now: w.Now,
		})
		if err != nil {
			return err
		}
		handedOut := map[[32]byte]mem.ID{}
		for _, r := range rows {
			handedOut[[32]byte(r.DedupeKey)] = mem.ID(r.ID)
		}
		for i, d := range w.drafts {
			st.Standings[i].Echoes = d.Echoes(handedOut)
		}
		return nil
	}
}

func (w *Write) probeReceipt(st *writepath.State) queries.Step {
	return func(ctx context.Context, q *queries.Queries) error {
		c, err := q.CaptureByKey(ctx, queries.CaptureByKeyParams{
			Tenant: w.Who.Tenant(), Namespace: w.Who.Namespace().String(), Principal: w.Who.Principal(), IdempotencyKey: w.IdempotencyKey,
		})
		if err != nil {
			return noRows(err)
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
		return nil
	}
}

// lookAtTarget returns the step that looks at a memory that is to be ended now, and compares the
// head of its chain with the draft that is to replace it, if there is one.
func lookAtTarget(scope acl.Scope, own acl.Namespace, id mem.ID, d *writepath.Draft, now time.Time, st *writepath.Standing) queries.Step {
	return func(ctx context.Context, q *queries.Queries) error {
		t, err := q.MemoryTarget(ctx, queries.MemoryTargetParams{Tenant: scope.Tenant(), ID: uuid.UUID(id), Namespaces: scope.Namespaces(), Now: now})
		if err != nil {
			return noRows(err)
		}
		st.Target = &writepath.Target{
			Own: t.Namespace == own.String(), Head: mem.ID(value(t.HeadID)), EndReason: mem.EndReason(t.EndReason),
			Same: d != nil && sameMemory(d, &storedMemory{
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
