package kernel_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/driver"
	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
)

// ruled is a tenant whose root and child each have a policy and an administrator.
type ruled struct {
	*kerneltest.Kit

	root, child, dana kernel.Identity
}

func newRuled(t *testing.T, opts ...kernel.Option) *ruled {
	t.Helper()
	k := kerneltest.Open(t, opts...)
	return &ruled{
		Kit: k, root: k.Key("acme", kernel.RoleAdmin), child: k.Key("acme/eng", kernel.RoleAdmin),
		dana: k.Key("acme/eng", kernel.RoleMember),
	}
}

// rule sets the policies of root and child.
func (r *ruled) rule(t *testing.T, root, child kernel.Policy) {
	t.Helper()
	must(r.Policies().Put(t.Context(), r.root, kernel.PutPolicyRequest{Policy: root}))
	must(r.Policies().Put(t.Context(), r.child, kernel.PutPolicyRequest{Policy: child}))
}

// TestPolicyWrites: what may be written is what every policy above allows, from the next call on.
func TestPolicyWrites(t *testing.T) {
	t.Parallel()
	r := newRuled(t)
	ctx := t.Context()
	write := func(text string, kind kernel.Kind) error {
		return second(r.Write(ctx, r.dana, kernel.WriteRequest{Text: text, Kind: kind}))
	}
	ten, hundred := strings.Repeat("a", 10), strings.Repeat("b", 100)
	maxBytes := func(n int) kernel.Policy { return kernel.Policy{Write: kernel.WritePolicy{MaxBytes: n}} }
	kinds := func(kinds ...kernel.Kind) kernel.Policy {
		return kernel.Policy{Write: kernel.WritePolicy{Kinds: kinds}}
	}
	denied := kernel.Policy{Write: kernel.WritePolicy{Denied: true}}
	free := kernel.Policy{}

	for _, tc := range []struct {
		name        string
		root, child kernel.Policy
		text        string
		kind        kernel.Kind
		target      error
	}{
		{"no rules", free, free, hundred, "fact", nil},
		{"the root's size", maxBytes(50), maxBytes(1000), hundred, "fact", kernel.ErrTooLarge},
		{"the child's size", maxBytes(1000), maxBytes(50), hundred, "fact", kernel.ErrTooLarge},
		{"the exact size", maxBytes(10), free, ten, "fact", nil},
		{"the root's kinds", kinds("fact"), kinds("fact", "goal"), ten, "goal", kernel.ErrForbidden},
		{"the child's kinds", kinds("fact", "goal"), kinds("fact"), ten, "goal", kernel.ErrForbidden},
		{"nothing in common", kinds("fact"), kinds("goal"), ten, "fact", kernel.ErrForbidden},
		{"a kind in common", kinds("fact", "goal"), kinds("goal", "skill"), ten, "goal", nil},
		{"denied above", denied, free, ten, "fact", kernel.ErrForbidden},
		{"denied here", free, denied, ten, "fact", kernel.ErrForbidden},
		{"lifted", free, free, ten, "skill", nil},
	} {
		r.rule(t, tc.root, tc.child)
		before := sqlValue[int](t, r.Pool, `SELECT count(*)::int FROM memkernel.captures`)
		result, detail := kernel.AuditResult("ok"), []string(nil)
		switch {
		case errors.Is(tc.target, kernel.ErrForbidden):
			result, detail = "denied", []string{"reason=forbidden"}
		case errors.Is(tc.target, kernel.ErrTooLarge):
			result, detail = "error", []string{"reason=too_large"}
		}
		r.RequireAudit(t, "write", result, func() { require.ErrorIs(t, write(tc.text, tc.kind), tc.target, tc.name) }, detail...)
		after := sqlValue[int](t, r.Pool, `SELECT count(*)::int FROM memkernel.captures`)
		require.Equal(t, map[bool]int{true: 1, false: 0}[tc.target == nil], after-before, "%s: not even the raw input", tc.name)
	}
	// A sibling's policy and a child's do not count.
	other := r.Key("acme/sales", kernel.RoleAdmin)
	must(r.Policies().Put(ctx, other, kernel.PutPolicyRequest{Policy: denied}))
	must(r.Policies().Put(ctx, r.child, kernel.PutPolicyRequest{Namespace: kerneltest.Namespace(t, "acme/eng/db"), Policy: denied}))
	require.NoError(t, write("free to say", "fact"))
}

// TestPolicyRates: a child cannot give itself more than its parent allows.
func TestPolicyRates(t *testing.T) {
	t.Parallel()
	r := newRuled(t)
	rate := func(op kernel.Op, perSecond float64, burst int) kernel.Policy {
		return kernel.Policy{RateLimits: map[kernel.Op]kernel.RateLimit{op: {PerSecond: perSecond, Burst: burst}}}
	}
	for _, tc := range []struct {
		name        string
		root, child kernel.Policy
		burst       int
		wait        time.Duration
	}{
		{"the root's", rate("stats", 1, 2), rate("stats", 100, 100), 2, time.Second},
		{"the child's", rate("stats", 100, 100), rate("stats", 1, 2), 2, time.Second},
		{"the lower of each", rate("stats", 1, 100), rate("stats", 100, 2), 2, time.Second},
		{"the root's for all", rate("*", 1, 2), rate("stats", 100, 100), 2, time.Second},
		{"the root's for one", rate("stats", 0.5, 1), rate("*", 100, 100), 1, 2 * time.Second},
	} {
		r.rule(t, tc.root, tc.child)
		who := r.Key("acme/eng", kernel.RoleMember) // with buckets of its own
		for range tc.burst {
			require.Zero(t, stats(t, r.Kit, who), tc.name)
		}
		require.Equal(t, tc.wait, stats(t, r.Kit, who), tc.name)
		r.Clock.Advance(time.Hour) // for the administrators
	}
}

func TestPolicyDrivers(t *testing.T) {
	t.Parallel()
	var ran string
	named := func(name string) driver.Driver {
		return namedDriver{name, func(ctx context.Context, view driver.ScopedView) []driver.Ranked {
			ran = name
			return shown(ctx, view)
		}}
	}
	r := newRuled(t, kernel.WithDrivers(named("red"), named("blue")))
	ctx := t.Context()
	must(r.Write(ctx, r.dana, kernel.WriteRequest{Text: "The roof leaks."}))
	allow := func(names ...string) kernel.Policy { return kernel.Policy{AllowedDrivers: names} }
	prefer := func(name string, allowed ...string) kernel.Policy {
		return kernel.Policy{Driver: name, AllowedDrivers: allowed}
	}
	free := kernel.Policy{}
	for _, tc := range []struct {
		name        string
		root, child kernel.Policy
		ask         string
		want        string // the driver that ranks; "" for a refusal
		fallback    string
	}{
		{"nothing said", free, free, "", "fusion", ""},
		{"the default, allowed", allow("red", "fusion"), free, "", "fusion", ""},
		{"the default, not allowed", allow("red"), free, "fusion", "", ""},
		{"asked for", free, free, "red", "red", ""},
		{"preferred by the root", prefer("red"), free, "", "red", ""},
		{"nearest preference", prefer("red"), prefer("blue"), "", "blue", ""},
		{"asked for against a preference", prefer("red"), free, "blue", "blue", ""},
		{"not allowed by the root", allow("red"), allow("red", "blue"), "blue", "", ""},
		{"not allowed by the child", allow("red", "blue"), allow("red"), "blue", "", ""},
		{"nothing in common", allow("red"), allow("blue"), "red", "", ""},
		{"nothing in common, nothing asked for", allow("red"), allow("blue"), "", "baseline", ""},
		{"the baseline is always allowed", allow("red"), free, "baseline", "baseline", ""},
		{"a preference that the root does not allow", allow("red"), prefer("blue"), "", "baseline", ""},
		{"the next allowed preference", prefer("red", "red"), prefer("blue"), "", "red", ""},
		{"preferred and unregistered", prefer("green"), free, "", "baseline", "unregistered"},
		{"asked for and unregistered", free, free, "green", "baseline", "unregistered"},
	} {
		r.rule(t, tc.root, tc.child)
		ran = tc.want // unless a driver of the host's says otherwise
		if slices.Contains([]string{"red", "blue"}, tc.want) {
			ran = ""
		}
		reply, err := r.Search(ctx, r.dana, kernel.SearchRequest{Query: "roof", Driver: tc.ask})
		row := lastAudit(r.Kit)
		if tc.want == "" {
			require.ErrorIs(t, err, kernel.ErrForbidden, tc.name)
			require.Equal(t, kernel.AuditResult("denied"), row.Result, tc.name)
			continue
		}
		require.NoError(t, err, tc.name)
		require.Len(t, reply.Items, 1, tc.name)
		require.Equal(t, tc.want, ran, tc.name)
		require.Equal(t, tc.want, reply.Driver, tc.name)
		require.Contains(t, row.Detail, "driver="+tc.want, tc.name)
		if tc.fallback == "" {
			require.Empty(t, reply.Fallbacks, tc.name)
			continue
		}
		require.Equal(t, []kernel.Fallback{{Driver: "green", Reason: tc.fallback}}, reply.Fallbacks, tc.name)
		require.Contains(t, row.Detail, "driver_fallback=green->baseline fallback_reason=unregistered", tc.name)
	}
}

type namedDriver struct {
	name string
	plan func(context.Context, driver.ScopedView) []driver.Ranked
}

func (d namedDriver) Name() string { return d.name }

func (d namedDriver) Plan(ctx context.Context, view driver.ScopedView, _ driver.Query) (driver.Plan, error) {
	return driver.Plan{Items: d.plan(ctx, view)}, nil
}

// TestPolicyPutAndGet: who may set and see rules, and of several at once one version follows
// the other.
func TestPolicyPutAndGet(t *testing.T) {
	t.Parallel()
	r := newRuled(t)
	ctx := t.Context()
	for _, path := range []string{"acme", "acme/sales", "acme/engineering", "umbrella"} {
		r.RequireAudit(t, "policy_put", "denied", func() {
			req := kernel.PutPolicyRequest{Namespace: kerneltest.Namespace(t, path)}
			require.ErrorIs(t, second(r.Policies().Put(ctx, r.child, req)), kernel.ErrForbidden, path)
		}, "reason=forbidden")
	}
	const n = 12
	var versions [n]int
	together(n, func(i int) {
		v, err := r.Policies().Put(ctx, r.child, kernel.PutPolicyRequest{Policy: kernel.Policy{Write: kernel.WritePolicy{MaxBytes: i + 1}}})
		if err == nil {
			versions[i] = v.Version
		} else if !isConflict(err) {
			t.Error(err)
		}
	})
	seen := map[int]bool{}
	for _, v := range versions {
		if v == 0 {
			continue // lost
		}
		require.False(t, seen[v], "two are version %d", v)
		seen[v] = true
	}
	require.NotEmpty(t, seen)
	latest := must(r.Policies().Get(ctx, r.dana, kernel.GetPolicyRequest{}))
	require.Equal(t, len(seen), latest.Version, "without a gap")
	require.Equal(t, latest.Version, versions[latest.Policy.Write.MaxBytes-1])
	require.Equal(t, r.child.Actor(), latest.Actor)
	require.Equal(t, map[kernel.AuditResult]int{"ok": len(seen), "denied": 4, "error": n - len(seen)}, auditRowsWith(r.Kit, "policy_put", "denied", "error"))

	must(r.Policies().Put(ctx, r.root, kernel.PutPolicyRequest{}))
	get := func(who kernel.Identity, path string) error {
		return second(r.Policies().Get(ctx, who, kernel.GetPolicyRequest{Namespace: kerneltest.Namespace(t, path)}))
	}
	require.NoError(t, get(r.dana, "acme"), "an ancestor's applies to it")
	require.NoError(t, get(r.root, "acme/eng"), "it is the administrator's to rule")
	require.ErrorIs(t, get(r.Key("acme", kernel.RoleMember), "acme/eng"), kernel.ErrNotFound)
	require.ErrorIs(t, get(r.Key("acme/sales", kernel.RoleAdmin), "acme/eng"), kernel.ErrNotFound)
	require.ErrorIs(t, get(r.Key("umbrella", kernel.RoleOwner), "acme"), kernel.ErrNotFound)
}

// auditRowsWith is auditRows with a zero for results that did not occur.
func auditRowsWith(k *kerneltest.Kit, op kernel.Op, results ...kernel.AuditResult) map[kernel.AuditResult]int {
	rows := auditRows(k, op)
	for _, r := range results {
		rows[r] += 0
	}
	return rows
}

// TestPolicyThatCannotBeRead refuses: a decision about security does not degrade.
func TestPolicyThatCannotBeRead(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	owner, dana := k.Key("acme", kernel.RoleOwner), k.Key("acme/eng", kernel.RoleMember)
	for version, document := range []string{`{"write": 5}`, `"none"`, `[]`, `{"rateLimits": {"stats": "many"}}`} {
		sqlExec(t, k.Pool, `INSERT INTO memkernel.policies (tenant, namespace, version, document, created_at, actor)
			VALUES ('acme', 'acme', $1, $2::jsonb, now(), 'somebody')`, version+1, document)
		for op, call := range everyCall(k, owner, someID()) {
			k.RequireAudit(t, op, "error", func() {
				require.ErrorIs(t, call(t.Context()), kernel.ErrUnavailable, "%s under %s", op, document)
			}, "reason=unavailable")
		}
		require.ErrorIs(t, second(k.Stats(t.Context(), dana, kernel.StatsRequest{})), kernel.ErrUnavailable)
	}
}
