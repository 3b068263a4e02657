package store

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/queries"
)

// optional returns a pointer to v, nil for the zero value: SQL's NULL.
func optional[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// value is the way back from optional.
func value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

func optionalTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// utc makes times equal in form too, wherever the server and the process are.
func utc(p *time.Time) time.Time {
	if p == nil {
		return time.Time{}
	}
	return p.UTC()
}

// optionalKey reads a key id; "" and anything that is no UUID is NULL.
func optionalKey(keyID string) *uuid.UUID {
	id, err := mem.ParseID(keyID)
	if err != nil {
		return nil
	}
	return optional(uuid.UUID(id))
}

func optionalID(id mem.ID) *uuid.UUID { return optional(uuid.UUID(id)) }

// namespaceOf reads a stored path. The database holds only valid ones; should one not be,
// the zero Namespace is seen by nobody.
func namespaceOf(path string) acl.Namespace {
	n, err := acl.ParseNamespace(path)
	if err != nil {
		return acl.Namespace{}
	}
	return n
}

// memoryRow is the row type that the queries returning whole memories share.
type memoryRow = queries.MemoryServeRow

// toMemory reads a row as of now: what has expired by then has ended, whether that is on record
// or not.
func toMemory(r *memoryRow, now time.Time) mem.Memory {
	m := mem.Memory{
		ID:            mem.ID(r.ID),
		Namespace:     namespaceOf(r.Namespace),
		Kind:          mem.Kind(r.Kind),
		Text:          r.Text,
		EventTime:     utc(r.EventTime),
		EventEnd:      utc(r.EventEnd),
		AssertionTime: r.AssertionTime.UTC(),
		ValidFrom:     r.TValidFrom.UTC(),
		ValidTo:       utc(r.TValidTo),
		ExpiresAt:     utc(r.ExpiresAt),
		EndReason:     mem.EndReason(value(r.EndReason)),
		EndNote:       value(r.EndNote),
		Supersedes:    mem.ID(value(r.Supersedes)),
		SupersededBy:  mem.ID(value(r.SupersededBy)),
		Status:        mem.Status(r.Status),
		Provenance:    mem.Provenance(r.Provenance),
		Source:        r.Source,
		Actor:         r.Actor,
		AgentID:       r.AgentID,
		Tokens:        int(r.Tokens),
		Classification: mem.Classification{
			Sensitivity: mem.Sensitivity(value(r.Sensitivity)), PIISubjects: fromStrings[string](r.PiiSubjects), SecretKinds: fromStrings[string](r.SecretKinds),
			Destinations: fromStrings[mem.Destination](r.Destinations), Labels: fromStrings[mem.Label](r.Labels),
		},
	}
	if m.Current() && !m.ExpiresAt.IsZero() && !now.Before(m.ExpiresAt) {
		m.ValidTo, m.EndReason = later(m.ExpiresAt, m.ValidFrom), mem.EndExpired
	}
	return m
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// toStrings makes a text array, never NULL.
func toStrings[T ~string](values []T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}

// fromStrings is the way back; an empty array is nil.
func fromStrings[T ~string](values []string) []T {
	if len(values) == 0 {
		return nil
	}
	out := make([]T, len(values))
	for i, v := range values {
		out[i] = T(v)
	}
	return out
}

func idStrings(ids []mem.ID) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = id.String()
	}
	return out
}

func kindStrings(kinds []mem.Kind) []string {
	out := toStrings(kinds)
	slices.Sort(out)
	return out
}
