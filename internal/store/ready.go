package store

import (
	"errors"
	"slices"

	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/queries"
)

// ReadyErr turns an error of Ping into one of package mem's, unless it says what is wrong with
// the schema. It is not for callers: it says all there is to say.
func ReadyErr(err error) error {
	known := []error{
		queries.ErrSchemaMissing, queries.ErrSchemaNewer, queries.ErrSchemaEdited, queries.ErrEncoding, mem.ErrInternal, mem.ErrUnavailable,
	}
	if slices.ContainsFunc(known, func(target error) bool { return errors.Is(err, target) }) {
		return detailed{err}
	}
	return detailed{mapErr(err)}
}

// Reached turns an error of what runs on the same pool into one of package mem's, for the host.
func (s *Store) Reached(err error) error {
	if err == nil {
		return nil
	}
	return detailed{mapErr(err)}
}

// detailed is an error for the host alone.
type detailed struct{ error }

func (d detailed) Error() string { return Detail(d.error) }

func (d detailed) Unwrap() error { return d.error }
