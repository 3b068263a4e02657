package kernel

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/memkernel/memkernel/kernel/embedded"
)

// OpenDefault opens a kernel with no preparation: on the server that the environment variable
// DATABASE_URL names, or else on a private Postgres of the current user, which it starts, and
// builds first if the machine has none (see package embedded; its progress goes to standard
// error). It migrates the database, checks it and starts the background work. Close undoes all of it; the data stays.
// If any of it fails, what was started is stopped again.
//
// Only one process at a time can own the private Postgres; a second one fails with an error
// that names the first one's process id.
func OpenDefault(ctx context.Context, opts ...Option) (*Kernel, error) {
	release := &releaser{}
	k, err := openDefault(ctx, release, opts)
	if err != nil {
		return nil, errors.Join(err, release.run(context.WithoutCancel(ctx)))
	}
	k.release = release
	return k, nil
}

func openDefault(ctx context.Context, release *releaser, opts []Option) (*Kernel, error) {
	// Before anything is started for options that are no good.
	if _, err := configure(opts); err != nil {
		return nil, err
	}
	url := os.Getenv("DATABASE_URL")
	if url == "" {
		server, err := embedded.Start(ctx, embedded.Config{})
		if err != nil {
			return nil, fmt.Errorf("private Postgres: %w", err)
		}
		release.add(server.Close)
		url = server.ConnString()
	}
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	release.add(func(ctx context.Context) error { return closePool(ctx, pool) })
	if err := Migrate(ctx, pool); err != nil {
		return nil, err
	}
	k, err := Open(pool, opts...)
	if err != nil {
		return nil, err
	}
	if err := k.Ready(ctx); err != nil {
		return nil, err
	}
	release.add(k.jobs.Stop)
	return k, k.Start(ctx)
}

// closePool closes a pool, which waits for every connection in use, but not past ctx.
func closePool(ctx context.Context, pool *pgxpool.Pool) error {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		pool.Close()
	}()
	select {
	case <-closed:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("close pool: connections are in use: %w", ctx.Err())
	}
}

// releaser undoes steps in reverse order, once.
type releaser struct {
	mu    sync.Mutex
	steps []func(context.Context) error
}

func (r *releaser) add(step func(context.Context) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.steps = append(r.steps, step)
}

func (r *releaser) run(ctx context.Context) error {
	r.mu.Lock()
	steps := r.steps
	r.steps = nil
	r.mu.Unlock()
	var errs []error
	for i := len(steps) - 1; i >= 0; i-- {
		errs = append(errs, steps[i](ctx))
	}
	return errors.Join(errs...)
}
