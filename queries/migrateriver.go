package queries

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// River keeps its jobs in tables of its own, which only River knows how to make. They belong
// to this schema and are reached through River alone, but they come and go with the numbered
// migrations: a file names the version that River's schema is to have, on a line of its own,
//
//	---- river 8 ----
//
// so that one transaction makes all of it, the checksum covers it, and a build with a newer
// River changes nothing that no migration of ours asks for.
var riverLine = regexp.MustCompile(`(?m)^---- river (\d+) ----$`)

// noRiver is the version of a file that does not name one.
const noRiver = -1

var errRiverVersion = errors.New("ambiguous migration")

// riverVersion returns the version that a way up or down names.
func riverVersion(text string) (int, error) {
	found := riverLine.FindAllStringSubmatch(text, -1)
	switch len(found) {
	case 0:
		return noRiver, nil
	case 1:
		version, err := strconv.Atoi(found[0][1])
		if err != nil {
			return noRiver, fmt.Errorf("river's version: %w", err)
		}
		return version, nil
	default:
		return noRiver, fmt.Errorf("%w: it names %d versions of River's schema", errRiverVersion, len(found))
	}
}

// migrateRiver brings River's schema to a version within tx; 0 is none at all.
func migrateRiver(ctx context.Context, tx pgx.Tx, direction rivermigrate.Direction, version int) error {
	if version == noRiver {
		return nil
	}
	opts := &rivermigrate.MigrateOpts{TargetVersion: version}
	if version == 0 {
		opts.TargetVersion = -1 // River's word for "down to nothing"
	}
	m, err := rivermigrate.New(riverpgxv5.New(nil), &rivermigrate.Config{Schema: "memkernel", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return fmt.Errorf("river: %w", err)
	}
	// Deprecated for versions that need a transaction of their own: none of those up to the one
	// that our files name does, which the tests of migrations show.
	if _, err := m.MigrateTx(ctx, tx, direction, opts); err != nil { //nolint:staticcheck // see above
		return fmt.Errorf("river: %w", err)
	}
	return nil
}
