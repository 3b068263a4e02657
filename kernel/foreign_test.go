package kernel_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/internal/pgtest"
	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
)

// vouching is a login that lets everybody in as the owner of a tenant.
type vouching struct{ tenant kernel.Namespace }

func (v vouching) Authenticate(context.Context, string) (acl.Claims, error) {
	return acl.Claims{Namespace: v.tenant, Actor: "user:mallory", Role: acl.RoleOwner}, nil
}

// TestForeignIdentity: what another kernel's login vouches for is nobody here.
func TestForeignIdentity(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	k.Key("acme", kernel.RoleOwner)
	other := kerneltest.OpenOn(t, k.Pool, kernel.WithAuthenticator(vouching{kerneltest.Namespace(t, "acme")}))
	mallory := must(other.Authenticate(t.Context(), "anything"))
	require.NoError(t, second(other.Stats(t.Context(), mallory, kernel.StatsRequest{})), "it is somebody where it was made")
	k.RequireAudit(t, "stats", "denied", func() {
		require.ErrorIs(t, second(k.Stats(t.Context(), mallory, kernel.StatsRequest{})), kernel.ErrUnauthenticated)
	})
}

// TestOldSnapshot: a host's transaction that does not see a revocation does not undo it.
func TestOldSnapshot(t *testing.T) {
	t.Parallel()
	for _, level := range []pgx.TxIsoLevel{pgx.RepeatableRead, pgx.Serializable} {
		k := kerneltest.OpenOn(t, pgtest.Open(t, pgtest.WithMaxConns(4))) // the host's transaction holds one
		who, cred := k.Credential("acme/eng", kernel.RoleMember)
		tx, err := k.Pool.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: level})
		require.NoError(t, err)
		require.NoError(t, second(k.WithTx(tx).Write(t.Context(), who, kernel.WriteRequest{Text: "The key works."})))
		must(k.Keys().Revoke(t.Context(), k.Key("acme", kernel.RoleOwner), kernel.RevokeKeyRequest{ID: cred.Key.ID}))
		err = second(k.WithTx(tx).Write(t.Context(), who, kernel.WriteRequest{Text: "The key is revoked."}))
		require.ErrorIs(t, err, kernel.ErrUnauthenticated, level)
		require.NoError(t, tx.Commit(t.Context()))
	}
}
