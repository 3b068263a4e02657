package drivertest

import (
	"context"
	"errors"
	"fmt"
	"runtime/pprof"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/memkernel/memkernel/driver"
	"github.com/memkernel/memkernel/kernel/mem"
)

// probeName is what the kernel knows the driver under test by, whatever it calls itself: names
// such as "baseline" are taken.
const probeName = "drivertest"

// probe is the driver that the kernel calls. It finds the driver under test in the context.
type probe struct{}

var _ driver.Driver = probe{}

// Name implements driver.Driver.
func (probe) Name() string { return probeName }

var errNoCall = errors.New("drivertest: not a call of the kit")

// Plan implements driver.Driver.
func (probe) Plan(ctx context.Context, view driver.ScopedView, q driver.Query) (driver.Plan, error) {
	c, ok := ctx.Value(callKey{}).(*call)
	if !ok {
		return driver.Plan{}, errNoCall
	}
	return c.plan(ctx, view, q)
}

type callKey struct{}

// call is one call of a driver. What it found is to be read once done is closed.
type call struct {
	driver driver.Driver
	faults faults
	// label marks the driver's goroutines.
	label string
	begun atomic.Bool
	done  chan struct{}

	view *spy
	// raw is the plan as the driver returned it, got a copy from that moment.
	raw, got driver.Plan
	err      error
	panicked string
}

// The methods of a view.
const (
	words  = "Candidates"
	vector = "Vector"
	embed  = "Embed"
)

// faults is what goes wrong in a call.
type faults struct {
	// fail lists the methods of the view that fail.
	fail []string
	// stall is the method that waits until its context is done, release what ends it in any case,
	// and stalled is called when it begins to wait.
	stall   string
	release <-chan struct{}
	stalled func()
	// cancelled hands the driver a context that is over.
	cancelled bool
}

// errInjected is how the view fails on demand.
var errInjected = errors.New("drivertest: this arm is down")

func (c *call) plan(ctx context.Context, view driver.ScopedView, q driver.Query) (plan driver.Plan, err error) {
	c.begun.Store(true)
	c.view = &spy{view: view, faults: c.faults, served: map[mem.ID]int{}, ctx: pprof.WithLabels(ctx, pprof.Labels(labelKey, ""))}
	returned := false
	defer close(c.done)
	defer func() {
		c.view.end()
		switch p := recover(); {
		case p != nil:
			c.panicked = fmt.Sprint(p)
		case !returned:
			c.panicked = "the goroutine was ended"
		default:
			return
		}
		plan, err = driver.Plan{}, fmt.Errorf("drivertest: the driver panicked: %s", c.panicked)
		c.err = err
	}()
	if c.faults.cancelled {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		cancel()
	}
	pprof.Do(ctx, pprof.Labels(labelKey, c.label), func(ctx context.Context) {
		c.view.labelled = ctx
		plan, err = c.driver.Plan(ctx, c.view, q)
	})
	returned = true
	c.raw, c.got, c.err = plan, driver.Plan{Items: slices.Clone(plan.Items)}, err
	return driver.Plan{Items: slices.Clone(plan.Items)}, err // the kernel sorts its own
}

// spy is a view that looks at what it is asked, remembers what it shows and fails on demand.
type spy struct {
	view   driver.ScopedView
	faults faults
	// ctx and labelled hold the labels of the kit's goroutines and of the driver's.
	ctx, labelled context.Context //nolint:containedctx // for their labels alone

	mu       sync.Mutex
	over     bool
	late     []string       // methods called when the call was over
	refused  error          // what the view said to one call too many
	embeds   int            // calls of Embed
	negative []string       // methods asked for fewer than no rows
	served   map[mem.ID]int // tokens
}

var _ driver.ScopedView = (*spy)(nil)

func (v *spy) end() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.over = true
}

func (v *spy) enter(ctx context.Context, method string, limit int) error {
	v.mu.Lock()
	if method == embed {
		v.embeds++
	}
	if v.over {
		v.late = append(v.late, method)
	}
	if limit < 0 {
		v.negative = append(v.negative, method)
	}
	v.mu.Unlock()
	if v.faults.stall == method {
		v.faults.stalled()
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-v.faults.release:
			return errInjected
		}
	}
	if slices.Contains(v.faults.fail, method) {
		return errInjected
	}
	return nil
}

// unlabelled takes the driver's label off while the kernel works for it: goroutines that the
// connection pool starts meanwhile are not the driver's.
func (v *spy) unlabelled() (relabel func()) {
	pprof.SetGoroutineLabels(v.ctx)
	return func() { pprof.SetGoroutineLabels(v.labelled) }
}

func (v *spy) show(rows []driver.Candidate, err error) ([]driver.Candidate, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.note(err)
	for i := range rows {
		v.served[rows[i].Ref] = rows[i].Tokens
	}
	return rows, err
}

// note remembers that the view has had enough. The caller holds mu.
func (v *spy) note(err error) {
	if errors.Is(err, mem.ErrTooLarge) {
		v.refused = err
	}
}

// Candidates implements driver.ScopedView.
func (v *spy) Candidates(ctx context.Context, q driver.CandidateQuery) ([]driver.Candidate, error) {
	defer v.unlabelled()()
	if err := v.enter(ctx, words, q.Limit); err != nil {
		return nil, err
	}
	return v.show(v.view.Candidates(ctx, q))
}

// Vector implements driver.ScopedView.
func (v *spy) Vector(ctx context.Context, q driver.VectorQuery) ([]driver.Candidate, error) {
	defer v.unlabelled()()
	if err := v.enter(ctx, vector, q.Limit); err != nil {
		return nil, err
	}
	return v.show(v.view.Vector(ctx, q))
}

// Embed implements driver.ScopedView.
func (v *spy) Embed(ctx context.Context, text string) ([]float32, error) {
	defer v.unlabelled()()
	if err := v.enter(ctx, embed, 0); err != nil {
		return nil, err
	}
	embedding, err := v.view.Embed(ctx, text)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.note(err)
	return embedding, err
}
