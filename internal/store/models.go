package store

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/jackc/pgx/v5"

	"github.com/memkernel/memkernel/kernel/model"
	"github.com/memkernel/memkernel/queries"
)

// modelCache remembers the registered id of the kernel's embedding model. Ids never change.
type modelCache struct {
	info model.Info
	id   atomic.Int32
}

// errNoModel reports that the database holds vectors, but none of the kernel's model.
var errNoModel = errors.New("stored vectors are of another embedding model")

// readModelID returns the id of the kernel's embedding model without registering it: a read
// changes nothing. It is 0 if no vector of any model can exist yet, and errNoModel if only
// other models are registered.
func (s *Store) readModelID(ctx context.Context) (int32, error) {
	if id := s.models.id.Load(); id != 0 {
		return id, nil
	}
	info := s.models.info
	var id int32
	var others []queries.EmbeddingModelListRow
	err := s.run(ctx,
		func(ctx context.Context, q *queries.Queries) (err error) {
			id, err = q.EmbeddingModelID(ctx, queries.EmbeddingModelIDParams{Name: info.Name, Revision: info.Revision, Dim: int32(info.Dim)}) //nolint:gosec // bounded by the kernel's options
			return noRows(err)
		},
		func(ctx context.Context, q *queries.Queries) (err error) {
			others, err = q.EmbeddingModelList(ctx)
			return err
		})
	switch {
	case err != nil:
		return 0, err
	case id == 0 && len(others) > 0:
		return 0, errNoModel
	}
	if id != 0 && s.tx == nil {
		s.models.id.Store(id)
	}
	return id, nil
}

// modelID returns the id of the kernel's embedding model, registering it through db if needed.
// It keeps to db: whoever is in a transaction must not wait for another connection.
func (s *Store) modelID(ctx context.Context, db queries.DBTX) (int32, error) {
	if id := s.models.id.Load(); id != 0 {
		return id, nil
	}
	info := s.models.info
	p := queries.EmbeddingModelEnsureParams{Name: info.Name, Revision: info.Revision, Dim: int32(info.Dim)} //nolint:gosec // bounded by the kernel's options
	id, err := queries.New(db).EmbeddingModelEnsure(ctx, p)
	if errors.Is(err, pgx.ErrNoRows) {
		// Another transaction registered it while this statement waited: the next one sees it.
		id, err = queries.New(db).EmbeddingModelEnsure(ctx, p)
	}
	if err != nil {
		return 0, mapErr(staleIfMissing(err))
	}
	// A transaction can still roll the registration back.
	if db == queries.DBTX(s.pool) {
		s.models.id.Store(id)
	}
	return id, nil
}
