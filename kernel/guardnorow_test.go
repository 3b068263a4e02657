package kernel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/internal/pgtest"
	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
)

// breakAudit makes the audit log refuse every row, until the function it returns is called.
func breakAudit(t *testing.T, k *kerneltest.Kit) (mend func()) {
	t.Helper()
	sqlExec(t, k.Pool, `CREATE FUNCTION memkernel.full_disk() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN RAISE EXCEPTION 'no space left'; END $$`)
	sqlExec(t, k.Pool, `CREATE TRIGGER full_disk BEFORE INSERT ON memkernel.audit_log EXECUTE FUNCTION memkernel.full_disk()`)
	return func() {
		sqlExec(t, k.Pool, `DROP TRIGGER full_disk ON memkernel.audit_log`)
		sqlExec(t, k.Pool, `DROP FUNCTION memkernel.full_disk()`)
	}
}

// tableCounts counts the rows of every table that calls write to.
func tableCounts(t *testing.T, k *kerneltest.Kit) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for _, table := range []string{
		"tenants", "api_keys", "policies", "captures", "memory_objects", "memory_vectors", "memory_terms", "memory_access", "audit_log",
	} {
		counts[table] = sqlValue[int](t, k.Pool, "SELECT count(*)::int FROM memkernel."+table)
	}
	counts["ended"] = sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM memkernel.memory_objects WHERE t_valid_to IS NOT NULL`)
	counts["revoked"] = sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM memkernel.api_keys WHERE revoked_at IS NOT NULL`)
	counts["suspended"] = sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM memkernel.tenants WHERE suspended_at IS NOT NULL`)
	return counts
}

// TestGuardNoRowNoAnswer: while the audit log cannot be written every call fails, those that
// succeed, those that are refused and those that find nothing, and nothing changes.
func TestGuardNoRowNoAnswer(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	ctx := t.Context()
	owner, cred := k.Credential("acme/eng", kernel.RoleOwner)
	agent := k.Key("acme/eng", kernel.RoleAgent)
	id := must(k.Write(ctx, owner, kernel.WriteRequest{Text: "The build runs on Mondays."})).Stored[0]
	must(k.Policies().Put(ctx, owner, kernel.PutPolicyRequest{}))
	before := tableCounts(t, k)
	mend := breakAudit(t, k)
	requireUnavailable := func(err error, what any) {
		t.Helper()
		require.ErrorIs(t, err, kernel.ErrUnavailable, what)
		require.NotContains(t, err.Error(), "Mondays", what)
	}
	for op, call := range everyCall(k, owner, id) {
		requireUnavailable(call(ctx), op)
	}
	// A supersede, a duplicate and a key of its own: each another way through the write path.
	for _, req := range []kernel.WriteRequest{
		{Text: "The build runs on Fridays.", Supersedes: id},
		{Text: "The build runs on Mondays."},
		{Text: "The build is green.", IdempotencyKey: "1"},
	} {
		requireUnavailable(second(k.Write(ctx, owner, req)), req.Text)
	}
	requireUnavailable(second(k.Keys().Revoke(ctx, owner, kernel.RevokeKeyRequest{ID: cred.Key.ID})), "revoke")
	requireUnavailable(second(k.Keys().Rotate(ctx, owner, kernel.RotateKeyRequest{ID: cred.Key.ID})), "rotate")
	// Refusals.
	requireUnavailable(second(k.Keys().Create(ctx, agent, kernel.KeyRequest{Actor: "user:x", Role: kernel.RoleAgent})), "forbidden")
	requireUnavailable(second(k.Stats(ctx, kernel.Identity{}, kernel.StatsRequest{})), "nobody")
	requireUnavailable(second(k.Read(ctx, owner, kernel.ReadRequest{ID: someID()})), "miss")
	requireUnavailable(second(k.Write(ctx, owner, kernel.WriteRequest{})), "invalid")
	requireUnavailable(second(k.Authenticate(ctx, "mk_nonsense")), "unknown credential")
	// What the host does.
	requireUnavailable(second(k.Bootstrap(ctx, kernel.BootstrapRequest{Tenant: "umbrella", Actor: "user:x"})), "bootstrap")
	requireUnavailable(k.Tenants().Suspend(ctx, kernel.TenantRequest{Tenant: "acme"}), "suspend")

	require.Equal(t, before, tableCounts(t, k))
	mend()
	found := must(k.Search(ctx, owner, kernel.SearchRequest{Query: "build"}))
	require.Len(t, found.Items, 1)
	require.Equal(t, id, found.Items[0].Memory.ID)
	_, err := k.Authenticate(ctx, cred.Secret)
	require.NoError(t, err)
	requireSound(t, k.Pool)
}

// TestGuardRemoteWriteWithoutRow: with a remote model the raw input alone is kept, which is
// durable before the model is asked, and a retry with the same key carries on from there.
func TestGuardRemoteWriteWithoutRow(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kernel.WithEmbedder(&kerneltest.Embedder{}))
	ctx := t.Context()
	dana := k.Key("acme/eng", kernel.RoleMember)
	req := kernel.WriteRequest{Text: "The build runs on Mondays.", IdempotencyKey: "1"}
	before := tableCounts(t, k)
	mend := breakAudit(t, k)
	require.ErrorIs(t, second(k.Write(ctx, dana, req)), kernel.ErrUnavailable)
	after := tableCounts(t, k)
	require.Equal(t, before["captures"]+1, after["captures"])
	after["captures"]--
	require.Equal(t, before, after)
	mend()
	require.Len(t, must(k.Write(ctx, dana, req)).Stored, 1)
	require.Equal(t, 1, sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM memkernel.captures WHERE state = 'done' AND attempts = 1`))
	requireSound(t, k.Pool)
}

// TestGuardAuditTimeout: a log that does not answer is as bad as one that refuses, but not
// for ever; and the caller's own patience does not shorten it.
func TestGuardAuditTimeout(t *testing.T) {
	t.Parallel()
	k := kerneltest.OpenOn(t, pgtest.Open(t), kernel.WithLimits(kernel.Limits{AuditTimeout: 100 * time.Millisecond}))
	ctx := t.Context()
	dana := k.Key("acme/eng", kernel.RoleMember)
	tx, err := sideConn(t, k).Begin(ctx)
	require.NoError(t, err)
	_, err = tx.Exec(ctx, `LOCK TABLE memkernel.audit_log IN ACCESS EXCLUSIVE MODE`)
	require.NoError(t, err)
	require.ErrorIs(t, second(k.Read(ctx, dana, kernel.ReadRequest{ID: someID()})), kernel.ErrUnavailable)
	require.NoError(t, tx.Rollback(ctx))
	require.ErrorIs(t, second(k.Read(ctx, dana, kernel.ReadRequest{ID: someID()})), kernel.ErrNotFound)
}
