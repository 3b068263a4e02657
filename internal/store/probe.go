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
		id, err := q.MemoryDuplicate(ctx, queries.MemoryDuplicateParams{Tenant: tenant, Namespace: ns, DedupeKey: d.DedupeKey[:]})
		if err == nil {
			st.Duplicate = mem.ID(id)
		}
		return noRows(err)
	}}
	switch {
	case !d.Supersedes.IsZero():
		steps = append(steps, lookAtTarget(w.Who.Scope(), w.Who.Namespace(), d.Supersedes, d.Draft, st), hidden(w.Who.Scope(), d.Supersedes, &st.TargetHidden))
	case d.ContentKey != "":
		steps = append(steps, w.probeRefresh(d, st))
	}
	return steps
}

// probeRefresh returns the step that looks for the memory that is about the same thing.
func (w *Write) probeRefresh(d *draft, st *writepath.Standing) queries.Step {
	return func(ctx context.Context, q *queries.Queries) error {
		t, err := q.MemoryRefreshed(ctx, queries.MemoryRefreshedParams{
			Tenant: w.Who.Tenant(), Namespace: w.Who.Namespace().String(), ContentKey: d.ContentKey,
		})
		if err != nil {
			return noRows(err)
		}
		st.Target = &writepath.Target{
			Own: true, Head: mem.ID(t.ID), Same: sameMemory(d.Draft, t.DedupeKey, t.Kind, t.Source, utc(t.EventTime), utc(t.EventEnd)),
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
			Tenant: scope.Tenant(), Namespaces: scope.Namespaces(), Reader: w.Who.Namespace().String(), DedupeKeys: keys,
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

// lookAtTarget returns the step that looks at a memory that is to be ended, and compares the
// head of its chain with the draft that is to replace it, if there is one.
func lookAtTarget(scope acl.Scope, own acl.Namespace, id mem.ID, d *writepath.Draft, st *writepath.Standing) queries.Step {
	return func(ctx context.Context, q *queries.Queries) error {
		t, err := q.MemoryTarget(ctx, queries.MemoryTargetParams{Tenant: scope.Tenant(), ID: uuid.UUID(id), Namespaces: scope.Namespaces()})
		if err != nil {
			return noRows(err)
		}
		st.Target = &writepath.Target{
			Own: t.Namespace == own.String(), Head: mem.ID(value(t.HeadID)), EndReason: mem.EndReason(value(t.EndReason)),
			Same: d != nil && sameMemory(d, t.HeadDedupeKey, value(t.HeadKind), value(t.HeadSource), utc(t.HeadEventTime), utc(t.HeadEventEnd)),
		}
		return nil
	}
}

// sameMemory reports whether a stored memory is the draft in every respect.
func sameMemory(d *writepath.Draft, key []byte, kind, source string, eventTime, eventEnd time.Time) bool {
	return bytes.Equal(key, d.DedupeKey[:]) && kind == string(d.Kind) && source == d.Source &&
		eventTime.Equal(d.EventTime) && eventEnd.Equal(d.EventEnd)
}
