// Package store is the only translator between database rows and the value types of
// kernel/mem, and holds the only implementation of driver.ScopedView. It knows how things
// are kept, not whether they may be: every method that reads memories takes an acl.Scope, or
// the identity that it belongs to, and there must never be one that reads them without.
package store

import (
	"cmp"
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/kernel/model"
	"github.com/memkernel/memkernel/queries"
)

// Store reads and writes through a pool or, after WithTx, through a host's transaction.
// It is safe for concurrent use unless it is bound to a transaction.
type Store struct {
	pool     *pgxpool.Pool
	config   *pgxpool.Config
	tx       pgx.Tx
	models   *modelCache
	appender *appender
	// answers commits rows that are added by what answers their calls. It has places of its
	// own: what it reads may be locked, and a denial must not wait for that.
	answers *appender
	known   *known
}

// New returns a Store on a pool. It does no I/O.
func New(pool *pgxpool.Pool, embedder model.Info, opts AppendOptions) *Store {
	return &Store{
		pool:     pool,
		config:   pool.Config(),
		models:   &modelCache{info: embedder},
		appender: newAppender(pool, opts),
		answers:  newAppender(pool, opts),
		known:    newKnown(),
	}
}

// WithTx returns a Store whose writes join tx.
func (s *Store) WithTx(tx pgx.Tx) *Store {
	bound := *s
	bound.tx = tx
	return &bound
}

// InTx reports whether the Store is bound to a host's transaction.
func (s *Store) InTx() bool { return s.tx != nil }

// conn is what pools and transactions have in common.
type conn interface {
	queries.DBTX
	queries.BatchSender
	Begin(ctx context.Context) (pgx.Tx, error)
}

func (s *Store) conn() conn {
	if s.tx != nil {
		return s.tx
	}
	return s.pool
}

// run sends the steps, if there are any, in one round trip. Outside a host's transaction they
// are atomic.
func (s *Store) run(ctx context.Context, steps ...queries.Step) error {
	if len(steps) == 0 {
		return nil
	}
	return mapErr(queries.Pipeline(ctx, s.conn(), steps...))
}

// Ahead is what is read before it is known to be needed. Steps and what With returns run in one
// round trip, and Beside, which may take long, at the same time on a connection of its own if
// one is free. With may take long too; nil returns nothing.
type Ahead struct {
	Steps, Beside []queries.Step
	With          func() []queries.Step

	first queries.Step
}

// Fetch runs the steps. It holds no connection while it waits for another.
func (s *Store) Fetch(ctx context.Context, a Ahead) (err error) {
	with := func() []queries.Step {
		var steps []queries.Step
		if a.first != nil {
			steps = append(steps, a.first)
		}
		steps = append(steps, a.Steps...)
		if a.With != nil {
			steps = append(steps, a.With()...)
		}
		return steps
	}
	if len(a.Beside) == 0 {
		return s.run(ctx, with()...)
	}
	if !s.twoFree() {
		return s.run(ctx, append(with(), a.Beside...)...)
	}
	other := make(chan error, 1)
	go func() {
		defer func() {
			// Nobody else would catch it on this goroutine.
			if r := recover(); r != nil {
				other <- fmt.Errorf("%w: panic while reading: %T", mem.ErrInternal, r)
			}
		}()
		other <- s.run(ctx, a.Beside...)
	}()
	// Waited for on the way out of a panic too: the other goroutine writes what the caller owns.
	defer func() { err = cmp.Or(err, <-other) }()
	return s.run(ctx, with()...)
}

// twoFree reports whether two connections can be had at once, as far as can be told.
func (s *Store) twoFree() bool {
	if s.tx != nil {
		return false
	}
	stat := s.pool.Stat()
	return stat.MaxConns()-stat.AcquiredConns() >= 2
}

// atomic is run for steps that change something: inside a host's transaction a savepoint
// keeps a failed attempt from aborting all of it.
func (s *Store) atomic(ctx context.Context, steps ...queries.Step) error {
	if s.tx == nil {
		return s.run(ctx, steps...)
	}
	return s.inTx(ctx, func(tx pgx.Tx) error { return mapErr(queries.Pipeline(ctx, tx, steps...)) })
}

// inTx runs fn in a transaction, or in a savepoint of the host's.
func (s *Store) inTx(ctx context.Context, fn func(tx pgx.Tx) error) error {
	tx, err := s.conn().Begin(ctx)
	if err != nil {
		return mapErr(err)
	}
	// Detached, and also when fn panics: a call that is over must give its connection back in
	// order. After a commit it does nothing.
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	if err := fn(tx); err != nil {
		return err
	}
	return mapErr(tx.Commit(ctx))
}

// Ping asks the database for its schema, the pgvector version and the registered models.
func (s *Store) Ping(ctx context.Context) (pgvector string, registered []model.Info, err error) {
	if err := queries.CheckSchema(ctx, s.conn()); err != nil {
		return "", nil, fmt.Errorf("schema: %w", err)
	}
	q := queries.New(s.conn())
	extension, err := q.VectorExtension(ctx)
	if err != nil {
		return "", nil, mapErr(err)
	}
	if extension.Version != "" && !extension.Visible {
		return "", nil, fmt.Errorf("%w: the schema of extension vector is not on the search path", mem.ErrUnavailable)
	}
	rows, err := q.EmbeddingModelList(ctx)
	if err != nil {
		return "", nil, mapErr(err)
	}
	for _, r := range rows {
		registered = append(registered, model.Info{Name: r.Name, Revision: r.Revision, Dim: int(r.Dim)})
	}
	return extension.Version, registered, nil
}
