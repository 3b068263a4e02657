package drivertest

import (
	"context"
	"time"

	"github.com/memkernel/memkernel/driver"
	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
	"github.com/memkernel/memkernel/kernel/mem"
)

func (s *suite) budget() {
	s.tb.Helper()
	w, d := s.newWorld(), s.driver()
	for _, q := range questions() {
		for _, k := range []int{1, 3, 10, 100} {
			w.checkBudget(d, kernel.SearchRequest{Query: q, K: k})
		}
		for _, tokens := range []int{1, 20, 60} {
			w.checkBudget(d, kernel.SearchRequest{Query: q, K: 20, TokenBudget: tokens})
		}
	}
	for _, method := range []string{words, embed, vector} {
		w.checkCancellation(method)
		w.checkDeadline(method)
	}
}

func (w *world) checkBudget(d driver.Driver, req kernel.SearchRequest) {
	c, _ := w.healthy(w.s.tb, caller, d, req)
	if c == nil {
		return
	}
	items := c.got.Items
	if len(items) > req.K {
		w.s.findf("proposed %d items where K was %d", len(items), req.K)
	}
	c.view.mu.Lock()
	defer c.view.mu.Unlock()
	tokens, counted := 0, map[mem.ID]bool{}
	for _, item := range items {
		if !counted[item.Ref] { // repetitions are the shape group's business
			counted[item.Ref] = true
			tokens += c.view.served[item.Ref]
		}
	}
	switch {
	case req.TokenBudget == 0:
	case len(items) == 0 && len(c.view.served) > 0:
		w.s.findf("proposed nothing for a token budget of %d: the first item is served even if it alone is over", req.TokenBudget)
	case len(items) > 1 && tokens > req.TokenBudget:
		w.s.findf("proposed %d items of %d tokens together where the token budget was %d", len(items), tokens, req.TokenBudget)
	}
	for _, method := range c.view.negative {
		w.s.findf("asked the view's %s for fewer than no rows", method)
	}
	if c.view.refused != nil {
		w.s.findf("made more calls than one view answers: %v", c.view.refused)
	}
}

// checkCancellation has the caller go away while the driver waits for the view.
func (w *world) checkCancellation(method string) {
	ctx, cancel := context.WithCancel(w.s.tb.Context())
	defer cancel()
	w.ask(ctx, caller, w.s.driver(), kernel.SearchRequest{Query: questions()[0]}, faults{stall: method, stalled: cancel})
}

// checkDeadline has the time for a plan run out while the driver waits for the view.
func (w *world) checkDeadline(method string) {
	const timeout = 100 * time.Millisecond
	hurried := kerneltest.OpenOn(w.s.tb, w.Pool, kernel.WithDrivers(probe{}), kernel.WithLimits(kernel.Limits{DriverTimeout: timeout, DriverFailures: 1000}))
	w.askOn(w.s.tb.Context(), hurried.Kernel, caller, w.s.driver(), kernel.SearchRequest{Query: questions()[0]}, faults{stall: method})
}
