package drivertest

import (
	"sync"

	"github.com/memkernel/memkernel/driver"
	"github.com/memkernel/memkernel/kernel"
)

// scope has callers of several namespaces ask one driver the same questions, so that what it
// remembers of one shows in what it proposes to another.
func (s *suite) scope() {
	s.tb.Helper()
	w, d := s.newWorld(), s.driver()
	everybody := append(callers(), nobody, caller)
	for range 2 {
		for _, q := range questions() {
			for _, path := range everybody {
				w.checkScope(path, d, q)
			}
		}
	}
	var group sync.WaitGroup
	for i, path := range everybody {
		group.Go(func() {
			for j := range 2 * len(questions()) {
				w.checkScope(path, d, questions()[(i+j)%len(questions())])
			}
		})
	}
	group.Wait()
}

func (w *world) checkScope(path string, d driver.Driver, q string) {
	c, reply := w.healthy(w.s.tb, path, d, kernel.SearchRequest{Query: q, K: 20})
	if c == nil {
		return
	}
	for _, item := range c.got.Items {
		h, known := w.homes[item.Ref]
		switch {
		case !known: // invented, which is the shape group's business
		case !w.ns[path].Sees(h.ns):
			w.s.findf("proposed a memory of %s (%s) to a caller in %s, who does not see it: nothing may be kept from one call to another", h.ns, relation(h.ns.String(), path), path)
		case h.ended:
			w.s.findf("proposed a memory of %s that has ended", h.ns)
		}
	}
	for _, item := range reply.Items {
		if h := w.homes[item.Memory.ID]; !w.ns[path].Sees(h.ns) || h.ended {
			w.s.tb.Errorf("drivertest: the kernel served a memory of %s to a caller in %s", h.ns, path)
		}
	}
}

// relation says how the caller stands to the namespace that leaked.
func relation(leaked, path string) string {
	if path != caller {
		return "another caller's"
	}
	switch leaked {
	case sibling:
		return "the sibling"
	case descendant:
		return "the descendant"
	case lookAlike:
		return "begins alike, and is no relative"
	case stranger:
		return "another tenant"
	}
	return "another caller's"
}
