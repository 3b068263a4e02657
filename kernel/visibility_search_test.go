package kernel_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/driver"
	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/model/hashing"
)

// armDriver asks one arm of its view for all there is and proposes it in the order it came.
// It keeps what it was shown: that is what SQL let through, before the kernel looks again.
type armDriver struct {
	name string
	ask  func(ctx context.Context, view driver.ScopedView, q driver.Query) ([]driver.Candidate, error)

	mu    sync.Mutex
	shown []driver.Candidate
}

func (d *armDriver) Name() string { return d.name }

func (d *armDriver) Plan(ctx context.Context, view driver.ScopedView, q driver.Query) (driver.Plan, error) {
	rows, err := d.ask(ctx, view, q)
	if err != nil {
		return driver.Plan{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.shown = rows
	var plan driver.Plan
	for i, c := range rows {
		plan.Items = append(plan.Items, driver.Ranked{Ref: c.Ref, Score: kernel.Score(-i)})
	}
	return plan, nil
}

// taken returns what the last plan was made from, and forgets it.
func (d *armDriver) taken() []driver.Candidate {
	d.mu.Lock()
	defer d.mu.Unlock()
	rows := d.shown
	d.shown = nil
	return rows
}

func armDrivers() []*armDriver {
	var out []*armDriver
	for _, detail := range []bool{false, true} {
		suffix := map[bool]string{false: "", true: "-detail"}[detail]
		out = append(out,
			&armDriver{name: "words" + suffix, ask: func(ctx context.Context, v driver.ScopedView, q driver.Query) ([]driver.Candidate, error) {
				return v.Candidates(ctx, driver.CandidateQuery{Text: q.Text, Limit: 1000, Detail: detail})
			}},
			&armDriver{name: "words-dated" + suffix, ask: func(ctx context.Context, v driver.ScopedView, q driver.Query) ([]driver.Candidate, error) {
				return v.Candidates(ctx, driver.CandidateQuery{Text: q.Text, Limit: 1000, From: january, To: january.AddDate(1, 0, 0), Detail: detail})
			}},
			&armDriver{name: "recent-dated" + suffix, ask: func(ctx context.Context, v driver.ScopedView, _ driver.Query) ([]driver.Candidate, error) {
				return v.Candidates(ctx, driver.CandidateQuery{Limit: 1000, From: january, To: january.AddDate(1, 0, 0), Detail: detail})
			}},
			&armDriver{name: "recent" + suffix, ask: func(ctx context.Context, v driver.ScopedView, _ driver.Query) ([]driver.Candidate, error) {
				return v.Candidates(ctx, driver.CandidateQuery{Limit: 1000, Detail: detail})
			}},
			&armDriver{name: "near" + suffix, ask: func(ctx context.Context, v driver.ScopedView, q driver.Query) ([]driver.Candidate, error) {
				embedding, err := v.Embed(ctx, q.Text)
				if err != nil {
					return nil, err
				}
				return v.Vector(ctx, driver.VectorQuery{Embedding: embedding, Limit: 1000, Detail: detail})
			}},
		)
	}
	return out
}

func withArms(arms []*armDriver) kernel.Option {
	drivers := make([]driver.Driver, len(arms))
	for i, a := range arms {
		drivers[i] = a
	}
	return kernel.WithDrivers(drivers...)
}

// searchCase is a search and which of a namespace's two memories it may find.
type searchCase struct {
	name         string
	req          kernel.SearchRequest
	old, current bool
}

func (w *world) searchCases() []searchCase {
	return []searchCase{
		{"plain", kernel.SearchRequest{}, false, true},
		{"as of", kernel.SearchRequest{AsOf: w.between}, true, false},
		{"from and to", kernel.SearchRequest{From: february, To: february}, false, true},
		{"kinds", kernel.SearchRequest{Kinds: []kernel.Kind{"goal", "raw"}}, false, true},
		{"superseded too", kernel.SearchRequest{IncludeSuperseded: true}, true, true},
		{"all filters", kernel.SearchRequest{IncludeSuperseded: true, From: january, To: january, Kinds: []kernel.Kind{"fact"}}, true, false},
	}
}

// expected returns what a search may find, sorted.
func (w *world) expected(caller string, c *searchCase) []kernel.ID {
	var out []kernel.ID
	for _, path := range w.paths {
		if sees(caller, path) && c.old {
			out = append(out, w.old[path])
		}
		if sees(caller, path) && c.current {
			out = append(out, w.current[path])
		}
	}
	slices.SortFunc(out, compareIDs)
	return out
}

func compareIDs(a, b kernel.ID) int { return slices.Compare(a[:], b[:]) }

func itemIDs(rep *kernel.SearchReply) []kernel.ID {
	var out []kernel.ID
	for i := range rep.Items {
		out = append(out, rep.Items[i].Memory.ID)
	}
	slices.SortFunc(out, compareIDs)
	return out
}

func candidateIDs(rows []driver.Candidate) []kernel.ID {
	var out []kernel.ID
	for i := range rows {
		out = append(out, rows[i].Ref)
	}
	slices.SortFunc(out, compareIDs)
	return out
}

// Each arm alone, with each filter, shows a driver exactly what its caller may see. The
// dimension decides which index and which statement the vector arm uses.
func TestVisibilityOfSearchArms(t *testing.T) {
	t.Parallel()
	for name, dim := range map[string]int{"covered vectors": 384, "wide vectors": 600} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			embedder, err := hashing.NewDim(dim)
			require.NoError(t, err)
			arms := armDrivers()
			if dim > 500 {
				arms = slices.DeleteFunc(arms, func(a *armDriver) bool { return a.name != "near" && a.name != "near-detail" })
			}
			w := newWorld(t, lookalikes, kernel.WithEmbedder(embedder), withArms(arms))
			for _, caller := range callers {
				for _, arm := range arms {
					for _, c := range w.searchCases() {
						w.requireSearch(t, caller, arm, &c)
					}
				}
			}
		})
	}
}

func (w *world) requireSearch(t *testing.T, caller string, arm *armDriver, c *searchCase) {
	t.Helper()
	req := c.req
	req.Query, req.K, req.Driver = "What colour is the beacon on the roof?", 100, arm.name
	rep, err := w.Search(t.Context(), w.members[caller], req)
	require.NoError(t, err)
	require.Equal(t, arm.name, rep.Driver)
	want := w.expected(caller, c)
	shown := arm.taken()
	require.Equal(t, want, candidateIDs(shown), "%s, %s: what %q is shown", arm.name, c.name, caller)
	require.Equal(t, want, itemIDs(rep), "%s, %s: what %q finds", arm.name, c.name, caller)
	for i := range shown {
		if shown[i].Text != "" {
			require.True(t, sees(caller, shown[i].Namespace.String()))
		}
	}
}

// The built-in drivers, whose arms travel with the gate, find the same; fusion asks again for what
// is of the time that the question names.
func TestVisibilityOfDrivers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, lookalikes)
	for _, caller := range callers {
		for _, c := range w.searchCases() {
			for _, name := range []string{"baseline", "fusion"} {
				req := c.req
				req.Query, req.K, req.Driver = "What colour was the beacon on the roof on 15 February 2026?", 100, name
				rep, err := w.Search(t.Context(), w.members[caller], req)
				require.NoError(t, err)
				require.Equal(t, name, rep.Driver)
				require.Equal(t, w.expected(caller, &c), itemIDs(rep), "%q, %s, %s", caller, c.name, name)
			}
		}
	}
}
