package sidecar

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"

	"github.com/memkernel/memkernel/driver"
	"github.com/memkernel/memkernel/kernel/mem"
)

// New returns a driver that asks the engine that cfg describes. It does no I/O: an engine that is not
// there shows with the first search. It fails with an *mem.InvalidError that names the field. The
// driver is safe for concurrent use, starts no goroutine but its connections', and needs no closing.
func New(cfg Config) (driver.Driver, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	d := &sidecar{cfg: cfg, http: cfg.client()}
	if cfg.Token != "" {
		bearer := "Bearer " + cfg.Token
		d.authorize = func(h http.Header) { h.Set("Authorization", bearer) }
	}
	d.cfg.Token = ""
	return d, nil
}

type sidecar struct {
	cfg       Config            // without the token
	authorize func(http.Header) // nil without a token; a function, so that printing cannot show it
	http      *http.Client
}

var (
	_ driver.Driver = (*sidecar)(nil)
	_ driver.Sender = (*sidecar)(nil)
)

// Name implements driver.Driver.
func (s *sidecar) Name() string { return s.cfg.Name }

// Destination implements driver.Sender.
func (s *sidecar) Destination() mem.Destination { return s.cfg.Destination }

// Plan implements driver.Driver: it sends the best rows of both arms, those of the words first. If
// the embedder or the vector arm is down the rows of the words are sent alone, if the lexical arm is
// down that is the plan's error.
func (s *sidecar) Plan(ctx context.Context, view driver.ScopedView, q driver.Query) (driver.Plan, error) {
	rows, err := s.gather(ctx, view, q)
	if err != nil || len(rows.list) == 0 {
		return driver.Plan{}, err
	}
	ranked, err := s.ask(ctx, q, rows.list)
	if err != nil {
		if ctx.Err() != nil {
			return driver.Plan{}, context.Cause(ctx)
		}
		return driver.Plan{}, fmt.Errorf("sidecar %s: %w", s.cfg.Name, err)
	}
	known, invented := make([]driver.Scored, 0, len(ranked)), []driver.Ranked(nil)
	for _, it := range ranked {
		if at, ok := rows.at[it.Ref]; ok {
			known = append(known, driver.Scored{Ref: it.Ref, Score: it.Score, Tokens: rows.list[at].Tokens})
		} else {
			invented = append(invented, it)
		}
	}
	plan := driver.NewPlan(q, known)
	// What was not sent the kernel drops and counts. It takes no other row's place.
	plan.Items = append(plan.Items, invented...)
	return plan, nil
}

// pool is the rows of both arms, each once.
type pool struct {
	list []candidate
	at   map[mem.ID]int
}

func (p *pool) add(c *driver.Candidate) *candidate {
	at, ok := p.at[c.Ref]
	if !ok {
		at = len(p.list)
		p.at[c.Ref] = at
		p.list = append(p.list, newCandidate(c))
	}
	return &p.list[at]
}

func (s *sidecar) gather(ctx context.Context, view driver.ScopedView, q driver.Query) (*pool, error) {
	p := &pool{at: map[mem.ID]int{}}
	if s.cfg.WordCandidates > 0 {
		words, err := view.Candidates(ctx, driver.CandidateQuery{Text: q.Text, Limit: s.cfg.WordCandidates, Detail: true})
		if err != nil {
			return nil, err
		}
		for i := range words {
			p.add(&words[i]).BM25 = &words[i].BM25
		}
	}
	near, err := s.nearest(ctx, view, q)
	switch {
	case err == nil:
	case ctx.Err() != nil, errors.Is(err, mem.ErrViewClosed), s.cfg.WordCandidates < 0, len(p.list) == 0:
		return nil, err // nobody is left to rank for, or there is nothing to rank by
	}
	for i := range near {
		p.add(&near[i]).Cosine = &near[i].Cosine
	}
	return p, nil
}

func (s *sidecar) nearest(ctx context.Context, view driver.ScopedView, q driver.Query) ([]driver.Candidate, error) {
	if s.cfg.VectorCandidates < 0 {
		return nil, nil
	}
	embedding, err := view.Embed(ctx, q.Text)
	if err != nil {
		return nil, err
	}
	return view.Vector(ctx, driver.VectorQuery{Embedding: embedding, Limit: s.cfg.VectorCandidates, Detail: true})
}

// ask makes one request.
func (s *sidecar) ask(ctx context.Context, q driver.Query, rows []candidate) ([]driver.Ranked, error) {
	body, err := encode(q, rows, s.cfg.MaxRequestBytes)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.cfg.URL, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("the request cannot be made")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "memkernel")
	if s.authorize != nil {
		s.authorize(req.Header)
	}
	resp, err := s.http.Do(req)
	if err != nil {
		return nil, unreachable(err)
	}
	defer resp.Body.Close() //nolint:errcheck // what matters was read
	if resp.StatusCode != http.StatusOK {
		return nil, refused(resp)
	}
	limit := s.cfg.MaxResponseBytes
	answer, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	switch {
	case err != nil:
		return nil, unreachable(err)
	case int64(len(answer)) > limit:
		return nil, &mem.TooLargeError{Field: "response", Size: int64(len(answer)), Limit: limit, Unit: "bytes"}
	}
	return decode(resp.Header.Get("Content-Type"), answer)
}

// unreachable is a request that got no whole response. Of the transport's error only what the machine
// itself says of a connection is repeated: the rest may quote the response.
func unreachable(err error) error {
	var op *net.OpError
	var network net.Error
	switch {
	case errors.As(err, &network) && network.Timeout():
		return fmt.Errorf("%w: no response in time", mem.ErrUnavailable)
	case errors.As(err, &op) && op.Op == "dial":
		return fmt.Errorf("%w: %s", mem.ErrUnavailable, op.Error())
	default:
		return fmt.Errorf("%w: the connection failed", mem.ErrUnavailable)
	}
}

// StatusError is a response that is none. It matches mem.ErrUnavailable for 429 and 5xx.
type StatusError struct {
	// Status is the HTTP status.
	Status int
}

// Error names the status.
func (e *StatusError) Error() string {
	return fmt.Sprintf("the engine answered with status %d", e.Status)
}

// Is matches mem.ErrUnavailable.
func (e *StatusError) Is(target error) bool {
	return target == mem.ErrUnavailable && (e.Status == http.StatusTooManyRequests || e.Status >= http.StatusInternalServerError)
}

// refused reads what little comes with a status, so that the connection can be used again.
func refused(resp *http.Response) error {
	const little = 4 << 10
	_, _ = io.CopyN(io.Discard, resp.Body, little)
	return &StatusError{Status: resp.StatusCode}
}
