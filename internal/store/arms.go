package store

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"math"
	"slices"
	"time"

	"github.com/memkernel/memkernel/acl"
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

func (s *Store) lexicalArm(scope acl.Scope, filter *Filter, text string) *lexicalFetch {
	f, hashes := newLexicalFetch(text)
	if len(hashes) == 0 {
		return f
	}
	tenant, visible, now := scope.Tenant(), scope.Namespaces(), filter.Now
	if filter.IsZero() {
		f.steps = s.plainLexical(f, tenant, visible, hashes, now)
		return f
	}
	p := queries.PostingListFilteredParams{
		Tenant: tenant, Namespaces: visible, Terms: hashes, AsOf: optionalTime(filter.AsOf), Ended: filter.Ended, Now: now,
		Kinds: kindStrings(filter.Kinds), EventFrom: optionalTime(filter.From), EventTo: optionalTime(filter.To),
		MaxRows: maxPostings + 1,
	}
	f.steps = []queries.Step{
		func(ctx context.Context, q *queries.Queries) error {
			r, err := q.FilteredStats(ctx, queries.FilteredStatsParams{
				Tenant: p.Tenant, Namespaces: p.Namespaces, AsOf: p.AsOf, Ended: p.Ended, Now: p.Now, Kinds: p.Kinds,
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

func newLexicalFetch(text string) (f *lexicalFetch, hashes []int64) {
	f = &lexicalFetch{terms: lexical.Query(text, maxQueryTerms)}
	hashes = make([]int64, len(f.terms))
	for i, t := range f.terms {
		hashes[i] = t.Hash
	}
	return f, hashes
}

// plainLexical returns the steps of a lexical query over all that is current in some namespaces.
func (s *Store) plainLexical(f *lexicalFetch, tenant string, namespaces []string, hashes []int64, now time.Time) []queries.Step {
	return []queries.Step{
		func(ctx context.Context, q *queries.Queries) error {
			rows, err := q.NamespaceStats(ctx, queries.NamespaceStatsParams{Tenant: tenant, Namespaces: namespaces, Now: now})
			for _, r := range rows {
				f.stats.Docs += r.LiveRows
				f.stats.TotalLength += r.LiveLength
			}
			s.known.keepRows(rows)
			return err
		},
		func(ctx context.Context, q *queries.Queries) error {
			rows, err := q.PostingList(ctx, queries.PostingListParams{
				Tenant: tenant, Namespaces: namespaces, Terms: hashes, Now: now, MaxRows: maxPostings + 1,
			})
			if err == nil {
				f.postings = toPostings(rows)
			}
			return err
		},
	}
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

// rank returns the best of what was fetched.
func (f *lexicalFetch) rank(limit int) ([]lexical.Scored, error) {
	if len(f.postings) > maxPostings {
		return nil, &mem.TooLargeError{Field: "Query", Size: int64(len(f.postings)), Limit: maxPostings, Unit: "postings"}
	}
	return lexical.BM25(f.stats, f.terms, f.postings, limit), nil
}

// keepLexical ranks what was fetched and remembers it for the query's text.
func (v *view) keepLexical(key lexicalKey, f *lexicalFetch) error {
	scored, err := f.rank(maxViewRows)
	if err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.lexical[key] = scored
	v.report.LexicalRows += len(f.postings)
	return nil
}

// vectorFetch is a vector query under way. It may be shared out over several steps, each over
// some of the namespaces.
type vectorFetch struct {
	steps []queries.Step
	parts []*[]nearest
	limit int
}

type nearest struct {
	row      driver.Candidate
	distance float64
}

// vectorArm returns the vector query over the visible namespaces, in one step for each group of
// them. With conditions on rows, or vectors that no index holds, there is one step.
func (s *Store) vectorArm(cfg *ViewConfig, model int32, embedding []float32, limit int, groups ...[]string) *vectorFetch {
	f := &vectorFetch{limit: limit}
	tenant, visible, now, rows := cfg.Scope.Tenant(), cfg.Scope.Namespaces(), cfg.Filter.Now, int32(limit) //nolint:gosec // capped
	switch {
	case !cfg.Filter.IsZero():
		p := queries.VectorNearestFilteredParams{
			Tenant: tenant, Namespaces: visible, Model: model, Embedding: embedding, MaxRows: rows,
			AsOf: optionalTime(cfg.Filter.AsOf), Ended: cfg.Filter.Ended, Now: now, Kinds: kindStrings(cfg.Filter.Kinds),
			EventFrom: optionalTime(cfg.Filter.From), EventTo: optionalTime(cfg.Filter.To),
		}
		f.steps = []queries.Step{f.step(func(ctx context.Context, q *queries.Queries) ([]nearest, error) {
			found, err := q.VectorNearestFiltered(ctx, p)
			return toNearest(found), err
		})}
	case len(embedding) > maxCoveredDim:
		p := queries.VectorNearestWideParams{Tenant: tenant, Namespaces: visible, Model: model, Embedding: embedding, Now: now, MaxRows: rows}
		f.steps = []queries.Step{f.step(func(ctx context.Context, q *queries.Queries) ([]nearest, error) {
			found, err := q.VectorNearestWide(ctx, p)
			return toNearest(found), err
		})}
	default:
		if len(groups) == 0 {
			groups = [][]string{visible}
		}
		for _, group := range groups {
			p := queries.VectorNearestParams{Tenant: tenant, Namespaces: group, Model: model, Embedding: embedding, Now: now, MaxRows: rows}
			f.steps = append(f.steps, f.step(func(ctx context.Context, q *queries.Queries) ([]nearest, error) {
				found, err := q.VectorNearest(ctx, p)
				return toNearest(found), err
			}))
		}
	}
	return f
}

// step keeps what a query found in a slot of its own: steps may run at the same time.
func (f *vectorFetch) step(query func(context.Context, *queries.Queries) ([]nearest, error)) queries.Step {
	part := new([]nearest)
	f.parts = append(f.parts, part)
	return func(ctx context.Context, q *queries.Queries) error {
		found, err := query(ctx, q)
		if err == nil {
			*part = found
		}
		return err
	}
}

// rows merges what the steps found as one query would have returned it.
func (f *vectorFetch) rows() []driver.Candidate {
	var found []nearest
	for _, part := range f.parts {
		found = append(found, *part...)
	}
	slices.SortStableFunc(found, func(a, b nearest) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), bytes.Compare(a.row.Ref[:], b.row.Ref[:]))
	})
	out := make([]driver.Candidate, min(len(found), f.limit))
	for i := range out {
		out[i] = found[i].row
	}
	return out
}

// nearestRow is what the vector queries return.
type nearestRow interface {
	queries.VectorNearestRow | queries.VectorNearestWideRow | queries.VectorNearestFilteredRow
}

// cosineOf converts pgvector's negative inner product, which of unit vectors is the negative
// cosine.
func cosineOf(distance float64) mem.Cosine { return mem.Cosine(min(1, max(-1, -distance))) }

func toNearest[R nearestRow](found []R) []nearest {
	out := make([]nearest, len(found))
	for i, r := range found {
		n := queries.VectorNearestRow(r)
		out[i] = nearest{distance: n.Distance, row: driver.Candidate{
			Ref: mem.ID(n.ID), Tokens: int(n.Tokens), Cosine: cosineOf(n.Distance),
		}}
	}
	return out
}

func (v *view) keepVectors(embedding []float32, f *vectorFetch) vectorMemo {
	memo := vectorMemo{rows: f.rows(), limit: f.limit}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.vectors[vectorKey(embedding)] = memo
	v.report.VectorRows += len(memo.rows)
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
func (s *Store) recent(ctx context.Context, scope acl.Scope, filter *Filter, limit int) ([]driver.Candidate, error) {
	rows, err := queries.New(s.conn()).RecentList(ctx, queries.RecentListParams{
		Tenant: scope.Tenant(), Namespaces: scope.Namespaces(), MaxRows: int32(limit), //nolint:gosec // capped
		AsOf: optionalTime(filter.AsOf), Ended: filter.Ended, Now: filter.Now, Kinds: kindStrings(filter.Kinds),
		EventFrom: optionalTime(filter.From), EventTo: optionalTime(filter.To),
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

// Prefetch prepares the arms that a driver is about to ask for, and returns the reads that
// fetch them. embedding is nil if there is none yet; the vector arm is also left out while the
// model's id is not known. A vector arm that takes long is shared out, so that it and the
// words take as long as each other.
func (w *View) Prefetch(text string, embedding []float32, want driver.Prefetch) (*Prefetch, Ahead) {
	p := &Prefetch{view: w.v, text: text}
	var beside, with []queries.Step
	if model := w.v.store.models.id.Load(); want.Vector > 0 && embedding != nil && model != 0 {
		p.vec = embedding
		p.vector = w.v.store.vectorArm(&w.v.cfg, model, embedding, capRows(want.Vector), w.v.store.known.share(w.v.cfg.Scope.Namespaces())...)
		beside, with = p.vector.steps[:1], p.vector.steps[1:]
	}
	return p, Ahead{Beside: beside, With: func() []queries.Step {
		if want.Lexical <= 0 {
			return with
		}
		p.lexical = w.v.store.lexicalArm(w.v.cfg.Scope, &w.v.cfg.Filter, text)
		return append(p.lexical.steps, with...)
	}}
}

// Keep makes what was fetched available to the driver.
func (p *Prefetch) Keep() error {
	if p.lexical != nil {
		if err := p.view.keepLexical(lexicalKey{text: p.text}, p.lexical); err != nil {
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
