package kernel_test

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/internal/pgtest"
	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
)

const (
	stateGuard      = "MK002" // raised by a guard
	statePrivilege  = "42501"
	stateReferenced = "0A000" // a table that others refer to is not truncated without them
	stateUnique     = "23505"
	stateForeignKey = "23503"
)

func sqlState(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}

// attemptSQL runs statements in one transaction and commits it unless one of them fails.
func attemptSQL(ctx context.Context, pool *pgxpool.Pool, sql ...string) error {
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		for _, s := range sql {
			if _, err := tx.Exec(ctx, s); err != nil {
				return err
			}
		}
		return nil
	})
}

// digest reads a whole table into one value.
func digest(t *testing.T, pool *pgxpool.Pool, table string) string {
	t.Helper()
	var sum string
	err := pool.QueryRow(t.Context(),
		`SELECT count(*) || ' ' || coalesce(md5(string_agg(r::text, '|' ORDER BY r::text)), '') FROM memkernel.`+table+` AS r`).Scan(&sum)
	require.NoError(t, err)
	return sum
}

// appendOnlyAttacks are statements that change or empty an append-only table, if they can:
// also such that match no row, that come in another dress, or that reach it by a cascade.
func appendOnlyAttacks(table, set string) map[string][]string {
	full := "memkernel." + table
	one := map[string][]string{
		"update":              {"UPDATE " + full + " SET " + set},
		"update of nothing":   {"UPDATE " + full + " SET " + set + " WHERE false"},
		"update in a query":   {"WITH u AS (UPDATE " + full + " SET " + set + " RETURNING 1) SELECT count(*) FROM u"},
		"delete":              {"DELETE FROM " + full},
		"delete of nothing":   {"DELETE FROM " + full + " WHERE false"},
		"delete only":         {"DELETE FROM ONLY " + full},
		"truncate":            {"TRUNCATE " + full},
		"truncate cascade":    {"TRUNCATE " + full + " CASCADE"},
		"truncate restart":    {"TRUNCATE " + full + " RESTART IDENTITY"},
		"truncate with":       {"TRUNCATE memkernel.memory_access, " + full},
		"upsert":              {"INSERT INTO " + full + override[table] + " SELECT * FROM " + full + " ON CONFLICT (" + keyOf[table] + ") DO UPDATE SET " + set},
		"merge update":        {"MERGE INTO " + full + " AS t USING " + full + " AS s ON true WHEN MATCHED THEN UPDATE SET " + set},
		"merge delete":        {"MERGE INTO " + full + " AS t USING (SELECT 1) AS s ON true WHEN MATCHED THEN DELETE"},
		"through a view":      {"CREATE TEMP VIEW v AS SELECT * FROM " + full, "UPDATE v SET " + set},
		"select for update":   {"SELECT 1 FROM " + full + " FOR UPDATE", "DELETE FROM " + full},
		"after granting":      {"GRANT ALL ON " + full + " TO CURRENT_USER", "UPDATE " + full + " SET " + set},
		"deferred guards":     {"SET CONSTRAINTS ALL DEFERRED", "DELETE FROM " + full},
		"inside a function":   {"DO $$ BEGIN DELETE FROM " + full + "; END $$"},
		"swallowed exception": {"DO $$ BEGIN BEGIN DELETE FROM " + full + "; EXCEPTION WHEN division_by_zero THEN NULL; END; END $$"},
	}
	out := map[string][]string{}
	for name, sql := range one {
		out[name] = sql
		out[name+", as a replica"] = append([]string{"SET LOCAL session_replication_role = replica"}, sql...)
	}
	return out
}

// override lets an attacker choose the numbers of the audit log.
var override = map[string]string{"audit_log": " OVERRIDING SYSTEM VALUE"}

var keyOf = map[string]string{"audit_log": "tenant, seq", "policies": "tenant, namespace, version", "tombstones": "tenant, memory_id"}

// fillAppendOnly puts a row into each append-only table and returns the tables with a change
// for each.
func fillAppendOnly(t *testing.T, k *kerneltest.Kit) map[string]string {
	t.Helper()
	ctx := t.Context()
	owner := k.Key("acme", kernel.RoleOwner)
	_, err := k.Policies().Put(ctx, owner, kernel.PutPolicyRequest{})
	require.NoError(t, err)
	_, err = k.Write(ctx, owner, kernel.WriteRequest{Text: "A fact."})
	require.NoError(t, err)
	require.NoError(t, attemptSQL(ctx, k.Pool, `INSERT INTO memkernel.tombstones (tenant, memory_id, namespace, erased_at, erased_by)
		VALUES ('acme', gen_random_uuid(), 'acme', now(), 'test')`))
	return map[string]string{"audit_log": "detail = 'forged'", "policies": "document = '{}'", "tombstones": "erased_by = 'nobody'"}
}

func requireAppendOnly(t *testing.T, k *kerneltest.Kit) {
	t.Helper()
	for table, set := range fillAppendOnly(t, k) {
		before := digest(t, k.Pool, table)
		for name, sql := range appendOnlyAttacks(table, set) {
			err := attemptSQL(t.Context(), k.Pool, sql...)
			require.Contains(t, []string{stateGuard, statePrivilege}, sqlState(err), "%s of %s: %v", name, table, err)
			require.Equal(t, before, digest(t, k.Pool, table), "%s of %s", name, table)
		}
	}
	// Emptying what they refer to does not empty them.
	for _, table := range []string{"tenants", "captures", "memory_objects"} {
		err := attemptSQL(t.Context(), k.Pool, "TRUNCATE memkernel."+table+" CASCADE")
		require.Contains(t, []string{stateGuard, statePrivilege}, sqlState(err), "%s: %v", table, err)
	}
	// And they still take rows.
	_, err := k.Stats(t.Context(), k.Key("acme", kernel.RoleOwner), kernel.StatsRequest{})
	require.NoError(t, err)
}

func TestAppendOnlyTables(t *testing.T) {
	t.Parallel()
	requireAppendOnly(t, kerneltest.Open(t))
}

// As an ordinary role that owns the schema, which is how a host runs it: migrations, the
// kernel and the guards all work without a superuser.
func TestAppendOnlyTablesOfAnOrdinaryOwner(t *testing.T) {
	t.Parallel()
	requireAppendOnly(t, openAsOrdinaryOwner(t))
}

func openAsOrdinaryOwner(t *testing.T) *kerneltest.Kit {
	t.Helper()
	ctx := t.Context()
	root := pgtest.OpenEmpty(t)
	var name, role string
	require.NoError(t, root.QueryRow(ctx, "SELECT current_database()").Scan(&name))
	role = name + "_owner"
	quoted := pgx.Identifier{role}.Sanitize()
	require.NoError(t, attemptSQL(ctx, root, "CREATE ROLE "+quoted, "CREATE EXTENSION vector",
		"GRANT CREATE ON DATABASE "+pgx.Identifier{name}.Sanitize()+" TO "+quoted))
	t.Cleanup(func() {
		require.NoError(t, attemptSQL(context.WithoutCancel(ctx), root, "DROP OWNED BY "+quoted, "DROP ROLE "+quoted))
	})
	cfg := root.Config()
	cfg.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "SET SESSION AUTHORIZATION "+quoted)
		return err
	}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	require.NoError(t, kernel.Migrate(ctx, pool))
	var super bool
	require.NoError(t, pool.QueryRow(ctx, "SELECT rolsuper FROM pg_roles WHERE rolname = current_user").Scan(&super))
	require.False(t, super)
	return kerneltest.OpenOn(t, pool)
}

// No method of the public API changes or removes an audit row, and no statement does.
func TestNothingOffersToChangeTheAuditLog(t *testing.T) {
	t.Parallel()
	touching := map[string]bool{}
	for _, typ := range []reflect.Type{
		reflect.TypeFor[*kernel.Kernel](), reflect.TypeFor[kernel.Keys](), reflect.TypeFor[kernel.Policies](),
		reflect.TypeFor[kernel.Tenants](), reflect.TypeFor[*kernel.AuditEvent](),
	} {
		for i := range typ.NumMethod() {
			m := typ.Method(i)
			if strings.Contains(m.Name+m.Type.String(), "udit") {
				touching[m.Name] = true
			}
		}
	}
	require.Equal(t, map[string]bool{"AuditSearch": true}, touching)

	verbs := regexp.MustCompile(`(?i)^(delete|update|edit|remove|purge|truncate|amend|rewrite|set|erase|clear|drop|prune|reset|replace)`)
	files, err := fs.Glob(os.DirFS("../audit"), "*.go")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		tree, err := parser.ParseFile(token.NewFileSet(), "../audit/"+file, nil, 0)
		require.NoError(t, err)
		for _, decl := range tree.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && !strings.HasSuffix(file, "_test.go") {
				require.NotRegexp(t, verbs, f.Name.Name, file)
			}
		}
	}

	change := regexp.MustCompile(`(?is)\b(update|delete\s+from|truncate(\s+table)?|merge\s+into)\s+(only\s+)?(memkernel\s*\.\s*)?"?audit_log\b`)
	insert := regexp.MustCompile(`(?i)\binsert\s+into\b`)
	upsert := regexp.MustCompile(`(?is)^\s*(memkernel\s*\.\s*)?"?audit_log\b[^;]*\bdo\s+update\b`)
	sql, err := fs.Glob(os.DirFS("../queries/sql"), "*.sql")
	require.NoError(t, err)
	require.True(t, slices.Contains(sql, "audit.sql"))
	for _, file := range sql {
		text, err := os.ReadFile("../queries/sql/" + file)
		require.NoError(t, err)
		for _, statement := range strings.Split(string(text), "-- name:") {
			require.NotRegexp(t, change, statement, file)
			for _, part := range insert.Split(statement, -1)[1:] {
				require.NotRegexp(t, upsert, part, file)
			}
		}
	}
}
