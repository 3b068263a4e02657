package queries

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Loan lets a library that sends statements of its own, River, send one as a step of a
// pipeline, instead of in a transaction that takes four round trips. It is for one pipeline.
type Loan struct {
	config *pgxpool.Config
	later  []statement
}

type statement struct {
	sql  string
	args []any
}

// NewLoan returns a loan for a pipeline on a pool with that configuration.
func NewLoan(config *pgxpool.Config) *Loan { return &Loan{config: config} }

// Step returns the step in which fn has the library send its statement through tx, which knows
// nothing but Exec, Query and QueryRow. fn runs twice, like any step. What the library sends
// after its first statement waits for Settle: it must be what can be done without.
func (l *Loan) Step(fn func(ctx context.Context, tx pgx.Tx) error) Step {
	return func(ctx context.Context, q *Queries) error {
		l.later = nil
		return fn(ctx, &borrowed{db: q.db, loan: l})
	}
}

// Settle sends what was left for after the pipeline, each on its own.
func (l *Loan) Settle(ctx context.Context, db DBTX) error {
	var errs []error
	for _, s := range l.later {
		if _, err := db.Exec(ctx, s.sql, s.args...); err != nil {
			errs = append(errs, fmt.Errorf("after the pipeline: %w", err))
		}
	}
	l.later = nil
	return errors.Join(errs...)
}

// borrowed is the transaction that a pipeline outside of one is, as far as it goes.
type borrowed struct {
	pgx.Tx // nil: what is not below is not to be had

	db   DBTX
	loan *Loan
	used bool
}

// Config tells in which mode statements are sent.
func (b *borrowed) Config() *pgxpool.Config { return b.loan.config }

// Exec implements pgx.Tx.
func (b *borrowed) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	if b.used {
		b.loan.later = append(b.loan.later, statement{sql, args})
		return pgconn.CommandTag{}, nil
	}
	b.used = true
	return b.db.Exec(ctx, sql, args...)
}

// Query implements pgx.Tx.
func (b *borrowed) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	b.used = true
	return b.db.Query(ctx, sql, args...)
}

// QueryRow implements pgx.Tx.
func (b *borrowed) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	b.used = true
	return b.db.QueryRow(ctx, sql, args...)
}
