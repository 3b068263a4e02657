package store

import (
	"bytes"
	"context"
	"math"
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
	Who   acl.Identity
	Draft *writepath.Draft
	// Memory and Capture are the ids that the new rows will have.
	Memory, Capture mem.ID
	Now             time.Time
	// IdempotencyKey and Digest tell a retry from another request.
	IdempotencyKey string
	Digest         [32]byte
	// Attempt is which attempt at the ticket that Capture is; 0 for a write that is no ticket's.
	Attempt int
	// Mentions are the names in the draft's text, and NewID makes ids for what they may be new
	// names of.
	Mentions []entity.Mention
	NewID    func() mem.ID
	// Outcome encodes the receipt and the audit row of a decision.
	Outcome func(writepath.Decision) (receipt []byte, event audit.Event)
	Review  Review

	store *Store
	// tx is set inside Serialized.
	tx       pgx.Tx
	doc      lexical.Doc
	captured bool
	place    place
	// entities and aliases are what the mentions may mean.
	entities []Entity
	aliases  EntityNames
	// cases are open, about what the draft is to replace.
	cases []openCase
}

// place is the pair of integers that stands for a namespace in the retrieval tables.
type place queries.NamespaceIDRow

var _ writepath.Ledger = (*Write)(nil)

// Bind attaches the write to the store.
func (s *Store) Bind(w *Write) { w.store = s }

// Probe returns the steps that read what bears on the draft, to run with the gate.
func (w *Write) Probe(st *writepath.State) []queries.Step {
	tenant, ns := w.Who.Tenant(), w.Who.Namespace().String()
	steps := []queries.Step{
		func(ctx context.Context, q *queries.Queries) error {
			w.place = place{} // what a transaction that was rolled back had made is gone
			id, err := q.NamespaceID(ctx, queries.NamespaceIDParams{Tenant: tenant, Path: ns})
			if err == nil {
				w.place = place(id)
				w.keepPlace()
			}
			return noRows(err)
		},
		func(ctx context.Context, q *queries.Queries) error {
			id, err := q.MemoryDuplicate(ctx, queries.MemoryDuplicateParams{
				Tenant: tenant, Namespace: ns, DedupeKey: w.Draft.DedupeKey[:],
			})
			if err == nil {
				st.Duplicate = mem.ID(id)
			}
			return noRows(err)
		},
	}
	if len(w.Mentions) > 0 {
		steps = append(steps, w.store.KnownEntities(w.Who.Scope(), w.Mentions, &w.entities, &w.aliases)...)
	}
	switch {
	case w.Attempt > 0:
		steps = append(steps, w.probeTicket(st))
	case w.IdempotencyKey != "":
		steps = append(steps, w.probeReceipt(st))
	}
	if !w.Draft.Supersedes.IsZero() {
		steps = append(steps, w.probeTarget(st), hidden(w.Who.Scope(), w.Draft.Supersedes, &st.TargetHidden))
		steps = append(steps, w.probeCases()...)
	}
	return steps
}

func (w *Write) probeReceipt(st *writepath.State) queries.Step {
	return func(ctx context.Context, q *queries.Queries) error {
		c, err := q.CaptureByKey(ctx, queries.CaptureByKeyParams{
			Tenant: w.Who.Tenant(), Namespace: w.Who.Namespace().String(), Principal: w.Who.Principal(), IdempotencyKey: w.IdempotencyKey,
		})
		if err != nil {
			return noRows(err)
		}
		st.ForeignReceipt = !bytes.Equal(c.RequestDigest, w.Digest[:])
		switch {
		case st.ForeignReceipt:
		case c.State == captureDone:
			st.Receipt = c.Result
		default:
			// An earlier attempt got no further than its capture: carry on from there.
			w.Capture, w.captured = mem.ID(c.ID), true
		}
		return nil
	}
}

func (w *Write) probeTarget(st *writepath.State) queries.Step {
	return lookAtTarget(w.Who.Scope(), w.Who.Namespace(), w.Draft.Supersedes, w.Draft, st)
}

// lookAtTarget returns the step that looks at a memory that is to be ended, and compares the
// head of its chain with the draft that is to replace it, if there is one.
func lookAtTarget(scope acl.Scope, own acl.Namespace, id mem.ID, d *writepath.Draft, st *writepath.State) queries.Step {
	return func(ctx context.Context, q *queries.Queries) error {
		t, err := q.MemoryTarget(ctx, queries.MemoryTargetParams{Tenant: scope.Tenant(), ID: uuid.UUID(id), Namespaces: scope.Namespaces()})
		if err != nil {
			return noRows(err)
		}
		st.Target = &writepath.Target{
			Own: t.Namespace == own.String(), Head: mem.ID(value(t.HeadID)), EndReason: mem.EndReason(value(t.EndReason)),
			Same: d != nil && value(t.HeadStatus) == string(mem.StatusActive) && bytes.Equal(t.HeadDedupeKey, d.DedupeKey[:]) && value(t.HeadKind) == string(d.Kind) &&
				value(t.HeadSource) == d.Source && utc(t.HeadEventTime).Equal(d.EventTime) && utc(t.HeadEventEnd).Equal(d.EventEnd),
		}
		return nil
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
		IdempotencyKey: optional(w.IdempotencyKey), RequestDigest: w.Digest[:], Content: w.Draft.Text,
		State: state, Result: result, CreatedAt: w.Now,
	}
	if state == captureDone {
		p.Attempts, p.FinishedAt = 1, optionalTime(w.Now)
	}
	return p
}

// Reworded forgets what was made of a text that the draft does not have any more.
func (w *Write) Reworded() {
	w.doc = lexical.Doc{}
	w.Draft.Embedding, w.Draft.Embedded = nil, false
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
func (w *Write) Apply(ctx context.Context, dec writepath.Decision) error {
	if dec.Action != writepath.Duplicate && !w.Draft.Embedded {
		return writepath.ErrUnprepared
	}
	steps, err := w.steps(ctx, dec)
	if err != nil {
		return err
	}
	return w.send(ctx, dec, steps)
}

func (w *Write) steps(ctx context.Context, dec writepath.Decision) ([]queries.Step, error) {
	receipt, event := w.Outcome(dec)
	steps := []queries.Step{w.finishCapture(receipt)}
	if dec.Action == writepath.Duplicate {
		steps = append(steps, w.hold(dec.Memory), appendEvent(&event))
		if !w.store.InTx() { // a host's transaction could hold the counter for long, and readers would wait for it
			var bumps queries.AccessBumpManyParams
			addBumps(&bumps, &event, []mem.ID{dec.Memory})
			steps = append(steps, bump(bumps))
		}
		return steps, nil
	}
	if w.doc.Terms == nil {
		w.doc = lexical.Analyze(w.Draft.Text)
	}
	if err := w.ensureNamespace(ctx); err != nil {
		return nil, err
	}
	var closed *uuid.UUID
	if dec.Action == writepath.Supersede && !w.Review.Held {
		closed = optionalID(dec.Memory)
		steps = append(steps, w.supersede(dec.Memory))
		steps = append(steps, closeArms(w.Who.Tenant(), w.Who.Namespace().String(), w.place, dec.Memory)...)
		overturn, err := w.overturn(dec.Memory)
		if err != nil {
			return nil, err
		}
		steps = append(steps, overturn...)
	} else {
		steps = append(steps, func(ctx context.Context, q *queries.Queries) error {
			p := w.insertParams()
			p.Replaces = optionalID(dec.Memory)
			return q.MemoryInsert(ctx, p)
		})
	}
	if len(w.Mentions) > 0 {
		links := entity.Resolve(w.Mentions, JoinEntities(w.entities, w.aliases))
		steps = append(steps, w.store.LinkEntities(w.Who, w.Memory, w.Now, links, w.NewID)...)
	}
	if w.Draft.Embedding != nil {
		model, err := w.store.modelID(ctx, w.conn())
		if err != nil {
			return nil, err
		}
		steps = append(steps, w.insertVector(model))
	}
	if w.Draft.Unembedded {
		steps = append(steps, w.insertGap())
	}
	if len(w.doc.Terms) > 0 {
		steps = append(steps, w.insertTerms())
	}
	rows, length := w.Review.counted(w.doc.Length)
	return append(steps, appendEvent(&event), bumpNamespace(w.Who.Tenant(), w.Who.Namespace().String(), rows, length, closed)), nil
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
			Tenant: w.Who.Tenant(), ID: uuid.UUID(id), Namespace: w.Who.Namespace().String(),
		})
		return err
	}
}

func (w *Write) insertParams() queries.MemoryInsertParams {
	d := w.Draft
	terms := make([]int64, len(w.doc.Terms))
	for i, t := range w.doc.Terms {
		terms[i] = t.Hash
	}
	return queries.MemoryInsertParams{
		Tenant: w.Who.Tenant(), ID: uuid.UUID(w.Memory), Namespace: w.Who.Namespace().String(), Kind: string(d.Kind), Text: d.Text,
		DedupeKey: d.DedupeKey[:], EventTime: optionalTime(d.EventTime), EventEnd: optionalTime(d.EventEnd),
		AssertionTime: w.Now, TValidFrom: w.Now, Status: string(w.Review.status()), Unchecked: w.Review.Unchecked, Provenance: string(d.Provenance), Source: d.Source,
		Actor: w.Who.Actor(), KeyID: optionalKey(w.Who.KeyID()), AgentID: w.Who.AgentID(), Tokens: int32(d.Tokens), //nolint:gosec // bounded by the text limit
		CaptureID: optionalID(w.Capture), Terms: terms, TermsLength: int32(w.doc.Length), TermsVersion: lexical.Version, //nolint:gosec // bounded by the text limit
		Sensitivity: string(d.Classification.Sensitivity), PiiSubjects: toStrings(d.Classification.PIISubjects),
		SecretKinds: toStrings(d.Classification.SecretKinds), Destinations: toStrings(d.Classification.Destinations),
		Labels: toStrings(d.Classification.Labels),
	}
}

func (w *Write) supersede(victim mem.ID) queries.Step {
	return func(ctx context.Context, q *queries.Queries) error {
		p := w.insertParams()
		_, err := q.MemorySupersede(ctx, queries.MemorySupersedeParams{
			Tenant: p.Tenant, ID: p.ID, Namespace: p.Namespace, Kind: p.Kind, Text: p.Text, DedupeKey: p.DedupeKey,
			EventTime: p.EventTime, EventEnd: p.EventEnd, AssertionTime: p.AssertionTime, TValidFrom: p.TValidFrom,
			Provenance: p.Provenance, Source: p.Source, Actor: p.Actor, KeyID: p.KeyID, AgentID: p.AgentID, Tokens: p.Tokens,
			CaptureID: p.CaptureID, Terms: p.Terms, TermsLength: p.TermsLength, TermsVersion: p.TermsVersion,
			Sensitivity: p.Sensitivity, PiiSubjects: p.PiiSubjects, SecretKinds: p.SecretKinds, Destinations: p.Destinations, Labels: p.Labels,
			Victim: uuid.UUID(victim), Unchecked: p.Unchecked,
		})
		return err
	}
}

func (w *Write) insertVector(model int32) queries.Step {
	return func(ctx context.Context, q *queries.Queries) error {
		return q.VectorInsert(ctx, queries.VectorInsertParams{
			TenantID: w.place.TenantID, ID: uuid.UUID(w.Memory), Model: model, Ns: w.place.ID, Live: !w.Review.Held,
			Tokens: int32(w.Draft.Tokens), Dim: int32(len(w.Draft.Embedding)), Embedding: w.Draft.Embedding, //nolint:gosec // bounded
		})
	}
}

func (w *Write) insertTerms() queries.Step {
	hashes := make([]int64, len(w.doc.Terms))
	tfs := make([]int16, len(w.doc.Terms))
	for i, t := range w.doc.Terms {
		hashes[i] = t.Hash
		tfs[i] = int16(min(t.TF, math.MaxInt16)) //nolint:gosec // BM25 saturates long before
	}
	return func(ctx context.Context, q *queries.Queries) error {
		return q.TermInsertMany(ctx, queries.TermInsertManyParams{
			TenantID: w.place.TenantID, Ns: w.place.ID, ID: uuid.UUID(w.Memory), Terms: hashes, Tfs: tfs, Live: !w.Review.Held,
			Length: int32(w.doc.Length), Tokens: int32(w.Draft.Tokens), //nolint:gosec // bounded by the text limit
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

func bumpNamespace(tenant, namespace string, rows, length int64, closed *uuid.UUID) queries.Step {
	return func(ctx context.Context, q *queries.Queries) error {
		_, err := q.NamespaceBump(ctx, queries.NamespaceBumpParams{
			Tenant: tenant, Path: namespace, AddedRows: rows, AddedLength: length, Closed: closed,
		})
		return err
	}
}
