package kernel

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"

	"github.com/memkernel/memkernel/driver"
	"github.com/memkernel/memkernel/internal/store"
	"github.com/memkernel/memkernel/kernel/mem"
)

// maxPlanItems is how much of a plan is looked at; the rest is not worth the time.
const maxPlanItems = 10_000

// Why a driver did not rank, see Fallback.
const (
	reasonUnregistered = "unregistered"
	reasonBusy         = "busy"
	reasonTimeout      = "timeout"
	reasonPanic        = "panic"
	reasonError        = "error"
	reasonViolation    = "violation"
	reasonOpen         = "open"
	reasonWithheld     = "withheld"
)

// planError is a driver's failure; the search goes on without it.
type planError struct {
	reason string
	cause  error
}

func (e *planError) Error() string { return "driver failed: " + e.reason }

// Unwrap returns what made the driver fail, for the hooks of the host.
func (e *planError) Unwrap() error { return e.cause }

type planResult struct {
	plan driver.Plan
	err  error
}

// plan runs one driver on one view and returns what of its plan can be served. A failure of
// the driver is a *planError.
func (s *search) plan(ctx context.Context, name string, view *store.View) ([]pick, error) {
	d, ok := s.k.drivers.Get(name)
	if !ok {
		err := &planError{reason: reasonUnregistered}
		s.logFailure(ctx, name, err)
		return nil, err
	}
	begun := s.k.now()
	result, err := s.askGuarded(ctx, name, d, view)
	if errors.Is(err, errOpen) || errors.Is(err, errQuestionWithheld) {
		return nil, err // it was not asked
	}
	ranked, violations := sift(result.plan.Items, view, s.query.K)
	s.violations += violations
	if err == nil && len(ranked) == 0 && violations > 0 {
		err = &planError{reason: reasonViolation}
	}
	s.logFailure(ctx, name, err)
	info := DriverInfo{Driver: name, Items: len(result.plan.Items), Violations: violations, Err: err, Duration: s.k.now().Sub(begun)}
	runHooks(ctx, s.k, func(h DriverHook) { h.DriverPlan(ctx, info) })
	return ranked, err
}

// logFailure logs which driver failed and why; not the driver's error, which may hold text.
func (s *search) logFailure(ctx context.Context, name string, err error) {
	var failed *planError
	if errors.As(err, &failed) && ctx.Err() == nil {
		s.k.logger.LogAttrs(ctx, slog.LevelWarn, "driver failed", slog.String("driver", name), slog.String("reason", failed.reason))
	}
}

// errOpen: the driver's engine has not answered of late, and is not asked.
var errOpen = &planError{reason: reasonOpen, cause: mem.ErrUnavailable}

// errQuestionWithheld: the question may not be sent to the driver's engine.
var errQuestionWithheld = &planError{reason: reasonWithheld, cause: mem.ErrForbidden}

// askGuarded asks a driver of the host's unless its breaker is open.
func (s *search) askGuarded(ctx context.Context, name string, d driver.Driver, view *store.View) (planResult, error) {
	if builtIn(name) {
		return s.ask(ctx, name, d, view)
	}
	if to := s.k.sendsTo[name]; to != mem.DestinationLocal {
		if s.confined(ctx, to) {
			view.Close()
			return planResult{}, errQuestionWithheld
		}
		view.Withhold(func(c *mem.Classification) bool { return c.MaySend(to) })
	}
	report, ok := s.k.breakers.allow(name, s.who.Tenant())
	if !ok {
		view.Close()
		return planResult{}, errOpen
	}
	result, err := s.ask(ctx, name, d, view)
	if s.excused(ctx, err, view.Report()) {
		report(ctx, errNotCounted)
	} else {
		report(ctx, err)
	}
	return result, err
}

// excused reports that a failure says nothing about the driver: the caller has left, so many of its
// calls are stuck that it was not asked, or it was waiting for, or did not get, what the kernel lends it.
func (s *search) excused(ctx context.Context, err error, arms store.ArmReport) bool {
	var failed *planError
	if ctx.Err() != nil || arms.Fault != nil {
		return true
	}
	if !errors.As(err, &failed) {
		return false
	}
	switch failed.reason {
	case reasonBusy:
		return true
	case reasonTimeout:
		return arms.Interrupted
	default:
		return arms.VectorDown
	}
}

// ask calls the driver, so that one that blocks is left behind. Its view is closed before ask
// returns, whatever the driver still holds.
func (s *search) ask(ctx context.Context, name string, d driver.Driver, view *store.View) (planResult, error) {
	ctx, cancel := context.WithTimeout(ctx, s.k.limits.DriverTimeout)
	defer cancel()
	r, err := s.callApart(ctx, name, d, view)
	view.Close()
	var failed *planError
	switch {
	case errors.Is(err, errStuck):
		return planResult{}, &planError{reason: reasonBusy, cause: fmt.Errorf("%w: driver %s is stuck", mem.ErrUnavailable, name)}
	case errors.Is(err, errExited):
		return planResult{}, &planError{reason: reasonPanic, cause: fmt.Errorf("%w: driver %s: %w", mem.ErrInternal, name, err)}
	case err == nil && r.err == nil && ctx.Err() == nil: // an answer in time, whichever was noticed first
		return r, nil
	case errors.As(r.err, &failed):
		return planResult{}, r.err
	case ctx.Err() != nil:
		return planResult{}, &planError{reason: reasonTimeout, cause: fmt.Errorf("%w: driver %s did not answer in time", mem.ErrUnavailable, name)}
	default:
		return planResult{}, &planError{reason: reasonError, cause: r.err}
	}
}

// callApart calls a driver of a host's on a goroutine of its own. A built-in one is spared the way
// there and back.
func (s *search) callApart(ctx context.Context, name string, d driver.Driver, view *store.View) (planResult, error) {
	if builtIn(name) {
		return s.call(ctx, d, view), nil
	}
	part := "driver " + name
	if s.k.stuck.sum(part) >= maxStuckInAll {
		return planResult{}, errStuck
	}
	return aside(ctx, s.k.stuck, part+" for "+s.who.Tenant(), func() planResult { return s.call(ctx, d, view) })
}

func (s *search) call(ctx context.Context, d driver.Driver, view *store.View) (r planResult) {
	defer func() {
		if p := recover(); p != nil {
			s.k.logPanic(ctx, "driver", p)
			r = planResult{err: &planError{reason: reasonPanic, cause: mem.ErrInternal}}
		}
	}()
	plan, err := d.Plan(ctx, view.Driver(), s.query)
	return planResult{plan: plan, err: err}
}

// pick is what a driver ranked, with the size that the view showed.
type pick struct {
	driver.Ranked
	tokens int
}

// sift keeps what of a plan can be served: refs that the view showed, each once, with a
// finite score, best first with the ref as the tie-break, at most k.
func sift(items []driver.Ranked, view *store.View, k int) (kept []pick, violations int) {
	seen := make(map[mem.ID]bool, min(len(items), maxPlanItems))
	for _, it := range items[:min(len(items), maxPlanItems)] {
		score := float64(it.Score)
		switch {
		case math.IsNaN(score) || math.IsInf(score, 0) || seen[it.Ref]:
		default:
			tokens, ok := view.Served(it.Ref)
			if !ok {
				violations++
				break
			}
			kept = append(kept, pick{it, tokens})
		}
		seen[it.Ref] = true
	}
	slices.SortStableFunc(kept, func(a, b pick) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), bytes.Compare(a.Ref[:], b.Ref[:]))
	})
	return kept[:min(len(kept), k)], violations
}
