package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/queries"
)

// Expired is a namespace with memories that have expired and whose end is not on record.
type Expired struct {
	tenant, namespace string
	place             place
}

// Expired lists such namespaces, of all tenants, at most limit: for the kernel's own worker.
func (s *Store) Expired(ctx context.Context, now time.Time, limit int) ([]Expired, error) {
	rows, err := queries.New(s.conn()).ExpiryNamespaceList(ctx, queries.ExpiryNamespaceListParams{
		Now: now, MaxRows: int32(limit), //nolint:gosec // a constant
	})
	if err != nil {
		return nil, mapErr(err)
	}
	out := make([]Expired, len(rows))
	for i, r := range rows {
		out[i] = Expired{tenant: r.Tenant, namespace: r.Path, place: place{ID: r.ID, TenantID: r.TenantID}}
	}
	return out, nil
}

// StampExpired puts the end of at most limit memories of a namespace that have expired by now on
// record, and takes them out of what the retrieval arms search. It returns how many there were
// that nobody else was at. It changes no answer: what has expired has ended for every query.
func (s *Store) StampExpired(ctx context.Context, in *Expired, now time.Time, limit int) (stamped int, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		due, err := queries.New(tx).ExpiryList(ctx, queries.ExpiryListParams{
			Tenant: in.tenant, Namespace: in.namespace, Now: now, MaxRows: int32(limit), //nolint:gosec // a constant
		})
		if err != nil || len(due) == 0 {
			return mapErr(err)
		}
		// The counters come last: writers of the namespace queue behind them.
		var steps []queries.Step
		var counted []mem.ID
		for i := range due {
			steps = append(steps, expire(in.tenant, in.namespace, in.place, mem.ID(due[i].ID), now)...)
			if due[i].Counted {
				counted = append(counted, mem.ID(due[i].ID))
			}
		}
		stamped = len(due)
		return mapErr(queries.Pipeline(ctx, tx, append(steps, bumpNamespace(in.tenant, in.namespace, 0, 0, counted...))...))
	})
	if err != nil {
		return 0, err
	}
	return stamped, nil
}

// expire puts the end of a memory that has expired on record. writepath.ErrStale reports that it
// is there, or that the memory has not expired.
func expire(tenant, namespace string, at place, id mem.ID, now time.Time) []queries.Step {
	stamp := func(ctx context.Context, q *queries.Queries) error {
		_, err := q.MemoryExpire(ctx, queries.MemoryExpireParams{Tenant: tenant, ID: uuid.UUID(id), Namespace: namespace, Now: now})
		return err
	}
	return append([]queries.Step{stamp}, closeArms(tenant, namespace, at, id)...)
}
