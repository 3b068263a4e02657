package queries

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Administration of whole databases, which the test kit needs: a database per test, cloned
// from a migrated template. Statements that create or drop a database cannot run inside a
// transaction and take no parameters, so these functions are written by hand and take a
// connection. Names are quoted as identifiers.

// DatabaseCreate creates a database as a copy of template. The copy is made of files, not of
// WAL records: that is several times faster for a small template. Nobody may be connected to
// the template meanwhile. It fails if the database exists.
func DatabaseCreate(ctx context.Context, conn *pgx.Conn, name, template string) error {
	sql := "CREATE DATABASE " + identifier(name) + " TEMPLATE " + identifier(template) + " STRATEGY file_copy"
	if _, err := conn.Exec(ctx, sql); err != nil {
		return fmt.Errorf("create database %s: %w", name, err)
	}
	return nil
}

// DatabaseDrop drops a database, template or not, and disconnects whoever uses it. It does
// nothing if there is none.
func DatabaseDrop(ctx context.Context, conn *pgx.Conn, name string) error {
	found, isTemplate, err := DatabaseExists(ctx, conn, name)
	if err != nil || !found {
		return err
	}
	if isTemplate {
		if err := DatabaseSetTemplate(ctx, conn, name, false); err != nil {
			return err
		}
	}
	if _, err := conn.Exec(ctx, "DROP DATABASE IF EXISTS "+identifier(name)+" WITH (FORCE)"); err != nil {
		return fmt.Errorf("drop database %s: %w", name, err)
	}
	return nil
}

// DatabaseSetTemplate marks a database as a template, or removes the mark.
func DatabaseSetTemplate(ctx context.Context, conn *pgx.Conn, name string, isTemplate bool) error {
	if _, err := conn.Exec(ctx, fmt.Sprintf("ALTER DATABASE %s IS_TEMPLATE %t", identifier(name), isTemplate)); err != nil {
		return fmt.Errorf("mark database %s as a template: %w", name, err)
	}
	return nil
}

// DatabaseExists reports whether there is such a database, and whether it is marked as a
// template.
func DatabaseExists(ctx context.Context, conn *pgx.Conn, name string) (found, isTemplate bool, err error) {
	rows, err := conn.Query(ctx, "SELECT datistemplate FROM pg_catalog.pg_database WHERE datname = $1", pgx.QueryExecModeExec, name)
	if err != nil {
		return false, false, fmt.Errorf("look up database %s: %w", name, err)
	}
	marks, err := pgx.CollectRows(rows, pgx.RowTo[bool])
	if err != nil {
		return false, false, fmt.Errorf("look up database %s: %w", name, err)
	}
	return len(marks) > 0, len(marks) > 0 && marks[0], nil
}

// DatabaseInUse reports whether anybody is connected to the database. Dropping or copying one
// that is in use makes the server wait in steps of 100 ms, and one whose clients have just
// left still counts as in use for a moment.
func DatabaseInUse(ctx context.Context, conn *pgx.Conn, name string) (bool, error) {
	var inUse bool
	err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_catalog.pg_stat_activity WHERE datname = $1)",
		pgx.QueryExecModeExec, name).Scan(&inUse)
	if err != nil {
		return false, fmt.Errorf("look for users of database %s: %w", name, err)
	}
	return inUse, nil
}

// DatabaseList returns the names of the databases that begin with prefix, oldest first.
func DatabaseList(ctx context.Context, conn *pgx.Conn, prefix string) ([]string, error) {
	rows, err := conn.Query(ctx,
		"SELECT datname::text FROM pg_catalog.pg_database WHERE pg_catalog.starts_with(datname::text, $1) ORDER BY oid",
		pgx.QueryExecModeExec, prefix)
	if err != nil {
		return nil, fmt.Errorf("list databases: %w", err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("list databases: %w", err)
	}
	return names, nil
}

// AdvisoryLock waits for the session's advisory lock of that number. It is released when the
// connection is closed.
func AdvisoryLock(ctx context.Context, conn *pgx.Conn, key int64) error {
	if _, err := conn.Exec(ctx, "SELECT pg_catalog.pg_advisory_lock($1)", pgx.QueryExecModeExec, key); err != nil {
		return fmt.Errorf("advisory lock: %w", err)
	}
	return nil
}

func identifier(name string) string { return pgx.Identifier{name}.Sanitize() }
