package queries_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/internal/pgtest"
	"github.com/memkernel/memkernel/queries"
)

// modes are all ways in which pgx can send a query.
var modes = []pgx.QueryExecMode{
	pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec,
	pgx.QueryExecModeSimpleProtocol,
}

func addTenant(name string) queries.Step {
	return func(ctx context.Context, q *queries.Queries) error {
		_, err := q.TenantInsert(ctx, queries.TenantInsertParams{Tenant: name, CreatedAt: time.Unix(0, 0)})
		return err
	}
}

// broken breaks a foreign key.
func broken(ctx context.Context, q *queries.Queries) error {
	return q.KeyInsert(ctx, queries.KeyInsertParams{
		Tenant: "nobody", Namespace: "nobody", Role: "agent", Provenance: "manual", SecretHash: make([]byte, 32), CreatedAt: time.Unix(0, 0),
	})
}

func missing(ctx context.Context, q *queries.Queries) error {
	_, err := q.NamespaceID(ctx, queries.NamespaceIDParams{Tenant: "nobody", Path: "nobody"})
	return err
}

func tenants(t *testing.T, db *pgxpool.Pool) []string {
	t.Helper()
	rows, err := db.Query(t.Context(), `SELECT tenant FROM memkernel.tenants ORDER BY tenant`)
	require.NoError(t, err)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return names
}

// TestPipelineResults: each step gets the answer to its own query, of whatever shape.
func TestPipelineResults(t *testing.T) {
	t.Parallel()
	for _, mode := range modes {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			db := pgtest.Open(t, pgtest.WithMaxConns(1), pgtest.WithExecMode(mode))
			var ensured queries.NamespaceEnsureRow
			var found queries.NamespaceIDRow
			var keys []queries.APIKey
			var made int64
			err := queries.Pipeline(t.Context(), db,
				addTenant("acme"),
				func(ctx context.Context, q *queries.Queries) error {
					var err error
					ensured, err = q.NamespaceEnsure(ctx, queries.NamespaceEnsureParams{Tenant: "acme", Path: "acme/eng"})
					return err
				},
				func(ctx context.Context, q *queries.Queries) error {
					var err error
					found, err = q.NamespaceID(ctx, queries.NamespaceIDParams{Tenant: "acme", Path: "acme/eng"})
					return err
				},
				func(ctx context.Context, q *queries.Queries) error {
					var err error
					keys, err = q.KeysByPrefix(ctx, queries.KeysByPrefixParams{Prefix: "none"})
					return err
				},
				func(ctx context.Context, q *queries.Queries) error {
					var err error
					made, err = q.TenantInsert(ctx, queries.TenantInsertParams{Tenant: "umbrella", CreatedAt: time.Unix(0, 0)})
					return err
				},
			)
			require.NoError(t, err)
			require.NotZero(t, ensured.ID)
			require.Equal(t, queries.NamespaceIDRow(ensured), found, "a step sees what the ones before it did")
			require.Empty(t, keys)
			require.Equal(t, int64(1), made)
			require.Equal(t, []string{"acme", "umbrella"}, tenants(t, db))
			require.NoError(t, queries.Pipeline(t.Context(), db), "no steps, no queries")
		})
	}
}

// TestPipelineIsAtomic: an error undoes what came before it, hides what comes after it, and
// is the one reported. The connection is as good as new.
func TestPipelineIsAtomic(t *testing.T) {
	t.Parallel()
	for _, mode := range modes {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			db := pgtest.Open(t, pgtest.WithMaxConns(1), pgtest.WithExecMode(mode))
			for _, steps := range [][]queries.Step{
				{broken, addTenant("a")},
				{addTenant("a"), broken, addTenant("b")},
				{addTenant("a"), addTenant("b"), broken},
				{addTenant("a"), missing, broken},
				{addTenant("a"), broken, broken, missing},
			} {
				err := queries.Pipeline(t.Context(), db, steps...)
				require.ErrorContains(t, err, "api_keys_tenant_fkey")
				require.Empty(t, tenants(t, db))
			}
			require.NoError(t, queries.Pipeline(t.Context(), db, addTenant("a")))
			require.Equal(t, []string{"a"}, tenants(t, db))
		})
	}
}

// TestPipelineCommitFails: each query succeeds and the commit does not.
func TestPipelineCommitFails(t *testing.T) {
	t.Parallel()
	for _, mode := range modes {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			db := pgtest.Open(t, pgtest.WithMaxConns(1), pgtest.WithExecMode(mode))
			_, err := db.Exec(t.Context(), `
				CREATE FUNCTION pg_temp.too_late() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'too late'; END $$;
				CREATE CONSTRAINT TRIGGER too_late AFTER INSERT ON memkernel.tenants DEFERRABLE INITIALLY DEFERRED
					FOR EACH ROW EXECUTE FUNCTION pg_temp.too_late()`, pgx.QueryExecModeSimpleProtocol)
			require.NoError(t, err)
			require.ErrorContains(t, queries.Pipeline(t.Context(), db, addTenant("a")), "too late")
			require.ErrorContains(t, queries.Pipeline(t.Context(), db, addTenant("a"), missing), "too late", "that is worse than no row")
			require.Empty(t, tenants(t, db))
		})
	}
}

// TestPipelineNoRows: that there is no row is an answer, reported and no reason to undo.
func TestPipelineNoRows(t *testing.T) {
	t.Parallel()
	for _, mode := range modes {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			db := pgtest.Open(t, pgtest.WithMaxConns(1), pgtest.WithExecMode(mode))
			require.ErrorIs(t, queries.Pipeline(t.Context(), db, addTenant("a"), missing, addTenant("b")), pgx.ErrNoRows)
			require.Equal(t, []string{"a", "b"}, tenants(t, db))
		})
	}
}

// TestPipelineInTransaction: in a transaction of the caller's, the steps are its.
func TestPipelineInTransaction(t *testing.T) {
	t.Parallel()
	for _, mode := range modes {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			db := pgtest.Open(t, pgtest.WithMaxConns(1), pgtest.WithExecMode(mode))
			tx, err := db.Begin(t.Context())
			require.NoError(t, err)
			require.NoError(t, queries.Pipeline(t.Context(), tx, addTenant("a")))
			savepoint, err := tx.Begin(t.Context())
			require.NoError(t, err)
			require.Error(t, queries.Pipeline(t.Context(), savepoint, addTenant("b"), broken))
			require.NoError(t, savepoint.Rollback(t.Context()))
			require.NoError(t, queries.Pipeline(t.Context(), tx, addTenant("c")))
			require.NoError(t, tx.Commit(t.Context()))
			require.Equal(t, []string{"a", "c"}, tenants(t, db))
		})
	}
}

// TestPipelineStepsWithoutDiscipline: a step that does not run one query and return its error
// is told, and does not get another step's answer.
func TestPipelineStepsWithoutDiscipline(t *testing.T) {
	t.Parallel()
	for _, mode := range modes {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			db := pgtest.Open(t, pgtest.WithMaxConns(1), pgtest.WithExecMode(mode))
			own := errors.New("own")
			later := func(ctx context.Context, q *queries.Queries) error {
				id, err := q.NamespaceEnsure(ctx, queries.NamespaceEnsureParams{Tenant: "a", Path: "a"})
				require.Zero(t, id, "it got what another step asked for")
				return err
			}
			calls := 0
			for name, step := range map[string]queries.Step{
				"none":                  func(context.Context, *queries.Queries) error { return nil },
				"none, with an error":   func(context.Context, *queries.Queries) error { return own },
				"its error thrown away": func(ctx context.Context, q *queries.Queries) error { _ = addTenant("x")(ctx, q); return nil },
				"two, errors ignored": func(ctx context.Context, q *queries.Queries) error {
					_ = addTenant("x")(ctx, q)
					return addTenant("y")(ctx, q)
				},
				"none the second time": func(ctx context.Context, q *queries.Queries) error {
					if calls++; calls%2 == 0 {
						return nil
					}
					return addTenant("x")(ctx, q)
				},
				"two, the second if the first succeeds": func(ctx context.Context, q *queries.Queries) error {
					if err := addTenant("x")(ctx, q); err != nil {
						return err
					}
					_, err := q.KeysByPrefix(ctx, queries.KeysByPrefixParams{Prefix: "none"})
					return err
				},
			} {
				err := queries.Pipeline(t.Context(), db, addTenant("a"), step, later)
				require.ErrorContains(t, err, "exactly one query", name)
				require.NoError(t, db.Ping(t.Context()), "the connection is left in order")
			}
		})
	}
}

func TestPipelineCancelled(t *testing.T) {
	t.Parallel()
	for _, mode := range modes {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			db := pgtest.Open(t, pgtest.WithMaxConns(1), pgtest.WithExecMode(mode))
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			require.ErrorIs(t, queries.Pipeline(ctx, db, addTenant("a")), context.Canceled)
			require.Empty(t, tenants(t, db))
		})
	}
}

// TestPipelineManyFailures: a connection that goes back to the pool after an error is left
// alone from then on. The race detector sees who does not.
func TestPipelineManyFailures(t *testing.T) {
	t.Parallel()
	db := pgtest.Open(t, pgtest.WithMaxConns(2))
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 40 {
				steps := []queries.Step{addTenant(fmt.Sprint(i, " ", j)), missing}
				if j%2 == 0 {
					steps = append(steps, broken)
				}
				if err := queries.Pipeline(t.Context(), db, steps...); err == nil {
					t.Error("no error")
				}
			}
		})
	}
	wg.Wait()
	require.Len(t, tenants(t, db), 160)
}

// TestPipelinePanics: the connection goes back to the pool.
func TestPipelinePanics(t *testing.T) {
	t.Parallel()
	db := pgtest.Open(t, pgtest.WithMaxConns(1))
	armed := false
	require.Panics(t, func() {
		_ = queries.Pipeline(t.Context(), db, addTenant("a"), func(ctx context.Context, q *queries.Queries) error {
			if armed {
				panic("in the second round")
			}
			armed = true
			return addTenant("b")(ctx, q)
		})
	})
	require.Zero(t, db.Stat().AcquiredConns())
	require.NoError(t, queries.Pipeline(t.Context(), db, addTenant("c")))
}
