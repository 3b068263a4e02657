package store

import (
	"bytes"
	"context"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/audit"
	"github.com/memkernel/memkernel/internal/lexical"
	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/queries"
	"github.com/memkernel/memkernel/writepath"
	"github.com/memkernel/memkernel/writepath/entity"
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

	store  *Store
	drafts []*draft
	// tx is set inside Serialized.
	tx       pgx.Tx
	captured bool
	place    place
	// entities and aliases are what the drafts' mentions may mean.
	entities []Entity
	aliases  EntityNames
}

// draft is what the store makes of a draft.
type draft struct {
	*writepath.Draft
	doc lexical.Doc
	// expired are memories in the draft's place, with its text or its key, that have expired and
	// have no end on record.
	expired []mem.ID
}

// place is the pair of integers that stands for a namespace in the retrieval tables.
type place queries.NamespaceIDRow

var _ writepath.Ledger = (*Write)(nil)

// Bind attaches the write to the store.
func (s *Store) Bind(w *Write) { w.store = s }

// Propose makes these the drafts of the write, in place of any others. They must be prepared
// before State, and may not change after.
func (w *Write) Propose(drafts ...*writepath.Draft) {
	w.drafts = make([]*draft, len(drafts))
	for i, d := range drafts {
		w.drafts[i] = &draft{Draft: d}
	}
}

const (
	capturePending = "pending"
	captureDone    = "done"
)

// Keep stores the raw input in a transaction of its own, before a remote model is asked.
// A repeat call, and a call inside a host's transaction, where nothing is durable before the
// host commits, does nothing.
func (w *Write) Keep(ctx context.Context) error {
	if w.captured || w.Attempt > 0 || w.store.InTx() {
		return nil
	}
	err := w.store.run(ctx, func(ctx context.Context, q *queries.Queries) error {
		return q.CaptureInsert(ctx, w.capture(capturePending, nil))
	})
	w.captured = err == nil
	return err
}

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

// State implements writepath.Ledger.
func (w *Write) State(ctx context.Context) (writepath.State, error) {
	var st writepath.State
	err := mapErr(queries.Pipeline(ctx, w.conn(), w.Probe(&st)...))
	return st, err
}

func (w *Write) conn() conn {
	if w.tx != nil {
		return w.tx
	}
	return w.store.conn()
}

// Serialized implements writepath.Ledger.
func (w *Write) Serialized(ctx context.Context, fn func(writepath.Ledger) error) error {
	return w.store.inTx(ctx, func(tx pgx.Tx) error {
		if _, err := queries.New(tx).WriteLock(ctx, queries.WriteLockParams{Namespace: w.Who.Namespace().String()}); err != nil {
			return mapErr(err)
		}
		w.tx = tx
		defer func() { w.tx = nil }()
		return fn(w)
	})
}

// Apply implements writepath.Ledger.
func (w *Write) Apply(ctx context.Context, decisions []writepath.Decision) error {
	for i, d := range w.drafts {
		if decisions[i].Action.Stores() && !d.Embedded {
			return writepath.ErrUnprepared
		}
	}
	steps, err := w.steps(ctx, decisions)
	if err != nil {
		return err
	}
	if w.tx != nil {
		return mapErr(queries.Pipeline(ctx, w.tx, steps...))
	}
	return w.store.atomic(ctx, steps...)
}

// steps returns what carries the decisions out: the raw input first, which the memories refer to,
// and the counters of the namespace last, which its other writers wait for.
func (w *Write) steps(ctx context.Context, decisions []writepath.Decision) ([]queries.Step, error) {
	receipt, event := w.Outcome(decisions)
	steps := []queries.Step{w.finishCapture(receipt)}
	var repeated []mem.ID // what is counted as asked for once more; not an echo, which nobody asked for
	var closed []mem.ID
	var stored []*draft
	for _, i := range w.order() {
		d, dec := w.drafts[i], decisions[i]
		switch {
		case !dec.Action.Stores():
			if dec.Action == writepath.Duplicate {
				repeated = append(repeated, dec.Memory)
				steps = append(steps, w.hold(dec.Memory))
			}
			continue
		case len(stored) == 0:
			if err := w.ensureNamespace(ctx); err != nil {
				return nil, err
			}
		}
		if d.doc.Terms == nil {
			d.doc = lexical.Analyze(d.Text)
		}
		stored = append(stored, d)
		for _, id := range d.expired { // of such copies the database allows one
			if !slices.Contains(closed, id) {
				closed = append(closed, id)
				steps = append(steps, expire(w.Who.Tenant(), w.Who.Namespace().String(), w.place, id, w.Now)...)
			}
		}
		if dec.Action == writepath.Supersede {
			closed = append(closed, dec.Memory)
			steps = append(steps, w.supersede(d, dec.Memory))
			steps = append(steps, closeArms(w.Who.Tenant(), w.Who.Namespace().String(), w.place, dec.Memory)...)
		} else {
			steps = append(steps, w.insert(d))
		}
	}
	index, err := w.index(ctx, stored)
	if err != nil {
		return nil, err
	}
	steps = append(append(steps, index...), appendEvent(&event))
	if len(repeated) > 0 && !w.store.InTx() { // a host's transaction could hold the counter for long, and readers would wait for it
		var bumps queries.AccessBumpManyParams
		addBumps(&bumps, &event, repeated)
		steps = append(steps, bump(bumps))
	}
	if len(stored) > 0 {
		var length int64
		for _, d := range stored {
			length += int64(d.doc.Length)
		}
		steps = append(steps, bumpNamespace(w.Who.Tenant(), w.Who.Namespace().String(), int64(len(stored)), length, closed...))
	}
	return steps, nil
}

// order returns the places of the drafts in an order that all writers share, so that those who
// meet the same texts do not wait for each other in a circle.
func (w *Write) order() []int {
	order := make([]int, len(w.drafts))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return bytes.Compare(w.drafts[a].DedupeKey[:], w.drafts[b].DedupeKey[:])
	})
	return order
}

// index returns the steps by which new memories are found: by what they name, by vector and by
// word.
func (w *Write) index(ctx context.Context, stored []*draft) ([]queries.Step, error) {
	var steps []queries.Step
	if mentions := mentionsOf(stored); len(slices.Concat(mentions...)) > 0 {
		named := make([]Named, len(stored))
		for i, links := range entity.ResolveTogether(mentions, JoinEntities(w.entities, w.aliases)) {
			named[i] = Named{Memory: stored[i].ID, Links: links}
		}
		steps = append(steps, w.store.LinkEntities(w.Who, w.Now, named, w.NewID)...)
	}
	for _, d := range stored {
		if d.Embedding != nil {
			model, err := w.store.modelID(ctx, w.conn())
			if err != nil {
				return nil, err
			}
			steps = append(steps, w.insertVector(d, model))
		}
		if d.Unembedded {
			steps = append(steps, w.insertGap(d.ID))
		}
		if len(d.doc.Terms) > 0 {
			steps = append(steps, w.insertTerms(d))
		}
	}
	return steps, nil
}

// mentionsOf returns the names in each of the drafts.
func mentionsOf(drafts []*draft) [][]entity.Mention {
	out := make([][]entity.Mention, len(drafts))
	for i, d := range drafts {
		out[i] = d.Mentions
	}
	return out
}

func (w *Write) ensureNamespace(ctx context.Context) error {
	if w.place.ID != 0 {
		return nil
	}
	id, err := queries.New(w.conn()).NamespaceEnsure(ctx, queries.NamespaceEnsureParams{
		Tenant: w.Who.Tenant(), Path: w.Who.Namespace().String(),
	})
	if err != nil {
		// No row: another transaction has made it and is about to commit.
		return mapErr(staleIfMissing(err))
	}
	w.place = place(id)
	return nil
}

// keepPlace remembers the place for later writes, unless a transaction of the host's could still
// undo it.
func (w *Write) keepPlace() {
	if w.store.tx == nil && w.tx == nil {
		w.store.known.keepPlace(w.Who.Namespace().String(), w.place)
	}
}

func staleIfMissing(err error) error {
	if noRows(err) == nil {
		return writepath.ErrStale
	}
	return err
}

func (w *Write) finishCapture(receipt []byte) queries.Step {
	if w.Attempt > 0 {
		return w.finishTicket(receipt)
	}
	return func(ctx context.Context, q *queries.Queries) error {
		if w.captured {
			_, err := q.CaptureFinish(ctx, queries.CaptureFinishParams{
				Tenant: w.Who.Tenant(), ID: uuid.UUID(w.Capture), Result: receipt, FinishedAt: optionalTime(w.Now),
			})
			return err
		}
		return q.CaptureInsert(ctx, w.capture(captureDone, receipt))
	}
}

func (w *Write) hold(id mem.ID) queries.Step {
	return func(ctx context.Context, q *queries.Queries) error {
		_, err := q.MemoryHold(ctx, queries.MemoryHoldParams{
			Tenant: w.Who.Tenant(), ID: uuid.UUID(id), Namespace: w.Who.Namespace().String(), Now: w.Now,
		})
		return err
	}
}

func (w *Write) insert(d *draft) queries.Step {
	return func(ctx context.Context, q *queries.Queries) error { return q.MemoryInsert(ctx, w.insertParams(d)) }
}

func (w *Write) insertParams(d *draft) queries.MemoryInsertParams {
	terms := make([]int64, len(d.doc.Terms))
	for i, t := range d.doc.Terms {
		terms[i] = t.Hash
	}
	return queries.MemoryInsertParams{
		Tenant: w.Who.Tenant(), ID: uuid.UUID(d.ID), Namespace: w.Who.Namespace().String(), Kind: string(d.Kind), Text: d.Text,
		DedupeKey: d.DedupeKey[:], EventTime: optionalTime(d.EventTime), EventEnd: optionalTime(d.EventEnd),
		AssertionTime: w.Now, TValidFrom: w.Now, Provenance: string(d.Provenance), Source: d.Source,
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
			ContentKey: p.ContentKey, Certainty: p.Certainty, ExpiresAt: p.ExpiresAt, Victim: uuid.UUID(victim),
		})
		return err
	}
}

func (w *Write) insertVector(d *draft, model int32) queries.Step {
	return func(ctx context.Context, q *queries.Queries) error {
		return q.VectorInsert(ctx, queries.VectorInsertParams{
			TenantID: w.place.TenantID, ID: uuid.UUID(d.ID), Model: model, Ns: w.place.ID,
			Tokens: int32(d.Tokens), Dim: int32(len(d.Embedding)), Embedding: d.Embedding, //nolint:gosec // bounded
		})
	}
}

func (w *Write) insertTerms(d *draft) queries.Step {
	hashes := make([]int64, len(d.doc.Terms))
	tfs := make([]int16, len(d.doc.Terms))
	for i, t := range d.doc.Terms {
		hashes[i] = t.Hash
		tfs[i] = int16(min(t.TF, math.MaxInt16)) //nolint:gosec // BM25 saturates long before
	}
	return func(ctx context.Context, q *queries.Queries) error {
		return q.TermInsertMany(ctx, queries.TermInsertManyParams{
			TenantID: w.place.TenantID, Ns: w.place.ID, ID: uuid.UUID(d.ID), Terms: hashes, Tfs: tfs,
			Length: int32(d.doc.Length), Tokens: int32(d.Tokens), //nolint:gosec // bounded by the text limit
		})
	}
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
