package drivertest_test

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/memkernel/memkernel/driver"
	"github.com/memkernel/memkernel/driver/baseline"
	"github.com/memkernel/memkernel/kernel/mem"
)

// planFunc is a driver.
type planFunc func(ctx context.Context, view driver.ScopedView, q driver.Query) (driver.Plan, error)

func (planFunc) Name() string { return "bad" }

func (f planFunc) Plan(ctx context.Context, view driver.ScopedView, q driver.Query) (driver.Plan, error) {
	return f(ctx, view, q)
}

// spoilt is the baseline with a plan that is changed at the end.
func spoilt(change func(items []driver.Ranked) []driver.Ranked) driver.Driver {
	return planFunc(func(ctx context.Context, view driver.ScopedView, q driver.Query) (driver.Plan, error) {
		plan, err := baseline.New().Plan(ctx, view, q)
		if err != nil || len(plan.Items) == 0 {
			return plan, err
		}
		return driver.Plan{Items: change(plan.Items)}, nil
	})
}

// remembering proposes to one caller what it has shown to another.
func remembering() driver.Driver {
	var mu sync.Mutex
	best := map[string]driver.Ranked{}
	return planFunc(func(ctx context.Context, view driver.ScopedView, q driver.Query) (driver.Plan, error) {
		plan, err := baseline.New().Plan(ctx, view, q)
		mu.Lock()
		defer mu.Unlock()
		if known, ok := best[q.Text]; ok {
			if len(plan.Items) > 0 {
				known.Score = plan.Items[0].Score
				plan.Items[0] = known
			}
			return plan, err
		}
		if err == nil && len(plan.Items) > 0 {
			best[q.Text] = plan.Items[0]
		}
		return plan, err
	})
}

// shuffling ranks in the order of a map.
func shuffling() driver.Driver {
	return spoilt(func(items []driver.Ranked) []driver.Ranked {
		set := map[mem.ID]bool{}
		for _, item := range items {
			set[item.Ref] = true
		}
		items = items[:0]
		for ref := range set {
			items = append(items, driver.Ranked{Ref: ref, Score: 1})
		}
		return items
	})
}

// counting scores a little higher at every call.
func counting() driver.Driver {
	var mu sync.Mutex
	calls := 0.0
	return spoilt(func(items []driver.Ranked) []driver.Ranked {
		mu.Lock()
		defer mu.Unlock()
		calls++
		for i := range items {
			items[i].Score += mem.Score(calls * 1e-9)
		}
		return items
	})
}

// greedy takes whatever there is.
func greedy() driver.Driver {
	return planFunc(func(ctx context.Context, view driver.ScopedView, q driver.Query) (driver.Plan, error) {
		return baseline.New().Plan(ctx, view, driver.Query{Text: q.Text, K: max(q.K, 50)})
	})
}

// spendthrift keeps to K but not to the tokens.
func spendthrift() driver.Driver {
	return planFunc(func(ctx context.Context, view driver.ScopedView, q driver.Query) (driver.Plan, error) {
		return baseline.New().Plan(ctx, view, driver.Query{Text: q.Text, K: q.K})
	})
}

// deaf does not let go when its call is over.
func deaf() driver.Driver {
	return planFunc(func(ctx context.Context, view driver.ScopedView, q driver.Query) (driver.Plan, error) {
		return baseline.New().Plan(context.WithoutCancel(ctx), view, q)
	})
}

// asking makes as many calls as it likes.
func asking() driver.Driver {
	return planFunc(func(ctx context.Context, view driver.ScopedView, q driver.Query) (driver.Plan, error) {
		plan, err := baseline.New().Plan(ctx, view, q)
		for range 100 {
			_, _ = view.Candidates(ctx, driver.CandidateQuery{Text: q.Text, Limit: -1})
		}
		return plan, err
	})
}

// inventing proposes a ref that nobody has shown it.
func inventing() driver.Driver {
	return spoilt(func(items []driver.Ranked) []driver.Ranked {
		items[len(items)-1].Ref = mem.ID{1}
		return items
	})
}

// repeating proposes the best twice.
func repeating() driver.Driver {
	return spoilt(func(items []driver.Ranked) []driver.Ranked {
		items[len(items)-1].Ref = items[0].Ref
		return items
	})
}

func unfinite() driver.Driver {
	return spoilt(func(items []driver.Ranked) []driver.Ranked {
		items[len(items)-1].Score = mem.Score(math.NaN())
		return items
	})
}

func upsideDown() driver.Driver {
	return spoilt(func(items []driver.Ranked) []driver.Ranked {
		for i := range items {
			items[i].Score = mem.Score(i)
		}
		return items
	})
}

// clinging asks the view of the call before.
func clinging() driver.Driver {
	var mu sync.Mutex
	var kept driver.ScopedView
	return planFunc(func(ctx context.Context, view driver.ScopedView, q driver.Query) (driver.Plan, error) {
		mu.Lock()
		defer mu.Unlock()
		if kept != nil {
			_, _ = kept.Candidates(ctx, driver.CandidateQuery{Text: q.Text, Limit: 10})
		}
		kept = view
		return baseline.New().Plan(ctx, view, q)
	})
}

// reusing returns the same memory over and over.
func reusing() driver.Driver {
	var mu sync.Mutex
	var kept []driver.Ranked
	return spoilt(func(items []driver.Ranked) []driver.Ranked {
		mu.Lock()
		defer mu.Unlock()
		if cap(kept) == 0 {
			kept = make([]driver.Ranked, 0, 1000)
		}
		kept = append(kept[:0], items...)
		return kept
	})
}

// misnamed is the baseline under an impossible name.
type misnamed struct{ driver.Driver }

func (misnamed) Name() string { return "Bad Driver" }

// hopeful takes it for granted that there is an embedding.
func hopeful() driver.Driver {
	return planFunc(func(ctx context.Context, view driver.ScopedView, q driver.Query) (driver.Plan, error) {
		embedding, err := view.Embed(ctx, q.Text)
		if err != nil && ctx.Err() == nil {
			_ = embedding[0]
		}
		return baseline.New().Plan(ctx, view, q)
	})
}

// silent makes nothing of an outage.
func silent() driver.Driver {
	return planFunc(func(ctx context.Context, view driver.ScopedView, q driver.Query) (driver.Plan, error) {
		plan, err := baseline.New().Plan(ctx, view, q)
		if err != nil {
			return driver.Plan{}, nil //nolint:nilerr // that is what is bad about it
		}
		return plan, nil
	})
}

// littering leaves goroutines behind when an arm is down.
func littering() driver.Driver {
	return planFunc(func(ctx context.Context, view driver.ScopedView, q driver.Query) (driver.Plan, error) {
		if _, err := view.Embed(ctx, q.Text); err != nil {
			go func() { time.Sleep(time.Minute) }()
		}
		return baseline.New().Plan(ctx, view, q)
	})
}

// picky does not answer what it does not like.
func picky() driver.Driver {
	return planFunc(func(ctx context.Context, view driver.ScopedView, q driver.Query) (driver.Plan, error) {
		if len(q.Text) > 1<<12 {
			panic("too long")
		}
		return baseline.New().Plan(ctx, view, q)
	})
}
