package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/driver"
	"github.com/memkernel/memkernel/internal/lexical"
	"github.com/memkernel/memkernel/kernel/mem"
)

// Limits of one view. They bound what one driver can cost, not what it may see.
const (
	// maxViewRows is the most rows one method call returns.
	maxViewRows = 1000
	// maxViewCalls is the most method calls of one view.
	maxViewCalls = 64
	// maxQueryTerms is the most distinct terms of one lexical query.
	maxQueryTerms = 256
)

// ViewConfig says what a view shows and how it embeds.
type ViewConfig struct {
	Scope  acl.Scope
	Filter Filter
	// Embed returns the unit vector of a text, nil for a text without features.
	Embed func(ctx context.Context, text string) ([]float32, error)
	// Query is the question, MaySend whether a text so classified may go to the model that
	// Embed asks, and Withheld the error for one that may not.
	Query    string
	MaySend  func(*mem.Classification) bool
	Withheld error
	// Confined says whether the question itself may not go there, and so no part of it. It is
	// asked when the first text is to be embedded, and once; nil is no.
	Confined func(ctx context.Context) bool
}

// View is one search's access to the memories in scope: what the kernel holds. The driver
// gets Driver(), which offers nothing but driver.ScopedView.
type View struct{ v *view }

// view implements driver.ScopedView. It has exactly the methods of the interface and no
// exported or embedded field, so that a type assertion or reflection finds nothing more.
type view struct {
	store *Store
	cfg   ViewConfig
	// bind derives a context that also ends when the view closes.
	bind  func(context.Context) (context.Context, context.CancelFunc)
	close context.CancelFunc
	// tx is held by a method that uses a host's transaction, which takes one statement at a
	// time; on a pool it is not used.
	tx sync.Mutex

	mu     sync.Mutex
	closed bool
	calls  int
	active int // methods under way
	// export says whether a text so classified may be shown; nil shows all.
	export func(*mem.Classification) bool
	// served holds the tokens of what the driver was shown.
	served map[mem.ID]int
	report ArmReport
	// confined is set once the driver knows something that may not go to the model: what it
	// makes of that cannot be told from what it found elsewhere.
	confined bool
	// withheld is what cfg.Confined said, once ask is done.
	withheld bool
	ask      sync.Once
	// What was fetched before the driver asked, and what it asked before.
	lexical map[lexicalKey][]lexical.Scored
	vectors map[string]vectorMemo
	embeds  map[string]embedMemo
}

var _ driver.ScopedView = (*view)(nil)

// lexicalKey is a question to the lexical arm; the times are zero unless a driver narrowed it.
type lexicalKey struct {
	text     string
	from, to time.Time
}

type vectorMemo struct {
	rows  []driver.Candidate
	limit int
}

type embedMemo struct {
	vector []float32
	err    error
}

// ArmReport says what the arms of a view were asked and how they fared.
type ArmReport struct {
	// LexicalUsed and VectorUsed report that a driver asked the arm and got an answer.
	LexicalUsed, VectorUsed bool
	// VectorDown reports that the embedder failed, or that no stored vector is of its model.
	VectorDown bool
	// EmbedErr is how the embedder failed, if it did.
	EmbedErr error
	// Interrupted reports that the view was closed while a method of it was under way.
	Interrupted bool
	// Fault is what kept the database from answering; the search must fail with it.
	Fault error
	// LexicalRows and VectorRows count the rows scored.
	LexicalRows, VectorRows int
}

// NewView returns a view that ends with ctx or Close, whichever comes first.
func (s *Store) NewView(ctx context.Context, cfg ViewConfig) *View {
	lifetime, cancel := context.WithCancel(ctx)
	return &View{v: &view{
		store: s, cfg: cfg, close: cancel,
		bind: func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			stop := context.AfterFunc(lifetime, cancel)
			return ctx, func() { stop(); cancel() }
		},
		served:  map[mem.ID]int{},
		lexical: map[lexicalKey][]lexical.Scored{},
		vectors: map[string]vectorMemo{},
		embeds:  map[string]embedMemo{},
	}}
}

// Driver returns what a driver may use.
func (w *View) Driver() driver.ScopedView { return w.v }

// Withhold keeps texts from the driver that may does not let pass; their rows it is shown. It must
// be called before the driver is.
func (w *View) Withhold(may func(*mem.Classification) bool) { w.v.export = may }

// Close ends the view: every method returns mem.ErrViewClosed from now on, and calls under
// way are cancelled.
func (w *View) Close() {
	w.v.mu.Lock()
	w.v.report.Interrupted = w.v.report.Interrupted || !w.v.closed && w.v.active > 0
	w.v.closed = true
	w.v.mu.Unlock()
	w.v.close()
	if w.v.store.InTx() {
		// The transaction goes on to others: what a driver left running on it must be over.
		w.v.tx.Lock()
		defer w.v.tx.Unlock()
	}
}

// Served returns the tokens of a memory, and whether the view has shown it to its driver.
func (w *View) Served(id mem.ID) (tokens int, ok bool) {
	w.v.mu.Lock()
	defer w.v.mu.Unlock()
	tokens, ok = w.v.served[id]
	return tokens, ok
}

// Report returns what the arms did so far.
func (w *View) Report() ArmReport {
	w.v.mu.Lock()
	defer w.v.mu.Unlock()
	return w.v.report
}

// enter admits one method call.
func (v *view) enter(ctx context.Context) (context.Context, context.CancelFunc, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return nil, nil, mem.ErrViewClosed
	}
	if v.calls++; v.calls > maxViewCalls {
		return nil, nil, &mem.TooLargeError{Field: "view calls", Size: int64(v.calls), Limit: maxViewCalls, Unit: "calls"}
	}
	v.active++
	ctx, cancel := v.bind(ctx)
	return ctx, func() {
		cancel()
		v.mu.Lock()
		v.active--
		v.mu.Unlock()
	}, nil
}

// enterDB is enter for a method that asks the database.
func (v *view) enterDB(ctx context.Context) (context.Context, context.CancelFunc, error) {
	if !v.store.InTx() {
		return v.enter(ctx)
	}
	v.tx.Lock()
	ctx, cancel, err := v.enter(ctx)
	if err != nil {
		v.tx.Unlock()
		return nil, nil, err
	}
	return ctx, func() { cancel(); v.tx.Unlock() }, nil
}

// leave marks the rows as served, unless the view has closed meanwhile: rows are never handed
// to a driver whose call is over.
func (v *view) leave(ctx context.Context, rows []driver.Candidate, err error) ([]driver.Candidate, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return nil, mem.ErrViewClosed
	}
	if err != nil {
		if ctx.Err() != nil && errors.Is(err, context.Canceled) {
			return nil, context.Cause(ctx)
		}
		return nil, err
	}
	for _, c := range rows {
		v.served[c.Ref] = c.Tokens
	}
	return rows, nil
}

func capRows(limit int) int { return max(0, min(limit, maxViewRows)) }

// Candidates implements driver.ScopedView.
func (v *view) Candidates(ctx context.Context, q driver.CandidateQuery) ([]driver.Candidate, error) {
	ctx, cancel, err := v.enterDB(ctx)
	if err != nil {
		return nil, err
	}
	defer cancel()
	rows, err := v.candidates(ctx, &q)
	if err == nil && q.Detail {
		rows, err = v.describe(ctx, rows)
	}
	v.noteFault(ctx, err)
	return v.leave(ctx, rows, err)
}

func (v *view) candidates(ctx context.Context, q *driver.CandidateQuery) ([]driver.Candidate, error) {
	if err := cmp.Or(mem.CheckTime("From", q.From), mem.CheckTime("To", q.To)); err != nil {
		return nil, err //nolint:wrapcheck // it names the field already
	}
	if !q.From.IsZero() && !q.To.IsZero() && q.To.Before(q.From) {
		return nil, &mem.InvalidError{Field: "To", Reason: "it is before From"}
	}
	filter := v.cfg.Filter.within(q.From, q.To)
	if q.Text == "" {
		return v.store.recent(ctx, v.cfg.Scope, filter, capRows(q.Limit))
	}
	return v.byWords(ctx, lexicalKey{mem.CleanQuery(q.Text), q.From, q.To}, filter, capRows(q.Limit))
}

// noteFault remembers that the database did not answer. What the driver got wrong, and what
// ended with the call, is no outage.
func (v *view) noteFault(ctx context.Context, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err == nil || v.closed || ctx.Err() != nil || errors.Is(err, mem.ErrInvalid) || errors.Is(err, mem.ErrTooLarge) {
		return
	}
	v.report.Fault = err
}

func (v *view) byWords(ctx context.Context, key lexicalKey, filter *Filter, limit int) ([]driver.Candidate, error) {
	v.mu.Lock()
	scored, ok := v.lexical[key]
	v.mu.Unlock()
	if !ok {
		fetch := v.store.lexicalArm(v.cfg.Scope, filter, key.text)
		if err := v.store.run(ctx, fetch.steps...); err != nil {
			return nil, err
		}
		if err := v.keepLexical(key, fetch); err != nil {
			return nil, err
		}
		v.mu.Lock()
		scored = v.lexical[key]
		v.mu.Unlock()
	}
	v.mu.Lock()
	v.report.LexicalUsed = true
	v.mu.Unlock()
	rows := make([]driver.Candidate, min(len(scored), limit))
	for i := range rows {
		s := &scored[i]
		rows[i] = driver.Candidate{Ref: mem.ID(s.ID), Tokens: int(s.Tokens), BM25: s.Score}
	}
	return rows, nil
}

// Vector implements driver.ScopedView.
func (v *view) Vector(ctx context.Context, q driver.VectorQuery) ([]driver.Candidate, error) {
	ctx, cancel, err := v.enterDB(ctx)
	if err != nil {
		return nil, err
	}
	defer cancel()
	rows, err := v.nearest(ctx, q.Embedding, capRows(q.Limit))
	v.mu.Lock()
	v.report.VectorUsed = v.report.VectorUsed || err == nil
	mismatch := errors.Is(err, errNoModel)
	v.report.VectorDown = v.report.VectorDown || mismatch
	v.mu.Unlock()
	if err == nil && q.Detail {
		rows, err = v.describe(ctx, rows)
	}
	if !mismatch {
		v.noteFault(ctx, err)
	}
	return v.leave(ctx, rows, err)
}

func (v *view) nearest(ctx context.Context, embedding []float32, limit int) ([]driver.Candidate, error) {
	dim := v.store.models.info.Dim
	if embedding == nil {
		return nil, nil
	}
	if len(embedding) != dim {
		return nil, &mem.InvalidError{Field: "Embedding", Reason: fmt.Sprintf("%d components, the kernel's model has %d", len(embedding), dim)}
	}
	for _, x := range embedding {
		if f := float64(x); math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, &mem.InvalidError{Field: "Embedding", Reason: "a component is not finite"}
		}
	}
	key := vectorKey(embedding)
	v.mu.Lock()
	memo, ok := v.vectors[key]
	v.mu.Unlock()
	if !ok || memo.limit < limit {
		model, err := v.store.readModelID(ctx)
		if err != nil || model == 0 {
			return nil, err
		}
		fetch := v.store.vectorArm(&v.cfg, model, embedding, limit)
		if err := v.store.run(ctx, fetch.steps...); err != nil {
			return nil, err
		}
		memo = v.keepVectors(embedding, fetch)
	}
	// A copy: what a driver does to its slice is its own affair.
	return append([]driver.Candidate(nil), memo.rows[:min(len(memo.rows), limit)]...), nil
}

// Embed implements driver.ScopedView.
func (v *view) Embed(ctx context.Context, text string) ([]float32, error) {
	ctx, cancel, err := v.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer cancel()
	memo := v.embed(ctx, mem.CleanQuery(text))
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return nil, mem.ErrViewClosed
	}
	if memo.err != nil {
		v.report.VectorDown, v.report.EmbedErr = true, memo.err
		return nil, memo.err
	}
	return append([]float32(nil), memo.vector...), nil
}

func (v *view) embed(ctx context.Context, text string) embedMemo {
	v.mu.Lock()
	memo, ok := v.embeds[text]
	v.mu.Unlock()
	if v.cfg.Confined != nil {
		v.ask.Do(func() { v.withheld = v.cfg.Confined(ctx) })
	}
	v.mu.Lock()
	withheld := v.withheld || v.confined && text != v.cfg.Query
	v.mu.Unlock()
	if withheld {
		return embedMemo{err: v.cfg.Withheld}
	}
	if !ok {
		memo.vector, memo.err = v.cfg.Embed(ctx, text)
		v.mu.Lock()
		v.confined = v.confined || memo.err != nil && errors.Is(memo.err, v.cfg.Withheld)
		v.embeds[text] = memo
		v.mu.Unlock()
	}
	return memo
}

func (v *view) confine() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.confined = true
}

// describe fills in the descriptive fields and drops rows that have ended meanwhile.
func (v *view) describe(ctx context.Context, rows []driver.Candidate) ([]driver.Candidate, error) {
	ids := make([]mem.ID, len(rows))
	for i, c := range rows {
		ids[i] = c.Ref
	}
	found, err := v.store.Serve(ctx, v.cfg.Scope, &v.cfg.Filter, ids)
	if err != nil {
		return nil, err
	}
	kept := rows[:0]
	for _, c := range rows {
		m, ok := found[c.Ref]
		if !ok {
			continue
		}
		if v.cfg.MaySend != nil && !v.cfg.MaySend(&m.Classification) {
			v.confine()
		}
		c.Text, c.Kind, c.Namespace = m.Text, m.Kind, m.Namespace
		if v.export != nil && !v.export(&m.Classification) {
			c.Text, c.TextWithheld = "", true
		}
		c.EventTime, c.AssertionTime = m.EventTime, m.AssertionTime
		kept = append(kept, c)
	}
	return kept, nil
}
