package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/memkernel/memkernel/examples/internal/console"
	"github.com/memkernel/memkernel/kernel"
)

// run writes the input, asks every question and reports. A run that is stopped reports nothing:
// figures of some of the questions are none.
func run(ctx context.Context, k *kernel.Kernel, opts *options, in *input, stdout, stderr io.Writer) error {
	r := newReport(in, opts)
	memories, err := load(ctx, k, in, r, stderr)
	if err != nil {
		return err
	}
	e := &examination{kernel: k, opts: opts, in: in, memories: memories}
	if err := e.run(ctx, stderr); err != nil {
		return err
	}
	r.evaluate(in, e)
	err = r.write(stdout, opts.json)
	if opts.plot != "" {
		text := plot(r)
		if failed := os.WriteFile(opts.plot, text, 0o600); failed != nil {
			err = errors.Join(err, fmt.Errorf("the plot: %w", failed))
		}
	}
	return err
}

// examination asks the questions.
type examination struct {
	kernel   *kernel.Kernel
	opts     *options
	in       *input
	memories []memory // by conversation

	scores [][]scores        // by driver and question
	took   [][]time.Duration // likewise
	done   atomic.Int64      // searches
}

// run asks every question by every driver before it asks the next one. The drivers take turns in
// being the first, which may find less in the database's memory than those after it.
func (e *examination) run(ctx context.Context, progress io.Writer) error {
	drivers, questions := len(e.opts.drivers), len(e.in.questions)
	e.scores, e.took = make([][]scores, drivers), make([][]time.Duration, drivers)
	for d := range drivers {
		e.scores[d], e.took[d] = make([]scores, questions), make([]time.Duration, questions)
	}
	total := drivers * questions
	stop := console.Progress(progress, "searching", &e.done, total)
	defer stop()
	for i := range e.in.questions {
		for n := range drivers {
			d := (i + n) % drivers
			if err := e.ask(ctx, d, i); err != nil {
				return fmt.Errorf("%w (%s of %s searches are done)", err, console.Grouped(int(e.done.Load())), console.Grouped(total))
			}
			e.done.Add(1)
		}
	}
	return nil
}

func (e *examination) ask(ctx context.Context, d, i int) error {
	q, name := &e.in.questions[i], e.opts.drivers[d]
	m := &e.memories[q.conversation]
	begun := time.Now()
	reply, err := e.kernel.Search(ctx, m.reader, kernel.SearchRequest{Query: q.text, K: e.opts.results, Driver: name})
	e.took[d][i] = time.Since(begun)
	if err != nil {
		return err
	}
	if reply.Driver != name || len(reply.Degraded) > 0 {
		return fmt.Errorf("driver %s did not rank as it should, but %s: fallbacks %v, degraded %v", name, reply.Driver, reply.Fallbacks, reply.Degraded)
	}
	turns := e.in.conversations[q.conversation].Turns
	results := make([]hit, len(reply.Items))
	for n, item := range reply.Items {
		turn := m.turnOf[item.Memory.ID] // nobody else writes there
		results[n] = hit{turn, turns[turn].Session}
	}
	var evidence, sessions []int
	for _, turn := range q.evidence {
		evidence = append(evidence, m.holder[turn])
		sessions = append(sessions, turns[m.holder[turn]].Session)
	}
	e.scores[d][i] = score(results, distinct(evidence), distinct(sessions))
	return nil
}

func distinct(numbers []int) []int {
	slices.Sort(numbers)
	return slices.Compact(numbers)
}
