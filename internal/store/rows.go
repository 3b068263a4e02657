package store

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/memkernel/memkernel/audit"
	"github.com/memkernel/memkernel/queries"
)

// Rows of one table that are written together: one by the statement for one row, which costs less
// by itself, several by one statement for all of them, which costs a fraction for each.

// captures are raw inputs of one caller, all in the same state.
type captures []queries.CaptureInsertParams

func (rows captures) insert() []queries.Step {
	switch len(rows) {
	case 0:
		return nil
	case 1:
		return []queries.Step{func(ctx context.Context, q *queries.Queries) error { return q.CaptureInsert(ctx, rows[0]) }}
	}
	first := &rows[0]
	p := queries.CaptureInsertManyParams{
		Tenant: first.Tenant, Namespace: first.Namespace, Principal: first.Principal, State: first.State, Attempts: first.Attempts,
	}
	for i := range rows {
		r := &rows[i]
		p.Ids, p.IdempotencyKeys = append(p.Ids, r.ID.String()), append(p.IdempotencyKeys, value(r.IdempotencyKey))
		p.RequestDigests, p.Contents = append(p.RequestDigests, r.RequestDigest), append(p.Contents, r.Content)
		p.Results, p.Times = append(p.Results, string(r.Result)), append(p.Times, r.CreatedAt)
	}
	return []queries.Step{func(ctx context.Context, q *queries.Queries) error { return q.CaptureInsertMany(ctx, p) }}
}

// finishes are raw inputs of one tenant whose writes are done.
type finishes []queries.CaptureFinishParams

func (rows finishes) update() []queries.Step {
	switch len(rows) {
	case 0:
		return nil
	case 1:
		return []queries.Step{func(ctx context.Context, q *queries.Queries) error {
			_, err := q.CaptureFinish(ctx, rows[0])
			return err
		}}
	}
	p := queries.CaptureFinishManyParams{Tenant: rows[0].Tenant}
	for i := range rows {
		r := &rows[i]
		p.Ids, p.Results, p.Times = append(p.Ids, r.ID.String()), append(p.Results, string(r.Result)), append(p.Times, value(r.FinishedAt))
	}
	return []queries.Step{func(ctx context.Context, q *queries.Queries) error {
		_, err := q.CaptureFinishMany(ctx, p)
		return err
	}}
}

// memories are new memories of one writer.
type memories []queries.MemoryInsertParams

func (rows memories) insert() []queries.Step {
	switch len(rows) {
	case 0:
		return nil
	case 1:
		return []queries.Step{func(ctx context.Context, q *queries.Queries) error { return q.MemoryInsert(ctx, rows[0]) }}
	}
	first := &rows[0]
	p := queries.MemoryInsertManyParams{
		Tenant: first.Tenant, Namespace: first.Namespace, Actor: first.Actor, KeyID: first.KeyID, AgentID: first.AgentID, TermsVersion: first.TermsVersion,
	}
	for i := range rows {
		r := &rows[i]
		p.TermFroms = append(p.TermFroms, int32(len(p.Terms)+1)) //nolint:gosec // bounded by the text limit
		p.Terms = append(p.Terms, r.Terms...)
		p.TermTos = append(p.TermTos, int32(len(p.Terms))) //nolint:gosec // bounded by the text limit
		p.Ids, p.Kinds, p.Texts, p.DedupeKeys = append(p.Ids, r.ID.String()), append(p.Kinds, r.Kind), append(p.Texts, r.Text), append(p.DedupeKeys, r.DedupeKey)
		p.EventTimes, p.EventEnds = append(p.EventTimes, utc(r.EventTime)), append(p.EventEnds, utc(r.EventEnd))
		p.ValidFroms, p.Provenances = append(p.ValidFroms, r.TValidFrom), append(p.Provenances, r.Provenance)
		p.Sources, p.Tokens = append(p.Sources, r.Source), append(p.Tokens, r.Tokens)
		p.CaptureIds, p.TermsLengths = append(p.CaptureIds, value(r.CaptureID).String()), append(p.TermsLengths, r.TermsLength)
		p.Sensitivities, p.PiiSubjects = append(p.Sensitivities, r.Sensitivity), append(p.PiiSubjects, arrayText(r.PiiSubjects))
		p.SecretKinds, p.Destinations = append(p.SecretKinds, arrayText(r.SecretKinds)), append(p.Destinations, arrayText(r.Destinations))
		p.Labels, p.ContentKeys = append(p.Labels, arrayText(r.Labels)), append(p.ContentKeys, value(r.ContentKey))
		certainty := float32(-1)
		if r.Certainty != nil {
			certainty = *r.Certainty
		}
		p.Certainties, p.Expiries = append(p.Certainties, certainty), append(p.Expiries, utc(r.ExpiresAt))
		p.Statuses, p.Uncheckeds, p.Replaces = append(p.Statuses, r.Status), append(p.Uncheckeds, r.Unchecked), append(p.Replaces, uuidText(r.Replaces))
	}
	return []queries.Step{func(ctx context.Context, q *queries.Queries) error { return q.MemoryInsertMany(ctx, p) }}
}

func uuidText(id *uuid.UUID) string {
	if id == nil {
		return ""
	}
	return id.String()
}

// arrayText writes an array of texts as PostgreSQL reads it.
func arrayText(values []string) string {
	if len(values) == 0 {
		return "{}"
	}
	var b strings.Builder
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	for i, v := range values {
		b.WriteByte("{,"[min(i, 1)])
		b.WriteByte('"')
		b.WriteString(escape.Replace(v))
		b.WriteByte('"')
	}
	b.WriteByte('}')
	return b.String()
}

// insertVectors returns the step that stores the vectors of memories, at least one.
func insertVectors(at place, model int32, made []stored) queries.Step {
	if len(made) == 1 {
		d := made[0]
		return func(ctx context.Context, q *queries.Queries) error {
			return q.VectorInsert(ctx, queries.VectorInsertParams{
				TenantID: at.TenantID, ID: uuid.UUID(d.ID), Model: model, Ns: at.ID, Live: !d.Held,
				Tokens: int32(d.Tokens), Dim: int32(len(d.Embedding)), Embedding: d.Embedding, //nolint:gosec // bounded
			})
		}
	}
	p := queries.VectorInsertManyParams{TenantID: at.TenantID, Model: model, Ns: at.ID, Dim: int32(len(made[0].Embedding))} //nolint:gosec // bounded
	for _, d := range made {
		p.Ids, p.Tokens = append(p.Ids, d.ID.String()), append(p.Tokens, int32(d.Tokens)) //nolint:gosec // bounded
		p.Lives = append(p.Lives, !d.Held)
		p.Froms = append(p.Froms, int32(len(p.Embeddings)+1)) //nolint:gosec // bounded
		p.Embeddings = append(p.Embeddings, d.Embedding...)
		p.Tos = append(p.Tos, int32(len(p.Embeddings))) //nolint:gosec // bounded
	}
	return func(ctx context.Context, q *queries.Queries) error { return q.VectorInsertMany(ctx, p) }
}

// terms are memories that have words.
type terms []stored

func (rows terms) insert(at place) []queries.Step {
	switch len(rows) {
	case 0:
		return nil
	case 1:
		d := rows[0]
		p := queries.TermInsertManyParams{TenantID: at.TenantID, Ns: at.ID, ID: uuid.UUID(d.ID), Live: !d.Held, Length: int32(d.doc.Length), Tokens: int32(d.Tokens)} //nolint:gosec // bounded by the text limit
		for _, t := range d.doc.Terms {
			p.Terms, p.Tfs = append(p.Terms, t.Hash), append(p.Tfs, frequency(t.TF))
		}
		return []queries.Step{func(ctx context.Context, q *queries.Queries) error { return q.TermInsertMany(ctx, p) }}
	}
	p := queries.TermInsertAllParams{TenantID: at.TenantID, Ns: at.ID}
	type posting struct {
		hash int64
		tf   int16
		row  int32
	}
	var postings []posting
	for i, d := range rows {
		p.Ids, p.Lengths, p.Tokens = append(p.Ids, d.ID.String()), append(p.Lengths, int32(d.doc.Length)), append(p.Tokens, int32(d.Tokens)) //nolint:gosec // bounded by the text limit
		p.Lives = append(p.Lives, !d.Held)
		for _, t := range d.doc.Terms {
			postings = append(postings, posting{t.Hash, frequency(t.TF), int32(i + 1)})
		}
	}
	// In the order of their index, which then goes from page to page once.
	slices.SortFunc(postings, func(a, b posting) int { return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.row, b.row)) })
	for _, t := range postings {
		p.Terms, p.Tfs, p.Rows = append(p.Terms, t.hash), append(p.Tfs, t.tf), append(p.Rows, t.row)
	}
	return []queries.Step{func(ctx context.Context, q *queries.Queries) error { return q.TermInsertAll(ctx, p) }}
}

// frequency is how often a term stands in a text; BM25 saturates long before what fits.
func frequency(tf int) int16 { return int16(min(tf, math.MaxInt16)) } //nolint:gosec // bounded here

// recordEvents returns the step that adds the audit rows of calls to the transaction that does what
// they asked for. It fails, and all of that with it, if one of the calls has a row: the connection
// broke before the server was done, and the caller has been told that it failed.
func recordEvents(events []audit.Event) queries.Step {
	if len(events) == 1 {
		return appendEvent(&events[0])
	}
	p := queries.AuditRecordManyParams(auditColumns(events))
	return func(ctx context.Context, q *queries.Queries) error { return q.AuditRecordMany(ctx, p) }
}

func auditColumns(events []audit.Event) queries.AuditAppendManyParams {
	var p queries.AuditAppendManyParams
	for i := range events {
		e := &events[i]
		p.Tenants = append(p.Tenants, e.Tenant)
		p.CallIds = append(p.CallIds, e.Call.String())
		p.Times = append(p.Times, e.Time)
		p.Namespaces = append(p.Namespaces, e.Namespace)
		p.Actors = append(p.Actors, e.Actor)
		p.KeyIds = append(p.KeyIds, keyText(e.KeyID))
		p.AgentIds = append(p.AgentIds, e.AgentID)
		p.Ops = append(p.Ops, string(e.Op))
		p.MemoryIds = append(p.MemoryIds, idText(e.MemoryID))
		p.Purposes = append(p.Purposes, e.Purpose)
		p.Results = append(p.Results, string(e.Result))
		p.Details = append(p.Details, e.Detail)
	}
	return p
}
