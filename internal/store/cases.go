package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/audit"
	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/queries"
	"github.com/memkernel/memkernel/writepath/conflict"
)

// Case is a contradiction with what was said of it.
type Case struct {
	conflict.Case

	Verdict  conflict.Verdict
	OpenedAt time.Time
	// ResolvedAt and ResolvedBy are zero for an open case.
	ResolvedAt time.Time
	ResolvedBy string
}

// CaseFilter selects a page of cases.
type CaseFilter struct {
	// Root is the subtree.
	Root  acl.Namespace
	State conflict.State
	// AfterFrom and AfterTo are the last case of the page before, zero for none.
	AfterFrom, AfterTo mem.ID
	Limit              int
}

// Cases returns the step that reads a page of the cases of a subtree.
func (s *Store) Cases(f *CaseFilter, out *[]Case) queries.Step {
	exact, from, to := f.Root.Range()
	p := queries.CaseListParams{
		Tenant: f.Root.Tenant(), State: string(f.State), Subtree: exact, SubtreeFrom: from, SubtreeTo: to,
		AfterFrom: uuid.UUID(f.AfterFrom), AfterTo: uuid.UUID(f.AfterTo), MaxRows: int32(f.Limit), //nolint:gosec // capped by the kernel
	}
	return func(ctx context.Context, q *queries.Queries) error {
		rows, err := q.CaseList(ctx, p)
		*out = nil
		for _, r := range rows {
			*out = append(*out, Case{
				Case: conflict.Case{
					Namespace: namespaceOf(r.Namespace), From: mem.ID(r.FromID), To: mem.ID(r.ToID), State: conflict.State(r.State),
					Action: conflict.Action(r.Action), Reason: conflict.Reason(r.Reason),
				},
				Verdict: conflict.Verdict{
					Relation: conflict.Relation(r.Relation), Confidence: int(r.Confidence), Basis: conflict.Basis(r.Basis),
				},
				OpenedAt: r.OpenedAt.UTC(), ResolvedAt: utc(r.ResolvedAt), ResolvedBy: value(r.ResolvedBy),
			})
		}
		return err
	}
}

// CaseMemories reads the memories of cases as they are now, whatever their status, as far as they
// lie in a subtree.
func (s *Store) CaseMemories(ctx context.Context, root acl.Namespace, cases []Case, now time.Time) (map[mem.ID]mem.Memory, error) {
	if len(cases) == 0 {
		return nil, nil
	}
	var ids []mem.ID
	for i := range cases {
		ids = append(ids, cases[i].From, cases[i].To)
	}
	exact, from, to := root.Range()
	rows, err := queries.New(s.conn()).CaseMemoryMany(ctx, queries.CaseMemoryManyParams{
		Tenant: root.Tenant(), Ids: idStrings(ids), Subtree: exact, SubtreeFrom: from, SubtreeTo: to,
		MaxRows: int32(len(ids)), //nolint:gosec // capped by the kernel
	})
	if err != nil {
		return nil, mapErr(err)
	}
	out := make(map[mem.ID]mem.Memory, len(rows))
	for i := range rows {
		row := memoryRow(rows[i])
		m := toMemory(&row, now)
		out[m.ID] = m
	}
	return out, nil
}

// FoundCase is what looking for a case in a subtree brought.
type FoundCase struct {
	// Namespace is the zero Namespace if it was not found.
	Namespace acl.Namespace
	// Hidden reports that the tenant has it elsewhere: for the audit log only.
	Hidden bool
}

// FindCase returns the steps that look for a case in a subtree, the same ones whether it is there
// or not.
func (s *Store) FindCase(root acl.Namespace, from, to mem.ID, out *FoundCase) []queries.Step {
	exact, first, end := root.Range()
	p := queries.CaseFindParams{
		Tenant: root.Tenant(), FromID: uuid.UUID(from), ToID: uuid.UUID(to), Subtree: exact, SubtreeFrom: first, SubtreeTo: end,
	}
	return []queries.Step{
		func(ctx context.Context, q *queries.Queries) error {
			ns, err := q.CaseFind(ctx, p)
			out.Namespace = acl.Namespace{}
			if err == nil {
				out.Namespace = namespaceOf(ns)
			}
			return noRows(err)
		},
		func(ctx context.Context, q *queries.Queries) error {
			hidden, err := q.CaseHidden(ctx, queries.CaseHiddenParams(p))
			if err == nil {
				out.Hidden = hidden
			}
			return err
		},
	}
}

// Decision is what a person decided about a case.
type Decision struct {
	Namespace acl.Namespace
	From, To  mem.ID
	Now       time.Time
	Actor     string
	// Settle turns the case, as it is, into what it comes to, and Event makes the audit row of
	// what is changed.
	Settle func(c *conflict.Case, now conflict.Sides) (conflict.Settlement, error)
	Event  func(changes []conflict.Change) audit.Event
}

// ResolveCase carries a decision out, all of it or nothing, and returns what was changed: a
// memory that was to be activated and has become a duplicate is closed, and so is what it takes the
// place of. If there is nothing to change there is no audit row. writepath.ErrStale reports a lost
// race, mem.ErrNotFound that the case is gone.
func (s *Store) ResolveCase(ctx context.Context, d *Decision) (conflict.Settlement, error) {
	var settled conflict.Settlement
	err := s.inTx(ctx, func(tx pgx.Tx) error {
		var others int64
		to := uuid.UUID(d.To)
		st, err := lockSettling(ctx, tx, d.Namespace, d.Now, []mem.ID{d.From, d.To}, d.From, countOthers(d.Namespace, d.From, &to, &others))
		if err != nil {
			return err
		}
		q := queries.New(tx)
		row, err := q.CaseLock(ctx, queries.CaseLockParams{
			Tenant: st.tenant, FromID: uuid.UUID(d.From), ToID: uuid.UUID(d.To), Namespace: st.ns,
		})
		if errors.Is(err, pgx.ErrNoRows) {
			return mem.ErrNotFound
		}
		if err != nil {
			return mapErr(err)
		}
		c := &conflict.Case{
			Namespace: d.Namespace, From: d.From, To: d.To, State: conflict.State(row.State),
			Action: conflict.Action(row.Action), Reason: conflict.Reason(row.Reason),
		}
		sides := conflict.Sides{From: st.side(d.Namespace, d.From), To: st.side(d.Namespace, d.To), Others: int(others)}
		settled, err = d.Settle(c, sides)
		if err != nil || settled.Already {
			return err
		}
		if settled.Changes, err = st.apply(&settled, d.To); err != nil {
			return err
		}
		st.add(func(ctx context.Context, q *queries.Queries) error {
			_, err := q.CaseDecide(ctx, queries.CaseDecideParams{
				State: string(settled.State), ResolvedAt: &d.Now, ResolvedBy: d.Actor, Tenant: st.tenant, FromID: uuid.UUID(d.From),
				ToID: uuid.UUID(d.To), Namespace: st.ns,
			})
			return err
		})
		event := d.Event(settled.Changes)
		st.add(appendEvent(&event))
		return st.run(ctx, tx)
	})
	return settled, err
}

// side describes a locked memory as far as a decision about its case needs it, nil if it is gone.
func (s *settling) side(ns acl.Namespace, id mem.ID) *mem.Memory {
	row, ok := s.rows[id]
	if !ok {
		return nil
	}
	m := &mem.Memory{ID: id, Namespace: ns, Status: row.status}
	if !row.current {
		m.ValidTo = s.now // when does not matter
	}
	return m
}

// apply adds the steps of what a decision came to, and returns what they do. mem.ErrConflict reports
// that another memory has taken the place of the one that is to be activated, or could not stand beside
// it.
func (s *settling) apply(settled *conflict.Settlement, to mem.ID) ([]conflict.Change, error) {
	var closing []mem.ID
	for _, c := range settled.Changes {
		if c.Effect == conflict.Close {
			closing = append(closing, c.Memory)
		}
	}
	r := s.rivals(closing)
	var done []conflict.Change
	var ended mem.ID
	for _, c := range settled.Changes {
		switch c.Effect {
		case conflict.Activate:
			switch {
			case !r.newer.IsZero():
				return nil, fmt.Errorf("%w: memory %s is newer and about the same thing", mem.ErrConflict, r.newer)
			case settled.State == conflict.Coexist && slices.Contains(r.beaten, to):
				return nil, fmt.Errorf("%w: of two memories about the same thing one stands", mem.ErrConflict)
			}
			for _, beaten := range r.beaten {
				done = append(done, conflict.Change{Effect: conflict.Close, Memory: beaten, By: c.Memory})
			}
			if by := s.activate(c.Memory, r); !by.IsZero() {
				ended, c = c.Memory, conflict.Change{Effect: conflict.Close, Memory: c.Memory, By: by}
			}
		case conflict.Close:
			s.close(c.Memory, c.By)
		case conflict.Withdraw:
			s.withdraw(c.Memory)
		case conflict.Recheck:
			if c.Memory == ended {
				continue
			}
			s.add(markCheck(s.tenant, s.ns, c.Memory, s.now))
		}
		done = append(done, c)
	}
	return done, nil
}

// OpenCases returns the step that counts the open cases of a subtree.
func (s *Store) OpenCases(root acl.Namespace, out *int64) queries.Step {
	exact, from, to := root.Range()
	return func(ctx context.Context, q *queries.Queries) error {
		n, err := q.CaseStats(ctx, queries.CaseStatsParams{Tenant: root.Tenant(), Subtree: exact, SubtreeFrom: from, SubtreeTo: to})
		if err == nil {
			*out = n
		}
		return err
	}
}
