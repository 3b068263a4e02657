package kernel_test

import (
	"context"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/writepath"
)

// drain consumes a sequence to its end or error.
func drain[T any](seq iter.Seq2[T, error]) (n int, err error) {
	for _, err := range seq {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// listings are the calls that return a sequence of more than one page. The key that calls is
// not the one that filled them.
func listings(t *testing.T, k *kerneltest.Kit, who kernel.Identity) map[string]func() (int, error) {
	t.Helper()
	ctx := t.Context()
	const rows = 600
	_, err := k.Pool.Exec(ctx, `INSERT INTO memkernel.api_keys (tenant, id, namespace, actor, agent_id, role, provenance, label, prefix, secret_hash, created_at)
		SELECT tenant, gen_random_uuid(), namespace, actor, agent_id, role, provenance, label, lpad(g::text, 12, 'a'), secret_hash, created_at
		FROM memkernel.api_keys, generate_series(1, $2) AS g WHERE id = $1::text::uuid`, who.KeyID(), rows)
	require.NoError(t, err)
	for range rows {
		_, err := k.Stats(ctx, who, kernel.StatsRequest{})
		require.NoError(t, err)
	}
	events := k.AuditSearch(ctx, who, kernel.AuditSearchRequest{})
	keys := k.Keys().List(ctx, who, kernel.ListKeysRequest{})
	return map[string]func() (int, error){
		"audit_search": func() (int, error) { return drain(events) },
		"key_list":     func() (int, error) { return drain(keys) },
	}
}

// A sequence that is kept stops at the next page once its caller is not let in any more, and
// an error of a later page tells no more than that of a call.
func TestSequenceEndsWithTheCaller(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stop func(context.Context, *kerneltest.Kit, kernel.Identity) error
		want error
	}{
		"revoked": {func(ctx context.Context, k *kerneltest.Kit, who kernel.Identity) error {
			id := must(kernelID(who))
			_, err := k.Keys().Revoke(ctx, k.Key("acme", kernel.RoleOwner), kernel.RevokeKeyRequest{ID: id})
			return err
		}, kernel.ErrUnauthenticated},
		"suspended": {func(ctx context.Context, k *kerneltest.Kit, _ kernel.Identity) error {
			return k.Tenants().Suspend(ctx, kernel.TenantRequest{Tenant: "acme"})
		}, kernel.ErrTenantSuspended},
		"broken": {func(ctx context.Context, k *kerneltest.Kit, _ kernel.Identity) error {
			_, err := k.Pool.Exec(ctx, `ALTER TABLE memkernel.audit_log RENAME TO audit_log_x; ALTER TABLE memkernel.api_keys RENAME COLUMN label TO label_x`)
			return err
		}, kernel.ErrInternal},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := kerneltest.Open(t)
			who := k.Key("acme/eng", kernel.RoleAdmin)
			read := listings(t, k, who)
			require.NoError(t, c.stop(t.Context(), k, who))
			for op, drain := range read {
				n, err := drain()
				require.Equal(t, 500, n, op)
				require.Equal(t, &kernel.OpError{Op: acl.Op(op), Err: c.want}, err)
				require.NotErrorIs(t, err, writepath.ErrStale)
			}
		})
	}
}

func kernelID(who kernel.Identity) (kernel.ID, error) { return mem.ParseID(who.KeyID()) }

// Authenticate tells no more than a call does.
func TestAuthenticateHidesTheCause(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	_, cred := k.Credential("acme", kernel.RoleOwner)
	_, err := k.Pool.Exec(t.Context(), `ALTER TABLE memkernel.api_keys RENAME COLUMN label TO label_x`)
	require.NoError(t, err)
	_, err = k.Authenticate(t.Context(), cred.Secret)
	require.Equal(t, &kernel.OpError{Op: "authenticate", Err: kernel.ErrInternal}, err)
}
