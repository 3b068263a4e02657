package drivertest

import (
	"sync"

	"github.com/memkernel/memkernel/driver"
	"github.com/memkernel/memkernel/kernel"
)

// repeats is how often the same is asked one call after another, and again at the same time.
const repeats = 100

func (s *suite) determinism() {
	s.tb.Helper()
	w, d := s.newWorld(), s.driver()
	q := questions()[1] // names people, things and a time
	req := kernel.SearchRequest{Query: q, K: 20}
	first, _ := w.healthy(s.tb, caller, d, req)
	if first == nil {
		return
	}
	again := func(d driver.Driver, when string) {
		c, _ := w.healthy(s.tb, caller, d, req)
		if c == nil {
			return
		}
		if difference, ok := same(first.got, c.got); !ok {
			s.findf("the same view and query gave another plan %s, query %s: %s", when, short(q), difference)
		}
	}
	for i := range repeats {
		again(d, "in a later call")
		if i%10 == 0 { // state that other queries leave
			w.healthy(s.tb, caller, d, kernel.SearchRequest{Query: questions()[i/10%len(questions())], K: 3})
		}
	}
	again(s.driver(), "of another driver from the factory")
	const workers = 8
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for range repeats / workers {
				again(d, "in calls at the same time")
			}
		})
	}
	group.Wait()
}
