package kernel_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
)

// TestBootstrapRace is for a tenant that is new, and once more when its owner key has ended.
func TestBootstrapRace(t *testing.T) {
	t.Parallel()
	for _, size := range poolSizes {
		t.Run(fmt.Sprint("pool of ", size), func(t *testing.T) {
			t.Parallel()
			const n = 16
			k := openPool(t, size)
			for round := range 4 {
				var creds [n]*kernel.Credential
				var errs [n]error
				together(n, func(i int) {
					creds[i], errs[i] = k.Bootstrap(t.Context(), kernel.BootstrapRequest{Tenant: "acme", Actor: "user:dana"})
				})
				won := 0
				for i, err := range errs {
					if err != nil {
						require.ErrorIs(t, err, kernel.ErrConflict)
						require.Nil(t, creds[i])
						continue
					}
					won++
					id := must(k.Authenticate(t.Context(), creds[i].Secret))
					require.Equal(t, kernel.RoleOwner, id.Role())
					require.Equal(t, "acme", id.Namespace().String())
					must(k.Keys().Revoke(t.Context(), id, kernel.RevokeKeyRequest{ID: creds[i].Key.ID}))
				}
				require.Equal(t, 1, won)
				require.Equal(t, map[kernel.AuditResult]int{"ok": round + 1, "error": (round + 1) * (n - 1)}, auditRows(k, "bootstrap"))
			}
			require.Equal(t, 4, sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM memkernel.api_keys`))
			requireSound(t, k.Pool)
		})
	}
}

// TestBootstrapAgain: a tenant is given back to its host when it has no owner key left that
// works at its root, and not before.
func TestBootstrapAgain(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	ctx := t.Context()
	bootstrap := func() (kernel.Identity, *kernel.Credential, error) {
		cred, err := k.Bootstrap(ctx, kernel.BootstrapRequest{Tenant: "acme", Actor: "user:dana"})
		if err != nil {
			return kernel.Identity{}, nil, err
		}
		return must(k.Authenticate(ctx, cred.Secret)), cred, nil
	}
	refused := func() {
		t.Helper()
		_, _, err := bootstrap()
		require.ErrorIs(t, err, kernel.ErrConflict)
	}
	owner, first, err := bootstrap()
	require.NoError(t, err)
	refused()
	brief := must(k.Keys().Create(ctx, owner, kernel.KeyRequest{
		Actor: "user:sam", Role: kernel.RoleOwner, ExpiresAt: k.Clock.Now().Add(time.Hour),
	}))
	// Neither an admin at the root nor an owner below it owns the tenant.
	must(k.Keys().Create(ctx, owner, kernel.KeyRequest{Actor: "user:ann", Role: kernel.RoleAdmin}))
	must(k.Keys().Create(ctx, owner, kernel.KeyRequest{Actor: "user:ben", Role: kernel.RoleOwner, Namespace: kerneltest.Namespace(t, "acme/eng")}))
	must(k.Keys().Revoke(ctx, owner, kernel.RevokeKeyRequest{ID: first.Key.ID}))
	refused() // there is one that is about to end
	k.Clock.Advance(time.Hour)
	require.ErrorIs(t, second(k.Authenticate(ctx, brief.Secret)), kernel.ErrUnauthenticated)
	owner, third, err := bootstrap()
	require.NoError(t, err)
	refused()

	// An owner key that is being replaced counts as long as either works.
	next := must(k.Keys().Rotate(ctx, owner, kernel.RotateKeyRequest{ID: third.Key.ID, Overlap: time.Hour}))
	must(k.Keys().Revoke(ctx, owner, kernel.RevokeKeyRequest{ID: next.Key.ID}))
	refused()
	k.Clock.Advance(time.Hour)
	_, _, err = bootstrap()
	require.NoError(t, err)
	requireSound(t, k.Pool)
}

func TestBootstrapNames(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	for _, name := range []string{"", "/", "a/b", "a/", ".", "..", "a\x00b", "a\nb", "\xff"} {
		row := k.RequireAudit(t, "bootstrap", "error", func() {
			_, err := k.Bootstrap(t.Context(), kernel.BootstrapRequest{Tenant: name, Actor: "user:dana"})
			require.ErrorIs(t, err, kernel.ErrInvalid, "%q", name)
			require.ErrorContains(t, err, "Tenant", "%q", name)
		}, "reason=invalid")
		require.Equal(t, "-", row.Tenant)
		require.Equal(t, "host", row.Actor)
	}
	for _, name := range []string{"a", "ä", "it's", "100%", `a\b`, "a_b", "a b"} {
		must(k.Bootstrap(t.Context(), kernel.BootstrapRequest{Tenant: name, Actor: "user:dana"}))
	}
	require.Equal(t, 7, sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM memkernel.tenants`))
	requireSound(t, k.Pool)
}
