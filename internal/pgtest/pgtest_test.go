package pgtest_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/internal/pgtest"
	"github.com/memkernel/memkernel/queries"
)

func text(t *testing.T, db *pgxpool.Pool, sql string, args ...any) string {
	t.Helper()
	var v string
	require.NoError(t, db.QueryRow(t.Context(), sql, args...).Scan(&v))
	return v
}

func TestDatabasesAreMigratedAndIsolated(t *testing.T) {
	t.Parallel()
	a, b := pgtest.Open(t), pgtest.Open(t)
	for _, db := range []*pgxpool.Pool{a, b} {
		require.NoError(t, queries.CheckSchema(t.Context(), db))
	}
	_, err := a.Exec(t.Context(), `CREATE TABLE only_here (x int)`)
	require.NoError(t, err)
	require.Equal(t, "false", text(t, b, `SELECT (to_regclass('only_here') IS NOT NULL)::text`))
}

func TestEmptyDatabase(t *testing.T) {
	t.Parallel()
	db := pgtest.OpenEmpty(t)
	require.ErrorIs(t, queries.CheckSchema(t.Context(), db), queries.ErrSchemaMissing)
	require.NoError(t, queries.Migrate(t.Context(), db))
	require.NoError(t, queries.CheckSchema(t.Context(), db))
}

func TestConnString(t *testing.T) {
	t.Parallel()
	for _, url := range []string{pgtest.ConnString(t), pgtest.ConnStringEmpty(t)} {
		conn, err := pgx.Connect(t.Context(), url)
		require.NoError(t, err)
		require.NoError(t, conn.Close(t.Context()))
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	db := pgtest.Open(t, pgtest.WithMaxConns(1), pgtest.WithExecMode(pgx.QueryExecModeExec))
	require.EqualValues(t, 1, db.Config().MaxConns)
	require.Equal(t, pgx.QueryExecModeExec, db.Config().ConnConfig.DefaultQueryExecMode)
}

func TestOptionsFromEnvironment(t *testing.T) {
	t.Setenv(pgtest.EnvMaxConns, "2")
	t.Setenv(pgtest.EnvExecMode, "simple_protocol")
	db := pgtest.Open(t)
	require.EqualValues(t, 2, db.Config().MaxConns)
	require.Equal(t, pgx.QueryExecModeSimpleProtocol, db.Config().ConnConfig.DefaultQueryExecMode)
	db = pgtest.Open(t, pgtest.WithMaxConns(3), pgtest.WithExecMode(pgx.QueryExecModeExec))
	require.EqualValues(t, 3, db.Config().MaxConns)
	require.Equal(t, pgx.QueryExecModeExec, db.Config().ConnConfig.DefaultQueryExecMode)
}

func TestCleanupDrops(t *testing.T) {
	t.Parallel()
	outer := pgtest.OpenEmpty(t)
	var name string
	t.Run("inner", func(t *testing.T) {
		db := pgtest.OpenEmpty(t)
		name = text(t, db, `SELECT current_database()::text`)
		// A connection that the test forgot outside the pool does not keep the database.
		stray, err := pgx.Connect(t.Context(), db.Config().ConnString())
		require.NoError(t, err)
		_ = stray
	})
	require.Equal(t, "0", text(t, outer, `SELECT count(*)::text FROM pg_database WHERE datname = $1`, name))
}

// recorder stands in for a test, to see it fail.
type recorder struct {
	testing.TB
	errors, fatals int
}

func (r *recorder) Errorf(string, ...any) { r.errors++ }
func (r *recorder) Fatalf(string, ...any) { r.fatals++; panic(r) }

func TestUnusableEnvironment(t *testing.T) {
	for name, value := range map[string]string{pgtest.EnvMaxConns: "none", pgtest.EnvExecMode: "fast"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, value)
			r := &recorder{TB: t}
			require.Panics(t, func() { pgtest.OpenEmpty(r) })
			require.Equal(t, 1, r.fatals)
		})
	}
}

func BenchmarkOpen(b *testing.B) {
	pgtest.Open(b)
	for b.Loop() {
		pgtest.Open(b).Close()
	}
}
