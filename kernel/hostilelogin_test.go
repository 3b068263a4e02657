package kernel_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
)

// hostileCredentials is texts in place of a credential, some of the kernel's own form.
func hostileCredentials(good string) []string {
	out := []string{
		good + "\n", good + "\x00", " " + good, good[:len(good)-1], "Bearer " + good, strings.ToUpper(good), strings.Repeat("x", 16<<10+1),
		good[:len(good)-1] + string(good[len(good)-1]^1), "mk_" + strings.Repeat("a", 12) + good[15:],
	}
	for _, value := range hostile {
		padded := value + strings.Repeat("z", 12)
		out = append(out, value, "mk_"+value, "mk_"+padded[:12]+"_"+strings.Repeat("s", 43))
	}
	return out
}

// No credential but the right one is anything but unauthenticated, and all of them alike.
func TestHostileCredentials(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	_, cred := k.Credential("acme", kernel.RoleOwner)
	want := &kernel.OpError{Op: "authenticate", Err: kernel.ErrUnauthenticated}
	for _, value := range hostileCredentials(cred.Secret) {
		k.Clock.Advance(time.Hour) // each failure has a row of its own
		row := k.RequireAudit(t, "authenticate", "denied", func() {
			id, err := k.Authenticate(t.Context(), value)
			require.Equal(t, want, err, "%.60q", value)
			require.True(t, id.IsZero())
		})
		require.Equal(t, "-", row.Namespace)
		require.Equal(t, "anonymous", row.Actor)
		require.Equal(t, map[string]string{"reason": "unknown"}, readDetail(t, row.Op, row.Detail))
	}
	_, err := k.Authenticate(t.Context(), cred.Secret)
	require.NoError(t, err)
}

// claimsLogin is a host's login that vouches for whatever it is told to.
type claimsLogin struct{ next func() (acl.Claims, error) }

func (l *claimsLogin) Authenticate(context.Context, string) (acl.Claims, error) { return l.next() }

// What a host's login claims is nobody, or a caller that can work and is recorded under its
// own name.
func TestHostileClaims(t *testing.T) {
	t.Parallel()
	login := &claimsLogin{}
	k := kerneltest.Open(t, kernel.WithAuthenticator(login))
	k.Key("acme", kernel.RoleOwner) // the tenant exists
	ctx := t.Context()
	for _, value := range hostile {
		for name, c := range map[string]struct {
			change func(*acl.Claims)
			ok     bool
		}{
			"actor":      {func(c *acl.Claims) { c.Actor = value }, acceptsActor(value) == nil},
			"agent":      {func(c *acl.Claims) { c.AgentID = value }, acceptsLabel(256)(value) == nil},
			"key":        {func(c *acl.Claims) { c.KeyID = value }, true}, // is not the host's to say
			"provenance": {func(c *acl.Claims) { c.Provenance = value }, value == ""},
			"role":       {func(c *acl.Claims) { c.Role = kernel.Role(value) }, false},
		} {
			claims := acl.Claims{Namespace: kerneltest.Namespace(t, "acme/eng"), Actor: "user:dana", Role: kernel.RoleMember, AgentID: "http"}
			c.change(&claims)
			login.next = func() (acl.Claims, error) { return claims, nil }
			k.Clock.Advance(time.Hour)
			id, err := k.Authenticate(ctx, "a host's token")
			if !c.ok {
				require.ErrorIs(t, err, kernel.ErrUnauthenticated, "%s %.40q", name, value)
				require.True(t, id.IsZero())
				continue
			}
			require.NoError(t, err, "%s %.40q", name, value)
			require.Empty(t, id.KeyID())
			row := k.RequireAudit(t, "write", "ok", func() {
				_, err := k.Write(ctx, id, kernel.WriteRequest{Text: "A fact.", IdempotencyKey: "k"})
				require.NoError(t, err)
			})
			require.Equal(t, claims.Actor, row.Actor)
			require.Equal(t, claims.AgentID, row.AgentID)
			readDetail(t, row.Op, row.Detail)
		}
	}
}

// A login that fails or falls over is an outage, not a stranger and not a caller.
func TestFailingLogin(t *testing.T) {
	t.Parallel()
	login := &claimsLogin{}
	k := kerneltest.Open(t, kernel.WithAuthenticator(login))
	for _, c := range []struct {
		next func() (acl.Claims, error)
		is   error
	}{
		{func() (acl.Claims, error) { return acl.Claims{}, errors.New("\x00\xff\nresult=ok") }, kernel.ErrUnavailable},
		{func() (acl.Claims, error) { panic("\x00") }, kernel.ErrUnavailable},
		{func() (acl.Claims, error) { return acl.Claims{}, fmt.Errorf("no: %w", kernel.ErrUnauthenticated) }, kernel.ErrUnauthenticated},
		{func() (acl.Claims, error) { return acl.Claims{}, nil }, kernel.ErrUnauthenticated},
	} {
		login.next = c.next
		id, err := k.Authenticate(t.Context(), "a host's token")
		require.ErrorIs(t, err, c.is)
		require.True(t, id.IsZero())
	}
}

// "-" is what the audit log calls callers without a tenant: it must not be somebody's.
func TestNobodyIsNoTenant(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	_, err := k.Authenticate(t.Context(), "a stranger")
	require.ErrorIs(t, err, kernel.ErrUnauthenticated)
	_, err = k.Bootstrap(t.Context(), kernel.BootstrapRequest{Tenant: "-", Actor: "user:eve"})
	require.ErrorIs(t, err, kernel.ErrInvalid)
	require.Equal(t, "Tenant", fieldOf(err))
}
