package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/puddle/v2"

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
	stateBadEncoding  = "22021"
	stateUntranslated = "22P05"
	stateLockTimeout  = "55P03"
	stateReadOnly     = "25006"
)

// fault is an error of the database. What it says is for every caller; its cause, which may name
// users, addresses and tables, is for the host: see Detail.
type fault struct {
	kind  error
	text  string
	cause error
}

func (f *fault) Error() string { return f.kind.Error() + f.text }

func (f *fault) Unwrap() []error { return []error{f.kind, f.cause} }

// Detail returns what is to be logged of an error: all of it.
func Detail(err error) string {
	var f *fault
	if errors.As(err, &f) {
		return err.Error() + ": " + f.cause.Error()
	}
	return err.Error()
}

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
		return &fault{kind: mem.ErrUnavailable, text: ": the database is out of reach", cause: err}
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
	case stateBadEncoding, stateUntranslated:
		return &fault{kind: &mem.InvalidError{Field: "text", Reason: "the database's encoding cannot hold it"}, cause: err}
	case stateLockTimeout, stateReadOnly:
		// A server that does not let us is as good as out of reach: a standby after a
		// failover, a lock held too long.
		return &fault{kind: mem.ErrUnavailable, text: ": the database does not take writes now", cause: err}
	}
	switch pg.Code[:2] {
	case "08", "53", "57": // connection, resources, operator intervention
		return &fault{kind: mem.ErrUnavailable, text: ": the database cannot serve now", cause: err}
	}
	return fmt.Errorf("%w: %w", mem.ErrInternal, err)
}

// isConnectionError recognises a connection that broke in mid-flight, which pgconn reports as
// the I/O error it met, and a pool that was closed.
func isConnectionError(err error) bool {
	var netErr net.Error
	if errors.As(err, &netErr) {
		return true
	}
	for _, sign := range []error{
		io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, syscall.EPIPE, syscall.ECONNRESET, puddle.ErrClosedPool, pgx.ErrTxClosed,
	} {
		if errors.Is(err, sign) {
			return true
		}
	}
	return false
}
