// Package pgtest gives each test a PostgreSQL database of its own.
//
// All test binaries of a user share one private server, started by the first of them that
// needs it and stopped when the last one ends, however it ends. Its files stay in the
// temporary directory, so that the next run starts in a fraction of a second. A database is a copy of a
// template that has been migrated once; a copy takes some 15 ms. The server does not fsync:
// tests of crashes and durability start their own with package embedded.
//
// With [EnvURL] set, that server is used instead, and nothing is started. The role must be
// allowed to create databases and the vector extension.
//
// The server belongs to a process of its own, a second instance of the test binary that
// started it: importing this package makes a binary able to become that process, before
// main and before the package's own tests. See host.go.
package pgtest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/memkernel/memkernel/queries"
)

// Environment variables that this package reads.
const (
	// EnvURL names the connection string of a server to use instead of starting one.
	EnvURL = "MEMKERNEL_TEST_DATABASE_URL"
	// EnvMaxConns is the pool size of tests that do not choose one. CI runs the suite with 1,
	// which finds code that takes a second connection while it holds one.
	EnvMaxConns = "MEMKERNEL_TEST_MAX_CONNS"
	// EnvExecMode is the pgx exec mode of tests that do not choose one, for example "exec" or
	// "simple_protocol".
	EnvExecMode = "MEMKERNEL_TEST_EXEC_MODE"
	// EnvDir names the directory of the shared server, for tests that need one of their own.
	EnvDir = "MEMKERNEL_PGTEST_DIR"
)

type options struct {
	maxConns int32
	execMode *pgx.QueryExecMode
}

// Option changes how a pool is opened.
type Option func(*options)

// WithMaxConns sets the size of the pool.
func WithMaxConns(n int32) Option { return func(o *options) { o.maxConns = n } }

// WithExecMode sets the pool's default exec mode.
func WithExecMode(mode pgx.QueryExecMode) Option { return func(o *options) { o.execMode = &mode } }

// Open returns a pool on a new database with all migrations applied. At the end of the test
// the pool is closed and the database dropped; a connection the test has not given back by
// then fails it. It ends the test if there is no server. It may be called concurrently and
// repeatedly; each call makes another database.
func Open(tb testing.TB, opts ...Option) *pgxpool.Pool {
	tb.Helper()
	return openPool(tb, createMigrated(tb), opts)
}

// OpenEmpty is like Open, with a database that holds nothing, no extension either.
func OpenEmpty(tb testing.TB, opts ...Option) *pgxpool.Pool {
	tb.Helper()
	return openPool(tb, create(tb, "template0"), opts)
}

// ConnString returns the connection string of a new database with all migrations applied,
// which is dropped at the end of the test.
func ConnString(tb testing.TB) string {
	tb.Helper()
	return createMigrated(tb)
}

// ConnStringEmpty is like ConnString, with a database that holds nothing.
func ConnStringEmpty(tb testing.TB) string {
	tb.Helper()
	return create(tb, "template0")
}

func createMigrated(tb testing.TB) string {
	tb.Helper()
	template, err := process.template(tb.Context())
	if err != nil {
		tb.Fatalf("pgtest: %v", err)
	}
	return create(tb, template)
}

const (
	databasePrefix = "memkernel_test_"
	templatePrefix = "memkernel_template_"
	// cleanupTimeout bounds what runs after a test, when its context is done.
	cleanupTimeout = 30 * time.Second
)

// create makes a database from template and returns its connection string.
func create(tb testing.TB, template string) string {
	tb.Helper()
	server, err := process.server(tb.Context())
	if err != nil {
		tb.Fatalf("pgtest: %v", err)
	}
	name := newName()
	err = withConn(tb.Context(), server, func(ctx context.Context, conn *pgx.Conn) error {
		return queries.DatabaseCreate(ctx, conn, name, template)
	})
	if err != nil {
		tb.Fatalf("pgtest: %v", err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), cleanupTimeout)
		defer cancel()
		err := withConn(ctx, server, func(ctx context.Context, conn *pgx.Conn) error {
			return drop(ctx, conn, name)
		})
		if err != nil {
			tb.Errorf("pgtest: %v", err)
		}
	})
	return withDatabase(server, name)
}

// drop gives clients that have just been closed a moment to leave, then drops the database
// whoever is left.
func drop(ctx context.Context, conn *pgx.Conn, name string) error {
	for range 50 {
		inUse, err := queries.DatabaseInUse(ctx, conn, name)
		if err != nil {
			return err
		}
		if !inUse {
			break
		}
		if err := pause(ctx, 2*time.Millisecond); err != nil {
			return err
		}
	}
	return queries.DatabaseDrop(ctx, conn, name)
}

// newName contains the process id only for people who look at the server.
func newName() string {
	random := make([]byte, 6)
	_, _ = rand.Read(random) // never fails
	return databasePrefix + strconv.Itoa(os.Getpid()) + "_" + hex.EncodeToString(random)
}

func openPool(tb testing.TB, url string, opts []Option) *pgxpool.Pool {
	tb.Helper()
	config, err := poolConfig(url, opts)
	if err != nil {
		tb.Fatalf("pgtest: %v", err)
	}
	pool, err := pgxpool.NewWithConfig(tb.Context(), config)
	if err != nil {
		tb.Fatalf("pgtest: open pool: %v", err)
	}
	tb.Cleanup(func() {
		closed := make(chan struct{})
		go func() {
			pool.Close() // waits for every connection
			close(closed)
		}()
		t := time.NewTimer(cleanupTimeout)
		defer t.Stop()
		select {
		case <-closed:
		case <-t.C:
			tb.Errorf("pgtest: %d connections were not given back to the pool", pool.Stat().AcquiredConns())
		}
	})
	return pool
}

func poolConfig(url string, opts []Option) (*pgxpool.Config, error) {
	o := options{}
	if text := os.Getenv(EnvMaxConns); text != "" {
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%s is %q, want a positive number", EnvMaxConns, text)
		}
		o.maxConns = int32(n)
	}
	for _, opt := range opts {
		opt(&o)
	}
	if text := os.Getenv(EnvExecMode); text != "" && o.execMode == nil {
		mode, ok := execMode(text)
		if !ok {
			return nil, fmt.Errorf("%s is %q, want a pgx exec mode", EnvExecMode, text)
		}
		o.execMode = &mode
	}
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("parse connection string: %w", err)
	}
	if o.maxConns > 0 {
		config.MaxConns = o.maxConns
	}
	if o.execMode != nil {
		config.ConnConfig.DefaultQueryExecMode = *o.execMode
	}
	return config, nil
}

func execMode(name string) (pgx.QueryExecMode, bool) {
	for _, mode := range []pgx.QueryExecMode{
		pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec,
		pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
	} {
		// pgx's own names have blanks, its connection strings underscores.
		if name == mode.String() || name == underscored(mode.String()) {
			return mode, true
		}
	}
	return 0, false
}

func underscored(s string) string { return strings.ReplaceAll(s, " ", "_") }

// pause waits for d or until ctx is done.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}
