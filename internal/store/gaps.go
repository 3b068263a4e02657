package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/queries"
)

// Gap is a memory that was stored without its vector.
type Gap struct {
	Tenant    string
	Memory    mem.ID
	Namespace string
	// Text and Kind are empty if the memory was erased.
	Text string
	Kind mem.Kind
	// Classification says where the text may go, and nothing else.
	Classification mem.Classification
	// Attempts counts how often the model has failed at it since.
	Attempts int
}

// Gaps returns what is to be embedded by now, of all tenants that are served: for the kernel's
// own worker, which must show none of it to anybody but the model, and to that only what may go
// there.
func (s *Store) Gaps(ctx context.Context, now time.Time, limit int) ([]Gap, error) {
	rows, err := queries.New(s.conn()).GapList(ctx, queries.GapListParams{Now: now, MaxRows: int32(limit)}) //nolint:gosec // a constant
	if err != nil {
		return nil, mapErr(err)
	}
	out := make([]Gap, len(rows))
	for i, r := range rows {
		out[i] = Gap{
			Tenant: r.Tenant, Memory: mem.ID(r.MemoryID), Namespace: r.Namespace, Text: r.Text, Kind: mem.Kind(r.Kind),
			Attempts:       int(r.Attempts),
			Classification: mem.Classification{Destinations: fromStrings[mem.Destination](r.Destinations)},
		}
	}
	return out, nil
}

// FillGap stores the vector of a memory and closes its gap; the nil vector, of a text in which
// the model sees nothing, only closes it. What has ended or was erased meanwhile stays so. A memory
// that has got a vector is checked anew, since words alone may not have shown what it contradicts.
func (s *Store) FillGap(ctx context.Context, g *Gap, embedding []float32, now time.Time) error {
	return s.inTx(ctx, func(tx pgx.Tx) error {
		var steps []queries.Step
		if embedding != nil {
			model, err := s.modelID(ctx, tx)
			if err != nil {
				return err
			}
			steps = append(steps, func(ctx context.Context, q *queries.Queries) error {
				return q.GapFill(ctx, queries.GapFillParams{
					Tenant: g.Tenant, MemoryID: uuid.UUID(g.Memory), Namespace: g.Namespace, Model: model,
					Dim: int32(len(embedding)), Embedding: embedding, //nolint:gosec // bounded by the kernel's options
				})
			})
			if g.Kind != mem.KindRaw {
				steps = append(steps, markCheck(g.Tenant, g.Namespace, g.Memory, now))
			}
		}
		steps = append(steps, func(ctx context.Context, q *queries.Queries) error {
			return q.GapClose(ctx, queries.GapCloseParams{Tenant: g.Tenant, MemoryID: uuid.UUID(g.Memory)})
		})
		return mapErr(queries.Pipeline(ctx, tx, steps...))
	})
}

// DeferGap counts a failure of the model and leaves the gap alone until a time.
func (s *Store) DeferGap(ctx context.Context, g *Gap, until time.Time) error {
	return mapErr(queries.New(s.conn()).GapDefer(ctx, queries.GapDeferParams{Tenant: g.Tenant, MemoryID: uuid.UUID(g.Memory), DueAt: until}))
}
