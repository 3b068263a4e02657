package queries

import (
	"encoding/binary"
	"math"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// quickRows scans narrow binary rows without a scan plan per value. A search reads thousands
// of postings, and going through the type map costs more than ranking them. Whatever it does
// not know, NULL and text format among it, it leaves to the rows it wraps.
type quickRows struct {
	pgx.Rows
	// binary reports that every column came in binary format.
	binary bool
}

func newQuickRows(rows pgx.Rows) pgx.Rows {
	q := &quickRows{Rows: rows, binary: true}
	for _, f := range rows.FieldDescriptions() {
		q.binary = q.binary && f.Format == pgx.BinaryFormatCode && quickType(f.DataTypeOID)
	}
	return q
}

func quickType(oid uint32) bool {
	switch oid {
	case pgtype.UUIDOID, pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID, pgtype.Float8OID:
		return true
	}
	return false
}

// Scan implements pgx.Rows.
func (q *quickRows) Scan(dest ...any) error {
	raw := q.RawValues()
	if !q.binary || len(raw) != len(dest) {
		return q.Rows.Scan(dest...)
	}
	for i, d := range dest {
		if !quickScan(raw[i], d) {
			return q.Rows.Scan(dest...)
		}
	}
	return nil
}

// quickScan decodes a value into a destination of exactly its width. The columns' types are
// among quickType's, so an equal width is an equal meaning but for int8 and float8, whose
// destinations sqlc derives from the same schema.
func quickScan(raw []byte, dest any) bool {
	switch d := dest.(type) {
	case *uuid.UUID:
		if len(raw) != len(d) {
			return false
		}
		*d = uuid.UUID(raw)
	case *int16:
		if len(raw) != 2 {
			return false
		}
		*d = int16(binary.BigEndian.Uint16(raw)) //nolint:gosec // the same bits
	case *int32:
		if len(raw) != 4 {
			return false
		}
		*d = int32(binary.BigEndian.Uint32(raw)) //nolint:gosec // the same bits
	case *int64:
		if len(raw) != 8 {
			return false
		}
		*d = int64(binary.BigEndian.Uint64(raw)) //nolint:gosec // the same bits
	case *float64:
		if len(raw) != 8 {
			return false
		}
		*d = math.Float64frombits(binary.BigEndian.Uint64(raw))
	default:
		return false
	}
	return true
}
