package drivertest

import (
	"math"

	"github.com/memkernel/memkernel/driver"
	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/mem"
)

func (s *suite) shape() {
	s.tb.Helper()
	w, d := s.newWorld(), s.driver()
	name := d.Name()
	if !mem.ValidDriverName(name) {
		s.findf("its name is %q, not 1 to 64 of a-z, 0-9, '-' and '_'", name)
	}
	if other := s.driver().Name(); other != name {
		s.findf("its name is %q and then %q: a name is a constant", name, other)
	}
	if p, ok := d.(driver.Prefetcher); ok {
		if want := p.Prefetch(driver.Query{Text: questions()[0], K: 10}); want.Lexical < 0 || want.Vector < 0 {
			s.findf("Prefetch asks for fewer than no rows: %+v", want)
		}
	}
	var calls []*call
	for range 2 {
		for _, q := range questions() {
			c := w.checkShape(d, kernel.SearchRequest{Query: q, K: 20})
			if c != nil {
				calls = append(calls, c)
			}
		}
	}
	if d.Name() != name {
		s.findf("its name is %q and after some calls %q: a name is a constant", name, d.Name())
	}
	s.settle(w.label)
	for _, c := range calls {
		if _, ok := same(c.got, c.raw); !ok {
			s.findf("a plan changed after it had been returned: its items must not be used again")
		}
		c.view.mu.Lock()
		for _, method := range c.view.late {
			s.findf("called %s of a view whose call was over: a view must not be kept", method)
		}
		c.view.mu.Unlock()
	}
}

func (w *world) checkShape(d driver.Driver, req kernel.SearchRequest) *call {
	c, _ := w.healthy(w.s.tb, caller, d, req)
	if c == nil {
		return nil
	}
	c.view.mu.Lock()
	defer c.view.mu.Unlock()
	seen := map[mem.ID]bool{}
	last := math.Inf(1)
	for i, item := range c.got.Items {
		score := float64(item.Score)
		if _, ok := c.view.served[item.Ref]; !ok {
			w.s.findf("proposed a ref that its view had not shown in the call")
		}
		if seen[item.Ref] {
			w.s.findf("proposed a ref twice in one plan")
		}
		seen[item.Ref] = true
		switch {
		case math.IsNaN(score) || math.IsInf(score, 0):
			w.s.findf("the score of an item is %v, which is not finite", score)
		case score > last:
			w.s.findf("the plan is not best first: item %d has a higher score than the one before it", i)
		default:
			last = score
		}
	}
	return c
}
