package drivertest_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/driver"
	"github.com/memkernel/memkernel/driver/baseline"
	"github.com/memkernel/memkernel/driver/drivertest"
	"github.com/memkernel/memkernel/driver/drivertest/testdata/dialer"
	"github.com/memkernel/memkernel/driver/fusion"
)

const baselinePackage = "github.com/memkernel/memkernel/driver/baseline"

func TestBaseline(t *testing.T) {
	t.Parallel()
	drivertest.Run(t, func(testing.TB) driver.Driver { return baseline.New() })
}

func TestFusion(t *testing.T) {
	t.Parallel()
	for name, trust := range map[string]fusion.Trust{"none": 0, "spelling": fusion.Spelling, "meaning": fusion.Meaning} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			drivertest.Run(t, func(testing.TB) driver.Driver { return fusion.New(trust) })
		})
	}
}

// TestBadDrivers plants drivers that are bad in one way each. The kit must find that, and for one
// of each group it is asked everything and must find nothing else.
func TestBadDrivers(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		make  func() driver.Driver
		group drivertest.Group
		want  string
		all   bool
	}{
		"dials": {
			func() driver.Driver { return dialer.New() }, drivertest.Imports,
			"must not import net/http: a driver has no network (github.com/memkernel/memkernel/driver/drivertest/testdata/dialer -> " +
				"github.com/memkernel/memkernel/driver/drivertest/testdata/dialer/hidden -> net/http)", true,
		},
		"remembers other callers":  {remembering, drivertest.Scope, "proposed a memory of acme/sales (the sibling) to a caller in acme/eng", true},
		"shuffles":                 {shuffling, drivertest.Determinism, "the same view and query gave another plan", true},
		"counts":                   {counting, drivertest.Determinism, "the score of item 0 is", false},
		"ignores K":                {greedy, drivertest.Budget, "items where K was 1", false},
		"ignores the token budget": {spendthrift, drivertest.Budget, "where the token budget was 20", true},
		"ignores its context":      {deaf, drivertest.Budget, "Plan did not return within", false},
		"asks too often":           {asking, drivertest.Budget, "made more calls than one view answers", false},
		"invents":                  {inventing, drivertest.Shape, "proposed a ref that its view had not shown in the call", true},
		"repeats":                  {repeating, drivertest.Shape, "proposed a ref twice in one plan", false},
		"no number":                {unfinite, drivertest.Shape, "the score of an item is NaN, which is not finite", false},
		"worst first":              {upsideDown, drivertest.Shape, "the plan is not best first", false},
		"keeps a view":             {clinging, drivertest.Shape, "called Candidates of a view whose call was over", false},
		"reuses its plan":          {reusing, drivertest.Shape, "a plan changed after it had been returned", false},
		"has an impossible name":   {func() driver.Driver { return misnamed{baseline.New()} }, drivertest.Shape, `its name is "Bad Driver"`, false},
		"panics without embedder":  {hopeful, drivertest.Resilience, "Plan panicked when the embedder was down", true},
		"hides an outage":          {silent, drivertest.Resilience, "returned an empty plan and no error when the lexical arm failed", false},
		"leaves goroutines":        {littering, drivertest.Resilience, "goroutines behind, one of them in", false},
		"panics on long queries":   {picky, drivertest.Resilience, "Plan panicked when asked a long query: too long", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var opts []drivertest.Option
			if tc.group != drivertest.Imports {
				opts = append(opts, drivertest.ForPackage(baselinePackage)) // these are in a test, which is no package
			}
			for _, group := range drivertest.Groups() {
				if !tc.all && group != tc.group {
					opts = append(opts, drivertest.OptOut(group, "another driver's business"))
				}
			}
			results := drivertest.Judge(t, func(testing.TB) driver.Driver { return tc.make() }, opts...)
			require.Len(t, results, 6)
			for _, r := range results {
				if !tc.all && r.Group != tc.group {
					continue
				}
				if r.Group != tc.group {
					require.True(t, r.Passed(), "%s: %q", r.Group, r.Findings)
					continue
				}
				require.False(t, r.Passed())
				require.Contains(t, strings.Join(r.Findings, "\n"), tc.want)
				require.Empty(t, r.OptedOut)
			}
		})
	}
}
