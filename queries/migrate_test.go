package queries_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/internal/pgtest"
	"github.com/memkernel/memkernel/queries"
)

// catalog describes all that is in the schema: tables with their columns, constraints,
// indexes, triggers, settings and rights, and functions.
func catalog(t *testing.T, db *pgxpool.Pool) []string {
	t.Helper()
	rows, err := db.Query(t.Context(), `
		SELECT 'table ' || c.relname || ' ' || coalesce(c.reloptions::text, '') || ' ' || coalesce(c.relacl::text, '')
		FROM pg_class AS c WHERE c.relnamespace = to_regnamespace('memkernel') AND c.relkind IN ('r', 'S', 'v')
		UNION ALL
		SELECT 'column ' || c.relname || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod) || ' ' || a.attnotnull::text
			|| ' ' || a.attidentity::text || ' ' || a.attstorage::text || ' ' || a.attcollation::regcollation
			|| ' ' || coalesce(pg_get_expr(d.adbin, d.adrelid), '')
		FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
		LEFT JOIN pg_attrdef AS d ON d.adrelid = c.oid AND d.adnum = a.attnum
		WHERE c.relnamespace = to_regnamespace('memkernel') AND c.relkind = 'r'
		UNION ALL
		SELECT 'constraint ' || conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid)
		FROM pg_constraint WHERE connamespace = to_regnamespace('memkernel')
		UNION ALL
		SELECT 'index ' || pg_get_indexdef(i.indexrelid)
		FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid WHERE c.relnamespace = to_regnamespace('memkernel')
		UNION ALL
		SELECT 'trigger ' || pg_get_triggerdef(g.oid) || ' ' || g.tgenabled::text
		FROM pg_trigger AS g JOIN pg_class AS c ON c.oid = g.tgrelid
		WHERE c.relnamespace = to_regnamespace('memkernel') AND NOT g.tgisinternal
		UNION ALL
		SELECT 'function ' || pg_get_functiondef(p.oid) FROM pg_proc AS p WHERE p.pronamespace = to_regnamespace('memkernel')
		UNION ALL
		SELECT 'type ' || t.typname FROM pg_type AS t WHERE t.typnamespace = to_regnamespace('memkernel') AND t.typtype IN ('e', 'd')
		ORDER BY 1`)
	require.NoError(t, err)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return lines
}

// applied returns the versions on record, with their names and times.
func applied(t *testing.T, db *pgxpool.Pool) []string {
	t.Helper()
	rows, err := db.Query(t.Context(), `SELECT version || ' ' || name || ' ' || applied_at FROM memkernel.schema_version ORDER BY version`)
	require.NoError(t, err)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return lines
}

func requireNoSchema(t *testing.T, db *pgxpool.Pool) {
	t.Helper()
	var exists bool
	require.NoError(t, db.QueryRow(t.Context(), `SELECT to_regnamespace('memkernel') IS NOT NULL`).Scan(&exists))
	require.False(t, exists, "the schema is still there")
	require.ErrorIs(t, queries.CheckSchema(t.Context(), db), queries.ErrSchemaMissing)
}

// TestMigrationsUpAndDown goes up, and down in every number of steps, and up again from
// wherever that leads. It is always the same schema that comes out.
func TestMigrationsUpAndDown(t *testing.T) {
	t.Parallel()
	for _, mode := range modes {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			db := pgtest.OpenEmpty(t, pgtest.WithMaxConns(1), pgtest.WithExecMode(mode))
			ctx := t.Context()
			require.ErrorIs(t, queries.CheckSchema(ctx, db), queries.ErrSchemaMissing)
			requireNoSchema(t, db)
			require.NoError(t, queries.Migrate(ctx, db))
			require.NoError(t, queries.CheckSchema(ctx, db))
			whole, versions := catalog(t, db), applied(t, db)
			require.Greater(t, len(whole), 50)
			require.NotEmpty(t, versions)

			require.NoError(t, queries.Migrate(ctx, db))
			require.Equal(t, whole, catalog(t, db), "a repeat call changes nothing")
			require.Equal(t, versions, applied(t, db))

			// Step by step to nothing; what each step leaves is remembered.
			at := make([][]string, len(versions))
			for keep := len(versions) - 1; keep > 0; keep-- {
				require.NoError(t, queries.MigrateDown(ctx, db, keep))
				require.Equal(t, versions[:keep], applied(t, db))
				require.ErrorIs(t, queries.CheckSchema(ctx, db), queries.ErrSchemaMissing)
				at[keep] = catalog(t, db)
				require.Less(t, len(at[keep]), len(whole))
			}
			require.NoError(t, queries.MigrateDown(ctx, db, 0))
			requireNoSchema(t, db)
			require.NoError(t, queries.MigrateDown(ctx, db, 0), "from nothing")
			requireNoSchema(t, db)

			// From each version up, and from the whole down to each at once.
			for keep := range versions {
				require.NoError(t, queries.Migrate(ctx, db))
				require.Equal(t, whole, catalog(t, db))
				require.NoError(t, queries.MigrateDown(ctx, db, keep))
				if keep > 0 {
					require.Equal(t, at[keep], catalog(t, db))
				} else {
					requireNoSchema(t, db)
				}
			}
			require.NoError(t, queries.MigrateDown(ctx, db, len(versions)+1), "more than there are")
			require.NoError(t, queries.Migrate(ctx, db))
			require.NoError(t, queries.CheckSchema(ctx, db))
			require.Equal(t, whole, catalog(t, db))
		})
	}
}

// TestMigrationsAtOnce: many processes migrate an empty database at the same time.
func TestMigrationsAtOnce(t *testing.T) {
	t.Parallel()
	const n = 8
	url := pgtest.ConnStringEmpty(t)
	var conns [n]*pgx.Conn
	for i := range conns {
		var err error
		conns[i], err = pgx.Connect(t.Context(), url)
		require.NoError(t, err)
		t.Cleanup(func() { _ = conns[i].Close(context.WithoutCancel(t.Context())) })
	}
	for range 3 {
		start := make(chan struct{})
		errs := make(chan error, n)
		for _, conn := range conns {
			go func() {
				<-start
				errs <- queries.Migrate(t.Context(), conn)
			}()
		}
		close(start)
		var failed error
		for range n {
			failed = errors.Join(failed, <-errs)
		}
		require.NoError(t, failed)
		require.NoError(t, queries.CheckSchema(t.Context(), conns[0]))
		var versions, distinct int
		require.NoError(t, conns[0].QueryRow(t.Context(),
			`SELECT count(*), count(DISTINCT applied_at) FROM memkernel.schema_version`).Scan(&versions, &distinct))
		require.Positive(t, versions)
		require.Equal(t, 1, distinct, "one transaction made them all")
		require.NoError(t, queries.MigrateDown(t.Context(), conns[1], 0))
	}
}

// TestMigrationsRefuse: a database that this build does not know is left as it is.
func TestMigrationsRefuse(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		sql    string
		target error
	}{
		"a newer schema": {`INSERT INTO memkernel.schema_version (version, name, sha256)
			SELECT max(version) + 1, '999_future.sql', 'x' FROM memkernel.schema_version`, queries.ErrSchemaNewer},
		"an edited migration":   {`UPDATE memkernel.schema_version SET sha256 = repeat('0', 64) WHERE version = 1`, queries.ErrSchemaEdited},
		"the last one edited":   {`UPDATE memkernel.schema_version SET sha256 = repeat('0', 64) WHERE version = (SELECT max(version) FROM memkernel.schema_version)`, queries.ErrSchemaEdited},
		"a gap":                 {`DELETE FROM memkernel.schema_version WHERE version = 1`, queries.ErrSchemaEdited},
		"no version at all":     {`DELETE FROM memkernel.schema_version`, nil},
		"somebody else's table": {`DROP TABLE memkernel.audit_log; DELETE FROM memkernel.schema_version WHERE version = (SELECT max(version) FROM memkernel.schema_version); CREATE TABLE memkernel.audit_log (n int)`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := pgtest.Open(t)
			_, err := db.Exec(t.Context(), tc.sql, pgx.QueryExecModeSimpleProtocol)
			require.NoError(t, err)
			before, versions := catalog(t, db), applied(t, db)
			err = queries.Migrate(t.Context(), db)
			require.Error(t, err)
			if tc.target != nil {
				require.ErrorIs(t, err, tc.target)
				require.ErrorIs(t, queries.CheckSchema(t.Context(), db), tc.target)
				require.ErrorIs(t, queries.MigrateDown(t.Context(), db, 0), tc.target)
			}
			require.Equal(t, before, catalog(t, db))
			require.Equal(t, versions, applied(t, db))
		})
	}
}

// TestMigrationsKeepData: what a version holds survives going up, and what it holds still
// stands in the way of nothing.
func TestMigrationsKeepData(t *testing.T) {
	t.Parallel()
	db := pgtest.Open(t)
	ctx := t.Context()
	require.NoError(t, queries.MigrateDown(ctx, db, 1))
	require.NoError(t, queries.Pipeline(ctx, db, addTenant("acme"), addTenant("umbrella")))
	require.NoError(t, queries.Migrate(ctx, db))
	require.Equal(t, []string{"acme", "umbrella"}, tenants(t, db))
	require.NoError(t, queries.MigrateDown(ctx, db, 0), "full tables, too")
	requireNoSchema(t, db)
}

func TestMigrationsCancelled(t *testing.T) {
	t.Parallel()
	db := pgtest.OpenEmpty(t, pgtest.WithMaxConns(1))
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, queries.Migrate(cancelled, db), context.Canceled)
	requireNoSchema(t, db)
	require.NoError(t, queries.Migrate(t.Context(), db), "no lock is left behind")
}

func TestMigrationsHash(t *testing.T) {
	t.Parallel()
	require.Len(t, queries.SchemaHash(), 32)
	require.Equal(t, queries.SchemaHash(), queries.SchemaHash())
}

// TestMigrationsRiver: River's schema is the one that the River we build with wants. A newer
// River with a newer schema needs a migration of ours that names it.
func TestMigrationsRiver(t *testing.T) {
	t.Parallel()
	db := pgtest.Open(t)
	m, err := rivermigrate.New(riverpgxv5.New(db), &rivermigrate.Config{Schema: "memkernel", Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	result, err := m.Validate(t.Context(), nil)
	require.NoError(t, err)
	require.True(t, result.OK, result.Messages)
}
