package mem_test

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/kernel/mem"
)

func rates(op acl.Op, perSecond float64, burst int) mem.Policy {
	return mem.Policy{RateLimits: map[acl.Op]mem.RateLimit{op: {PerSecond: perSecond, Burst: burst}}}
}

func TestPolicyValidateAccepts(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]mem.Policy{
		"zero":          {},
		"all ops":       rates("*", 1e6, 1e6),
		"tiny rate":     rates(acl.OpSearch, math.SmallestNonzeroFloat64, 1),
		"longest names": {Driver: strings.Repeat("a", 64), AllowedDrivers: []string{"a-b_c0", "9"}},
		"64 drivers":    {AllowedDrivers: make64("d")},
		"everything": {
			RateLimits: map[acl.Op]mem.RateLimit{acl.OpWrite: {PerSecond: 1, Burst: 1}}, Driver: "graph", AllowedDrivers: []string{"graph"},
			Sensitive: true, Write: mem.WritePolicy{MaxBytes: 1, Kinds: mem.Kinds(), Denied: true},
			ConflictReview: mem.ReviewAll, HoldForReview: true,
		},
	} {
		require.NoError(t, p.Validate(), name)
		text, err := json.Marshal(p)
		require.NoError(t, err, name)
		var back mem.Policy
		require.NoError(t, json.Unmarshal(text, &back), name)
		require.Equal(t, p, back, name)
	}
}

func make64(name string) []string {
	out := make([]string, 64)
	for i := range out {
		out[i] = name
	}
	return out
}

func TestPolicyValidateRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		field string
		is    error
		p     mem.Policy
	}{
		{"rateLimits[search].perSecond", mem.ErrInvalid, rates(acl.OpSearch, math.NaN(), 1)},
		{"rateLimits[search].perSecond", mem.ErrInvalid, rates(acl.OpSearch, math.Inf(1), 1)},
		{"rateLimits[search].perSecond", mem.ErrInvalid, rates(acl.OpSearch, math.Inf(-1), 1)},
		{"rateLimits[search].perSecond", mem.ErrInvalid, rates(acl.OpSearch, 0, 1)},
		{"rateLimits[search].perSecond", mem.ErrInvalid, rates(acl.OpSearch, math.Copysign(0, -1), 1)},
		{"rateLimits[search].perSecond", mem.ErrInvalid, rates(acl.OpSearch, -1, 1)},
		{"rateLimits[search].perSecond", mem.ErrInvalid, rates(acl.OpSearch, 1e6+1, 1)},
		{"rateLimits[search].burst", mem.ErrInvalid, rates(acl.OpSearch, 1, 0)},
		{"rateLimits[*].burst", mem.ErrInvalid, rates("*", 1, -1)},
		{"rateLimits[search].burst", mem.ErrInvalid, rates(acl.OpSearch, 1, 1e6+1)},
		{"rateLimits[]", mem.ErrInvalid, rates("", 1, 1)},
		{"rateLimits[Search]", mem.ErrInvalid, rates("Search", 1, 1)},
		{"rateLimits[**]", mem.ErrInvalid, rates("**", 1, 1)},
		{"rateLimits[bootstrap]", mem.ErrInvalid, rates(acl.OpBootstrap, 1, 1)},
		{"driver", mem.ErrInvalid, mem.Policy{Driver: "Graph"}},
		{"driver", mem.ErrInvalid, mem.Policy{Driver: "graph\nresult=ok"}},
		{"driver", mem.ErrInvalid, mem.Policy{Driver: strings.Repeat("a", 65)}},
		{"allowedDrivers[1]", mem.ErrInvalid, mem.Policy{AllowedDrivers: []string{"graph", ""}}},
		{"allowedDrivers[0]", mem.ErrInvalid, mem.Policy{AllowedDrivers: []string{"a b"}}},
		{"allowedDrivers", mem.ErrTooLarge, mem.Policy{AllowedDrivers: append(make64("d"), "d")}},
		{"write.kinds", mem.ErrTooLarge, mem.Policy{Write: mem.WritePolicy{Kinds: slices.Repeat([]mem.Kind{"fact"}, 65)}}},
		{"write.maxBytes", mem.ErrInvalid, mem.Policy{Write: mem.WritePolicy{MaxBytes: -1}}},
		{"conflictReview", mem.ErrInvalid, mem.Policy{ConflictReview: "manual"}},
		{"conflictReview", mem.ErrInvalid, mem.Policy{ConflictReview: "Auto"}},
		{"write.kinds[1]", mem.ErrInvalid, mem.Policy{Write: mem.WritePolicy{Kinds: []mem.Kind{"fact", "Fact"}}}},
	} {
		err := c.p.Validate()
		require.ErrorIs(t, err, c.is, c.field)
		require.Equal(t, c.field, fieldOf(err))
		require.NotContains(t, err.Error(), " 1e+06", c.field)
		require.NotPanics(t, func() { mem.MergePolicies([]mem.Policy{c.p}) })
	}
}

// fieldOf returns the field that an error names.
func fieldOf(err error) string {
	var invalid *mem.InvalidError
	var large *mem.TooLargeError
	switch {
	case errors.As(err, &invalid):
		return invalid.Field
	case errors.As(err, &large):
		return large.Field
	default:
		return ""
	}
}

func TestValidDriverName(t *testing.T) {
	t.Parallel()
	for _, ok := range []string{"a", "0", "-", "_", "bm25-degraded", strings.Repeat("z", 64)} {
		require.True(t, mem.ValidDriverName(ok), ok)
	}
	for _, bad := range []string{"", "A", "a b", "a=b", `a"`, "a\n", "a\x00", "é", "a/b", "a.b", strings.Repeat("z", 65), "\xff"} {
		require.False(t, mem.ValidDriverName(bad), "%q", bad)
	}
}
