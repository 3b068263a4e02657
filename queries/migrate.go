package queries

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river/rivermigrate"
)

// migrations holds the numbered migration files in tern's format: the way up, a
// separator line, the way down.
//
//go:embed migrations/*.sql
var migrations embed.FS

// separator is tern's, so that sqlc and tern read the same files.
const separator = "---- create above / drop below ----"

// Errors of the migrator and of CheckSchema; compare with errors.Is.
var (
	// ErrSchemaMissing reports a database that lacks some or all migrations.
	ErrSchemaMissing = errors.New("database schema is not migrated")
	// ErrSchemaNewer reports a database that a newer build has migrated.
	ErrSchemaNewer = errors.New("database schema is newer than this build")
	// ErrSchemaEdited reports an applied migration whose text has another checksum here.
	ErrSchemaEdited = errors.New("applied migration was edited")
	// ErrEncoding reports a database that cannot hold every text.
	ErrEncoding = errors.New("database encoding is not UTF8")
)

// Beginner starts transactions; pools and connections do.
type Beginner interface {
	BeginTx(ctx context.Context, opts pgx.TxOptions) (pgx.Tx, error)
}

type migration struct {
	name, up, down, sum string
	// riverUp and riverDown are the versions that River's schema is brought to, after the way up
	// and before the way down; noRiver leaves it as it is.
	riverUp, riverDown int
}

func loadMigrations() ([]migration, error) {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return nil, fmt.Errorf("list migrations: %w", err)
	}
	slices.Sort(names)
	out := make([]migration, 0, len(names))
	for i, name := range names {
		if !strings.HasPrefix(name, fmt.Sprintf("migrations/%03d_", i+1)) {
			return nil, fmt.Errorf("migration %d: unexpected file %q", i+1, name)
		}
		text, err := migrations.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read migration: %w", err)
		}
		up, down, ok := strings.Cut(string(text), separator)
		if !ok {
			return nil, fmt.Errorf("migration %s has no way down", name)
		}
		m := migration{name: strings.TrimPrefix(name, "migrations/"), up: up, down: down}
		sum := sha256.Sum256([]byte(up))
		m.sum = hex.EncodeToString(sum[:])
		if m.riverUp, err = riverVersion(up); err != nil {
			return nil, fmt.Errorf("migration %s: %w", name, err)
		}
		if m.riverDown, err = riverVersion(down); err != nil {
			return nil, fmt.Errorf("migration %s: %w", name, err)
		}
		out = append(out, m)
	}
	return out, nil
}

// SchemaHash returns a hex digest of all migrations, a name for "a database at this schema".
func SchemaHash() string {
	files, err := loadMigrations()
	if err != nil {
		return "unreadable"
	}
	h := sha256.New()
	for _, f := range files {
		h.Write([]byte(f.sum))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Migrate applies every pending migration in one transaction under an advisory lock, so
// that any number of processes may call it at once, through a pooler in transaction mode
// too. The tables of River, which runs the background jobs, come with them. A repeat call changes nothing. It fails with ErrSchemaNewer or ErrSchemaEdited and
// then changes nothing either.
func Migrate(ctx context.Context, db Beginner) error {
	return migrate(ctx, db, func(ctx context.Context, tx pgx.Tx, files []migration, have int) error {
		for i, f := range files[have:] {
			if _, err := tx.Exec(ctx, f.up, pgx.QueryExecModeSimpleProtocol); err != nil {
				return fmt.Errorf("migration %s: %w", f.name, err)
			}
			if err := migrateRiver(ctx, tx, rivermigrate.DirectionUp, f.riverUp); err != nil {
				return fmt.Errorf("migration %s: %w", f.name, err)
			}
			if _, err := tx.Exec(ctx, `INSERT INTO memkernel.schema_version (version, name, sha256) VALUES ($1, $2, $3)`,
				pgx.QueryExecModeExec, have+i+1, f.name, f.sum); err != nil {
				return fmt.Errorf("record migration %s: %w", f.name, err)
			}
		}
		return nil
	})
}

// MigrateDown undoes migrations until only the first keep remain, and with keep 0 drops
// the schema itself. It destroys data: it exists to prove each way down and to clear test
// databases; production rolls forward.
func MigrateDown(ctx context.Context, db Beginner, keep int) error {
	return migrate(ctx, db, func(ctx context.Context, tx pgx.Tx, files []migration, have int) error {
		for v := have; v > keep; v-- {
			if err := migrateRiver(ctx, tx, rivermigrate.DirectionDown, files[v-1].riverDown); err != nil {
				return fmt.Errorf("undo migration %s: %w", files[v-1].name, err)
			}
			if _, err := tx.Exec(ctx, files[v-1].down, pgx.QueryExecModeSimpleProtocol); err != nil {
				return fmt.Errorf("undo migration %s: %w", files[v-1].name, err)
			}
			if _, err := tx.Exec(ctx, `DELETE FROM memkernel.schema_version WHERE version = $1`, pgx.QueryExecModeExec, v); err != nil {
				return fmt.Errorf("forget migration %s: %w", files[v-1].name, err)
			}
		}
		if keep > 0 {
			return nil
		}
		// Without CASCADE: a way down that leaves something behind must fail here.
		if _, err := tx.Exec(ctx, `DROP TABLE memkernel.schema_version; DROP SCHEMA memkernel`, pgx.QueryExecModeSimpleProtocol); err != nil {
			return fmt.Errorf("drop schema: %w", err)
		}
		return nil
	})
}

func migrate(ctx context.Context, db Beginner, step func(context.Context, pgx.Tx, []migration, int) error) error {
	files, err := loadMigrations()
	if err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, pgx.TxOptions{})
	if err != nil {
		return fmt.Errorf("begin migration: %w", err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	// A transaction lock: released at commit, rollback or disconnect, unlike a session's.
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended('memkernel migrate', 0))`,
		pgx.QueryExecModeSimpleProtocol); err != nil {
		return fmt.Errorf("lock migrations: %w", err)
	}
	var encoding string
	if err := tx.QueryRow(ctx, `SELECT current_setting('server_encoding')`, pgx.QueryExecModeExec).Scan(&encoding); err != nil {
		return fmt.Errorf("look at the encoding: %w", err)
	}
	if err := checkEncoding(encoding); err != nil {
		return err
	}
	if err := createVersionTable(ctx, tx); err != nil {
		return err
	}
	have, err := appliedMigrations(ctx, tx, files)
	if err != nil {
		return err
	}
	if err := step(ctx, tx, files, have); err != nil {
		return err
	}
	if err := tx.Commit(ctx); err != nil {
		return fmt.Errorf("commit migration: %w", err)
	}
	return nil
}

func checkEncoding(encoding string) error {
	if encoding != "UTF8" {
		return fmt.Errorf("%w: it is %s; create the database with ENCODING 'UTF8'", ErrEncoding, encoding)
	}
	return nil
}

// createVersionTable makes the schema and its version table, unless they are there. The
// question is put to the catalog as a table: IF NOT EXISTS may go by what the catalog was
// before the lock was waited for.
func createVersionTable(ctx context.Context, tx pgx.Tx) error {
	var exists bool
	if err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_catalog.pg_class AS c
		JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
		WHERE n.nspname = 'memkernel' AND c.relname = 'schema_version')`, pgx.QueryExecModeExec).Scan(&exists); err != nil {
		return fmt.Errorf("look for the version table: %w", err)
	}
	if exists {
		return nil
	}
	if _, err := tx.Exec(ctx, `CREATE SCHEMA IF NOT EXISTS memkernel;
		CREATE TABLE memkernel.schema_version (
			version int PRIMARY KEY, name text NOT NULL, sha256 text NOT NULL,
			applied_at timestamptz NOT NULL DEFAULT now())`, pgx.QueryExecModeSimpleProtocol); err != nil {
		return fmt.Errorf("create version table: %w", err)
	}
	return nil
}

// appliedMigrations counts the applied migrations and compares them with this build's.
func appliedMigrations(ctx context.Context, db DBTX, files []migration) (int, error) {
	rows, err := db.Query(ctx, `SELECT version, sha256 FROM memkernel.schema_version ORDER BY version`, pgx.QueryExecModeExec)
	if err != nil {
		return 0, fmt.Errorf("read schema version: %w", err)
	}
	have := 0
	var version int
	var sum string
	_, err = pgx.ForEachRow(rows, []any{&version, &sum}, func() error {
		have++
		switch {
		case version > len(files):
			return fmt.Errorf("%w: version %d, this build knows %d", ErrSchemaNewer, version, len(files))
		case version != have:
			return fmt.Errorf("%w: version %d is missing", ErrSchemaEdited, have)
		case files[version-1].sum != sum:
			return fmt.Errorf("%w: %s", ErrSchemaEdited, files[version-1].name)
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("read schema version: %w", err)
	}
	return have, nil
}

// CheckSchema reports whether the database is at exactly this build's schema: nil,
// ErrSchemaMissing, ErrSchemaNewer, ErrSchemaEdited, ErrEncoding or a database error. It changes nothing.
func CheckSchema(ctx context.Context, db DBTX) error {
	files, err := loadMigrations()
	if err != nil {
		return err
	}
	var exists bool
	var encoding string
	if err := db.QueryRow(ctx, `SELECT to_regclass('memkernel.schema_version') IS NOT NULL, current_setting('server_encoding')`,
		pgx.QueryExecModeExec).Scan(&exists, &encoding); err != nil {
		return fmt.Errorf("look for the schema: %w", err)
	}
	if err := checkEncoding(encoding); err != nil {
		return err
	}
	if !exists {
		return ErrSchemaMissing
	}
	have, err := appliedMigrations(ctx, db, files)
	if err != nil {
		return err
	}
	if have < len(files) {
		return fmt.Errorf("%w: at version %d of %d", ErrSchemaMissing, have, len(files))
	}
	return nil
}
