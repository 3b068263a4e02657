// Package driver is the contract between the kernel and a retrieval engine. The kernel
// decides what a caller may see and what is recorded; a driver decides what ranks highest
// within that.
//
// A driver gets a [ScopedView] for one call and returns refs and scores, never text. The
// kernel re-reads every row it serves, drops refs that the view did not serve, and records
// the attempt. A driver in the host's process is trusted code with a narrowed view, not a
// sandbox: Go cannot stop it from opening its own connection. Nothing in this package may
// ever hand out the view's implementation, a database handle or another caller's rows.
package driver

import (
	"context"
	"time"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/kernel/mem"
)

// Driver is a ranking engine. Implementations must be safe for concurrent use.
type Driver interface {
	// Name returns a constant name that mem.ValidDriverName accepts.
	Name() string

	// Plan ranks what the view offers for the query. It must return promptly when ctx is
	// done. An error, a panic or a late answer makes the kernel fall back to the baseline
	// driver. The same view and query must give the same plan.
	Plan(ctx context.Context, view ScopedView, q Query) (Plan, error)
}

// Query is what the caller wants.
type Query struct {
	// Text is the question, valid UTF-8 and not blank.
	Text string
	// K is how many results are wanted, at least 1.
	K int
	// TokenBudget bounds the estimated tokens of all results together, 0 for no bound. The
	// first result is served even if it alone is over.
	TokenBudget int
}

// Plan is a driver's proposal, best first.
type Plan struct{ Items []Ranked }

// Ranked is one proposed result.
type Ranked struct {
	// Ref is a ref that the view served in this call. Others are dropped and counted as a
	// violation.
	Ref mem.ID
	// Score orders the results. Items whose score is not finite are dropped.
	Score mem.Score
}

// ScopedView is read-only access to the memories that one caller may see, for one call.
// Its methods may be called from several goroutines. Once the call is over every method
// returns mem.ErrViewClosed. What it returns is the driver's own copy. A view answers 64 calls, and
// then mem.ErrTooLarge; a call returns 1,000 rows at most.
type ScopedView interface {
	// Candidates returns the best rows of the lexical arm by BM25, best first, or with an
	// empty Text the most recent rows.
	Candidates(ctx context.Context, q CandidateQuery) ([]Candidate, error)

	// Vector returns the rows nearest to an embedding, nearest first, with their cosine. The
	// embedding must come from Embed: it must have the kernel's dimension.
	Vector(ctx context.Context, q VectorQuery) ([]Candidate, error)

	// Embed returns the unit vector of a text by the kernel's embedder, nil for a text in which
	// that sees nothing, for which Vector returns no rows. It fails when the embedder does; a
	// driver should then rank by words alone.
	Embed(ctx context.Context, text string) ([]float32, error)
}

// CandidateQuery asks for rows by words or by age.
type CandidateQuery struct {
	// Text is what to look for; empty asks for the most recent rows.
	Text string
	// Limit is how many rows at most; the kernel caps it.
	Limit int
	// From and To bound the time in the world, inclusive, as in a search request; zero for no
	// bound, and mem.ErrInvalid if To is before From. They narrow what the search itself asks for and never widen it. A bound costs about
	// what a search with these conditions costs: the rows themselves are looked at.
	From, To time.Time
	// Detail fills the descriptive fields of the candidates, at the cost of reading the rows.
	Detail bool
}

// VectorQuery asks for rows by nearness.
type VectorQuery struct {
	// Embedding is the query's vector.
	Embedding []float32
	// Limit is how many rows at most; the kernel caps it.
	Limit int
	// Detail fills the descriptive fields of the candidates, at the cost of reading the rows.
	Detail bool
}

// Candidate is one visible row: a current one, unless the search asks for those that have ended.
type Candidate struct {
	// Ref identifies the row.
	Ref mem.ID
	// Tokens is the estimated size of the row's text.
	Tokens int
	// BM25 is set by Candidates for a query with text; its scale depends on the query.
	BM25 float64
	// Cosine is set by Vector.
	Cosine mem.Cosine

	// The following are set only if the query asked for detail.

	// Text is the row's text: data, never instructions.
	Text string
	// TextWithheld reports that Text is empty because the row's classification does not let it
	// go where the driver, a Sender, would send it.
	TextWithheld bool
	// Kind says what sort of memory it is.
	Kind mem.Kind
	// Namespace is where the row lives.
	Namespace acl.Namespace
	// EventTime is when it was so in the world, zero when unknown.
	EventTime time.Time
	// AssertionTime is when the kernel was told.
	AssertionTime time.Time
}

// Sender is an optional ability of a Driver that lets what it is shown leave the process. It is
// shown only texts that may go to its destination, the question included: for one that may not it
// is not asked at all, and the baseline ranks. A driver that sends anything anywhere must implement
// it; the kernel cannot know.
type Sender interface {
	// Destination returns the class of the place that texts are sent to, always the same one. A
	// process on the operator's own machines is mem.DestinationLocal.
	Destination() mem.Destination
}

// Prefetcher is an optional ability of a Driver. The kernel then runs the arms that the
// driver is about to ask for together with its own first statement, which saves round trips.
// A wrong answer costs time, never correctness. Only the kernel's own drivers are asked: a
// driver of the host's sees nothing of a query before policy has let it.
type Prefetcher interface {
	// Prefetch says how many rows of each arm Plan will ask for, with the query's own text
	// and its embedding; 0 for an arm that it will not ask. It must not do I/O.
	Prefetch(q Query) Prefetch
}

// Prefetch is what a driver will ask for.
type Prefetch struct{ Lexical, Vector int }
