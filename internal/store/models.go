package store

import (
	"context"
	"sync/atomic"

	"github.com/memkernel/memkernel/kernel/model"
	"github.com/memkernel/memkernel/queries"
)

// modelCache remembers the registered id of the kernel's embedding model. Ids never change.
type modelCache struct {
	info model.Info
	id   atomic.Int32
}

// modelID returns the id of the kernel's embedding model, registering it if needed.
func (s *Store) modelID(ctx context.Context) (int32, error) {
	if id := s.models.id.Load(); id != 0 {
		return id, nil
	}
	info := s.models.info
	id, err := queries.New(s.conn()).EmbeddingModelEnsure(ctx, queries.EmbeddingModelEnsureParams{
		Name: info.Name, Revision: info.Revision, Dim: int32(info.Dim), //nolint:gosec // bounded by the kernel's options
	})
	if err != nil {
		return 0, mapErr(err)
	}
	// A host's transaction can still roll the registration back.
	if s.tx == nil {
		s.models.id.Store(id)
	}
	return id, nil
}
