package store

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/audit"
	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/queries"
	"github.com/memkernel/memkernel/writepath"
)

// KnownPolicies returns the policies of the caller's visible namespaces as they were when the
// gate was last read for its namespace; ok reports that they have been. They may have changed
// since, which the statements that rest on them notice.
func (s *Store) KnownPolicies(who acl.Identity) (policies []mem.Policy, ok bool) {
	if s.tx != nil || who.KeyID() != "" && optionalKey(who.KeyID()) == nil {
		return nil, false
	}
	space := s.known.get(who.Namespace().String())
	return space.policies, space.raw != nil
}

// ReadRecorded reads one memory by id, with the audit row of a success and the access count,
// in one statement that rests on KnownPolicies and, in a crowd, shares a commit. Nothing is
// found and nothing recorded if the caller is not let in, or the memory is missing or
// invisible.
func (s *Store) ReadRecorded(ctx context.Context, who acl.Identity, id mem.ID, event *audit.Event, out *Found) error {
	p := queries.MemoryReadRecordedParams{
		Tenant: who.Tenant(), KeyID: optionalKey(who.KeyID()), Ts: event.Time, Namespaces: who.Scope().Namespaces(), ID: uuid.UUID(id),
		Policies: s.known.get(who.Namespace().String()).raw, CallID: uuid.UUID(event.Call), Reader: event.Namespace, Actor: event.Actor,
		AgentID: event.AgentID, Op: string(event.Op),
	}
	return s.answer(ctx, who, event, []mem.ID{id}, func(ctx context.Context, q *queries.Queries, counts bool) error {
		p.Counts = counts
		rows, err := q.MemoryReadRecorded(ctx, p)
		out.Memory = nil
		return keepFound(out, rows, err)
	})
}

// ServeRecorded is Serve for a search that is over when it has these memories, with its audit
// row and access counts in the same commit, resting on KnownPolicies. recorded is false, and
// nothing has happened, if the caller is not let in or not all of them can be served any more.
func (s *Store) ServeRecorded(
	ctx context.Context, who acl.Identity, f *Filter, ids []mem.ID, event *audit.Event,
) (found map[mem.ID]mem.Memory, recorded bool, err error) {
	p := queries.MemoryServeRecordedParams{
		Tenant: who.Tenant(), Namespaces: who.Scope().Namespaces(), Ids: idStrings(ids), AsOf: optionalTime(f.AsOf), Ended: f.Ended,
		CallID: uuid.UUID(event.Call), Ts: event.Time, Reader: event.Namespace, Actor: event.Actor, KeyID: optionalKey(event.KeyID),
		AgentID: event.AgentID, Op: string(event.Op), Purpose: optional(event.Purpose), Detail: event.Detail,
		Policies: s.known.get(who.Namespace().String()).raw,
	}
	err = s.answer(ctx, who, event, ids, func(ctx context.Context, q *queries.Queries, counts bool) error {
		p.Counts = counts
		rows, err := q.MemoryServeRecorded(ctx, p)
		if err != nil {
			return err
		}
		found = make(map[mem.ID]mem.Memory, len(rows))
		for i := range rows {
			row := memoryRow(rows[i])
			m := toMemory(&row)
			found[m.ID] = m
		}
		return nil
	})
	if errors.Is(err, writepath.ErrStale) {
		return nil, false, nil
	}
	return found, err == nil && len(found) == len(ids), err
}

// answer runs a query that reads what a call asks for, records it and, if counts is set, counts
// what it serves.
func (s *Store) answer(
	ctx context.Context, who acl.Identity, event *audit.Event, served []mem.ID,
	query func(ctx context.Context, q *queries.Queries, counts bool) error,
) error {
	req := &appendRequest{event: *event, answer: func(counts bool) queries.Step {
		return func(ctx context.Context, q *queries.Queries) error { return query(ctx, q, counts) }
	}}
	if who.Role() != acl.RoleAuditor {
		req.served = served
	}
	_, err := s.appender.append(ctx, req)
	return err
}

// Eager reports that the write can be tried without looking first: it depends on nothing but
// its text being new, and all that it refers to is known.
func (w *Write) Eager() bool {
	if w.store.tx != nil || w.IdempotencyKey != "" || !w.Draft.Supersedes.IsZero() || w.store.models.id.Load() == 0 {
		return false
	}
	w.place = w.store.known.get(w.Who.Namespace().String()).place
	return w.place.ID != 0
}

// ApplyEagerly stores the draft as new, together with the check that its caller is let in
// under KnownPolicies and that nothing says it already. writepath.ErrStale reports that it
// has to be looked at; nothing has been written.
func (w *Write) ApplyEagerly(ctx context.Context) error {
	steps, err := w.steps(ctx, writepath.Decision{Action: writepath.Insert})
	if err != nil {
		return err
	}
	p := queries.GateHoldParams{
		Tenant: w.Who.Tenant(), KeyID: optionalKey(w.Who.KeyID()), Ts: w.Now, Namespaces: w.Who.Scope().Namespaces(),
		Policies: w.store.known.get(w.Who.Namespace().String()).raw, Namespace: w.Who.Namespace().String(), DedupeKey: w.Draft.DedupeKey[:],
	}
	hold := func(ctx context.Context, q *queries.Queries) error {
		_, err := q.GateHold(ctx, p)
		return err
	}
	return w.store.run(ctx, append([]queries.Step{hold}, steps...)...)
}
