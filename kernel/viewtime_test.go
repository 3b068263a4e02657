package kernel_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/driver"
	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
	"github.com/memkernel/memkernel/kernel/mem"
)

// TestViewOfATime: a driver can ask for rows of a time, by words and by age; bounds are inclusive,
// and never reach beyond those of the search. A memory without a time is of when it was told, and
// one that lasted is of every moment of that.
func TestViewOfATime(t *testing.T) {
	t.Parallel()
	var ask func(ctx context.Context, view driver.ScopedView)
	k := kerneltest.Open(t, kernel.WithDrivers(planFunc(func(ctx context.Context, view driver.ScopedView, _ driver.Query) (driver.Plan, error) {
		ask(ctx, view)
		return driver.Plan{Items: shown(ctx, view)}, nil
	})))
	dana := k.Key("acme/eng", kernel.RoleMember)
	end := february.AddDate(0, 0, 5)
	names := map[kernel.ID]string{}
	for name, req := range map[string]kernel.WriteRequest{
		"january":  {Text: "beacon one", EventTime: january},
		"february": {Text: "beacon two", EventTime: february},
		"lasting":  {Text: "beacon three", EventTime: january, EventEnd: end},
		"told":     {Text: "beacon four"},
	} {
		names[must(k.Write(t.Context(), dana, req)).Stored[0]] = name
	}
	told := k.Clock.Now()
	type bounds struct{ from, to time.Time }
	for name, tc := range map[string]struct {
		search, asked bounds
		want          []string
	}{
		"no bound":              {bounds{}, bounds{}, []string{"february", "january", "lasting", "told"}},
		"one day":               {bounds{}, bounds{february, february}, []string{"february", "lasting"}},
		"from":                  {bounds{}, bounds{from: february}, []string{"february", "lasting", "told"}},
		"to":                    {bounds{}, bounds{to: january}, []string{"january", "lasting"}},
		"just after":            {bounds{}, bounds{february.Add(time.Microsecond), end}, []string{"lasting"}},
		"when it was told":      {bounds{}, bounds{told, told}, []string{"told"}},
		"before there was one":  {bounds{}, bounds{to: january.AddDate(-1, 0, 0)}, nil},
		"within the search's":   {bounds{january, end}, bounds{february, told}, []string{"february", "lasting"}},
		"wider than the search": {bounds{february, february}, bounds{january, told}, []string{"february", "lasting"}},
		"beside the search":     {bounds{to: january}, bounds{from: end}, []string{"lasting"}},
		"the search's alone":    {bounds{from: end, to: told}, bounds{}, []string{"lasting", "told"}},
		"touching the search":   {bounds{to: february}, bounds{from: february}, []string{"february", "lasting"}},
	} {
		for _, detail := range []bool{false, true} {
			asked := 0
			ask = func(ctx context.Context, view driver.ScopedView) {
				for _, text := range []string{"beacon", "", "beacon"} {
					// What is known of the whole is not taken for a part of it.
					_, err := view.Candidates(ctx, driver.CandidateQuery{Text: text, Limit: 10})
					require.NoError(t, err)
					rows, err := view.Candidates(ctx, driver.CandidateQuery{Text: text, Limit: 10, From: tc.asked.from, To: tc.asked.to, Detail: detail})
					require.NoError(t, err)
					var got []string
					for _, c := range rows {
						got = append(got, names[c.Ref])
					}
					slices.Sort(got)
					require.Equal(t, tc.want, got, "%s, text %q", name, text)
					asked++
				}
			}
			req := kernel.SearchRequest{Query: "beacon", Driver: "hostile", From: tc.search.from, To: tc.search.to}
			reply := must(k.Search(t.Context(), dana, req))
			require.Equal(t, "hostile", reply.Driver, name)
			require.Equal(t, 3, asked)
		}
	}
	ask = func(ctx context.Context, view driver.ScopedView) {
		for _, bad := range []driver.CandidateQuery{
			{From: time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)}, {Text: "beacon", To: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}, {From: february, To: january},
		} {
			bad.Limit = 10
			rows, err := view.Candidates(ctx, bad)
			require.ErrorIs(t, err, mem.ErrInvalid)
			require.Empty(t, rows)
		}
	}
	require.Equal(t, "hostile", must(k.Search(t.Context(), dana, kernel.SearchRequest{Query: "beacon", Driver: "hostile"})).Driver)
}
