package store

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/queries"
)

// Found is what looking for one memory brought.
type Found struct {
	// Memory is nil if the id is missing or invisible.
	Memory *mem.Memory
	// Hidden reports that the tenant has the id where it is invisible: for the audit log only.
	Hidden bool
}

// Find returns the steps that look for one memory by id, ended or not, or with a non-zero
// asOf for the version of its chain that was believed then. The statements sent are the same
// whether the memory is there, invisible or missing.
func (s *Store) Find(scope acl.Scope, own acl.Namespace, id mem.ID, asOf, now time.Time, out *Found) []queries.Step {
	get := func(ctx context.Context, q *queries.Queries) error {
		rows, err := q.MemoryGet(ctx, queries.MemoryGetParams{
			Tenant: scope.Tenant(), Namespaces: scope.Namespaces(), ID: uuid.UUID(id),
		})
		return keepFound(out, rows, now, err)
	}
	if !asOf.IsZero() {
		get = func(ctx context.Context, q *queries.Queries) error {
			rows, err := q.MemoryGetAsOf(ctx, queries.MemoryGetAsOfParams{
				Tenant: scope.Tenant(), Namespaces: scope.Namespaces(), ID: uuid.UUID(id), AsOf: asOf,
			})
			return keepFound(out, rows, now, err)
		}
	}
	return []queries.Step{get, hidden(scope, own, id, &out.Hidden)}
}

// keepFound keeps the one memory that a query brought, if it did.
func keepFound[R queries.MemoryGetRow | queries.MemoryGetAsOfRow | queries.MemoryReadRecordedRow](
	out *Found, rows []R, now time.Time, err error,
) error {
	out.Memory = nil // an attempt before this one may have found what is not there any more
	if err == nil && len(rows) > 0 {
		row := memoryRow(rows[0])
		m := toMemory(&row, now)
		out.Memory = &m
	}
	return err
}

func hidden(scope acl.Scope, own acl.Namespace, id mem.ID, out *bool) queries.Step {
	return func(ctx context.Context, q *queries.Queries) error {
		ok, err := q.MemoryHidden(ctx, queries.MemoryHiddenParams{
			Tenant: scope.Tenant(), ID: uuid.UUID(id), Namespaces: scope.Namespaces(), Own: own.String(),
		})
		if err == nil {
			*out = ok
		}
		return err
	}
}

// Page is a part of a chain, newest first.
type Page struct {
	Memories []mem.Memory
	// Visible reports that the caller sees the memory asked for, whose page may be empty.
	Visible bool
	// Hidden reports that the tenant has the id where it is invisible: for the audit log only.
	Hidden bool
}

// History returns the steps that read the chain of a visible memory, newest first: at most
// limit rows that are older than the row after of the chain, from the newest for the zero ID.
func (s *Store) History(scope acl.Scope, own acl.Namespace, id, after mem.ID, limit int, now time.Time, out *Page) []queries.Step {
	list := func(ctx context.Context, q *queries.Queries) error {
		rows, err := q.MemoryHistory(ctx, queries.MemoryHistoryParams{
			Tenant: scope.Tenant(), Namespaces: scope.Namespaces(), ID: uuid.UUID(id),
			After: optionalID(after), MaxRows: int32(limit), //nolint:gosec // capped by the kernel
		})
		if err == nil {
			for _, r := range rows {
				row := memoryRow(r)
				out.Memories = append(out.Memories, toMemory(&row, now))
			}
		}
		return err
	}
	visible := func(ctx context.Context, q *queries.Queries) error {
		_, err := q.MemoryTarget(ctx, queries.MemoryTargetParams{Tenant: scope.Tenant(), ID: uuid.UUID(id), Namespaces: scope.Namespaces(), Now: now})
		out.Visible = err == nil
		return noRows(err)
	}
	return []queries.Step{list, visible, hidden(scope, own, id, &out.Hidden)}
}

// Filter narrows a search. The zero Filter is the ordinary search over what is current.
type Filter struct {
	// AsOf asks for what was believed at that time.
	AsOf time.Time
	// Ended includes memories that have ended; AsOf overrules it.
	Ended bool
	// Kinds, when not empty, lists the kinds wanted.
	Kinds []mem.Kind
	// From and To bound the time in the world, inclusive.
	From, To time.Time
	// Now is the present, which has to be set: what has expired by then has ended.
	Now time.Time
}

// IsZero reports whether the filter narrows or widens nothing of what is current now.
func (f *Filter) IsZero() bool {
	return f.AsOf.IsZero() && !f.Ended && len(f.Kinds) == 0 && f.From.IsZero() && f.To.IsZero()
}

// within returns the filter with the time in the world bounded further.
func (f *Filter) within(from, to time.Time) *Filter {
	narrow := *f
	if from.After(f.From) {
		narrow.From = from
	}
	if !to.IsZero() && (f.To.IsZero() || to.Before(f.To)) {
		narrow.To = to
	}
	return &narrow
}

// Serve re-reads memories by id under the caller's scope and the search's filter. What is
// invisible, ended or gone by now is simply not in the result.
func (s *Store) Serve(ctx context.Context, scope acl.Scope, f *Filter, ids []mem.ID) (map[mem.ID]mem.Memory, error) {
	if len(ids) == 0 {
		return map[mem.ID]mem.Memory{}, nil
	}
	rows, err := queries.New(s.conn()).MemoryServe(ctx, queries.MemoryServeParams{
		Tenant: scope.Tenant(), Namespaces: scope.Namespaces(), Ids: idStrings(ids),
		AsOf: optionalTime(f.AsOf), Ended: f.Ended, Now: f.Now, MaxRows: int32(len(ids)), //nolint:gosec // capped by the kernel
	})
	if err != nil {
		return nil, mapErr(err)
	}
	out := make(map[mem.ID]mem.Memory, len(rows))
	for i := range rows {
		m := toMemory(&rows[i], f.Now)
		out[m.ID] = m
	}
	return out, nil
}

// noRows keeps a step's pgx.ErrNoRows from failing the others.
func noRows(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	return err
}
