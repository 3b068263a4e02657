package store

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/audit"
	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/queries"
	"github.com/memkernel/memkernel/writepath"
	"github.com/memkernel/memkernel/writepath/conflict"
)

// settling changes memories of one namespace in one transaction, together with all that follows
// from them: what the retrieval arms search, and the counters. It holds them locked from the
// beginning, so that what it read of them stays true.
type settling struct {
	tenant, ns string
	place      place
	now        time.Time
	rows       map[mem.ID]settleRow
	// twins stand in the place of the memory that may be activated; see rivals.
	twins []queries.SettleTwinsRow

	steps []queries.Step
	// rowsDelta and lengthDelta are what the counters change by.
	rowsDelta, lengthDelta int64
}

// settleRow is a memory as it is, with what is still to become of it.
type settleRow struct {
	current bool
	status  mem.Status
	length  int64
}

func (r *settleRow) live() bool { return r.current && r.status == mem.StatusActive }

// lockSettling locks memories of a namespace. activates is the one that may be made active, zero
// for none. more is read with them.
func lockSettling(
	ctx context.Context, tx pgx.Tx, ns acl.Namespace, now time.Time, ids []mem.ID, activates mem.ID, more ...queries.Step,
) (*settling, error) {
	s := &settling{tenant: ns.Tenant(), ns: ns.String(), now: now, rows: map[mem.ID]settleRow{}}
	var steps []queries.Step
	if !activates.IsZero() {
		steps = append(steps, func(ctx context.Context, q *queries.Queries) error {
			_, err := q.SettleSerialize(ctx, queries.SettleSerializeParams{Namespace: s.ns})
			return err
		})
	}
	steps = append(steps,
		func(ctx context.Context, q *queries.Queries) error {
			rows, err := q.SettleLock(ctx, queries.SettleLockParams{
				Tenant: s.tenant, Namespace: s.ns, Ids: idStrings(ids), Now: now, MaxRows: int32(len(ids)), //nolint:gosec // those of a case or a question
			})
			for _, r := range rows {
				s.rows[mem.ID(r.ID)] = settleRow{current: r.Current, status: mem.Status(r.Status), length: int64(r.TermsLength)}
			}
			return err
		},
		func(ctx context.Context, q *queries.Queries) error {
			id, err := q.NamespaceID(ctx, queries.NamespaceIDParams{Tenant: s.tenant, Path: s.ns})
			if err != nil {
				return staleIfMissing(err)
			}
			s.place = place(id)
			return nil
		})
	if !activates.IsZero() {
		steps = append(steps, func(ctx context.Context, q *queries.Queries) error {
			rows, err := q.SettleTwins(ctx, queries.SettleTwinsParams{Tenant: s.tenant, Namespace: s.ns, ID: uuid.UUID(activates), Now: now})
			if err != nil {
				return err
			}
			s.twins = rows
			for _, t := range rows {
				s.rows[mem.ID(t.ID)] = settleRow{current: !t.Expired, status: mem.StatusActive, length: int64(t.TermsLength)}
			}
			return nil
		})
	}
	return s, mapErr(queries.Pipeline(ctx, tx, append(steps, more...)...))
}

func (s *settling) add(step queries.Step) { s.steps = append(s.steps, step) }

// become notes what a memory is from now on, and moves it in or out of what is searched.
func (s *settling) become(id mem.ID, next settleRow) {
	was := s.rows[id]
	s.rows[id] = next
	switch {
	case was.live() && !next.live():
		s.steps = append(s.steps, closeArms(s.tenant, s.ns, s.place, id)...)
		s.rowsDelta, s.lengthDelta = s.rowsDelta-1, s.lengthDelta-was.length
	case !was.live() && next.live():
		s.steps = append(s.steps, openArms(s.tenant, s.ns, s.place, id)...)
		s.rowsDelta, s.lengthDelta = s.rowsDelta+1, s.lengthDelta+was.length
	}
}

func (s *settling) setStatus(id mem.ID, status mem.Status) {
	row := s.rows[id]
	p := queries.SettleStatusParams{
		Status: string(status), Was: string(row.status), Tenant: s.tenant, ID: uuid.UUID(id), Namespace: s.ns, Now: s.now,
	}
	s.add(func(ctx context.Context, q *queries.Queries) error {
		_, err := q.SettleStatus(ctx, p)
		return err
	})
	row.status = status
	s.become(id, row)
}

func (s *settling) close(id, by mem.ID) {
	s.add(func(ctx context.Context, q *queries.Queries) error {
		_, err := q.SettleClose(ctx, queries.SettleCloseParams{
			TValidTo: s.now, Tenant: s.tenant, ID: uuid.UUID(id), Namespace: s.ns, By: uuid.UUID(by),
		})
		return err
	})
	s.end(id)
}

func (s *settling) withdraw(id mem.ID) {
	s.add(func(ctx context.Context, q *queries.Queries) error {
		_, err := q.MemoryRetract(ctx, queries.MemoryRetractParams{
			TValidTo: s.now, Tenant: s.tenant, ID: uuid.UUID(id), Namespace: s.ns,
		})
		return err
	})
	s.end(id)
}

func (s *settling) end(id mem.ID) {
	row := s.rows[id]
	row.current = false
	s.become(id, row)
}

// run carries out what was asked for; the counters come last.
func (s *settling) run(ctx context.Context, tx pgx.Tx) error {
	if s.rowsDelta != 0 || s.lengthDelta != 0 {
		s.add(bumpNamespace(s.tenant, s.ns, s.rowsDelta, s.lengthDelta))
	}
	return mapErr(queries.Pipeline(ctx, tx, s.steps...))
}

// openArms puts a memory back into what the retrieval arms search.
func openArms(tenant, namespace string, at place, id mem.ID) []queries.Step {
	return []queries.Step{
		func(ctx context.Context, q *queries.Queries) error {
			return q.TermOpenMany(ctx, queries.TermOpenManyParams{
				Tenant: tenant, ID: uuid.UUID(id), Namespace: namespace, TenantID: at.TenantID, Ns: at.ID,
			})
		},
		func(ctx context.Context, q *queries.Queries) error {
			return q.VectorOpen(ctx, queries.VectorOpenParams{TenantID: at.TenantID, ID: uuid.UUID(id)})
		},
	}
}

// Verdict is what became of a check, on its way into the database.
type Verdict struct {
	Check    *Check
	Question *conflict.Question
	Outcome  *conflict.Outcome
	Now      time.Time
	// Event makes the audit row of one change.
	Event func(memory mem.ID, detail *audit.Detail) audit.Event
	// Note is a row to be added whatever the outcome, nil for none.
	Note *audit.Event
}

// Changes reports that there is more to be done than to finish the check.
func (v *Verdict) Changes() bool {
	return v.Outcome.Status != "" || v.Outcome.Action != conflict.KeepBoth || v.Note != nil
}

// Settle carries an outcome out and ends its check, with an audit row for every memory that it
// changes and every case that it opens; all of it or nothing. writepath.ErrStale reports that one
// of the memories is not as it was shown any more, ErrFenced that the check is not the attempt's
// to end.
func (s *Store) Settle(ctx context.Context, v *Verdict) error {
	in := v.Question.Incoming
	ids, want := []mem.ID{in.ID}, map[mem.ID]mem.Status{in.ID: in.Status}
	for i := range v.Question.Candidates {
		c := v.Question.Candidates[i].Memory
		want[c.ID] = c.Status
	}
	for _, p := range v.Outcome.Pairs {
		if p.Action != conflict.KeepBoth {
			ids = append(ids, p.Candidate)
		}
	}
	return s.inTx(ctx, func(tx pgx.Tx) error {
		var activates mem.ID
		var others int64
		var ours bool
		more := []queries.Step{v.Check.hold(&ours), countOthers(in.Namespace, in.ID, nil, &others)}
		if v.Outcome.Status == mem.StatusActive {
			activates = in.ID
		}
		st, err := lockSettling(ctx, tx, in.Namespace, v.Now, ids, activates, more...)
		if err != nil {
			return err
		}
		if !ours {
			return ErrFenced
		}
		for _, id := range ids {
			if row := st.rows[id]; !row.current || row.status != want[id] {
				return fmt.Errorf("%w: memory %s is not as it was shown", writepath.ErrStale, id)
			}
		}
		out := *v.Outcome
		if others > 0 {
			out = out.Questioned()
		}
		if out.Status == mem.StatusActive {
			if err := s.WithTx(tx).unshown(ctx, v); err != nil {
				return err
			}
		}
		v.settle(st, &out)
		return st.run(ctx, tx)
	})
}

// unshown reports, with writepath.ErrStale, that a memory which is to come into sight would be
// compared with others by now. That is so if one has come into sight since the question was read: of
// two that are held neither sees the other before the first is released.
func (s *Store) unshown(ctx context.Context, v *Verdict) error {
	now, err := s.Questions(ctx, []Check{*v.Check}, v.Now)
	if err != nil {
		return err
	}
	shown := map[mem.ID]bool{}
	for i := range v.Question.Candidates {
		shown[v.Question.Candidates[i].Memory.ID] = true
	}
	for i := range now[0].Candidates {
		if id := now[0].Candidates[i].Memory.ID; !shown[id] {
			return fmt.Errorf("%w: memory %s was not shown", writepath.ErrStale, id)
		}
	}
	return nil
}

func countOthers(ns acl.Namespace, from mem.ID, but *uuid.UUID, out *int64) queries.Step {
	return func(ctx context.Context, q *queries.Queries) (err error) {
		*out, err = q.CaseOthers(ctx, queries.CaseOthersParams{
			Tenant: ns.Tenant(), Namespace: ns.String(), FromID: uuid.UUID(from), But: but,
		})
		return err
	}
}

// settle adds the steps. What is to be closed in favour of the incoming memory comes first: that
// one may turn out to be a duplicate, and be closed itself. One that comes too late closes nothing.
func (v *Verdict) settle(st *settling, out *conflict.Outcome) {
	in := v.Question.Incoming
	record := func(memory mem.ID, detail *audit.Detail) {
		event := v.Event(memory, detail)
		st.add(appendEvent(&event))
	}
	r := &rivals{}
	if out.Status == mem.StatusActive {
		r = st.rivals(out.With(conflict.Supersede))
	}
	for i := range out.Pairs {
		p := &out.Pairs[i]
		switch p.Action {
		case conflict.Supersede:
			if !r.newer.IsZero() {
				continue
			}
			st.close(p.Candidate, in.ID)
			v.overturn(st, p.Candidate)
			var d audit.Detail
			d.Str("effect", string(conflict.Close)).Str("by", in.ID.String())
			record(p.Candidate, describePair(&d, p))
		case conflict.OpenCase, conflict.Dispute:
			var d audit.Detail
			d.Str("case", p.Candidate.String()).Str("action", string(p.Action))
			event := v.Event(in.ID, describePair(&d, p))
			st.add(openCaseRecorded(in, p, &event))
		case conflict.KeepBoth:
		}
	}
	if v.Note != nil {
		st.add(appendEvent(v.Note))
	}
	var d audit.Detail
	switch out.Status {
	case mem.StatusDisputed:
		st.setStatus(in.ID, mem.StatusDisputed)
		record(in.ID, d.Str("effect", "dispute").Str("reason", string(out.Reason)))
	case mem.StatusActive:
		by := st.activate(in.ID, r)
		for _, beaten := range r.beaten {
			v.overturn(st, beaten)
			var d audit.Detail
			record(beaten, d.Str("effect", string(conflict.Close)).Str("by", in.ID.String()).Str("reason", string(conflict.ReasonReplaces)))
		}
		switch {
		case by.IsZero():
			record(in.ID, d.Str("effect", string(conflict.Activate)).Str("reason", string(out.Reason)))
		case by == r.newer:
			record(in.ID, d.Str("effect", string(conflict.Close)).Str("by", by.String()).Str("reason", "refreshed"))
		default:
			record(in.ID, d.Str("effect", string(conflict.Close)).Str("by", by.String()).Str("reason", "duplicate"))
		}
	case mem.StatusHeld: // it stays so, which is no outcome
	}
	st.add(v.Check.done())
}

// overturn settles the cases about a memory that was closed just now, if it was a person's that it
// was closed in favour of.
func (v *Verdict) overturn(st *settling, victim mem.ID) {
	if in := v.Question.Incoming; in.Provenance == mem.ProvenanceManual {
		st.add(overturn(in.Namespace, victim, in.Actor, v.Now, nil))
	}
}

func describePair(d *audit.Detail, p *conflict.PairOutcome) *audit.Detail {
	d.Str("reason", string(p.Reason))
	if p.Verdict.Relation != conflict.Undecided {
		d.Str("relation", string(p.Verdict.Relation)).Str("basis", string(p.Verdict.Basis)).Int("confidence", int64(p.Verdict.Confidence))
	}
	return d
}

func openCaseRecorded(in *mem.Memory, p *conflict.PairOutcome, e *audit.Event) queries.Step {
	return func(ctx context.Context, q *queries.Queries) error {
		return q.CaseOpen(ctx, queries.CaseOpenParams{
			Tenant: e.Tenant, FromID: uuid.UUID(in.ID), ToID: uuid.UUID(p.Candidate), Namespace: in.Namespace.String(),
			Action: string(p.Action), Reason: string(p.Reason), Relation: string(p.Verdict.Relation),
			Confidence: int16(p.Verdict.Confidence), Basis: string(p.Verdict.Basis), //nolint:gosec // at most 100
			Ts: e.Time, CallID: uuid.UUID(e.Call), Actor: e.Actor, AgentID: e.AgentID, Op: string(e.Op), Detail: e.Detail,
		})
	}
}
