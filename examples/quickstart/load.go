package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/memkernel/memkernel/examples/internal/console"
	"github.com/memkernel/memkernel/examples/internal/host"
	"github.com/memkernel/memkernel/examples/internal/transcript"
	"github.com/memkernel/memkernel/kernel"
)

// workers is how many writers run at once. A namespace has one writer, so its lines are
// written in their order and a correction finds what it corrects.
const workers = 4

// few is how many lines are written by one writer: what was written when is part of what a search
// goes by, and small inputs are for people who compare.
const few = 1000

// tally counts what became of the turns of a namespace.
type tally struct {
	path                                  string
	turns, stored, duplicates, superseded int
	// first is the memory that the first line became, corrected the one that the first
	// correcting line did, zero if there is none.
	first, corrected kernel.ID
}

// loaded is the outcome of a load.
type loaded struct {
	namespaces []*tally // in the order of the survey
	byPath     map[string]*tally
	elapsed    time.Duration
}

func (l *loaded) total() tally {
	var sum tally
	for _, n := range l.namespaces {
		sum.turns += n.turns
		sum.stored += n.stored
		sum.duplicates += n.duplicates
		sum.superseded += n.superseded
	}
	return sum
}

// live is how many memories are current.
func (t *tally) live() int { return t.stored - t.superseded }

type loader struct {
	kernel   *kernel.Kernel
	owner    kernel.Identity
	in       input
	survey   *survey
	assigned map[string]int    // namespace -> worker
	tallies  map[string]*tally // each is its worker's alone
	done     atomic.Int64
}

// load writes the input. Every worker reads it from the beginning and writes the lines of
// its own namespaces. The first failure stops all of them.
func load(ctx context.Context, k *kernel.Kernel, owner kernel.Identity, in input, s *survey, progress io.Writer) (*loaded, error) {
	out := &loaded{byPath: map[string]*tally{}}
	for _, ns := range s.namespaces {
		t := &tally{path: ns.path}
		out.byPath[ns.path] = t
		out.namespaces = append(out.namespaces, t)
	}
	l := &loader{kernel: k, owner: owner, in: in, survey: s, assigned: assign(s), tallies: out.byPath}
	begun := time.Now()
	stop := console.Progress(progress, "loading", &l.done, s.turns)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var group sync.WaitGroup
	for worker := range writers(s) {
		group.Go(func() {
			if err := l.work(ctx, worker); err != nil {
				cancel(err)
			}
		})
	}
	group.Wait()
	stop()
	if err := context.Cause(ctx); err != nil {
		return nil, fmt.Errorf("%w (%d of %d lines are written, in tenant %s)", err, l.done.Load(), s.turns, owner.Tenant())
	}
	out.elapsed = time.Since(begun)
	return out, nil
}

// writers returns how many workers there are.
func writers(s *survey) int {
	if s.turns <= few {
		return 1
	}
	return min(workers, len(s.namespaces))
}

// assign spreads the namespaces over the workers: the largest first, each to the worker that
// has the least to do.
func assign(s *survey) map[string]int {
	bySize := slices.Clone(s.namespaces)
	slices.SortStableFunc(bySize, func(a, b *namespaceSurvey) int { return cmp.Compare(b.turns, a.turns) })
	lines := make([]int, writers(s))
	out := make(map[string]int, len(bySize))
	for _, ns := range bySize {
		least := slices.Index(lines, slices.Min(lines))
		out[ns.path] = least
		lines[least] += ns.turns
	}
	return out
}

func (l *loader) work(ctx context.Context, worker int) error {
	scribes := map[string]kernel.Identity{} // by namespace
	ids := map[string]kernel.ID{}           // of the lines that have an id
	for t, err := range l.in.turns() {
		if err != nil {
			return err
		}
		if l.assigned[t.Namespace] != worker {
			continue
		}
		scribe, ok := scribes[t.Namespace]
		if !ok {
			scribe, err = issueKey(ctx, l.kernel, l.owner, l.survey.byPath[t.Namespace].full, "agent:scribe", kernel.RoleAgent)
			if err != nil {
				return l.in.at(t.Line, err)
			}
			scribes[t.Namespace] = scribe
		}
		if err := l.write(ctx, scribe, &t, ids); err != nil {
			return l.in.at(t.Line, err)
		}
	}
	return nil
}

// write keeps one turn as a memory. Who speaks is what the file claims, so it is the memory's
// source; who writes is the key's actor, and nothing in a file can change that.
func (l *loader) write(ctx context.Context, scribe kernel.Identity, t *transcript.Turn, ids map[string]kernel.ID) error {
	reply, err := l.kernel.Write(ctx, scribe, kernel.WriteRequest{
		Text: t.Text, EventTime: t.At, Source: t.Source(l.in.Name),
		Supersedes: ids[t.Key(t.Supersedes)], // zero, for none, if the line has no such field
	})
	if err != nil {
		return err
	}
	// A turn that is not stored is a duplicate: of one that is.
	id := slices.Concat(reply.Stored, reply.Deduplicated)[0]
	if t.ID != "" {
		ids[t.Key(t.ID)] = id
	}
	n := l.tallies[t.Namespace]
	n.first = cmp.Or(n.first, id)
	if t.Line == l.survey.byPath[t.Namespace].corrected {
		n.corrected = id
	}
	n.turns++
	n.stored += len(reply.Stored)
	n.duplicates += len(reply.Deduplicated)
	n.superseded += len(reply.Superseded)
	l.done.Add(1)
	return nil
}

// issueKey makes a key of this program's and resolves it.
func issueKey(ctx context.Context, k *kernel.Kernel, maker kernel.Identity, ns kernel.Namespace, actor string, role kernel.Role) (kernel.Identity, error) {
	return host.IssueKey(ctx, k, maker, kernel.KeyRequest{Namespace: ns, Actor: actor, Role: role, AgentID: "quickstart"})
}
