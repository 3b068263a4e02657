package mem_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/kernel/mem"
)

func TestMergeRateLimits(t *testing.T) {
	t.Parallel()
	merge := func(ps ...mem.Policy) mem.EffectivePolicy { return mem.MergePolicies(ps) }
	for _, c := range []struct {
		name    string
		e       mem.EffectivePolicy
		want    mem.RateLimit
		limited bool
	}{
		{"none", merge(), mem.RateLimit{}, false},
		{"another op's", merge(rates(acl.OpWrite, 1, 1)), mem.RateLimit{}, false},
		{"own", merge(rates(acl.OpSearch, 2, 3)), mem.RateLimit{PerSecond: 2, Burst: 3}, true},
		{"everybody's", merge(rates("*", 2, 3)), mem.RateLimit{PerSecond: 2, Burst: 3}, true},
		{"a child cannot raise", merge(rates(acl.OpSearch, 2, 3), rates(acl.OpSearch, 200, 300)), mem.RateLimit{PerSecond: 2, Burst: 3}, true},
		{"a child can lower", merge(rates(acl.OpSearch, 2, 3), rates(acl.OpSearch, 1, 30)), mem.RateLimit{PerSecond: 1, Burst: 3}, true},
		{"star below own", merge(rates(acl.OpSearch, 5, 5), rates("*", 2, 9)), mem.RateLimit{PerSecond: 2, Burst: 5}, true},
		{"own below star", merge(rates("*", 2, 9), rates(acl.OpSearch, 5, 5)), mem.RateLimit{PerSecond: 2, Burst: 5}, true},
	} {
		got, limited := c.e.RateLimit(acl.OpSearch)
		require.Equal(t, c.limited, limited, c.name)
		require.Equal(t, c.want, got, c.name)
	}
}

func TestMergeRestrictions(t *testing.T) {
	t.Parallel()
	parent := mem.Policy{
		Sensitive: true, AllowedDrivers: []string{"baseline", "graph"},
		Write:          mem.WritePolicy{MaxBytes: 100, Kinds: []mem.Kind{mem.KindFact, mem.KindGoal}, Denied: true},
		ConflictReview: mem.ReviewAll, HoldForReview: true,
	}
	child := mem.Policy{
		AllowedDrivers: []string{"graph", "sidecar"}, ConflictReview: mem.ReviewOff,
		Write: mem.WritePolicy{MaxBytes: 1000, Kinds: []mem.Kind{mem.KindGoal, mem.KindRaw}},
	}
	for name, e := range map[string]mem.EffectivePolicy{
		"child below":  mem.MergePolicies([]mem.Policy{parent, child}),
		"child above":  mem.MergePolicies([]mem.Policy{child, parent}),
		"empty around": mem.MergePolicies([]mem.Policy{{}, parent, {}, child, {}}),
	} {
		require.True(t, e.Sensitive, name)
		require.True(t, e.WriteDenied, name)
		require.Equal(t, mem.ReviewAll, e.ConflictReview, name)
		require.True(t, e.HoldForReview, name)
		require.Equal(t, 100, e.WriteMaxBytes, name)
		for _, k := range mem.Kinds() {
			require.Equal(t, k == mem.KindGoal, e.KindAllowed(k), "%s: %s", name, k)
		}
		for _, d := range []string{"baseline", "graph", "sidecar", "other", ""} {
			require.Equal(t, d == "graph", e.DriverAllowed(d), "%s: %q", name, d)
		}
	}
	none := mem.MergePolicies([]mem.Policy{{AllowedDrivers: []string{"a"}}, {AllowedDrivers: []string{"b"}}, {AllowedDrivers: []string{"a"}}})
	require.False(t, none.DriverAllowed("a"), "lists without a common name allow nothing")
	require.False(t, none.DriverAllowed("b"))
	zero := mem.MergePolicies(nil)
	require.Equal(t, mem.EffectivePolicy{ConflictReview: mem.ReviewAuto}, zero)
	require.True(t, zero.DriverAllowed("any"))
	require.True(t, zero.KindAllowed(mem.KindRaw))
}

func TestMergeDriverPreference(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		policies []mem.Policy
		want     string
	}{
		{"none", []mem.Policy{{}, {}}, ""},
		{"inherited", []mem.Policy{{Driver: "graph"}, {}}, "graph"},
		{"nearest", []mem.Policy{{Driver: "graph"}, {Driver: "sidecar"}}, "sidecar"},
		{"nearest is not allowed above", []mem.Policy{{Driver: "graph", AllowedDrivers: []string{"graph"}}, {Driver: "sidecar"}}, "graph"},
		{"nearest is not allowed below", []mem.Policy{{Driver: "graph"}, {Driver: "sidecar", AllowedDrivers: []string{"graph"}}}, "graph"},
		{"none is allowed", []mem.Policy{{Driver: "graph", AllowedDrivers: []string{"other"}}, {Driver: "sidecar"}}, ""},
	} {
		e := mem.MergePolicies(c.policies)
		require.Equal(t, c.want, e.Driver, c.name)
	}
}

func TestMergeLeavesItsInputAlone(t *testing.T) {
	t.Parallel()
	parent := mem.Policy{AllowedDrivers: []string{"a", "b", "c"}, Write: mem.WritePolicy{Kinds: []mem.Kind{"fact", "goal"}}}
	child := mem.Policy{AllowedDrivers: []string{"c"}, Write: mem.WritePolicy{Kinds: []mem.Kind{"goal"}}}
	mem.MergePolicies([]mem.Policy{parent, child})
	require.Equal(t, []string{"a", "b", "c"}, parent.AllowedDrivers)
	require.Equal(t, []mem.Kind{"fact", "goal"}, parent.Write.Kinds)
}

// Whatever a descendant's policy says, it permits nothing that was refused without it.
func TestMergeOnlyTightens(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	drivers := []string{"a", "b", "c", "d"}
	modes := []mem.ConflictReview{"", mem.ReviewOff, mem.ReviewAuto, mem.ReviewAll} // the strictest last
	pick := func() mem.Policy {
		p := mem.Policy{Sensitive: random.IntN(3) == 0, RateLimits: map[acl.Op]mem.RateLimit{}}
		p.Write.Denied, p.Write.MaxBytes = random.IntN(3) == 0, random.IntN(4)*10
		for _, d := range drivers {
			if random.IntN(3) == 0 {
				p.AllowedDrivers = append(p.AllowedDrivers, d)
			}
		}
		for _, k := range mem.Kinds() {
			if random.IntN(3) == 0 {
				p.Write.Kinds = append(p.Write.Kinds, k)
			}
		}
		for _, op := range []acl.Op{"*", acl.OpSearch, acl.OpWrite} {
			if random.IntN(2) == 0 {
				p.RateLimits[op] = mem.RateLimit{PerSecond: 1 + float64(random.IntN(9)), Burst: 1 + random.IntN(9)}
			}
		}
		p.Driver = drivers[random.IntN(len(drivers))]
		p.ConflictReview = modes[random.IntN(len(modes))]
		p.HoldForReview = random.IntN(3) == 0
		return p
	}
	for range 500 {
		chain := []mem.Policy{pick(), pick(), pick()}
		above, below := mem.MergePolicies(chain[:2]), mem.MergePolicies(chain)
		require.True(t, below.Sensitive || !above.Sensitive)
		require.True(t, below.WriteDenied || !above.WriteDenied)
		require.True(t, below.HoldForReview || !above.HoldForReview)
		// A mode that nobody above asks for may be switched off below.
		asked := slices.ContainsFunc(chain[:2], func(p mem.Policy) bool { return p.ConflictReview != "" })
		require.True(t, !asked || slices.Index(modes, below.ConflictReview) >= slices.Index(modes, above.ConflictReview))
		require.True(t, above.WriteMaxBytes == 0 || below.WriteMaxBytes > 0 && below.WriteMaxBytes <= above.WriteMaxBytes)
		for _, k := range mem.Kinds() {
			require.True(t, above.KindAllowed(k) || !below.KindAllowed(k), k)
		}
		for _, d := range drivers {
			require.True(t, above.DriverAllowed(d) || !below.DriverAllowed(d), d)
		}
		require.True(t, below.Driver == "" || below.DriverAllowed(below.Driver))
		for _, op := range []acl.Op{acl.OpSearch, acl.OpWrite, acl.OpRead} {
			a, limited := above.RateLimit(op)
			b, still := below.RateLimit(op)
			require.True(t, !limited || still && b.PerSecond <= a.PerSecond && b.Burst <= a.Burst, op)
		}
	}
}
