package store

import (
	"context"
	"encoding/binary"
	"math"

	"github.com/memkernel/memkernel/driver"
	"github.com/memkernel/memkernel/internal/lexical"
	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/queries"
)

// maxPostings is the most postings one query reads. It is far above what a visible set of
// the intended size holds; reaching it is an error, never a silently partial ranking.
const maxPostings = 2_000_000

// maxCoveredDim is the largest vector that the covering index holds; the queries name it too.
const maxCoveredDim = 500

// lexicalFetch is a lexical query under way.
type lexicalFetch struct {
	steps    []queries.Step
	terms    []lexical.Term
	stats    lexical.Stats
	postings []lexical.Posting
}

func (s *Store) lexicalArm(cfg *ViewConfig, text string) *lexicalFetch {
	f := &lexicalFetch{terms: lexical.Query(text, maxQueryTerms)}
	if len(f.terms) == 0 {
		return f
	}
	hashes := make([]int64, len(f.terms))
	for i, t := range f.terms {
		hashes[i] = t.Hash
	}
	tenant, visible := cfg.Scope.Tenant(), cfg.Scope.Namespaces()
	if cfg.Filter.IsZero() {
		f.steps = []queries.Step{
			func(ctx context.Context, q *queries.Queries) error {
				r, err := q.NamespaceStats(ctx, queries.NamespaceStatsParams{Tenant: tenant, Namespaces: visible})
				if err == nil {
					f.stats = lexical.Stats{Docs: r.LiveRows, TotalLength: r.LiveLength}
				}
				return err
			},
			func(ctx context.Context, q *queries.Queries) error {
				rows, err := q.PostingList(ctx, queries.PostingListParams{
					Tenant: tenant, Namespaces: visible, Terms: hashes, MaxRows: maxPostings + 1,
				})
				if err == nil {
					f.postings = toPostings(rows)
				}
				return err
			},
		}
		return f
	}
	p := queries.PostingListFilteredParams{
		Tenant: tenant, Namespaces: visible, Terms: hashes, AsOf: optionalTime(cfg.Filter.AsOf), Ended: cfg.Filter.Ended,
		Kinds: kindStrings(cfg.Filter.Kinds), EventFrom: optionalTime(cfg.Filter.From), EventTo: optionalTime(cfg.Filter.To),
		MaxRows: maxPostings + 1,
	}
	f.steps = []queries.Step{
		func(ctx context.Context, q *queries.Queries) error {
			r, err := q.FilteredStats(ctx, queries.FilteredStatsParams{
				Tenant: p.Tenant, Namespaces: p.Namespaces, AsOf: p.AsOf, Ended: p.Ended, Kinds: p.Kinds,
				EventFrom: p.EventFrom, EventTo: p.EventTo,
			})
			if err == nil {
				f.stats = lexical.Stats{Docs: r.LiveRows, TotalLength: r.LiveLength}
			}
			return err
		},
		func(ctx context.Context, q *queries.Queries) error {
			rows, err := q.PostingListFiltered(ctx, p)
			if err == nil {
				f.postings = toPostings(rows)
			}
			return err
		},
	}
	return f
}

// postingRow is what both posting queries return.
type postingRow interface {
	queries.PostingListRow | queries.PostingListFilteredRow
}

func toPostings[R postingRow](rows []R) []lexical.Posting {
	out := make([]lexical.Posting, len(rows))
	for i, r := range rows {
		p := queries.PostingListRow(r)
		out[i] = lexical.Posting{ID: p.ID, Term: p.Term, TF: int32(p.Tf), Length: p.Length, Tokens: p.Tokens}
	}
	return out
}

// keepLexical ranks what was fetched and remembers it for the query's text.
func (v *view) keepLexical(text string, f *lexicalFetch) error {
	if len(f.postings) > maxPostings {
		return &mem.TooLargeError{Field: "Query", Size: int64(len(f.postings)), Limit: maxPostings, Unit: "postings"}
	}
	scored := lexical.BM25(f.stats, f.terms, f.postings, maxViewRows)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.lexical[text] = scored
	v.report.LexicalRows += len(f.postings)
	return nil
}

// vectorFetch is a vector query under way.
type vectorFetch struct {
	step  queries.Step
	rows  []driver.Candidate
	limit int
}

func (s *Store) vectorArm(cfg *ViewConfig, model int32, embedding []float32, limit int) *vectorFetch {
	f := &vectorFetch{limit: limit}
	tenant, visible, rows := cfg.Scope.Tenant(), cfg.Scope.Namespaces(), int32(limit) //nolint:gosec // capped
	switch {
	case !cfg.Filter.IsZero():
		p := queries.VectorNearestFilteredParams{
			Tenant: tenant, Namespaces: visible, Model: model, Embedding: embedding, MaxRows: rows,
			AsOf: optionalTime(cfg.Filter.AsOf), Ended: cfg.Filter.Ended, Kinds: kindStrings(cfg.Filter.Kinds),
			EventFrom: optionalTime(cfg.Filter.From), EventTo: optionalTime(cfg.Filter.To),
		}
		f.step = func(ctx context.Context, q *queries.Queries) error {
			found, err := q.VectorNearestFiltered(ctx, p)
			return keepNearest(f, found, err)
		}
	case len(embedding) > maxCoveredDim:
		p := queries.VectorNearestWideParams{Tenant: tenant, Namespaces: visible, Model: model, Embedding: embedding, MaxRows: rows}
		f.step = func(ctx context.Context, q *queries.Queries) error {
			found, err := q.VectorNearestWide(ctx, p)
			return keepNearest(f, found, err)
		}
	default:
		p := queries.VectorNearestParams{Tenant: tenant, Namespaces: visible, Model: model, Embedding: embedding, MaxRows: rows}
		f.step = func(ctx context.Context, q *queries.Queries) error {
			found, err := q.VectorNearest(ctx, p)
			return keepNearest(f, found, err)
		}
	}
	return f
}

// nearestRow is what the vector queries return.
type nearestRow interface {
	queries.VectorNearestRow | queries.VectorNearestWideRow | queries.VectorNearestFilteredRow
}

// keepNearest converts pgvector's negative inner product, which of unit vectors is the
// negative cosine.
func keepNearest[R nearestRow](f *vectorFetch, found []R, err error) error {
	if err != nil {
		return err
	}
	f.rows = make([]driver.Candidate, len(found))
	for i, r := range found {
		n := queries.VectorNearestRow(r)
		f.rows[i] = driver.Candidate{
			Ref: mem.ID(n.ID), Tokens: int(n.Tokens), Cosine: mem.Cosine(min(1, max(-1, -n.Distance))),
		}
	}
	return nil
}

func (v *view) keepVectors(embedding []float32, f *vectorFetch) vectorMemo {
	memo := vectorMemo{rows: f.rows, limit: f.limit}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.vectors[vectorKey(embedding)] = memo
	v.report.VectorRows += len(f.rows)
	return memo
}

func vectorKey(embedding []float32) string {
	b := make([]byte, 0, 4*len(embedding))
	for _, x := range embedding {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return string(b)
}

// recent returns the newest rows first.
func (s *Store) recent(ctx context.Context, cfg *ViewConfig, limit int) ([]driver.Candidate, error) {
	rows, err := queries.New(s.conn()).RecentList(ctx, queries.RecentListParams{
		Tenant: cfg.Scope.Tenant(), Namespaces: cfg.Scope.Namespaces(), MaxRows: int32(limit), //nolint:gosec // capped
		AsOf: optionalTime(cfg.Filter.AsOf), Ended: cfg.Filter.Ended, Kinds: kindStrings(cfg.Filter.Kinds),
		EventFrom: optionalTime(cfg.Filter.From), EventTo: optionalTime(cfg.Filter.To),
	})
	if err != nil {
		return nil, mapErr(err)
	}
	out := make([]driver.Candidate, len(rows))
	for i, r := range rows {
		out[i] = driver.Candidate{Ref: mem.ID(r.ID), Tokens: int(r.Tokens)}
	}
	return out, nil
}

// Prefetch holds arms that are fetched before a driver asks for them.
type Prefetch struct {
	view    *view
	text    string
	lexical *lexicalFetch
	vector  *vectorFetch
	vec     []float32
}

// Prefetch prepares the arms that a driver is about to ask for. embedding is nil if there is
// none yet; the vector arm is also left out while the model's id is not known.
func (w *View) Prefetch(text string, embedding []float32, want driver.Prefetch) *Prefetch {
	p := &Prefetch{view: w.v, text: text}
	if want.Lexical > 0 {
		p.lexical = w.v.store.lexicalArm(&w.v.cfg, text)
	}
	if model := w.v.store.models.id.Load(); want.Vector > 0 && embedding != nil && model != 0 {
		p.vec = embedding
		p.vector = w.v.store.vectorArm(&w.v.cfg, model, embedding, capRows(want.Vector))
	}
	return p
}

// Steps returns the queries to run.
func (p *Prefetch) Steps() []queries.Step {
	var steps []queries.Step
	if p.lexical != nil {
		steps = append(steps, p.lexical.steps...)
	}
	if p.vector != nil {
		steps = append(steps, p.vector.step)
	}
	return steps
}

// Keep makes what Steps fetched available to the driver.
func (p *Prefetch) Keep() error {
	if p.lexical != nil {
		if err := p.view.keepLexical(p.text, p.lexical); err != nil {
			return err
		}
	}
	if p.vector != nil {
		p.view.keepVectors(p.vec, p.vector)
	}
	return nil
}

// KeepEmbedding makes the embedding of a text, or the failure to get one, the view's answer.
func (w *View) KeepEmbedding(text string, vector []float32, err error) {
	w.v.mu.Lock()
	defer w.v.mu.Unlock()
	w.v.embeds[text] = embedMemo{vector: vector, err: err}
}
