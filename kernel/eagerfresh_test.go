package kernel_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
)

// warmBench is a kernel that knows all there is to know of a caller, and another one on the
// same database, whose changes the first is not told of.
type warmBench struct {
	*kerneltest.Kit

	other *kerneltest.Kit
	owner kernel.Identity
	who   kernel.Identity
	cred  *kernel.Credential
	// id is a memory of who's that every search for "kiln" finds.
	id kernel.ID
	n  int
}

func newWarmBench(t *testing.T, opts ...kernel.Option) *warmBench {
	t.Helper()
	other := kerneltest.Open(t)
	clock := kernel.WithClock(other.Clock.Now)
	b := &warmBench{other: other, Kit: kerneltest.OpenOn(t, other.Pool, append([]kernel.Option{clock}, opts...)...)}
	b.owner = other.Key("acme", kernel.RoleOwner)
	b.who, b.cred = other.Credential("acme/eng", kernel.RoleMember)
	b.put(t, "acme", kernel.Policy{})
	b.put(t, "acme/eng", kernel.Policy{})
	b.id = must(b.Write(t.Context(), b.who, kernel.WriteRequest{Text: "The kiln is lit."})).Stored[0]
	b.warm(t)
	return b
}

// put sets a policy behind the back of the warm kernel.
func (b *warmBench) put(t *testing.T, ns string, p kernel.Policy) {
	t.Helper()
	must(b.other.Policies().Put(t.Context(), b.owner, kernel.PutPolicyRequest{Namespace: kerneltest.Namespace(t, ns), Policy: p}))
}

// warm makes every call twice: the first learns, the second relies on it.
func (b *warmBench) warm(t *testing.T) {
	t.Helper()
	for range 2 {
		for op, call := range b.calls(b.who) {
			require.NoError(t, call(t.Context()), op)
		}
	}
}

// calls are the ones with a way that needs no look at the gate first.
func (b *warmBench) calls(who kernel.Identity) map[kernel.Op]func(context.Context) error {
	return map[kernel.Op]func(context.Context) error{
		"read": func(ctx context.Context) error {
			return second(b.Read(ctx, who, kernel.ReadRequest{ID: b.id}))
		},
		"search": func(ctx context.Context) error {
			return second(b.Search(ctx, who, kernel.SearchRequest{Query: "kiln"}))
		},
		"write_async": func(ctx context.Context) error {
			b.n++
			return second(b.WriteAsync(ctx, who, kernel.WriteRequest{Kind: "goal", Text: fmt.Sprintf("Batch %d will be fired.", b.n)}))
		},
		"write": func(ctx context.Context) error {
			b.n++
			return second(b.Write(ctx, who, kernel.WriteRequest{Kind: "goal", Text: fmt.Sprintf("Batch %d is fired.", b.n)}))
		},
	}
}

// TestWarmRefuses: what a kernel remembers of a caller lets nobody in who is to stay out, from
// the next call on.
func TestWarmRefuses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		change func(t *testing.T, b *warmBench) kernel.Identity
		target error
	}{
		{"a suspended tenant", func(t *testing.T, b *warmBench) kernel.Identity {
			t.Helper()
			require.NoError(t, b.other.Tenants().Suspend(t.Context(), kernel.TenantRequest{Tenant: "acme", Reason: "unpaid"}))
			return b.who
		}, kernel.ErrTenantSuspended},
		{"a revoked key", func(t *testing.T, b *warmBench) kernel.Identity {
			t.Helper()
			must(b.other.Keys().Revoke(t.Context(), b.owner, kernel.RevokeKeyRequest{ID: b.cred.Key.ID}))
			return b.who
		}, kernel.ErrUnauthenticated},
		{"a key at the end of its overlap", func(t *testing.T, b *warmBench) kernel.Identity {
			t.Helper()
			must(b.other.Keys().Rotate(t.Context(), b.owner, kernel.RotateKeyRequest{ID: b.cred.Key.ID, Overlap: time.Hour}))
			b.other.Clock.Advance(time.Hour - time.Microsecond)
			b.warm(t)
			b.other.Clock.Advance(time.Microsecond)
			return b.who
		}, kernel.ErrUnauthenticated},
		{"an expired key", func(t *testing.T, b *warmBench) kernel.Identity {
			t.Helper()
			cred := must(b.other.Keys().Create(t.Context(), b.owner, kernel.KeyRequest{
				Namespace: b.who.Namespace(), Actor: "user:temp", Role: kernel.RoleMember, ExpiresAt: b.other.Clock.Now().Add(time.Hour),
			}))
			b.who = must(b.Authenticate(t.Context(), cred.Secret))
			b.other.Clock.Advance(time.Hour - time.Microsecond)
			b.warm(t)
			b.other.Clock.Advance(time.Microsecond)
			return b.who
		}, kernel.ErrUnauthenticated},
		{"a key of another database", func(t *testing.T, _ *warmBench) kernel.Identity {
			t.Helper()
			return kerneltest.Open(t).Key("acme/eng", kernel.RoleMember)
		}, kernel.ErrUnauthenticated},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b := newWarmBench(t)
			who := tc.change(t, b)
			before := tableCounts(t, b.Kit)
			rows := len(b.Audit())
			for op, call := range b.calls(who) {
				b.RequireAudit(t, op, "denied", func() { require.ErrorIs(t, call(t.Context()), tc.target, op) })
			}
			rows = len(b.Audit()) - rows
			require.Equal(t, len(b.calls(who)), rows)
			after := tableCounts(t, b.Kit)
			for table, n := range before {
				if table != "memkernel.audit_log" && table != "audit_log" {
					require.Equal(t, n, after[table], table)
				}
			}
		})
	}
}

// TestWarmObeys: a policy of the namespace or above it, of version 1 or a later one, holds from
// the next call on, whoever set it.
func TestWarmObeys(t *testing.T) {
	t.Parallel()
	once := kernel.RateLimit{PerSecond: 0.001, Burst: 1}
	for _, ns := range []string{"acme", "acme/eng"} {
		t.Run(ns, func(t *testing.T) {
			t.Parallel()
			b := newWarmBench(t)
			for _, op := range []kernel.Op{"read", "search", "write", "write_async"} {
				call := b.calls(b.who)[op]
				b.put(t, ns, kernel.Policy{RateLimits: map[kernel.Op]kernel.RateLimit{op: once}})
				require.NoError(t, call(t.Context()), op)
				require.ErrorIs(t, call(t.Context()), kernel.ErrRateLimited, op)
				if op == "write" {
					require.ErrorIs(t, b.calls(b.who)["write_async"](t.Context()), kernel.ErrRateLimited, "no way around it")
				}
				b.put(t, ns, kernel.Policy{})
				b.warm(t)
			}
			b.put(t, ns, kernel.Policy{Write: kernel.WritePolicy{Denied: true}})
			for _, op := range []kernel.Op{"write", "write_async"} {
				require.ErrorIs(t, b.calls(b.who)[op](t.Context()), kernel.ErrForbidden)
			}
			b.put(t, ns, kernel.Policy{})
			b.warm(t)
			b.put(t, ns, kernel.Policy{Write: kernel.WritePolicy{MaxBytes: 5}})
			for _, op := range []kernel.Op{"write", "write_async"} {
				require.ErrorIs(t, b.calls(b.who)[op](t.Context()), kernel.ErrTooLarge)
			}
			b.put(t, ns, kernel.Policy{})
			b.warm(t)
			b.put(t, ns, kernel.Policy{Sensitive: true})
			row := b.RequireAudit(t, "search", "ok", func() { require.NoError(t, b.calls(b.who)["search"](t.Context())) })
			require.Empty(t, row.Purpose)
		})
	}
}

// TestWarmHides: a memory that is disputed is not found any more, by nobody, from the next call on.
func TestWarmHides(t *testing.T) {
	t.Parallel()
	b := newWarmBench(t)
	sqlExec(t, b.Pool, `UPDATE memkernel.memory_objects SET status = 'disputed' WHERE id = $1`, b.id.String())
	b.RequireAudit(t, "read", "miss", func() { require.ErrorIs(t, b.calls(b.who)["read"](t.Context()), kernel.ErrNotFound) })
	for _, item := range must(b.Search(t.Context(), b.who, kernel.SearchRequest{Query: "kiln"})).Items {
		require.NotEqual(t, b.id, item.Memory.ID)
	}
}

// TestWarmKeepsApart: a kernel that knows a caller still reads nothing for it that it does not see.
func TestWarmKeepsApart(t *testing.T) {
	t.Parallel()
	b := newWarmBench(t)
	for _, ns := range []string{"acme/sales", "acme/eng/db", "umbrella/eng"} {
		id := must(b.other.Write(t.Context(), b.other.Key(ns, kernel.RoleMember), kernel.WriteRequest{Text: "The kiln is ours."})).Stored[0]
		require.ErrorIs(t, second(b.Read(t.Context(), b.who, kernel.ReadRequest{ID: id})), kernel.ErrNotFound, ns)
	}
	for _, item := range must(b.Search(t.Context(), b.who, kernel.SearchRequest{Query: "kiln"})).Items {
		require.Equal(t, "acme/eng", item.Memory.Namespace.String())
	}
}

// endsLate ends a memory after it was ranked, and before it is served.
type endsLate struct {
	kernel.HookDefaults

	end func()
}

func (e *endsLate) DriverPlan(context.Context, kernel.DriverInfo) {
	if end := e.end; end != nil {
		e.end = nil
		end()
	}
}

// TestWarmServesWhatIsLeft: what ends between ranking and serving is neither served nor
// counted, and the record says what was.
func TestWarmServesWhatIsLeft(t *testing.T) {
	t.Parallel()
	late := &endsLate{}
	b := newWarmBench(t, kernel.WithHooks(late))
	ctx := t.Context()
	gone := must(b.other.Write(ctx, b.who, kernel.WriteRequest{Text: "The kiln is cold."})).Stored[0]
	search := func(req kernel.SearchRequest) (*kernel.SearchReply, kernel.AuditEvent) {
		req.Query, req.Kinds = "kiln", []kernel.Kind{"fact"}
		before := len(searchRows(b))
		reply := must(b.Search(ctx, b.who, req))
		rows := searchRows(b)
		require.Len(t, rows, before+1)
		require.Equal(t, kernel.AuditResult("ok"), rows[before].Result)
		return reply, rows[before]
	}
	reply, row := search(kernel.SearchRequest{})
	require.Len(t, reply.Items, 2)
	require.Equal(t, fmt.Sprintf("returned=2 tokens=%d driver=fusion", reply.Tokens), row.Detail)
	hits := func(id kernel.ID) int {
		return sqlValue[int](t, b.Pool, `SELECT coalesce(sum(hits), 0)::int FROM memkernel.memory_access WHERE memory_id = $1`, id.String())
	}
	left, lost := hits(b.id), hits(gone)
	asOf := b.other.Clock.Now()
	b.other.Clock.Advance(time.Second)
	late.end = func() { must(b.other.Retract(ctx, b.who, kernel.RetractRequest{ID: gone})) }
	reply, row = search(kernel.SearchRequest{})
	require.Len(t, reply.Items, 1)
	require.Equal(t, b.id, reply.Items[0].Memory.ID)
	require.Equal(t, fmt.Sprintf("returned=1 tokens=%d driver=fusion", reply.Tokens), row.Detail)
	require.Equal(t, left+1, hits(b.id))
	require.Equal(t, lost, hits(gone))
	for _, req := range []kernel.SearchRequest{{AsOf: asOf}, {IncludeSuperseded: true}} {
		reply, row = search(req)
		require.Len(t, reply.Items, 2)
		require.Contains(t, row.Detail, "returned=2 ")
	}
	require.Equal(t, left+3, hits(b.id))
	require.Equal(t, lost+2, hits(gone))
	auditor := b.other.Key("acme/eng", kernel.RoleAuditor)
	for range 2 {
		must(b.Search(ctx, auditor, kernel.SearchRequest{Query: "kiln"}))
		must(b.Read(ctx, auditor, kernel.ReadRequest{ID: b.id}))
	}
	require.Equal(t, left+3, hits(b.id), "auditors leave no trace on what they look at")
	must(b.Read(ctx, b.who, kernel.ReadRequest{ID: b.id}))
	require.Equal(t, left+4, hits(b.id))
}

func searchRows(b *warmBench) []kernel.AuditEvent {
	var rows []kernel.AuditEvent
	for _, e := range b.Audit() {
		if e.Op == "search" {
			rows = append(rows, e)
		}
	}
	return rows
}
