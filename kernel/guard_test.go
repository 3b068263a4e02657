package kernel_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
)

// everyOp lists what a caller can ask for.
var everyOp = []kernel.Op{
	"read", "search", "write", "write_async", "ticket", "wait_visible", "retract", "history", "stats", "policy_get", "audit_search",
	"key_create", "key_revoke",
	"key_rotate", "key_list", "policy_put", "entity_list", "entity_get", "entity_merge", "entity_split",
	"conflict_list", "conflict_resolve",
}

// mayCall is the role table as the product describes it.
var mayCall = map[kernel.Role][]kernel.Op{
	kernel.RoleAgent: {
		"read", "search", "write", "write_async", "ticket", "wait_visible", "retract", "history", "stats", "policy_get",
		"entity_list", "entity_get",
	},
	kernel.RoleMember: {
		"read", "search", "write", "write_async", "ticket", "wait_visible", "retract", "history", "stats", "policy_get",
		"entity_list", "entity_get",
	},
	kernel.RoleAuditor: {"read", "search", "history", "stats", "policy_get", "entity_list", "entity_get", "audit_search"},
	kernel.RoleAdmin:   everyOp,
	kernel.RoleOwner:   everyOp,
}

// requireRefused makes every call and wants the same refusal of each: the error, and exactly
// one audit row that says who was refused what and why.
func requireRefused(t *testing.T, k *kerneltest.Kit, who kernel.Identity, ops []kernel.Op, target error, reason string) {
	t.Helper()
	calls := everyCall(k, who, someID())
	for _, op := range ops {
		row := k.RequireAudit(t, op, "denied", func() {
			err := calls[op](t.Context())
			require.ErrorIs(t, err, target, op)
			var opErr *kernel.OpError
			require.ErrorAs(t, err, &opErr)
			require.Equal(t, op, opErr.Op)
		}, "reason="+reason)
		require.Equal(t, who.Namespace().String(), row.Namespace, op)
		require.Equal(t, who.Actor(), row.Actor, op)
		require.Equal(t, who.KeyID(), row.KeyID, op)
		require.Equal(t, "library", row.AgentID, op)
		require.True(t, row.Time.Equal(k.Clock.Now()), op)
	}
}

func someID() kernel.ID { return kernel.ID{1, 2, 3, 4, 5, 6, 0x70, 8, 0x80} }

func TestGuardNobody(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	_ = k.Key("acme", kernel.RoleMember)
	for op, call := range everyCall(k, kernel.Identity{}, someID()) {
		row := k.RequireAudit(t, op, "denied", func() {
			require.ErrorIs(t, call(t.Context()), kernel.ErrUnauthenticated, op)
		}, "reason=unauthenticated")
		require.Equal(t, "-", row.Namespace)
		require.Equal(t, "anonymous", row.Actor)
		require.Empty(t, row.KeyID)
		require.Empty(t, row.Purpose)
	}
}

func TestGuardRoles(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	for role, ops := range mayCall {
		who := k.Key("acme/eng", role)
		var refused []kernel.Op
		for op, call := range everyCall(k, who, someID()) {
			if !slices.Contains(ops, op) {
				refused = append(refused, op)
				continue
			}
			before := len(k.Audit())
			require.NotErrorIs(t, call(t.Context()), kernel.ErrForbidden, "%s as %s", op, role)
			rows := k.Audit()[before:]
			require.Len(t, rows, 1)
			require.NotEqual(t, kernel.AuditResult("denied"), rows[0].Result, "%s as %s", op, role)
		}
		requireRefused(t, k, who, refused, kernel.ErrForbidden, "forbidden")
	}
}

// TestGuardEndedKey: an identity that was resolved before its key ended is refused from then
// on, whatever it asks for.
func TestGuardEndedKey(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	admin := k.Key("acme", kernel.RoleOwner)
	revoked, cred := k.Credential("acme/eng", kernel.RoleOwner)
	call := everyCall(k, revoked, someID())["stats"]
	require.NoError(t, call(t.Context()))
	_, err := k.Keys().Revoke(t.Context(), admin, kernel.RevokeKeyRequest{ID: cred.Key.ID})
	require.NoError(t, err)
	requireRefused(t, k, revoked, everyOp, kernel.ErrUnauthenticated, "unauthenticated")

	made, err := k.Keys().Create(t.Context(), admin, kernel.KeyRequest{
		Actor: "user:brief", Role: kernel.RoleOwner, ExpiresAt: k.Clock.Now().Add(time.Hour),
	})
	require.NoError(t, err)
	expiring, err := k.Authenticate(t.Context(), made.Secret)
	require.NoError(t, err)
	k.Clock.Advance(time.Hour - time.Microsecond)
	require.NoError(t, everyCall(k, expiring, someID())["stats"](t.Context()))
	k.Clock.Advance(time.Microsecond)
	requireRefused(t, k, expiring, everyOp, kernel.ErrUnauthenticated, "unauthenticated")
}

func TestGuardSuspendedTenant(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	ctx := t.Context()
	owner, cred := k.Credential("acme/eng", kernel.RoleOwner)
	other := k.Key("umbrella", kernel.RoleMember)
	row := k.RequireAudit(t, "tenant_suspend", "ok", func() {
		require.NoError(t, k.Tenants().Suspend(ctx, kernel.TenantRequest{Tenant: "acme", Reason: "unpaid bill"}))
	}, `reason="unpaid`)
	require.Equal(t, "host", row.Actor)
	require.Equal(t, "acme", row.Namespace)
	requireRefused(t, k, owner, everyOp, kernel.ErrTenantSuspended, "tenant_suspended")
	_, err := k.Authenticate(ctx, cred.Secret)
	require.NoError(t, err, "who somebody is does not change")
	_, err = k.Stats(ctx, other, kernel.StatsRequest{})
	require.NoError(t, err, "another tenant is not affected")
	// Not by itself, and not by its own owner.
	k.RequireAudit(t, "bootstrap", "error", func() {
		_, err := k.Bootstrap(ctx, kernel.BootstrapRequest{Tenant: "acme", Actor: "user:x"})
		require.ErrorIs(t, err, kernel.ErrConflict)
	}, "reason=conflict")

	require.NoError(t, k.Tenants().Suspend(ctx, kernel.TenantRequest{Tenant: "acme", Reason: "still"}), "again")
	k.RequireAudit(t, "tenant_resume", "ok", func() {
		require.NoError(t, k.Tenants().Resume(ctx, kernel.TenantRequest{Tenant: "acme"}))
	})
	require.NoError(t, k.Tenants().Resume(ctx, kernel.TenantRequest{Tenant: "acme"}), "again")
	for op, call := range everyCall(k, owner, someID()) {
		require.NotErrorIs(t, call(ctx), kernel.ErrTenantSuspended, op)
	}
	k.RequireAudit(t, "tenant_suspend", "miss", func() {
		require.ErrorIs(t, k.Tenants().Suspend(ctx, kernel.TenantRequest{Tenant: "nobody"}), kernel.ErrNotFound)
	}, "reason=not_found")
	k.RequireAudit(t, "tenant_resume", "error", func() {
		require.ErrorIs(t, k.Tenants().Resume(ctx, kernel.TenantRequest{Tenant: "a/b"}), kernel.ErrInvalid)
	}, "reason=invalid")
}

// TestGuardRateLimited: each call is refused once its own bucket is empty.
func TestGuardRateLimited(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	owner := k.Key("acme/eng", kernel.RoleOwner)
	everything := map[kernel.Op]kernel.RateLimit{"*": {PerSecond: 0.001, Burst: 1}}
	_, err := k.Policies().Put(t.Context(), owner, kernel.PutPolicyRequest{Policy: kernel.Policy{RateLimits: everything}})
	require.NoError(t, err)
	for op := range everyCall(k, owner, someID()) {
		if op == "policy_put" {
			continue // it would lift the limit: everyCall puts an empty policy
		}
		who := owner
		if op == "write_async" {
			who = k.Key("acme/eng", kernel.RoleOwner) // it takes a token of write as well
		}
		require.NotErrorIs(t, everyCall(k, who, someID())[op](t.Context()), kernel.ErrRateLimited, op)
		requireRefused(t, k, who, []kernel.Op{op}, kernel.ErrRateLimited, "rate_limited")
	}
}

// TestGuardInvalid gives each call what it refuses before it does anything.
func TestGuardInvalid(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	ctx := t.Context()
	who := k.Key("acme/eng", kernel.RoleOwner)
	var over [65]kernel.Op
	for name, tc := range map[string]struct {
		op     kernel.Op
		target error
		field  string
		call   func() error
	}{
		"blank text":   {"write", kernel.ErrInvalid, "Text", func() error { return second(k.Write(ctx, who, kernel.WriteRequest{Text: " \n"})) }},
		"unknown kind": {"write", kernel.ErrInvalid, "Kind", func() error { return second(k.Write(ctx, who, kernel.WriteRequest{Text: "x", Kind: "rumour"})) }},
		"huge text": {"write", kernel.ErrTooLarge, "Text", func() error {
			return second(k.Write(ctx, who, kernel.WriteRequest{Text: strings.Repeat("x", 1<<20+1)}))
		}},
		"huge key": {"write", kernel.ErrTooLarge, "IdempotencyKey", func() error {
			return second(k.Write(ctx, who, kernel.WriteRequest{Text: "x", IdempotencyKey: strings.Repeat("x", 257)}))
		}},
		"end, no begin": {"write", kernel.ErrInvalid, "EventEnd", func() error {
			return second(k.Write(ctx, who, kernel.WriteRequest{Text: "x", EventEnd: time.Unix(1, 0)}))
		}},
		"blank query": {"search", kernel.ErrInvalid, "Query", func() error { return second(k.Search(ctx, who, kernel.SearchRequest{Query: "\t"})) }},
		"negative K":  {"search", kernel.ErrInvalid, "K", func() error { return second(k.Search(ctx, who, kernel.SearchRequest{Query: "x", K: -1})) }},
		"huge K":      {"search", kernel.ErrTooLarge, "K", func() error { return second(k.Search(ctx, who, kernel.SearchRequest{Query: "x", K: 101})) }},
		"huge query": {"search", kernel.ErrTooLarge, "Query", func() error {
			return second(k.Search(ctx, who, kernel.SearchRequest{Query: strings.Repeat("x", 1<<20+1)}))
		}},
		"driver's name": {"search", kernel.ErrInvalid, "Driver", func() error { return second(k.Search(ctx, who, kernel.SearchRequest{Query: "x", Driver: "a b=c"})) }},
		"to before from": {"search", kernel.ErrInvalid, "To", func() error {
			return second(k.Search(ctx, who, kernel.SearchRequest{Query: "x", From: time.Unix(2, 0), To: time.Unix(1, 0)}))
		}},
		"year 10000": {"read", kernel.ErrInvalid, "AsOf", func() error {
			return second(k.Read(ctx, who, kernel.ReadRequest{ID: someID(), AsOf: time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)}))
		}},
		"NUL in the reason": {"retract", kernel.ErrInvalid, "Reason", func() error {
			return second(k.Retract(ctx, who, kernel.RetractRequest{ID: someID(), Reason: "a\x00b"}))
		}},
		"negative page": {"history", kernel.ErrInvalid, "Limit", func() error { return second(k.History(ctx, who, kernel.HistoryRequest{ID: someID(), Limit: -1})) }},
		"huge page":     {"history", kernel.ErrTooLarge, "Limit", func() error { return second(k.History(ctx, who, kernel.HistoryRequest{ID: someID(), Limit: 1001})) }},
		"too many ops":  {"audit_search", kernel.ErrTooLarge, "Ops", func() error { return firstError(k.AuditSearch(ctx, who, kernel.AuditSearchRequest{Ops: over[:]})) }},
		"negative rows": {"audit_search", kernel.ErrInvalid, "Limit", func() error { return firstError(k.AuditSearch(ctx, who, kernel.AuditSearchRequest{Limit: -1})) }},
		"no actor":      {"key_create", kernel.ErrInvalid, "Actor", func() error { return second(k.Keys().Create(ctx, who, kernel.KeyRequest{Role: kernel.RoleAgent})) }},
		"no role":       {"key_create", kernel.ErrInvalid, "Role", func() error { return second(k.Keys().Create(ctx, who, kernel.KeyRequest{Actor: "user:x"})) }},
		"expired": {"key_create", kernel.ErrInvalid, "ExpiresAt", func() error {
			return second(k.Keys().Create(ctx, who, kernel.KeyRequest{Actor: "user:x", Role: kernel.RoleAgent, ExpiresAt: k.Clock.Now()}))
		}},
		"long overlap": {"key_rotate", kernel.ErrInvalid, "Overlap", func() error {
			return second(k.Keys().Rotate(ctx, who, kernel.RotateKeyRequest{ID: someID(), Overlap: 31 * 24 * time.Hour}))
		}},
		"no rate": {"policy_put", kernel.ErrInvalid, "rateLimits[read].perSecond", func() error {
			return second(k.Policies().Put(ctx, who, kernel.PutPolicyRequest{Policy: kernel.Policy{RateLimits: map[kernel.Op]kernel.RateLimit{"read": {Burst: 1}}}}))
		}},
		"no tenant": {"bootstrap", kernel.ErrInvalid, "Tenant", func() error { return second(k.Bootstrap(ctx, kernel.BootstrapRequest{Actor: "user:x"})) }},
	} {
		reason := map[error]string{kernel.ErrInvalid: "invalid", kernel.ErrTooLarge: "too_large"}[tc.target]
		row := k.RequireAudit(t, tc.op, "error", func() {
			err := tc.call()
			require.ErrorIs(t, err, tc.target, name)
			require.ErrorContains(t, err, tc.field, name)
		}, "reason="+reason)
		require.Empty(t, row.Purpose, name)
	}
	for _, table := range []string{"memory_objects", "captures", "policies", "namespaces"} {
		require.Zero(t, sqlValue[int](t, k.Pool, "SELECT count(*)::int FROM memkernel."+table), table)
	}
}

func second[T any](_ T, err error) error { return err }

// TestGuardMiss: what is not there is a miss on record and ErrNotFound to the caller.
func TestGuardMiss(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	calls := everyCall(k, k.Key("acme/eng", kernel.RoleOwner), someID())
	misses := []kernel.Op{"ticket", "wait_visible", "read", "retract", "history", "key_revoke", "key_rotate", "policy_get"}
	for _, op := range misses {
		k.RequireAudit(t, op, "miss", func() {
			err := calls[op](t.Context())
			require.ErrorIs(t, err, kernel.ErrNotFound, op)
			require.EqualError(t, err, string(op)+": not found")
		}, "reason=not_found")
	}
	k.RequireAudit(t, "search", "miss", func() { require.NoError(t, calls["search"](t.Context())) }, "returned=0")
}
