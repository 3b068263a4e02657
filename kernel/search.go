package kernel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/driver"
	"github.com/memkernel/memkernel/driver/baseline"
	"github.com/memkernel/memkernel/driver/fusion"
	"github.com/memkernel/memkernel/internal/store"
	"github.com/memkernel/memkernel/kernel/mem"
)

// SearchRequest is a question to the memories that the caller sees.
type SearchRequest struct {
	// Query is the question. It must not be blank; bytes that are no text count as U+FFFD.
	Query string
	// K is how many results are wanted, default 10, at most Limits.MaxResults.
	K int
	// TokenBudget bounds the estimated tokens of all results together, 0 for no bound. The
	// best result is returned even if it alone is over.
	TokenBudget int
	// Driver asks for a retrieval driver by name; empty takes the policy's or the default, which
	// is fusion or, if policy does not allow that, the baseline.
	Driver string
	// Kinds, when not empty, lists the kinds wanted.
	Kinds []Kind
	// AsOf asks what was believed at that time, instead of now.
	AsOf time.Time
	// From and To bound the time in the world, inclusive; zero for no bound. A memory without
	// an event time counts as of when the kernel was told.
	From, To time.Time
	// IncludeSuperseded also finds memories that have ended, for whatever reason.
	IncludeSuperseded bool
	// Sensitive keeps the query out of the audit log.
	Sensitive bool
}

// SearchReply holds the results, best first.
type SearchReply struct {
	Items []SearchItem
	// Tokens is the estimated size of all items.
	Tokens int
	// Driver ranked the items; "bm25-degraded" is a built-in one without its vector arm.
	Driver string
	// Fallbacks lists drivers that were to rank and did not, in order.
	Fallbacks []Fallback
	// Degraded lists what was down. An empty answer with an empty Degraded means that there
	// is nothing.
	Degraded []Brownout
	// Lexical and Vector say what each arm did.
	Lexical, Vector Arm
	// OverBudget counts what the driver proposed and TokenBudget left out. What a driver left
	// out for itself is not in it.
	OverBudget int
	// Violations counts what was left out because the driver had not been shown it.
	Violations int
}

// SearchItem is one result.
type SearchItem struct {
	Memory Memory
	// Score is the driver's; it orders this reply and means nothing outside of it.
	Score Score
}

// Arm says what a retrieval arm did in one search.
type Arm struct {
	// State is "ok", "down" or "unused".
	State string
	// Rows counts the postings that the lexical arm scored, or the rows that the vector arm
	// returned.
	Rows int
}

// The states of an Arm.
const (
	ArmOK     = "ok"
	ArmDown   = "down"
	ArmUnused = "unused"
)

// Fallback says why a driver did not rank.
type Fallback struct {
	Driver string
	// Reason is one of "unregistered", "busy", "timeout", "panic", "error", "violation", "open",
	// when the driver was not asked because its engine had not answered of late (see
	// Limits.DriverPause), and "withheld", when the question may not be sent where it would send it.
	Reason string
}

// maxEagerQuery is the longest query that is analysed before the gate has opened, in bytes.
const maxEagerQuery = 4 << 10

// degradedDriver is what replies and the audit log call a built-in driver without its vector arm.
const degradedDriver = "bm25-degraded"

// builtIn reports whether a driver is one of the kernel's own, whose names no other can have:
// it waits for nothing that does not listen to its context, and tells nobody what it is shown.
func builtIn(name string) bool { return name == fusion.Name || name == baseline.Name }

func (r *SearchRequest) validate(limits *Limits) error {
	switch {
	case len(r.Query) > limits.MaxQueryBytes:
		return &mem.TooLargeError{Field: "Query", Size: int64(len(r.Query)), Limit: int64(limits.MaxQueryBytes), Unit: "bytes"}
	case strings.TrimSpace(r.Query) == "":
		return &mem.InvalidError{Field: "Query", Reason: "it is blank"}
	case r.K < 0:
		return &mem.InvalidError{Field: "K", Reason: fmt.Sprintf("%d is negative", r.K)}
	case r.K > limits.MaxResults:
		return &mem.TooLargeError{Field: "K", Size: int64(r.K), Limit: int64(limits.MaxResults), Unit: "results"}
	case r.TokenBudget < 0:
		return &mem.InvalidError{Field: "TokenBudget", Reason: fmt.Sprintf("%d is negative", r.TokenBudget)}
	case r.Driver != "" && !mem.ValidDriverName(r.Driver):
		return &mem.InvalidError{Field: "Driver", Reason: "a driver name is 1 to 64 of a-z, 0-9, '-' and '_'"}
	case !r.From.IsZero() && !r.To.IsZero() && r.To.Before(r.From):
		return &mem.InvalidError{Field: "To", Reason: "it is before From"}
	}
	if most := len(mem.Kinds()); len(r.Kinds) > most {
		return &mem.TooLargeError{Field: "Kinds", Size: int64(len(r.Kinds)), Limit: int64(most), Unit: "kinds"}
	}
	for i, kind := range r.Kinds {
		if !kind.Valid() {
			return &mem.InvalidError{Field: fmt.Sprintf("Kinds[%d]", i), Reason: "unknown kind"}
		}
	}
	for _, t := range []struct {
		field string
		value time.Time
	}{{"AsOf", r.AsOf}, {"From", r.From}, {"To", r.To}} {
		if err := mem.CheckTime(t.field, t.value); err != nil {
			return err
		}
	}
	return nil
}

// search is one search under way.
type search struct {
	k     *Kernel
	who   acl.Identity
	req   *SearchRequest
	query driver.Query
	// now is when the call was made.
	now time.Time
	// view is the one that was prefetched for; a fallback gets a fresh one.
	view  *store.View
	ahead *store.Prefetch
	// violations counts proposals of rows that the driver had not been shown.
	violations int
	// unembedded is why the question has no vector.
	unembedded atomic.Pointer[error]
	// reply is the answer of an eager search, and kept what it had if it could not be recorded.
	reply *SearchReply
	kept  *kept
}

// Search ranks the memories that the caller sees and returns the best. The ranking is a
// driver's; what it ranks and what is returned is decided here: the rows are the caller's
// own scope, re-read when the driver has answered. A driver that fails, is late or proposes
// nothing but rows it was not shown is replaced by the baseline, and the reply and the audit
// row say so. With the embedding model down the words alone rank, which is said as well; a
// database that cannot be read is ErrUnavailable, never an empty answer. Finding nothing is
// a success with the audit result "miss". A driver that policy does not allow is
// ErrForbidden. A field out of bounds is ErrInvalid or ErrTooLarge. What is returned counts as
// accessed by the caller's namespace, unless the caller is an auditor; a repeat counts anew.
func (k *Kernel) Search(ctx context.Context, who Identity, req SearchRequest) (*SearchReply, error) {
	s := &search{k: k, who: who, req: &req}
	defer s.close()
	c := call{op: acl.OpSearch, who: who, sensitive: req.Sensitive, prepare: s.prepare, eager: s.eager, rereads: true}
	c.validate = func() error {
		if err := req.validate(&k.limits); err != nil {
			return err
		}
		s.setQuery()
		c.purpose = s.query.Text
		return nil
	}
	return guard(ctx, k, &c, s.run)
}

func (s *search) setQuery() {
	s.query = driver.Query{Text: mem.CleanQuery(s.req.Query), K: s.req.K, TokenBudget: s.req.TokenBudget}
	if s.query.K == 0 {
		s.query.K = min(10, s.k.limits.MaxResults)
	}
}

// prepare makes the view and returns the reads that can travel with the gate.
func (s *search) prepare(ctx context.Context, now time.Time) (store.Ahead, error) {
	s.close()
	s.now = now
	s.view, s.ahead, s.violations = s.newView(ctx), nil, 0
	if s.kept != nil {
		return store.Ahead{}, nil
	}
	return s.reads(ctx), nil
}

// eager searches without waiting for the gate, which is asked when the answer is recorded. It
// is for built-in drivers. A ranking that cannot be recorded as it is, because it is empty or a row of it has ended, is kept for the
// long way.
func (s *search) eager(ctx context.Context, cur *current, known *store.Known, policy *mem.EffectivePolicy) (sent bool, err error) {
	name, err := s.choose(policy)
	if err != nil || !builtIn(name) || !s.k.model.InProcess || len(s.query.Text) > maxEagerQuery {
		return false, nil //nolint:nilerr // refused by the gate's policy, which may be another
	}
	ahead, err := s.prepare(ctx, cur.now)
	if err != nil {
		return false, err
	}
	if err := s.k.store.Fetch(ctx, ahead); err != nil {
		return false, err
	}
	ranked, reply, err := s.ranked(ctx, name)
	if err != nil {
		return false, err
	}
	done, err := s.serveRecorded(ctx, cur, known, ranked, reply)
	if err == nil && !done {
		s.kept = &kept{driver: name, picks: ranked, reply: *reply}
		return true, nil
	}
	s.reply, cur.answered = reply, done
	return true, err
}

// kept is a ranking of a built-in driver's that is still to be served.
type kept struct {
	driver string
	picks  []pick
	reply  SearchReply
}

func (s *search) close() {
	if s.view != nil {
		s.view.Close()
	}
}

// embed returns the vector of a question of the caller's. A remote model has half of a driver's time,
// so that there is some left to rank by words, and is not asked again by the fallback for what it has
// failed at.
func (s *search) embed(ctx context.Context, text string) ([]float32, error) {
	if s.k.model.InProcess {
		return s.k.embedQuery(ctx, s.who.Tenant(), text)
	}
	if failed := s.unembedded.Load(); failed != nil && text == s.query.Text {
		return nil, *failed
	}
	limited, cancel := context.WithTimeout(ctx, s.k.limits.DriverTimeout/2)
	defer cancel()
	vector, err := s.k.embedQuery(limited, s.who.Tenant(), text)
	if err != nil && ctx.Err() == nil {
		if limited.Err() != nil {
			err = fmt.Errorf("%w: %w", errEmbedding, limited.Err())
		}
		if text == s.query.Text {
			s.unembedded.Store(&err)
		}
	}
	return vector, err
}

func (s *search) newView(ctx context.Context) *store.View {
	cfg := store.ViewConfig{
		Scope: s.who.Scope(), Filter: s.filter(), Embed: s.embed, Query: s.query.Text, Withheld: errWithheld,
	}
	if to := destination(&s.k.model); to != mem.DestinationLocal {
		cfg.MaySend = func(c *mem.Classification) bool { return c.MaySend(to) }
		cfg.Confined = func(ctx context.Context) bool { return s.confined(ctx, to) }
	}
	return s.k.store.NewView(ctx, cfg)
}

// confined reports whether the question may not be sent there, or nobody can say.
func (s *search) confined(ctx context.Context, to mem.Destination) bool {
	result, err := s.k.classifyText(ctx, s.query.Text)
	return err != nil || !result.MaySend(to)
}

func (s *search) filter() store.Filter {
	return store.Filter{
		AsOf: s.req.AsOf, Ended: s.req.IncludeSuperseded, Kinds: s.req.Kinds, From: s.req.From, To: s.req.To, Now: s.now,
	}
}

// reads returns the reads that can travel with the gate: whatever the driver will ask for
// anyway. A remote embedding model is not asked before the gate has opened.
func (s *search) reads(ctx context.Context) store.Ahead {
	// A long query takes long to analyse, which a caller must be admitted for first.
	if len(s.query.Text) > maxEagerQuery {
		return store.Ahead{}
	}
	// Nor is a driver of the host's asked, or shown the query, before policy has had its say.
	name := cmp.Or(s.req.Driver, fusion.Name)
	if !builtIn(name) {
		return store.Ahead{}
	}
	d, ok := s.k.drivers.Get(name)
	fetcher, can := d.(driver.Prefetcher)
	if !ok || !can {
		return store.Ahead{}
	}
	return s.prefetch(ctx, fetcher)
}

func (s *search) prefetch(ctx context.Context, fetcher driver.Prefetcher) (ahead store.Ahead) {
	defer func() {
		if r := recover(); r != nil {
			s.k.logPanic(ctx, "driver", r)
			ahead, s.ahead = store.Ahead{}, nil
		}
	}()
	want := fetcher.Prefetch(s.query)
	var embedding []float32
	if want.Vector > 0 && s.k.model.InProcess {
		var err error
		embedding, err = s.embed(ctx, s.query.Text)
		s.view.KeepEmbedding(s.query.Text, embedding, err)
	}
	s.ahead, ahead = s.view.Prefetch(s.query.Text, embedding, want)
	return ahead
}

// run is the body behind the gate.
func (s *search) run(ctx context.Context, cur *current) (*SearchReply, error) {
	if cur.answered {
		return s.reply, nil
	}
	name, err := s.choose(&cur.policy)
	if err != nil {
		return nil, err
	}
	if s.kept != nil && name == s.kept.driver {
		return s.serve(ctx, cur, s.kept.picks, &s.kept.reply)
	}
	ranked, reply, err := s.ranked(ctx, name)
	if err != nil {
		return nil, err
	}
	return s.serve(ctx, cur, ranked, reply)
}

// ranked lets the named driver rank what was fetched ahead and what else it asks for.
func (s *search) ranked(ctx context.Context, name string) ([]pick, *SearchReply, error) {
	if s.ahead != nil {
		if err := s.ahead.Keep(); err != nil {
			return nil, nil, err
		}
	}
	reply := &SearchReply{}
	picks, err := s.rank(ctx, name, reply)
	reply.Violations = s.violations
	return picks, reply, err
}

// choose returns the driver to run: the one asked for, the policy's, or the default.
func (s *search) choose(policy *mem.EffectivePolicy) (string, error) {
	switch {
	case s.req.Driver != "" && s.req.Driver != baseline.Name && !policy.DriverAllowed(s.req.Driver):
		return "", fmt.Errorf("%w: policy forbids driver %s", mem.ErrForbidden, s.req.Driver)
	case s.req.Driver != "":
		return s.req.Driver, nil
	case policy.Driver != "":
		return policy.Driver, nil
	case policy.DriverAllowed(fusion.Name):
		return fusion.Name, nil
	default:
		return baseline.Name, nil
	}
}

// rank asks the named driver and, should it fail, the baseline.
func (s *search) rank(ctx context.Context, name string, reply *SearchReply) ([]pick, error) {
	view := s.view
	for {
		ranked, err := s.plan(ctx, name, view)
		if ctx.Err() != nil {
			return nil, ctx.Err() // a plan made in a hurry at the end is no answer
		}
		report := view.Report()
		if report.Fault != nil {
			// A driver that makes do without an arm must not make an outage look like a ranking.
			return nil, report.Fault
		}
		if err == nil {
			s.describeArms(name, report, reply)
			return ranked, nil
		}
		var failed *planError
		if !errors.As(err, &failed) || name == baseline.Name {
			return nil, plainError(err)
		}
		reply.Fallbacks = append(reply.Fallbacks, Fallback{Driver: name, Reason: failed.reason})
		name = baseline.Name
		view = s.newView(ctx)
		defer view.Close()
	}
}

// plainError unwraps what made the last resort fail: usually the database.
func plainError(err error) error {
	var failed *planError
	if errors.As(err, &failed) && failed.cause != nil {
		return failed.cause
	}
	return err
}

func (s *search) describeArms(name string, report store.ArmReport, reply *SearchReply) {
	reply.Driver = name
	reply.Lexical = Arm{State: ArmUnused, Rows: report.LexicalRows}
	if report.LexicalUsed {
		reply.Lexical.State = ArmOK
	}
	reply.Vector = Arm{State: ArmUnused, Rows: report.VectorRows}
	switch {
	case report.VectorDown:
		reply.Vector.State = ArmDown
		reply.Degraded = []Brownout{embedBrownout(report.EmbedErr)}
		if builtIn(name) {
			reply.Driver = degradedDriver
		}
	case report.VectorUsed:
		reply.Vector.State = ArmOK
	}
}
