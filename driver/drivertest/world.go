package drivertest

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/memkernel/memkernel/driver"
	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
)

// The namespaces. What caller does not see is each in its own way close to what it sees.
const (
	caller     = "acme/eng"
	ancestor   = "acme"
	sibling    = "acme/sales"
	descendant = "acme/eng/db"
	lookAlike  = "acme/engine"
	stranger   = "umbrella/eng"
	nobody     = "hollow/eng" // a tenant without memories
)

// callers are all who have memories, those of whom the caller sees nothing first and the caller last.
func callers() []string {
	return []string{sibling, descendant, lookAlike, stranger, ancestor, caller}
}

// questions have answers among facts: words of theirs are there.
func questions() []string {
	return []string{
		"which port does the database use?",
		"Who looks after the greenhouse in May 2025?",
		"Où est la clé de l'imprimante ?",
		"しりとり",
	}
}

// facts are what the caller knows.
func facts() []string {
	out := []string{
		"The database uses port 5432.",
		"The database is in rack 7 and its port is guarded.",
		"Port wine is served at the harbour.",
		"Ada looks after the greenhouse in May.",
		"The greenhouse was looked after by Ben in April 2025.",
		"The greenhouse has forty tomato plants.",
		"La clé de l'imprimante est dans le tiroir.",
		"L'imprimante est au deuxième étage.",
		"昨日みんなでしりとりをしました。",
		"しりとりは楽しい。",
		"Ein Dampfschifffahrtskapitän wohnt im zweiten Stock.",
		"The error code E-4711 means that the disk is full.",
		"Write to ops@example.org when 9router is down.",
	}
	for i := range 12 {
		// Rows that say nearly the same, so that scores lie close and some are equal.
		out = append(out, fmt.Sprintf("Measurement %d of the database took %d ms on port %d.", i, 10+i%3, 6000+i%2))
	}
	return out
}

// home says where a memory is and whether it is current.
type home struct {
	ns    kernel.Namespace
	ended bool
}

// world is a kernel with memories of several namespaces and tenants, each with canaries.
type world struct {
	*kerneltest.Kit
	s       *suite
	who     map[string]kernel.Identity
	ns      map[string]kernel.Namespace
	homes   map[kernel.ID]home
	release chan struct{}
	label   string
}

// driverTimeout is how long a plan may take where nothing is out of order.
const driverTimeout = time.Minute

// newWorld makes a world.
func (s *suite) newWorld(opts ...kernel.Option) *world {
	s.tb.Helper()
	limits := kernel.WithLimits(kernel.Limits{DriverTimeout: driverTimeout, DriverFailures: 1000, AuditTimeout: time.Minute, ModelTimeout: time.Minute})
	w := &world{
		Kit: kerneltest.Open(s.tb, append([]kernel.Option{kernel.WithDrivers(probe{}), limits}, opts...)...),
		s:   s, who: map[string]kernel.Identity{}, ns: map[string]kernel.Namespace{}, homes: map[kernel.ID]home{}, release: make(chan struct{}),
	}
	w.label = fmt.Sprintf("%p", w)
	s.tb.Cleanup(func() { close(w.release) })
	for _, path := range append(callers(), nobody) {
		w.who[path], w.ns[path] = w.Key(path, kernel.RoleMember), kerneltest.Namespace(s.tb, path)
	}
	for _, fact := range facts() {
		w.write(caller, kernel.WriteRequest{Text: fact, EventTime: time.Date(2025, 5, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, len(w.homes))})
	}
	for _, path := range callers() {
		for _, q := range questions() {
			switch path {
			case caller:
			case ancestor: // seen by all of its tenant, so not the best
				w.write(path, kernel.WriteRequest{Text: "Everybody may know where somebody wrote down: " + q})
			default: // nothing is closer to a question than the question
				w.write(path, kernel.WriteRequest{Text: q + " (" + path + ")"})
			}
		}
	}
	for _, q := range questions() {
		old := w.write(caller, kernel.WriteRequest{Text: q + " once"})
		w.write(caller, kernel.WriteRequest{Text: "Nobody asks any more: " + q, Supersedes: old})
		wrong := w.write(caller, kernel.WriteRequest{Text: q + " wrong"})
		if _, err := w.Retract(s.tb.Context(), w.who[caller], kernel.RetractRequest{ID: wrong}); err != nil {
			s.tb.Fatalf("drivertest: retract: %v", err)
		}
		for _, id := range []kernel.ID{old, wrong} {
			w.homes[id] = home{ns: w.ns[caller], ended: true}
		}
	}
	return w
}

func (w *world) write(path string, req kernel.WriteRequest) kernel.ID {
	w.s.tb.Helper()
	reply, err := w.Write(w.s.tb.Context(), w.who[path], req)
	if err != nil || len(reply.Stored) != 1 {
		w.s.tb.Fatalf("drivertest: write in %s: %v, %+v", path, err, reply)
	}
	w.homes[reply.Stored[0]] = home{ns: w.ns[path]}
	return reply.Stored[0]
}

// ask lets the driver rank for the caller of a path. If the driver does not return, that is a
// finding and there is no call; the reply is nil if the search failed.
func (w *world) ask(ctx context.Context, path string, d driver.Driver, req kernel.SearchRequest, faults faults) (*call, *kernel.SearchReply) {
	return w.askOn(ctx, w.Kernel, path, d, req, faults)
}

func (w *world) askOn(
	ctx context.Context, k *kernel.Kernel, path string, d driver.Driver, req kernel.SearchRequest, faults faults,
) (*call, *kernel.SearchReply) {
	faults.release = w.release
	if faults.stalled == nil {
		faults.stalled = func() {}
	}
	c := &call{driver: d, faults: faults, label: w.label, done: make(chan struct{})}
	req.Driver = probeName
	reply, err := k.Search(context.WithValue(ctx, callKey{}, c), w.who[path], req)
	if err != nil {
		reply = nil
	}
	select {
	case <-c.done:
		return c, reply
	case <-time.After(grace):
	}
	switch {
	case !c.begun.Load():
		w.s.tb.Errorf("drivertest: the driver was not asked: %v", err)
	case faults.stall != "":
		w.s.findf("Plan did not return within %v of the end of its call, which ended while the view's %s was waited for: it must heed its context", grace, faults.stall)
	default:
		w.s.findf("Plan did not return within %v", driverTimeout)
	}
	return nil, reply
}

// healthy is ask where nothing goes wrong, so that the driver must do.
func (w *world) healthy(tb testing.TB, path string, d driver.Driver, req kernel.SearchRequest) (*call, *kernel.SearchReply) {
	tb.Helper()
	c, reply := w.ask(tb.Context(), path, d, req, faults{})
	if c == nil || w.failed(c, fmt.Sprintf("asked %s with nothing out of order", short(req.Query))) {
		return nil, nil
	}
	if reply == nil {
		tb.Errorf("drivertest: the search %s failed", short(req.Query))
		return nil, nil
	}
	return c, reply
}

// failed reports, as a finding, that the driver panicked or returned an error.
func (w *world) failed(c *call, when string) bool {
	switch {
	case c.panicked != "":
		w.s.findf("Plan panicked when %s: %s", when, c.panicked)
	case c.err != nil:
		w.s.findf("Plan failed when %s: %v", when, c.err)
	default:
		return false
	}
	return true
}

// short is a query for a message.
func short(q string) string {
	const most = 40
	if r := []rune(q); len(r) > most {
		return fmt.Sprintf("%q... (%d bytes)", string(r[:most]), len(q))
	}
	return fmt.Sprintf("%q", q)
}

// same reports whether two plans are the same to the last bit, and if not where they differ.
func same(a, b driver.Plan) (difference string, ok bool) {
	for i := range min(len(a.Items), len(b.Items)) {
		x, y := a.Items[i], b.Items[i]
		if x.Ref != y.Ref {
			return fmt.Sprintf("item %d is %s and then %s", i, x.Ref, y.Ref), false
		}
		if math.Float64bits(float64(x.Score)) != math.Float64bits(float64(y.Score)) {
			return fmt.Sprintf("the score of item %d is %v and then %v", i, x.Score, y.Score), false
		}
	}
	if len(a.Items) != len(b.Items) {
		return fmt.Sprintf("%d items and then %d", len(a.Items), len(b.Items)), false
	}
	return "", true
}
