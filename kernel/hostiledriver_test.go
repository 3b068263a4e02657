package kernel_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/driver"
	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
	"github.com/memkernel/memkernel/kernel/mem"
)

// planFunc is a driver called "hostile".
type planFunc func(ctx context.Context, view driver.ScopedView, q driver.Query) (driver.Plan, error)

func (planFunc) Name() string { return "hostile" }

func (f planFunc) Plan(ctx context.Context, view driver.ScopedView, q driver.Query) (driver.Plan, error) {
	return f(ctx, view, q)
}

// stage is a world that a hostile driver is let loose on: what the caller sees and what not.
type stage struct {
	*kerneltest.Kit

	dana     kernel.Identity
	own      []kernel.ID // best match first
	hidden   []kernel.ID // sibling's, child's, other tenant's
	ended    []kernel.ID // superseded and retracted, in the caller's own namespace
	replaced planFunc
}

const question = "which port does the database use?"

func newStage(t *testing.T, plan planFunc, opts ...kernel.Option) *stage {
	t.Helper()
	s := &stage{replaced: plan}
	act := planFunc(func(ctx context.Context, view driver.ScopedView, q driver.Query) (driver.Plan, error) {
		return s.replaced(ctx, view, q)
	})
	s.Kit = kerneltest.Open(t, append([]kernel.Option{kernel.WithDrivers(act)}, opts...)...)
	write := func(who kernel.Identity, req kernel.WriteRequest) kernel.ID {
		r, err := s.Write(t.Context(), who, req)
		require.NoError(t, err)
		return r.Stored[0]
	}
	s.dana = s.Key("acme/eng", kernel.RoleMember)
	for _, ns := range []string{"acme/sales", "acme/eng/db", "umbrella/eng"} {
		s.hidden = append(s.hidden, write(s.Key(ns, kernel.RoleMember), kernel.WriteRequest{Text: "The database uses port 1 in " + ns}))
	}
	old := write(s.dana, kernel.WriteRequest{Text: "The database uses port 5431."})
	s.own = append(s.own, write(s.dana, kernel.WriteRequest{Text: "The database uses port 5432.", Supersedes: old}))
	s.own = append(s.own, write(s.dana, kernel.WriteRequest{Text: "The database is in rack 7."}))
	wrong := write(s.dana, kernel.WriteRequest{Text: "The database uses port 80."})
	_, err := s.Retract(t.Context(), s.dana, kernel.RetractRequest{ID: wrong})
	require.NoError(t, err)
	s.ended = []kernel.ID{old, wrong}
	return s
}

// ask searches with the hostile driver and checks what holds whatever it does: one audit row,
// no error, and nothing served that the caller could not have found without it.
func (s *stage) ask(t *testing.T, req kernel.SearchRequest, detail ...string) *kernel.SearchReply {
	t.Helper()
	req.Query, req.Driver = question, "hostile"
	var reply *kernel.SearchReply
	result := kernel.AuditResult("ok")
	before := len(s.Audit())
	reply, err := s.Search(t.Context(), s.dana, req)
	require.NoError(t, err)
	if len(reply.Items) == 0 {
		result = "miss"
	}
	rows := s.Audit()[before:]
	require.Len(t, rows, 1)
	require.Equal(t, result, rows[0].Result)
	for _, want := range append(detail, fmt.Sprintf("returned=%d", len(reply.Items)), "driver="+reply.Driver) {
		require.Contains(t, strings.Fields(rows[0].Detail), want)
	}
	seen := map[kernel.ID]bool{}
	for i, item := range reply.Items {
		require.Contains(t, s.own, item.Memory.ID)
		require.False(t, seen[item.Memory.ID], "served twice")
		seen[item.Memory.ID] = true
		require.False(t, math.IsNaN(float64(item.Score)) || math.IsInf(float64(item.Score), 0))
		require.True(t, i == 0 || reply.Items[i-1].Score >= item.Score, "not best first")
	}
	return reply
}

// requireFallback is for a driver that did not do: the baseline has answered, and all says so.
func (s *stage) requireFallback(t *testing.T, reason string, detail ...string) {
	t.Helper()
	reply := s.ask(t, kernel.SearchRequest{}, append(detail, "driver_fallback=hostile->baseline", "fallback_reason="+reason)...)
	require.Equal(t, []kernel.Fallback{{Driver: "hostile", Reason: reason}}, reply.Fallbacks)
	require.Equal(t, "baseline", reply.Driver)
	require.Len(t, reply.Items, len(s.own))
}

func shown(ctx context.Context, view driver.ScopedView) []driver.Ranked {
	rows, err := view.Candidates(ctx, driver.CandidateQuery{Limit: 100})
	if err != nil {
		return nil
	}
	out := make([]driver.Ranked, len(rows))
	for i, c := range rows {
		out[i] = driver.Ranked{Ref: c.Ref, Score: mem.Score(i)}
	}
	return out
}

func propose(ids []kernel.ID, score mem.Score) []driver.Ranked {
	out := make([]driver.Ranked, len(ids))
	for i, id := range ids {
		out[i] = driver.Ranked{Ref: id, Score: score}
	}
	return out
}

func TestHostileDriverReturnsWhatItWasNotShown(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	guessed := []kernel.ID{{}, {1}, kernel.ID(slices.Repeat([]byte{0xff}, 16))}
	foreign := slices.Concat(s.hidden, s.ended, guessed, s.own) // own ones, but never asked for
	for _, ids := range [][]kernel.ID{s.hidden, s.ended, guessed, s.own, foreign} {
		s.replaced = func(context.Context, driver.ScopedView, driver.Query) (driver.Plan, error) {
			return driver.Plan{Items: propose(ids, 9)}, nil
		}
		s.requireFallback(t, "violation", fmt.Sprintf("driver_violations=%d", len(ids)))
	}
	// Among others the foreign ones are dropped and the rest is served.
	s.replaced = func(ctx context.Context, view driver.ScopedView, _ driver.Query) (driver.Plan, error) {
		return driver.Plan{Items: slices.Concat(propose(s.hidden, 99), shown(ctx, view), propose(s.ended, 99))}, nil
	}
	reply := s.ask(t, kernel.SearchRequest{}, "driver_violations=5")
	require.Len(t, reply.Items, len(s.own))
	require.Equal(t, "hostile", reply.Driver)
	require.Empty(t, reply.Fallbacks)
	require.Equal(t, 5, reply.Violations)
}

// TestHostileDriverScores covers what a plan can look like.
func TestHostileDriverScores(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	nan := mem.Score(math.NaN())
	for name, tc := range map[string]struct {
		plan   func(items []driver.Ranked) []driver.Ranked
		served int
	}{
		"duplicates": {func(items []driver.Ranked) []driver.Ranked { return slices.Repeat(items, 5) }, 2},
		"unsorted":   {func(items []driver.Ranked) []driver.Ranked { return items }, 2}, // it ranks the last highest
		"one is no number": {func(items []driver.Ranked) []driver.Ranked {
			items[0].Score = nan
			return items
		}, 1},
		"infinite": {func(items []driver.Ranked) []driver.Ranked {
			items[0].Score, items[1].Score = mem.Score(math.Inf(1)), mem.Score(math.Inf(-1))
			return items
		}, 0},
		"negative": {func(items []driver.Ranked) []driver.Ranked {
			items[0].Score, items[1].Score = -1, -math.MaxFloat64
			return items
		}, 2},
		"no number first, then a score": {func(items []driver.Ranked) []driver.Ranked {
			return append([]driver.Ranked{{Ref: items[0].Ref, Score: nan}}, items...)
		}, 1},
		"nothing": {func([]driver.Ranked) []driver.Ranked { return nil }, 0},
		"a million": {func(items []driver.Ranked) []driver.Ranked {
			return append(items, make([]driver.Ranked, 1_000_000)...)
		}, 2},
	} {
		s.replaced = func(ctx context.Context, view driver.ScopedView, _ driver.Query) (driver.Plan, error) {
			return driver.Plan{Items: tc.plan(shown(ctx, view))}, nil
		}
		reply := s.ask(t, kernel.SearchRequest{})
		require.Len(t, reply.Items, tc.served, name)
		require.Empty(t, reply.Fallbacks, name)
	}
	// More than was wanted.
	s.replaced = func(ctx context.Context, view driver.ScopedView, _ driver.Query) (driver.Plan, error) {
		return driver.Plan{Items: shown(ctx, view)}, nil
	}
	require.Len(t, s.ask(t, kernel.SearchRequest{K: 1}).Items, 1)
	budget := s.ask(t, kernel.SearchRequest{TokenBudget: 1})
	require.Len(t, budget.Items, 1, "the best one is served even if it alone is over")
	require.Equal(t, 1, budget.OverBudget)
}

// TestHostileDriverServesWhatEndedMeanwhile: between the view and the answer a memory ends.
func TestHostileDriverServesWhatEndedMeanwhile(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	s.replaced = func(ctx context.Context, view driver.ScopedView, _ driver.Query) (driver.Plan, error) {
		items := shown(ctx, view)
		_, err := s.Write(ctx, s.dana, kernel.WriteRequest{Text: "The database uses port 5433.", Supersedes: s.own[0]})
		return driver.Plan{Items: items}, err
	}
	reply, err := s.Search(t.Context(), s.dana, kernel.SearchRequest{Query: question, Driver: "hostile"})
	require.NoError(t, err)
	require.Len(t, reply.Items, 1)
	require.Equal(t, s.own[1], reply.Items[0].Memory.ID)
	require.Empty(t, reply.Fallbacks)
}

func TestHostileDriverFails(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	for reason, plan := range map[string]planFunc{
		"panic": func(context.Context, driver.ScopedView, driver.Query) (driver.Plan, error) { panic(question) },
		"error": func(context.Context, driver.ScopedView, driver.Query) (driver.Plan, error) {
			return driver.Plan{Items: propose(s.own, 1)}, errors.New("no idea")
		},
	} {
		s.replaced = plan
		s.requireFallback(t, reason)
	}
	// A nil pointer inside the plan's own goroutine is the driver's to catch; one in Plan is ours.
	s.replaced = func(context.Context, driver.ScopedView, driver.Query) (driver.Plan, error) {
		var none *stage
		return driver.Plan{Items: propose(none.own, 1)}, nil
	}
	s.requireFallback(t, "panic")
}
