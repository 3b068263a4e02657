package store

import (
	"errors"
	"slices"

	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/queries"
)

// ReadyErr turns an error of Ping into one of package mem's, unless it says what is wrong with
// the schema.
func ReadyErr(err error) error {
	known := []error{
		queries.ErrSchemaMissing, queries.ErrSchemaNewer, queries.ErrSchemaEdited, queries.ErrEncoding, mem.ErrInternal, mem.ErrUnavailable,
	}
	if slices.ContainsFunc(known, func(target error) bool { return errors.Is(err, target) }) {
		return err
	}
	return mapErr(err)
}

// Reached turns an error of what runs on the same pool into one of package mem's.
func (s *Store) Reached(err error) error { return mapErr(err) }
