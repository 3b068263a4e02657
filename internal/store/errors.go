package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/writepath"
)

// SQLSTATEs that mean something to us; the MK class is our own, raised by the guards.
const (
	stateExpect       = "MK001"
	stateUnique       = "23505"
	stateSerialize    = "40001"
	stateDeadlock     = "40P01"
	statePlanChanged  = "0A000"
	stateNoStatement  = "26000"
	stateUntranslated = "22021"
	stateCanceled     = "57014"
)

// mapErr turns a database error into one of package mem's, or into writepath.ErrStale when
// the transaction lost a race and can be decided anew. Every path out of the store goes
// through it. pgx.ErrNoRows stays as it is for the caller to interpret.
func mapErr(err error) error {
	var pg *pgconn.PgError
	var connect *pgconn.ConnectError
	switch {
	case err == nil, errors.Is(err, pgx.ErrNoRows), errors.Is(err, mem.ErrUnavailable), errors.Is(err, writepath.ErrStale):
		return err
	case errors.As(err, &pg):
		return mapState(pg, err)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.As(err, &connect), pgconn.SafeToRetry(err), isConnectionError(err):
		return fmt.Errorf("%w: %w", mem.ErrUnavailable, err)
	default:
		return fmt.Errorf("%w: %w", mem.ErrInternal, err)
	}
}

func mapState(pg *pgconn.PgError, err error) error {
	switch pg.Code {
	case stateExpect, stateSerialize, stateDeadlock, statePlanChanged, stateNoStatement:
		return fmt.Errorf("%w: %w", writepath.ErrStale, err)
	case stateUnique:
		// Only races reach a unique index: what is taken for good is looked up first.
		return fmt.Errorf("%w: %w", writepath.ErrStale, err)
	case stateUntranslated:
		return fmt.Errorf("%w: %w", &mem.InvalidError{Field: "text", Reason: "the database's encoding cannot hold it"}, err)
	case stateCanceled:
		return fmt.Errorf("%w: %w", context.Canceled, err)
	}
	switch pg.Code[:2] {
	case "08", "53", "57": // connection, resources, operator intervention
		return fmt.Errorf("%w: %w", mem.ErrUnavailable, err)
	}
	return fmt.Errorf("%w: %w", mem.ErrInternal, err)
}

// isConnectionError recognises a connection that broke in mid-flight: pgconn reports it as
// an I/O error without a type of its own.
func isConnectionError(err error) bool {
	var netErr interface{ Timeout() bool }
	if errors.As(err, &netErr) {
		return true
	}
	for _, sign := range []string{"EOF", "conn closed", "closed pool", "broken pipe", "connection reset"} {
		if strings.Contains(err.Error(), sign) {
			return true
		}
	}
	return false
}
