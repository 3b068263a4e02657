package queries

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// Step runs exactly one query and keeps its result. A pipeline calls it twice: first to
// learn the query, with every result an error, then with the answer. It must return the
// query's error and keep nothing when there is one.
type Step func(ctx context.Context, q *Queries) error

// BatchSender sends pipelined queries; pools, connections and transactions do.
type BatchSender interface {
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// Pipeline sends the queries of all steps in one round trip. Outside a transaction they form
// one: all of them happen or none. That a result is not what its step wants must therefore
// be an error in SQL (see memkernel.expect), not in Go, if it is to undo the others.
//
// It returns the first error, having read what came before it; pgx.ErrNoRows of a step does
// not count as one for the database.
func Pipeline(ctx context.Context, db BatchSender, steps ...Step) error {
	var rec recorder
	for i, step := range steps {
		if err := step(ctx, New(&rec)); !errors.Is(err, errRecording) {
			return fmt.Errorf("pipeline step %d ran no query: %w", i, errors.Join(errOneQuery, err))
		}
	}
	if rec.batch.Len() != len(steps) {
		return fmt.Errorf("%d pipeline steps ran %d queries: %w", len(steps), rec.batch.Len(), errOneQuery)
	}
	results := db.SendBatch(ctx, &rec.batch)
	// Closed once and only once, on the way out of a panicking step too: it gives the
	// connection back, and after that the connection is somebody else's.
	open := true
	defer func() {
		if open {
			_ = results.Close()
		}
	}()
	replay := &replayer{results: results}
	answers := New(replay)
	var first error
	for i, step := range steps {
		replay.asked = 0
		err := step(ctx, answers)
		if replay.asked != 1 {
			// Whose the other results are is anybody's guess.
			first = errors.Join(first, fmt.Errorf("pipeline step %d ran %d queries: %w", i, replay.asked, errOneQuery))
			break
		}
		if err != nil && first == nil {
			first = err
		}
	}
	open = false
	if err := results.Close(); err != nil && (first == nil || errors.Is(first, pgx.ErrNoRows)) {
		// The commit itself can fail, and only shows here.
		first = err
	}
	return first
}

var (
	errRecording = errors.New("recording")
	errOneQuery  = errors.New("a step runs exactly one query")
)

// recorder is a database that only takes note of what it is asked.
type recorder struct{ batch pgx.Batch }

func (r *recorder) Exec(_ context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	r.batch.Queue(sql, plain(args)...)
	return pgconn.CommandTag{}, errRecording
}

func (r *recorder) Query(_ context.Context, sql string, args ...any) (pgx.Rows, error) {
	r.batch.Queue(sql, plain(args)...)
	return nil, errRecording
}

func (r *recorder) QueryRow(_ context.Context, sql string, args ...any) pgx.Row {
	r.batch.Queue(sql, plain(args)...)
	return recordedRow{}
}

// plain turns ids into what pgx encodes as it is: their own type would be written as text first, fail
// to be encoded, and be parsed again.
func plain(args []any) []any {
	for i, a := range args {
		switch id := a.(type) {
		case uuid.UUID:
			args[i] = pgtype.UUID{Bytes: id, Valid: true}
		case *uuid.UUID:
			if id == nil {
				args[i] = nil
			} else {
				args[i] = pgtype.UUID{Bytes: *id, Valid: true}
			}
		}
	}
	return args
}

type recordedRow struct{}

func (recordedRow) Scan(...any) error { return errRecording }

// replayer answers the one query of each step with the next result of a batch.
type replayer struct {
	results pgx.BatchResults
	asked   int // queries of the step under way
}

func (r *replayer) Exec(context.Context, string, ...any) (pgconn.CommandTag, error) {
	if r.asked++; r.asked > 1 {
		return pgconn.CommandTag{}, errOneQuery
	}
	return r.results.Exec()
}

func (r *replayer) Query(context.Context, string, ...any) (pgx.Rows, error) {
	if r.asked++; r.asked > 1 {
		return nil, errOneQuery
	}
	rows, err := r.results.Query()
	if err != nil {
		return nil, err
	}
	return newQuickRows(rows), nil
}

func (r *replayer) QueryRow(context.Context, string, ...any) pgx.Row {
	if r.asked++; r.asked > 1 {
		return secondRow{}
	}
	return r.results.QueryRow()
}

type secondRow struct{}

func (secondRow) Scan(...any) error { return errOneQuery }
