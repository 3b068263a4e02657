package store

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/audit"
	"github.com/memkernel/memkernel/internal/lexical"
	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/queries"
	"github.com/memkernel/memkernel/writepath"
)

// Write is one write on its way into the database. It implements writepath.Ledger.
type Write struct {
	Who acl.Identity
	// Raw is the raw input, as it may be kept.
	Raw string
	// Capture is the id of the raw input.
	Capture mem.ID
	Now     time.Time
	// IdempotencyKey and Digest tell a retry from another request.
	IdempotencyKey string
	Digest         [32]byte
	// Attempt is which attempt at the ticket that Capture is; 0 for a write that is no ticket's.
	Attempt int
	// NewID makes ids for what the drafts' mentions may be new names of.
	NewID func() mem.ID
	// Outcome encodes the receipt and the audit row of what was decided for each draft.
	Outcome func([]writepath.Decision) (receipt []byte, event audit.Event)
	// Check adds the job that checks memories that are held, within their transaction.
	Check CheckJob

	// alone is the batch that has this write and no other.
	alone    Batch
	drafts   []*draft
	captured bool
}

// draft is what the store makes of a draft.
type draft struct {
	*writepath.Draft
	doc lexical.Doc
	// expired are memories in the draft's place, with its text or its key, that have expired and
	// have no end on record.
	expired []mem.ID
	// cases counts the open ones about what the draft, which is a person's, may replace.
	cases map[mem.ID]int64
}

func (d *draft) noteCases(about mem.ID, open int64) {
	if d.cases == nil {
		d.cases = map[mem.ID]int64{}
	}
	d.cases[about] = open
}

// expire notes a memory that has expired and stands in the draft's place.
func (d *draft) expire(id mem.ID) {
	if !slices.Contains(d.expired, id) {
		d.expired = append(d.expired, id)
	}
}

// analyze derives the words of the draft, once.
func (d *draft) analyze() {
	if d.doc.Terms == nil {
		d.doc = lexical.Analyze(d.Text)
	}
}

// place is the pair of integers that stands for a namespace in the retrieval tables.
type place queries.NamespaceIDRow

var _ writepath.Ledger = (*Write)(nil)

// Bind attaches the write to the store.
func (s *Store) Bind(w *Write) { w.alone = Batch{store: s, writes: []*Write{w}} }

// Propose makes these the drafts of the write, in place of any others. They must be prepared
// before State, and may not change after.
func (w *Write) Propose(drafts ...*writepath.Draft) {
	w.drafts = make([]*draft, len(drafts))
	for i, d := range drafts {
		w.drafts[i] = &draft{Draft: d}
	}
}

// Analyze derives the words of the drafts, which Apply does of those that lack them.
func (w *Write) Analyze() {
	for _, d := range w.drafts {
		d.analyze()
	}
}

const (
	capturePending = "pending"
	captureDone    = "done"
)

// Keep stores the raw input in a transaction of its own, before a remote model is asked.
// A repeat call, and a call inside a host's transaction, where nothing is durable before the
// host commits, does nothing.
func (w *Write) Keep(ctx context.Context) error { return w.alone.Keep(ctx) }

func (w *Write) capture(state string, result []byte) queries.CaptureInsertParams {
	p := queries.CaptureInsertParams{
		Tenant: w.Who.Tenant(), ID: uuid.UUID(w.Capture), Namespace: w.Who.Namespace().String(), Principal: w.Who.Principal(),
		IdempotencyKey: optional(w.IdempotencyKey), RequestDigest: w.Digest[:], Content: w.Raw,
		State: state, Result: result, CreatedAt: w.Now,
	}
	if state == captureDone {
		p.Attempts, p.FinishedAt = 1, optionalTime(w.Now)
	}
	return p
}

// Probe returns the steps that read what bears on the drafts, to run with the gate.
func (w *Write) Probe(st *writepath.State) []queries.Step { return w.alone.Probe(st) }

// State implements writepath.Ledger.
func (w *Write) State(ctx context.Context) (st writepath.State, err error) {
	err = w.alone.State(ctx, &st)
	return st, err
}

// Serialized implements writepath.Ledger.
func (w *Write) Serialized(ctx context.Context, fn func(writepath.Ledger) error) error {
	return w.alone.Serialized(ctx, func() error { return fn(w) })
}

// Apply implements writepath.Ledger.
func (w *Write) Apply(ctx context.Context, decisions []writepath.Decision) error {
	return w.alone.Apply(ctx, Part{Write: w, Decisions: decisions})
}

func (w *Write) insertParams(d *draft) queries.MemoryInsertParams {
	terms := make([]int64, len(d.doc.Terms))
	for i, t := range d.doc.Terms {
		terms[i] = t.Hash
	}
	return queries.MemoryInsertParams{
		Tenant: w.Who.Tenant(), ID: uuid.UUID(d.ID), Namespace: w.Who.Namespace().String(), Kind: string(d.Kind), Text: d.Text,
		DedupeKey: d.DedupeKey[:], EventTime: optionalTime(d.EventTime), EventEnd: optionalTime(d.EventEnd),
		AssertionTime: w.Now, TValidFrom: w.Now, Status: string(statusOf(d.Draft)), Unchecked: d.Unchecked, Provenance: string(d.Provenance), Source: d.Source,
		Actor: w.Who.Actor(), KeyID: optionalKey(w.Who.KeyID()), AgentID: w.Who.AgentID(), Tokens: int32(d.Tokens), //nolint:gosec // bounded by the text limit
		CaptureID: optionalID(w.Capture), Terms: terms, TermsLength: int32(d.doc.Length), TermsVersion: lexical.Version, //nolint:gosec // bounded by the text limit
		Sensitivity: string(d.Classification.Sensitivity), PiiSubjects: toStrings(d.Classification.PIISubjects),
		SecretKinds: toStrings(d.Classification.SecretKinds), Destinations: toStrings(d.Classification.Destinations),
		Labels: toStrings(d.Classification.Labels), ContentKey: optional(d.ContentKey), Certainty: d.Certainty,
		ExpiresAt: optionalTime(d.ExpiresAt),
	}
}

func (w *Write) supersede(d *draft, victim mem.ID) queries.Step {
	return func(ctx context.Context, q *queries.Queries) error {
		p := w.insertParams(d)
		_, err := q.MemorySupersede(ctx, queries.MemorySupersedeParams{
			Tenant: p.Tenant, ID: p.ID, Namespace: p.Namespace, Kind: p.Kind, Text: p.Text, DedupeKey: p.DedupeKey,
			EventTime: p.EventTime, EventEnd: p.EventEnd, AssertionTime: p.AssertionTime, TValidFrom: p.TValidFrom,
			Provenance: p.Provenance, Source: p.Source, Actor: p.Actor, KeyID: p.KeyID, AgentID: p.AgentID, Tokens: p.Tokens,
			CaptureID: p.CaptureID, Terms: p.Terms, TermsLength: p.TermsLength, TermsVersion: p.TermsVersion,
			Sensitivity: p.Sensitivity, PiiSubjects: p.PiiSubjects, SecretKinds: p.SecretKinds, Destinations: p.Destinations, Labels: p.Labels,
			ContentKey: p.ContentKey, Certainty: p.Certainty, ExpiresAt: p.ExpiresAt, Victim: uuid.UUID(victim), Unchecked: p.Unchecked,
		})
		return err
	}
}

// finish is capture for raw input that is kept already.
func (w *Write) finish(receipt []byte) queries.CaptureFinishParams {
	return queries.CaptureFinishParams{Tenant: w.Who.Tenant(), ID: uuid.UUID(w.Capture), Result: receipt, FinishedAt: optionalTime(w.Now)}
}

// closeArms takes a memory out of what the retrieval arms search.
func closeArms(tenant, namespace string, at place, id mem.ID) []queries.Step {
	return []queries.Step{
		func(ctx context.Context, q *queries.Queries) error {
			return q.TermCloseMany(ctx, queries.TermCloseManyParams{
				Tenant: tenant, ID: uuid.UUID(id), Namespace: namespace, TenantID: at.TenantID, Ns: at.ID,
			})
		},
		func(ctx context.Context, q *queries.Queries) error {
			return q.VectorClose(ctx, queries.VectorCloseParams{TenantID: at.TenantID, ID: uuid.UUID(id)})
		},
	}
}

// bumpNamespace returns the step that counts new memories, and those that were closed.
func bumpNamespace(tenant, namespace string, rows, length int64, closed ...mem.ID) queries.Step {
	return func(ctx context.Context, q *queries.Queries) error {
		_, err := q.NamespaceBump(ctx, queries.NamespaceBumpParams{
			Tenant: tenant, Path: namespace, AddedRows: rows, AddedLength: length, Closed: idStrings(closed),
		})
		return err
	}
}
