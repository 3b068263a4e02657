package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync/atomic"
	"time"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/kernel"
)

// How many texts are handed over together at most. With a language model every text takes long,
// and people want to see that something happens.
const (
	batchSize      = 64
	modelBatchSize = 8
)

// pending is an entry that is to be written.
type pending struct {
	entry
	request kernel.WriteRequest
}

// pass is one reading of the input, and what became of it.
type pass struct {
	kernel  *kernel.Kernel
	keys    *keyring
	model   bool // whether a language model makes facts of the texts
	summary *summary
	done    atomic.Int64 // entries
	// ids has what became of the entries that have a name: the zero ID for one that is no
	// memory, or several.
	ids map[string]kernel.ID
	// last is the newest memory of each origin, to search for.
	last map[origin]remembered

	// blind is why what was written cannot be looked at, nil if it can.
	blind error

	batch  []pending // all of one scribe
	scribe *scribe
}

// remembered is a memory and who can see it.
type remembered struct {
	who    kernel.Identity
	memory kernel.Memory
}

// run writes the entries. What is wrong with one of them stops no other; an error is one that
// would meet all of them, or the context's. What was done is in the summary then.
func (p *pass) run(ctx context.Context, entries iter.Seq[entry]) error {
	begun := time.Now()
	defer func() { p.summary.Seconds = time.Since(begun).Seconds() }()
	for e := range entries {
		if err := p.take(ctx, e); err != nil {
			return err
		}
	}
	return p.flush(ctx)
}

func (p *pass) take(ctx context.Context, e entry) error {
	if e.problem != nil {
		p.unread(&e)
		return ctx.Err()
	}
	s, err := p.keys.scribe(ctx, e.origin, e.namespace)
	switch {
	case errors.Is(err, acl.ErrNamespace):
		e.problem = &problem{reason: badLine, note: err.Error()}
		p.unread(&e)
		return nil
	case err != nil:
		return err
	}
	// What it corrects must have been written.
	if s != p.scribe || e.corrects != "" || len(p.batch) == p.batchSize() {
		if err := p.flush(ctx); err != nil {
			return err
		}
	}
	corrected, known := p.ids[e.corrects]
	if e.corrects != "" && !known {
		e.problem = &problem{reason: badTarget, note: "no message above it is the one that it corrects"}
		p.unread(&e)
		return nil
	}
	p.scribe, p.batch = s, append(p.batch, pending{e, p.request(&e, corrected)})
	return nil
}

// request makes a second reading of the same input change nothing. A message that was written is
// recognised by its place and content. A section of a document is kept up to date under its place:
// the same text is no news there, and another replaces it. A model takes sections apart, so then
// they are recognised like messages.
func (p *pass) request(e *entry, corrected kernel.ID) kernel.WriteRequest {
	r := kernel.WriteRequest{Text: e.text, EventTime: e.at, Source: e.source, Supersedes: corrected}
	if e.origin == fromDocs && !p.model {
		r.ContentKey = e.source
	} else {
		r.IdempotencyKey = idempotencyKey(&r)
	}
	return r
}

// unread counts an entry that is no text.
func (p *pass) unread(e *entry) {
	into := &p.summary.Unreadable
	if e.problem.whole {
		into = &p.summary.Skipped
	}
	into.add(example{At: e.place, Note: e.problem.note}, e.problem.reason)
	p.done.Add(1)
}

// idempotencyKey is the same for the same text at the same place.
func idempotencyKey(r *kernel.WriteRequest) string {
	h := sha256.New()
	for _, part := range []string{r.Source, r.EventTime.UTC().Format(time.RFC3339Nano), r.Supersedes.String(), r.Text} {
		_, _ = fmt.Fprintf(h, "%d:%s", len(part), part) // a hash takes everything
	}
	return "ingest-" + hex.EncodeToString(h.Sum(nil))
}

// flush writes the batch. All that was written is counted, also when the run is stopped.
func (p *pass) flush(ctx context.Context) error {
	batch := p.batch
	if len(batch) == 0 {
		return nil
	}
	p.batch = p.batch[:0]
	results := p.writeAll(ctx, batch)
	look, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	var stop error
	for i, r := range results {
		switch {
		case r.err == nil || r.failed:
			p.record(look, &batch[i], r)
		case stop == nil:
			stop = r.err
		}
	}
	if stop == nil {
		stop = p.blind
	}
	return stop
}

// result is what became of one text.
type result struct {
	reply *kernel.WriteReply
	err   error
	// failed reports that err is this text's own; one that is not would meet the others too.
	failed bool
}

// batchSize is how many texts are handed over together at most.
func (p *pass) batchSize() int {
	if p.model {
		return modelBatchSize
	}
	return batchSize
}

// writeAll writes a batch, and what a rate limit stops again for as long as it does.
func (p *pass) writeAll(ctx context.Context, batch []pending) []result {
	results := make([]result, len(batch))
	left := make([]int, len(batch)) // places in the batch
	for i := range left {
		left[i] = i
	}
	err := patiently(ctx, func() (limited error) {
		left, limited = p.writeOnce(ctx, batch, left, results)
		return limited
	})
	for _, i := range left {
		results[i].err = err
	}
	return results
}

// writeOnce writes what is left of a batch, and returns what a rate limit has stopped.
func (p *pass) writeOnce(ctx context.Context, batch []pending, left []int, results []result) (again []int, limited error) {
	req := kernel.WriteManyRequest{Writes: make([]kernel.WriteRequest, len(left))}
	for n, i := range left {
		req.Writes[n] = batch[i].request
	}
	reply, err := p.kernel.WriteMany(ctx, p.scribe.writer, req)
	for n, i := range left {
		r := &results[i]
		if r.err = err; err == nil {
			r.reply, r.err = reply.Results[n].Reply, reply.Results[n].Err
		}
		var stopped *kernel.RateLimitError
		switch {
		case errors.As(r.err, &stopped):
			again, limited = append(again, i), r.err
		case r.err == nil || !hopeless(ctx, r.err):
			r.failed = r.err != nil
			p.done.Add(1)
		}
	}
	return again, limited
}

// patiently makes a call again for as long as there is a rate limit against it.
func patiently(ctx context.Context, call func() error) error {
	for {
		err := call()
		var limited *kernel.RateLimitError
		if !errors.As(err, &limited) {
			return err
		}
		wait := time.NewTimer(limited.RetryAfter)
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return ctx.Err()
		}
	}
}

// hopeless reports whether a failure would meet every call to come.
func hopeless(ctx context.Context, err error) bool {
	return ctx.Err() != nil || slices.ContainsFunc([]error{
		kernel.ErrUnauthenticated, kernel.ErrForbidden, kernel.ErrTenantSuspended, kernel.ErrUnavailable,
	}, func(target error) bool { return errors.Is(err, target) })
}
