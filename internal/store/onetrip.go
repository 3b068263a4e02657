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

// Known returns the policies of what the caller sees as they were when the gate was last read
// for its namespace, nil if it has not been. They may have changed since, which the statements
// that rest on them notice.
func (s *Store) Known(who acl.Identity) *Known {
	if s.tx != nil || who.KeyID() != "" && optionalKey(who.KeyID()) == nil {
		return nil
	}
	return s.known.get(who.Namespace().String()).policies
}

// ReadRecorded reads one memory by id, with the audit row of a success and the access count, in one
// statement that rests on policies and, in a crowd, shares a commit. Nothing is found, and nothing
// recorded, if the caller is not let in, or the memory is missing or invisible.
func (s *Store) ReadRecorded(ctx context.Context, who acl.Identity, policies *Known, id mem.ID, event *audit.Event, out *Found) error {
	p := queries.MemoryReadRecordedParams{
		Tenant: who.Tenant(), KeyID: optionalKey(who.KeyID()), Ts: event.Time, Namespaces: who.Scope().Namespaces(), ID: uuid.UUID(id),
		Policies: policies.raw, CallID: uuid.UUID(event.Call), Reader: event.Namespace, Actor: event.Actor,
		AgentID: event.AgentID, Op: string(event.Op),
	}
	req := newAnswer(who, event, []mem.ID{id}, func(ctx context.Context, q *queries.Queries, counts bool) error {
		p.Counts = counts
		rows, err := q.MemoryReadRecorded(ctx, p)
		return keepFound(out, rows, p.Ts, err)
	})
	req.read = &readAnswer{p: p, policies: policies, out: out}
	_, err := s.answers.append(ctx, req)
	return err
}

// readAnswer is a read whose answer may come with others'.
type readAnswer struct {
	p        queries.MemoryReadRecordedParams
	policies *Known
	out      *Found
}

// readCaller is what reads that share a statement have in common: the same caller, let in
// under the same policies.
type readCaller struct {
	policies                           *Known
	tenant, reader, actor, agentID, op string
	key                                uuid.UUID
}

// readSteps returns a step for each caller with more than one read in a group, and the
// requests that are left.
func readSteps(group []*appendRequest) (steps []queries.Step, rest []*appendRequest) {
	callers := map[readCaller][]*appendRequest{}
	var order []readCaller
	for _, r := range group {
		if r.read == nil {
			rest = append(rest, r)
			continue
		}
		p := &r.read.p
		c := readCaller{policies: r.read.policies, tenant: p.Tenant, reader: p.Reader, actor: p.Actor, agentID: p.AgentID, op: p.Op, key: value(p.KeyID)}
		if callers[c] == nil {
			order = append(order, c)
		}
		callers[c] = append(callers[c], r)
	}
	for _, c := range order {
		if reads := callers[c]; len(reads) > 1 {
			steps = append(steps, readMany(reads))
		} else {
			rest = append(rest, reads...)
		}
	}
	return steps, rest
}

// readMany answers reads of one caller.
func readMany(reads []*appendRequest) queries.Step {
	first := &reads[0].read.p
	p := queries.MemoryReadRecordedManyParams{
		Tenant: first.Tenant, KeyID: first.KeyID, Namespaces: first.Namespaces, Policies: first.Policies, Reader: first.Reader,
		Actor: first.Actor, AgentID: first.AgentID, Op: first.Op,
	}
	asked := make(map[uuid.UUID]*readAnswer, len(reads))
	for _, r := range reads {
		p.CallIds = append(p.CallIds, r.read.p.CallID.String())
		p.Ids = append(p.Ids, r.read.p.ID.String())
		p.Times = append(p.Times, r.read.p.Ts)
		asked[r.read.p.CallID] = r.read
	}
	return func(ctx context.Context, q *queries.Queries) error {
		rows, err := q.MemoryReadRecordedMany(ctx, p)
		for _, a := range asked {
			a.out.Memory = nil
		}
		if err != nil {
			return err
		}
		for i := range rows {
			r := &rows[i]
			a := asked[r.CallID]
			if a == nil {
				continue
			}
			m := toMemory(&memoryRow{
				ID: r.ID, Namespace: r.Namespace, Kind: r.Kind, Text: r.Text, EventTime: r.EventTime, EventEnd: r.EventEnd,
				AssertionTime: r.AssertionTime, TValidFrom: r.TValidFrom, TValidTo: r.TValidTo, ExpiresAt: r.ExpiresAt, EndReason: r.EndReason, EndNote: r.EndNote,
				Supersedes: r.Supersedes, SupersededBy: r.SupersededBy, Status: r.Status, Provenance: r.Provenance, Source: r.Source, Actor: r.Actor, AgentID: r.AgentID,
				Tokens: r.Tokens, Sensitivity: r.Sensitivity, PiiSubjects: r.PiiSubjects, SecretKinds: r.SecretKinds,
				Destinations: r.Destinations, Labels: r.Labels,
			}, a.p.Ts)
			a.out.Memory = &m
		}
		return nil
	}
}

// ServeRecorded is Serve for a search that is over when it has these memories, with its audit
// row and access counts in the same commit, resting on policies. recorded is false, and
// nothing has happened, if the caller is not let in or not all of them can be served any more.
func (s *Store) ServeRecorded(
	ctx context.Context, who acl.Identity, policies *Known, f *Filter, ids []mem.ID, event *audit.Event,
) (found map[mem.ID]mem.Memory, recorded bool, err error) {
	p := queries.MemoryServeRecordedParams{
		Tenant: who.Tenant(), Namespaces: who.Scope().Namespaces(), Ids: idStrings(ids), AsOf: optionalTime(f.AsOf), Ended: f.Ended,
		CallID: uuid.UUID(event.Call), Ts: event.Time, Reader: event.Namespace, Actor: event.Actor, KeyID: optionalKey(event.KeyID),
		AgentID: event.AgentID, Op: string(event.Op), Purpose: optional(event.Purpose), Detail: event.Detail,
		Policies: policies.raw,
	}
	_, err = s.answers.append(ctx, newAnswer(who, event, ids, func(ctx context.Context, q *queries.Queries, counts bool) error {
		p.Counts = counts
		rows, err := q.MemoryServeRecorded(ctx, p)
		if err != nil {
			return err
		}
		found = make(map[mem.ID]mem.Memory, len(rows))
		for i := range rows {
			row := memoryRow(rows[i])
			m := toMemory(&row, event.Time)
			found[m.ID] = m
		}
		return nil
	}))
	if errors.Is(err, writepath.ErrStale) {
		return nil, false, nil
	}
	return found, err == nil && len(found) == len(ids), err
}

// newAnswer returns a request whose query reads what a call asks for, records it and, if counts
// is set, counts what it serves.
func newAnswer(
	who acl.Identity, event *audit.Event, served []mem.ID, query func(ctx context.Context, q *queries.Queries, counts bool) error,
) *appendRequest {
	req := &appendRequest{event: *event, memories: len(served), answer: func(counts bool) queries.Step {
		return func(ctx context.Context, q *queries.Queries) error { return query(ctx, q, counts) }
	}}
	if who.Role() != acl.RoleAuditor {
		req.served = served
	}
	return req
}

// Eager reports that the write can be tried without looking first: it depends on nothing but
// its one text being new, it names nobody, and all that it refers to is known.
func (w *Write) Eager() bool {
	s := w.alone.store
	if s.tx != nil || w.IdempotencyKey != "" || len(w.drafts) != 1 || s.models.id.Load() == 0 {
		return false
	}
	d := w.drafts[0]
	if !d.Supersedes.IsZero() || d.ContentKey != "" || len(d.Mentions) > 0 {
		return false
	}
	w.alone.place = s.known.get(w.Who.Namespace().String()).place
	return w.alone.place.ID != 0
}

// ApplyEagerly stores the draft as new, together with the check that its caller is let in
// under these policies, that nothing says it already, and that the namespace still stands
// where it is known to. writepath.ErrStale reports that it has to be looked at; nothing has
// been written.
func (w *Write) ApplyEagerly(ctx context.Context, policies *Known) error {
	steps, err := w.alone.steps(ctx, []Part{{Write: w, Decisions: []writepath.Decision{{Action: writepath.Insert}}}})
	if err != nil {
		return err
	}
	d := w.drafts[0]
	p := queries.GateHoldParams{
		Tenant: w.Who.Tenant(), KeyID: optionalKey(w.Who.KeyID()), Ts: w.Now, Namespaces: w.Who.Scope().Namespaces(),
		Policies: policies.raw, Namespace: w.Who.Namespace().String(), DedupeKey: d.DedupeKey[:],
		Ns: w.alone.place.ID, TenantID: w.alone.place.TenantID, EchoKeys: [][]byte{},
	}
	for i := range d.EchoKeys {
		p.EchoKeys = append(p.EchoKeys, d.EchoKeys[i][:])
	}
	hold := func(ctx context.Context, q *queries.Queries) error {
		_, err := q.GateHold(ctx, p)
		return err
	}
	return w.alone.store.run(ctx, append([]queries.Step{hold}, steps...)...)
}
