package kernel_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/audit"
	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
	"github.com/memkernel/memkernel/kernel/mem"
)

// start runs the kernel's background work until the test ends.
func start(t *testing.T, k *kerneltest.Kit) {
	t.Helper()
	require.NoError(t, k.Start(t.Context()))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 30*time.Second)
		defer cancel()
		require.NoError(t, k.Close(ctx))
	})
}

// await waits for a write to be over.
func await(t *testing.T, k *kernel.Kernel, who kernel.Identity, token string) *kernel.TicketReply {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	reply, err := k.WaitVisible(ctx, who, kernel.WaitVisibleRequest{Token: token})
	require.NoError(t, err)
	return reply
}

// writeRows returns the audit rows of writes that were carried out or given up.
func writeRows(k *kerneltest.Kit) []kernel.AuditEvent {
	var out []kernel.AuditEvent
	for _, e := range k.Audit() {
		if e.Op == acl.OpWrite {
			out = append(out, e)
		}
	}
	return out
}

func TestTicketLife(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	ctx := t.Context()
	who := k.Key("acme/eng", kernel.RoleMember)
	var order *kernel.WriteAsyncReply
	k.RequireAudit(t, acl.OpWriteAsync, audit.ResultOK, func() {
		order = must(k.WriteAsync(ctx, who, kernel.WriteRequest{Text: "The pager is with Dana.", Source: "chat"}))
	})
	require.NotZero(t, order.Ticket)
	require.NotEmpty(t, order.Token)

	// Nobody works yet.
	var reply *kernel.TicketReply
	k.RequireAudit(t, acl.OpTicket, audit.ResultOK, func() {
		reply = must(k.Ticket(ctx, who, kernel.TicketRequest{ID: order.Ticket}))
	}, "state=pending")
	require.Equal(t, &kernel.TicketReply{State: kernel.TicketPending}, reply)
	require.Empty(t, must(k.Search(ctx, who, kernel.SearchRequest{Query: "pager"})).Items)
	stats := must(k.Stats(ctx, who, kernel.StatsRequest{}))
	require.EqualValues(t, 1, stats.Pending)
	k.Clock.Advance(time.Minute)
	require.Equal(t, time.Minute, must(k.Stats(ctx, who, kernel.StatsRequest{})).OldestPending)

	start(t, k)
	reply = await(t, k.Kernel, who, order.Token)
	require.Equal(t, kernel.TicketDone, reply.State)
	require.Equal(t, 1, reply.Attempts)
	require.Len(t, reply.Reply.Stored, 1)
	require.Equal(t, order.Ticket, reply.Reply.Capture)
	found := must(k.Search(ctx, who, kernel.SearchRequest{Query: "pager"}))
	require.Len(t, found.Items, 1)
	m := found.Items[0].Memory
	require.Equal(t, "chat", m.Source)
	require.Equal(t, who.Actor(), m.Actor)
	require.Equal(t, kernel.Provenance(who.Provenance()), m.Provenance)
	require.Equal(t, reply, must(k.Ticket(ctx, who, kernel.TicketRequest{ID: order.Ticket})))
	stats = must(k.Stats(ctx, who, kernel.StatsRequest{}))
	require.Zero(t, stats.Pending)
	require.Zero(t, stats.OldestPending)

	rows := writeRows(k)
	require.Len(t, rows, 1, "one row at completion")
	require.Equal(t, audit.ResultOK, rows[0].Result)
	require.Equal(t, who.Actor(), rows[0].Actor)
	require.Equal(t, who.KeyID(), rows[0].KeyID)
	require.Equal(t, m.ID, rows[0].MemoryID)
	require.Contains(t, rows[0].Detail, "stored=1 rejected=0 superseded=0 deduplicated=0 ticket="+order.Ticket.String())
	require.True(t, sqlValue[bool](t, k.Pool, `SELECT request IS NULL FROM memkernel.captures`), "dropped when done")
	require.Equal(t, `{"tenant": "acme", "ticket": "`+order.Ticket.String()+`"}`,
		sqlValue[string](t, k.Pool, `SELECT args::text FROM memkernel.river_job WHERE kind = 'memkernel_write'`))
	requireSound(t, k.Pool)
}

// TestTicketForeign: a ticket is its issuer's and the managers' above; for others it is not there,
// and it takes the same statements to say so.
func TestTicketForeign(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	ctx := t.Context()
	issuer := k.Key("acme/eng", kernel.RoleMember)
	order := must(k.WriteAsync(ctx, issuer, kernel.WriteRequest{Text: "The pager is with Dana."}))
	for name, c := range map[string]struct {
		who  kernel.Identity
		sees bool
	}{
		"the issuer":                    {issuer, true},
		"another key, same place":       {k.Key("acme/eng", kernel.RoleMember), false},
		"an agent there":                {k.Key("acme/eng", kernel.RoleAgent), false},
		"the admin there":               {k.Key("acme/eng", kernel.RoleAdmin), true},
		"the owner above":               {k.Key("acme", kernel.RoleOwner), true},
		"a member above":                {k.Key("acme", kernel.RoleMember), false},
		"an admin below":                {k.Key("acme/eng/platform", kernel.RoleAdmin), false},
		"an admin beside":               {k.Key("acme/engine", kernel.RoleAdmin), false},
		"the owner of another tenant":   {k.Key("globex", kernel.RoleOwner), false},
		"the look-alike of the subtree": {k.Key("acme/en", kernel.RoleAdmin), false},
	} {
		_, err := k.Ticket(ctx, c.who, kernel.TicketRequest{ID: order.Ticket})
		_, missing := k.Ticket(ctx, c.who, kernel.TicketRequest{ID: someID()})
		require.ErrorIs(t, missing, kernel.ErrNotFound, name)
		if c.sees {
			require.NoError(t, err, name)
			continue
		}
		require.Equal(t, missing.Error(), err.Error(), name)
		_, err = k.WaitVisible(ctx, c.who, kernel.WaitVisibleRequest{Token: order.Token})
		require.ErrorIs(t, err, kernel.ErrNotFound, name)
	}
	stranger := k.Key("acme/eng", kernel.RoleAgent)
	k.RequireAudit(t, acl.OpTicket, audit.ResultDenied, func() {
		_, _ = k.Ticket(ctx, stranger, kernel.TicketRequest{ID: order.Ticket})
	}, "reason=not_found")
	k.RequireAudit(t, acl.OpTicket, audit.ResultMiss, func() {
		_, _ = k.Ticket(ctx, stranger, kernel.TicketRequest{ID: someID()})
	}, "reason=not_found")
	auditor := k.Key("acme/eng", kernel.RoleAuditor)
	k.RequireAudit(t, acl.OpTicket, audit.ResultDenied, func() {
		_, err := k.Ticket(ctx, auditor, kernel.TicketRequest{ID: order.Ticket})
		require.ErrorIs(t, err, kernel.ErrForbidden)
	}, "reason=forbidden")
	for _, token := range []string{"", "x", order.Token + "A", order.Token[1:], strings.Repeat("A", 1<<16), "\x00", order.Token + "="} {
		_, err := k.WaitVisible(ctx, issuer, kernel.WaitVisibleRequest{Token: token})
		require.ErrorIs(t, err, kernel.ErrInvalid)
		require.Equal(t, "Token", fieldOf(err))
	}
}

// TestWriteAsyncRefused: what can be known at once is told at once and leaves nothing but its
// audit row.
func TestWriteAsyncRefused(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	ctx := t.Context()
	owner, member := k.Key("acme", kernel.RoleOwner), k.Key("acme/eng", kernel.RoleMember)
	refused := func(who kernel.Identity, req kernel.WriteRequest, target error, result kernel.AuditResult) {
		t.Helper()
		k.RequireAudit(t, acl.OpWriteAsync, result, func() {
			_, err := k.WriteAsync(ctx, who, req)
			require.ErrorIs(t, err, target)
		})
		require.Zero(t, jobCount(t, k))
		require.Zero(t, sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM memkernel.captures`))
	}
	auditor := k.Key("acme/eng", kernel.RoleAuditor)
	refused(auditor, kernel.WriteRequest{Text: "x"}, kernel.ErrForbidden, audit.ResultDenied)
	refused(member, kernel.WriteRequest{Text: " "}, kernel.ErrInvalid, audit.ResultError)
	refused(member, kernel.WriteRequest{Text: strings.Repeat("x", 1<<20+1)}, kernel.ErrTooLarge, audit.ResultError)
	must(k.Policies().Put(ctx, owner, kernel.PutPolicyRequest{Policy: kernel.Policy{Write: kernel.WritePolicy{Denied: true}}}))
	refused(member, kernel.WriteRequest{Text: "x"}, kernel.ErrForbidden, audit.ResultDenied)
	must(k.Policies().Put(ctx, owner, kernel.PutPolicyRequest{}))
	require.NoError(t, k.Tenants().Suspend(ctx, kernel.TenantRequest{Tenant: "acme"}))
	refused(member, kernel.WriteRequest{Text: "x"}, kernel.ErrTenantSuspended, audit.ResultDenied)
}

// TestWriteAsyncRateLimit: it is no way around the limit on writes.
func TestWriteAsyncRateLimit(t *testing.T) {
	t.Parallel()
	for _, op := range []kernel.Op{acl.OpWrite, acl.OpWriteAsync} {
		k := kerneltest.Open(t)
		ctx := t.Context()
		owner, member := k.Key("acme", kernel.RoleOwner), k.Key("acme/eng", kernel.RoleMember)
		must(k.Policies().Put(ctx, owner, kernel.PutPolicyRequest{Policy: kernel.Policy{
			RateLimits: map[kernel.Op]kernel.RateLimit{op: {PerSecond: 0.001, Burst: 2}},
		}}))
		must(k.WriteAsync(ctx, member, kernel.WriteRequest{Text: "one"}))
		must(k.WriteAsync(ctx, member, kernel.WriteRequest{Text: "two"}))
		k.RequireAudit(t, acl.OpWriteAsync, audit.ResultDenied, func() {
			_, err := k.WriteAsync(ctx, member, kernel.WriteRequest{Text: "three"})
			require.ErrorIs(t, err, kernel.ErrRateLimited)
		})
		require.Equal(t, 2, jobCount(t, k), op)
	}
}

func jobCount(t *testing.T, k *kerneltest.Kit) int {
	t.Helper()
	return sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM memkernel.river_job WHERE kind = 'memkernel_write'`)
}

// TestTicketRefusedWhenItRuns: what has changed since the write was ordered counts.
func TestTicketRefusedWhenItRuns(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		between func(t *testing.T, k *kerneltest.Kit, owner, issuer kernel.Identity)
		req     kernel.WriteRequest
		want    kernel.TicketFailure
		result  kernel.AuditResult
	}{
		"key revoked": {func(t *testing.T, k *kerneltest.Kit, owner, issuer kernel.Identity) {
			t.Helper()
			id := must(mem.ParseID(issuer.KeyID()))
			require.NoError(t, second(k.Keys().Revoke(t.Context(), owner, kernel.RevokeKeyRequest{ID: id})))
		}, kernel.WriteRequest{Text: "x"}, kernel.FailureUnauthenticated, audit.ResultDenied},
		"tenant suspended": {func(t *testing.T, k *kerneltest.Kit, _, _ kernel.Identity) {
			t.Helper()
			require.NoError(t, k.Tenants().Suspend(t.Context(), kernel.TenantRequest{Tenant: "acme"}))
		}, kernel.WriteRequest{Text: "x"}, kernel.FailureSuspended, audit.ResultDenied},
		"policy": {func(t *testing.T, k *kerneltest.Kit, owner, _ kernel.Identity) {
			t.Helper()
			must(k.Policies().Put(t.Context(), owner, kernel.PutPolicyRequest{Policy: kernel.Policy{Write: kernel.WritePolicy{Denied: true}}}))
		}, kernel.WriteRequest{Text: "x"}, kernel.FailureForbidden, audit.ResultDenied},
		"nothing to replace": {
			func(*testing.T, *kerneltest.Kit, kernel.Identity, kernel.Identity) {},
			kernel.WriteRequest{Text: "x", Supersedes: someID()},
			kernel.FailureNotFound, audit.ResultMiss,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := kerneltest.Open(t)
			ctx := t.Context()
			owner, issuer := k.Key("acme", kernel.RoleOwner), k.Key("acme/eng", kernel.RoleMember)
			order := must(k.WriteAsync(ctx, issuer, c.req))
			c.between(t, k, owner, issuer)
			start(t, k)
			awaitState(t, k, "failed")
			require.Equal(t, string(c.want), sqlValue[string](t, k.Pool, `SELECT failure FROM memkernel.captures`))
			require.Equal(t, "x", sqlValue[string](t, k.Pool, `SELECT content FROM memkernel.captures`), "the raw input is kept")
			rows := writeRows(k)
			require.Len(t, rows, 1)
			require.Equal(t, c.result, rows[0].Result)
			require.Equal(t, issuer.Actor(), rows[0].Actor)
			require.Contains(t, rows[0].Detail, "reason="+string(c.want)+" ticket="+order.Ticket.String()+" attempts=1")
			if c.want == kernel.FailureSuspended {
				require.NoError(t, k.Tenants().Resume(ctx, kernel.TenantRequest{Tenant: "acme"}))
			}
			reply := must(k.Ticket(ctx, owner, kernel.TicketRequest{ID: order.Ticket}))
			require.Equal(t, &kernel.TicketReply{State: kernel.TicketFailed, Attempts: 1, Failure: c.want}, reply)
			require.Empty(t, must(k.Search(ctx, k.Key("acme/eng", kernel.RoleMember), kernel.SearchRequest{Query: "x"})).Items)
		})
	}
}

// awaitState waits until the only capture is in a state, looking behind the kernel: some of
// its callers may not ask any more.
func awaitState(t *testing.T, k *kerneltest.Kit, state string) {
	t.Helper()
	require.Eventually(t, func() bool {
		return sqlValue[string](t, k.Pool, `SELECT state FROM memkernel.captures`) == state
	}, 60*time.Second, 5*time.Millisecond)
}

// TestWriteAsyncRetry: a dead letter is tried again with the same idempotency key.
func TestWriteAsyncRetry(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	ctx := t.Context()
	owner, who := k.Key("acme", kernel.RoleOwner), k.Key("acme/eng", kernel.RoleMember)
	req := kernel.WriteRequest{Text: "The pager is with Dana.", IdempotencyKey: "1"}
	order := must(k.WriteAsync(ctx, who, req))
	again := must(k.WriteAsync(ctx, who, req))
	require.Equal(t, &kernel.WriteAsyncReply{Ticket: order.Ticket, Token: order.Token, Replayed: true}, again)
	require.Equal(t, 1, jobCount(t, k))
	require.ErrorIs(t, second(k.WriteAsync(ctx, who, kernel.WriteRequest{Text: "Something else.", IdempotencyKey: "1"})), kernel.ErrConflict)

	must(k.Policies().Put(ctx, owner, kernel.PutPolicyRequest{Policy: kernel.Policy{Write: kernel.WritePolicy{Denied: true}}}))
	start(t, k)
	require.Equal(t, kernel.FailureForbidden, await(t, k.Kernel, who, order.Token).Failure)
	must(k.Policies().Put(ctx, owner, kernel.PutPolicyRequest{}))
	again = must(k.WriteAsync(ctx, who, req))
	require.Equal(t, order.Ticket, again.Ticket)
	require.False(t, again.Replayed, "it is tried again")
	done := await(t, k.Kernel, who, again.Token)
	require.Equal(t, kernel.TicketDone, done.State)
	require.Equal(t, 1, done.Attempts)

	// From then on it is one write, by whichever way it is asked for.
	require.True(t, must(k.WriteAsync(ctx, who, req)).Replayed)
	sync := must(k.Write(ctx, who, req))
	require.True(t, sync.Replayed)
	require.Equal(t, done.Reply.Stored, sync.Stored)
	require.Equal(t, 1, sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM memkernel.memory_objects`))
	require.Len(t, writeRows(k), 3)
	requireSound(t, k.Pool)
}

// TestWriteTakesOver: a Write with the key of a ticket that waits does it, and the worker finds
// it done.
func TestWriteTakesOver(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	ctx := t.Context()
	who := k.Key("acme/eng", kernel.RoleMember)
	req := kernel.WriteRequest{Text: "The pager is with Dana.", IdempotencyKey: "1"}
	order := must(k.WriteAsync(ctx, who, req))
	written := must(k.Write(ctx, who, req))
	require.Equal(t, order.Ticket, written.Capture)
	require.Equal(t, written.Stored, await(t, k.Kernel, who, order.Token).Reply.Stored)
	start(t, k)
	require.Eventually(t, func() bool {
		return sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM memkernel.river_job WHERE kind = 'memkernel_write' AND state = 'completed'`) == 1
	}, 60*time.Second, 5*time.Millisecond)
	require.Len(t, writeRows(k), 1)
	requireSound(t, k.Pool)
}

// TestWriteAsyncWithTx: ordered in a transaction of the host's, it exists if that is committed.
func TestWriteAsyncWithTx(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	ctx := t.Context()
	who := k.Key("acme/eng", kernel.RoleMember)
	counts := func() [3]int {
		return [3]int{
			jobCount(t, k), sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM memkernel.captures`),
			sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM memkernel.audit_log WHERE op = 'write_async'`),
		}
	}
	tx := begin(t, k)
	bound := k.WithTx(tx)
	order := must(bound.WriteAsync(ctx, who, kernel.WriteRequest{Text: "The pager is with Dana."}))
	require.ErrorIs(t, second(bound.WaitVisible(ctx, who, kernel.WaitVisibleRequest{Token: order.Token})), kernel.ErrInvalid)
	require.ErrorIs(t, bound.Start(ctx), kernel.ErrInvalid)
	require.NoError(t, bound.Close(ctx))
	require.Equal(t, [3]int{}, counts())
	require.NoError(t, tx.Rollback(ctx))
	require.Equal(t, [3]int{}, counts())

	tx = begin(t, k)
	order = must(k.WithTx(tx).WriteAsync(ctx, who, kernel.WriteRequest{Text: "The pager is with Dana."}))
	require.NoError(t, tx.Commit(ctx))
	require.Equal(t, [3]int{1, 1, 1}, counts())
	start(t, k)
	require.Equal(t, kernel.TicketDone, await(t, k.Kernel, who, order.Token).State)
}

// TestTicketOfHostLogin: a write of a caller whom the host's login vouched for runs as that
// caller, in any kernel, until the identity ends.
func TestTicketOfHostLogin(t *testing.T) {
	t.Parallel()
	clock := kerneltest.NewClock()
	ends := clock.Now().Add(time.Hour)
	k := kerneltest.Open(t, kernel.WithClock(clock.Now), kernel.WithAuthenticator(login(func(string) (acl.Claims, error) {
		return acl.Claims{
			Namespace: kerneltest.Namespace(t, "acme/eng"), Actor: "user:sso", Role: kernel.RoleMember, AgentID: "http",
			Provenance: string(mem.ProvenanceDocument), ExpiresAt: ends,
		}, nil
	})))
	other := kerneltest.OpenOn(t, k.Pool, kernel.WithClock(clock.Now))
	owner := k.Key("acme", kernel.RoleOwner)
	who := must(k.Authenticate(t.Context(), "sso"))
	order := must(k.WriteAsync(t.Context(), who, kernel.WriteRequest{Text: "The pager is with Dana."}))
	start(t, other)
	reply := await(t, k.Kernel, who, order.Token)
	require.Equal(t, kernel.TicketDone, reply.State)
	reader := k.Key("acme/eng", kernel.RoleMember)
	m := must(k.Read(t.Context(), reader, kernel.ReadRequest{ID: reply.Reply.Stored[0]})).Memory
	require.Equal(t, "user:sso", m.Actor)
	require.Equal(t, "http", m.AgentID)
	require.Equal(t, mem.ProvenanceDocument, m.Provenance)
	require.NoError(t, other.Close(t.Context()))

	order = must(k.WriteAsync(t.Context(), who, kernel.WriteRequest{Text: "The pager is with Sam."}))
	clock.Advance(2 * time.Hour)
	start(t, other)
	reply = await(t, k.Kernel, owner, order.Token)
	require.Equal(t, kernel.FailureUnauthenticated, reply.Failure)
}
