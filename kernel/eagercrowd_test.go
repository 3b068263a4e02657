package kernel_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
)

// expiring is a login whose identities end.
type expiring struct {
	ns      kernel.Namespace
	expires time.Time
}

func (e expiring) Authenticate(context.Context, string) (acl.Claims, error) {
	return acl.Claims{Namespace: e.ns, Actor: "user:temp", Role: acl.RoleMember, ExpiresAt: e.expires}, nil
}

// TestWarmHostIdentity: one that a host vouched for ends when it said so, and counts only where
// it was made, however well the namespace is known.
func TestWarmHostIdentity(t *testing.T) {
	t.Parallel()
	clock := kerneltest.NewClock()
	login := expiring{kerneltest.Namespace(t, "acme/eng"), clock.Now().Add(time.Hour)}
	b := newWarmBench(t, kernel.WithAuthenticator(login), kernel.WithClock(clock.Now))
	who := must(b.Authenticate(t.Context(), "anything"))
	for op, call := range b.calls(who) {
		row := b.RequireAudit(t, op, "ok", func() { require.NoError(t, call(t.Context()), op) })
		require.Empty(t, row.KeyID)
		require.Equal(t, "user:temp", row.Actor)
	}
	stranger := must(kerneltest.OpenOn(t, b.Pool, kernel.WithAuthenticator(login), kernel.WithClock(clock.Now)).Authenticate(t.Context(), "x"))
	for op, call := range b.calls(stranger) {
		b.RequireAudit(t, op, "denied", func() { require.ErrorIs(t, call(t.Context()), kernel.ErrUnauthenticated, op) })
	}
	clock.Advance(time.Hour - time.Microsecond)
	for op, call := range b.calls(who) {
		require.NoError(t, call(t.Context()), op)
	}
	clock.Advance(time.Microsecond)
	for op, call := range b.calls(who) {
		b.RequireAudit(t, op, "denied", func() { require.ErrorIs(t, call(t.Context()), kernel.ErrUnauthenticated, op) })
	}
}

// TestWarmUnknownPolicy: a policy that says more than this build understands refuses.
func TestWarmUnknownPolicy(t *testing.T) {
	t.Parallel()
	b := newWarmBench(t)
	sqlExec(t, b.Pool, `INSERT INTO memkernel.policies (tenant, namespace, version, document, created_at, actor)
		VALUES ('acme', 'acme', 2, '{"future": true}', now(), 'a newer build')`)
	for op, call := range b.calls(b.who) {
		b.RequireAudit(t, op, "error", func() { require.ErrorIs(t, call(t.Context()), kernel.ErrUnavailable, op) })
	}
}

func TestWarmCrowd(t *testing.T) {
	t.Parallel()
	warmCrowd(t, 256, func(call func(int)) func(int) { return func(i int) { call(i) } })
}

func TestWarmCrowdInGroups(t *testing.T) {
	t.Parallel()
	warmCrowd(t, 10, func(call func(int)) func(int) { return func(i int) { call(i) } })
}

func TestWarmCrowdOneByOne(t *testing.T) {
	t.Parallel()
	warmCrowd(t, 1, func(call func(int)) func(int) { return func(i int) { call(i) } })
}

// warmCrowd: in a crowd everybody gets what they would get alone, has one row that says so, and
// counts once, whoever shares the commit with them. within marks a call's goroutine as the test's.
func warmCrowd(t *testing.T, most int, within func(func(int)) func(int)) {
	t.Helper()
	const each = 12
	k := groupKit(t, most)
	ctx := t.Context()
	dana, auditor, sales := k.Key("acme/eng", kernel.RoleMember), k.Key("acme/eng", kernel.RoleAuditor), k.Key("acme/sales", kernel.RoleMember)
	gone, cred := k.Credential("acme/eng", kernel.RoleMember)
	root := k.Key("acme", kernel.RoleMember)
	shared := must(k.Write(ctx, root, kernel.WriteRequest{Text: "The bell rang."})).Stored[0]
	own := must(k.Write(ctx, dana, kernel.WriteRequest{Text: "The kiln is lit."})).Stored[0]
	for _, who := range []kernel.Identity{dana, auditor, sales, gone} {
		for range 2 {
			_ = second(k.Stats(ctx, who, kernel.StatsRequest{}))
		}
	}
	must(k.Keys().Revoke(ctx, k.Key("acme", kernel.RoleOwner), kernel.RevokeKeyRequest{ID: cred.Key.ID}))
	before := len(k.Audit())
	var errs [6][each]error
	gatherSearches(t, k, 6*each, within(func(i int) {
		kind, n := i%6, i/6
		switch kind {
		case 0:
			errs[kind][n] = second(k.Read(ctx, dana, kernel.ReadRequest{ID: shared}))
		case 1:
			errs[kind][n] = second(k.Read(ctx, gone, kernel.ReadRequest{ID: shared}))
		case 2:
			errs[kind][n] = second(k.Read(ctx, auditor, kernel.ReadRequest{ID: shared}))
		case 3:
			errs[kind][n] = second(k.Read(ctx, sales, kernel.ReadRequest{ID: own}))
		case 4:
			errs[kind][n] = second(k.Search(ctx, dana, kernel.SearchRequest{Query: "bell"}))
		default:
			errs[kind][n] = second(k.Read(ctx, sales, kernel.ReadRequest{ID: shared}))
		}
	}))
	for kind, target := range []error{nil, kernel.ErrUnauthenticated, nil, kernel.ErrNotFound, nil, nil} {
		for _, err := range errs[kind] {
			require.True(t, errors.Is(err, target), "%d: %v", kind, err)
		}
	}
	rows, got := k.Audit()[before:], map[string]int{}
	for _, e := range rows {
		got[fmt.Sprint(e.Op, " ", e.Namespace, " ", e.Result, " ", e.Detail)]++
		require.NotEmpty(t, e.KeyID)
		require.Equal(t, "library", e.AgentID)
	}
	require.Len(t, rows, 6*each)
	t.Log(got)
	hits := func(reader string, id kernel.ID) int {
		return sqlValue[int](t, k.Pool, `SELECT coalesce(sum(hits), 0)::int FROM memkernel.memory_access WHERE reader = $1 AND memory_id = $2`,
			reader, id.String())
	}
	require.Equal(t, 2*each, hits("acme/eng", shared))
	require.Equal(t, each, hits("acme/sales", shared))
	require.Zero(t, hits("acme/sales", own))
	requireSound(t, k.Pool)
}
