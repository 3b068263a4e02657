package drivertest

import (
	"slices"
	"strings"

	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
)

// hostileQueries are odd, and allowed.
func hostileQueries() map[string]string {
	const long = 64 << 10
	return map[string]string{
		"a long query":                 strings.Repeat("database port ", long/14),
		"one long word":                strings.Repeat("x", long),
		"a query with NUL bytes":       "data\x00base \x00 port",
		"a query that is not UTF-8":    "database \xff\xfe port \xc3",
		"a query of punctuation alone": "?!... --- ;;; '\"%_\\",
		"a query of emoji alone":       "🧑‍🚀🧑‍🚀",
		"a query of combining marks":   "e" + strings.Repeat("\u0301", 1000),
		"a query from right to left":   "\u202eشجرة הבית\u202c",
		"a query that looks like SQL":  "'; DROP TABLE memory_objects; --",
		"a query of one letter":        "a",
		"a query with a wild date":     "on 2025-02-31, 99 May 0000 and December 99999",
	}
}

func (s *suite) resilience() {
	s.tb.Helper()
	embedder := &kerneltest.Embedder{Dim: 64, InProcess: true, Trusted: true}
	w := s.newWorld(kernel.WithEmbedder(embedder))
	w.checkOutages(embedder)
	ctx, d := s.tb.Context(), s.driver()
	for name, q := range hostileQueries() {
		c, _ := w.ask(ctx, caller, d, kernel.SearchRequest{Query: q}, faults{})
		if c != nil {
			w.failed(c, "asked "+name)
		}
	}
	for _, q := range questions() {
		c, _ := w.ask(ctx, nobody, s.driver(), kernel.SearchRequest{Query: q}, faults{})
		if c != nil {
			w.failed(c, "there are no memories")
		}
	}
	c, _ := w.ask(ctx, caller, d, kernel.SearchRequest{Query: questions()[0]}, faults{cancelled: true})
	if c != nil {
		w.honest(c, "the call had been cancelled before")
	}
	if left := s.settle(w.label); len(left) > 0 {
		s.findf("left %d goroutines behind, one of them in %s", len(left), left[0])
	}
}

// checkOutages takes away one arm after another, first as it happens in a kernel, then by force.
func (w *world) checkOutages(embedder *kerneltest.Embedder) {
	ctx, req := w.s.tb.Context(), kernel.SearchRequest{Query: questions()[0]}
	embedder.Fail(kerneltest.ErrFake)
	c, reply := w.ask(ctx, caller, w.s.driver(), req, faults{})
	if c != nil {
		w.honest(c, "the embedder was down")
		if c.view.embeds > 0 && (reply == nil || !slices.Contains(reply.Degraded, kernel.BrownoutEmbedder)) {
			w.s.tb.Errorf("drivertest: the kernel did not say that the embedder was down")
		}
	}
	embedder.Fail(nil)
	for _, outage := range []struct {
		when string
		fail []string
	}{
		{"the lexical arm failed", []string{words}},
		{"the vector arm failed", []string{vector}},
		{"both arms failed", []string{words, vector}},
		{"the embedder and the lexical arm failed", []string{words, embed}},
		{"everything failed", []string{words, embed, vector}},
	} {
		if c, _ := w.ask(ctx, caller, w.s.driver(), req, faults{fail: outage.fail}); c != nil {
			w.honest(c, outage.when)
		}
	}
	// What was down is up again, and nothing of the outage remains.
	d := w.s.driver()
	w.ask(ctx, caller, d, req, faults{fail: []string{words, embed, vector}})
	if c, _ := w.ask(ctx, caller, d, req, faults{}); c != nil && !w.failed(c, "all was well again after an outage") {
		w.honest(c, "all was well again after an outage")
	}
}

// honest checks that the driver either ranked something or said that it could not. An error is
// honest: the kernel then asks the baseline and says so.
func (w *world) honest(c *call, when string) {
	switch {
	case c.panicked != "":
		w.failed(c, when)
	case c.err == nil && len(c.got.Items) == 0:
		w.s.findf("returned an empty plan and no error when %s: an outage must not look like an empty memory", when)
	}
}
