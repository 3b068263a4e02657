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

func TestAuthenticateRefuses(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	_, cred := k.Credential("acme/eng", kernel.RoleMember)
	s := cred.Secret
	other := "x"
	if strings.HasSuffix(s, other) {
		other = "y"
	}
	for name, credential := range map[string]string{
		"empty":           "",
		"mark alone":      "mk_",
		"prefix alone":    s[:15],
		"blank at end":    s + " ",
		"blank at front":  " " + s,
		"new line":        s + "\n",
		"upper case":      strings.ToUpper(s),
		"one off":         s[:len(s)-1] + other,
		"cut short":       s[:len(s)-1],
		"unknown prefix":  "mk_aaaaaaaaaaaa" + s[15:],
		"no separator":    s[:15] + "-" + s[16:],
		"bearer":          "Bearer " + s,
		"NUL in prefix":   "mk_\x00" + s[4:],
		"bytes in prefix": "mk_\xff" + s[4:],
		"huge":            strings.Repeat("x", 16<<10+1),
		"sql":             "mk_'; DROP TABL_" + s[16:],
	} {
		k.Clock.Advance(time.Minute) // the log takes a row for each
		row := k.RequireAudit(t, "authenticate", "denied", func() {
			id, err := k.Authenticate(t.Context(), credential)
			require.EqualError(t, err, "authenticate: unauthenticated", name)
			require.ErrorIs(t, err, kernel.ErrUnauthenticated, name)
			require.True(t, id.IsZero(), name)
		}, "reason=unknown")
		require.Equal(t, "anonymous", row.Actor)
		require.Equal(t, "-", row.Namespace)
	}
	before := len(k.Audit())
	id, err := k.Authenticate(t.Context(), s)
	require.NoError(t, err)
	require.Equal(t, "acme/eng", id.Namespace().String())
	require.Equal(t, kernel.RoleMember, id.Role())
	require.Equal(t, cred.Key.ID.String(), id.KeyID())
	require.Len(t, k.Audit(), before, "a success leaves no row, the calls that follow do")
}

// TestAuthenticateEndedKey: who the credential belonged to is on record, and only there.
func TestAuthenticateEndedKey(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	ctx := t.Context()
	owner := k.Key("acme", kernel.RoleOwner)
	_, revoked := k.Credential("acme/eng", kernel.RoleMember)
	must(k.Keys().Revoke(ctx, owner, kernel.RevokeKeyRequest{ID: revoked.Key.ID}))
	expired := must(k.Keys().Create(ctx, owner, kernel.KeyRequest{
		Actor: "user:brief", Role: kernel.RoleMember, ExpiresAt: k.Clock.Now().Add(time.Second),
	}))
	must(k.Authenticate(ctx, expired.Secret))
	k.Clock.Advance(time.Second)
	for _, cred := range []*kernel.Credential{revoked, expired} {
		for range 30 { // not one of them is only counted
			row := k.RequireAudit(t, "authenticate", "denied", func() {
				require.EqualError(t, second(k.Authenticate(ctx, cred.Secret)), "authenticate: unauthenticated")
			}, "reason=key_ended")
			require.Equal(t, cred.Key.Actor, row.Actor)
			require.Equal(t, cred.Key.ID.String(), row.KeyID)
			require.Equal(t, "acme", row.Tenant)
		}
	}
}

// TestAuthenticateFlood: beyond a burst, failures are counted, and no count is lost.
func TestAuthenticateFlood(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	ctx := t.Context()
	knock := func(n int) {
		together(n, func(int) {
			if _, err := k.Authenticate(ctx, "mk_let me in"); !errors.Is(err, kernel.ErrUnauthenticated) {
				t.Error(err)
			}
		})
	}
	knock(500)
	require.Len(t, k.Audit(), 10)
	for range 3 {
		knock(100)
		require.Len(t, k.Audit(), 10, "the clock stands still")
	}
	k.Clock.Advance(-time.Hour)
	knock(5)
	require.Len(t, k.Audit(), 10, "nor does it help to turn it back")
	k.Clock.Advance(time.Second)
	k.RequireAudit(t, "authenticate", "denied", func() { knock(1) }, "suppressed=795")
	knock(7)
	k.RequireAudit(t, "authenticate", "denied", func() { require.NoError(t, k.Close(ctx)) }, "suppressed=7")
	require.NoError(t, k.Close(ctx))
	require.Len(t, k.Audit(), 12)

	// A count whose row could not be written goes out with a later one.
	knock(3)
	k.Clock.Advance(time.Second)
	mend := breakAudit(t, k)
	require.ErrorIs(t, second(k.Authenticate(ctx, "mk_let me in")), kernel.ErrUnavailable)
	mend()
	k.Clock.Advance(time.Second)
	k.RequireAudit(t, "authenticate", "denied", func() { knock(1) }, "suppressed=3")
}

// login is a host's own.
type login func(credential string) (acl.Claims, error)

func (l login) Authenticate(_ context.Context, credential string) (acl.Claims, error) {
	return l(credential)
}

func TestAuthenticatorClaims(t *testing.T) {
	t.Parallel()
	ns := kerneltest.Namespace(t, "acme/eng")
	good := acl.Claims{Namespace: ns, Actor: "user:dana", Role: kernel.RoleMember}
	with := func(change func(*acl.Claims)) acl.Claims {
		c := good
		change(&c)
		return c
	}
	var claims acl.Claims
	k := kerneltest.Open(t, kernel.WithAuthenticator(login(func(string) (acl.Claims, error) { return claims, nil })))
	_ = k.Key("acme", kernel.RoleOwner)
	now := k.Clock.Now()
	for name, bad := range map[string]acl.Claims{
		"nothing":            {},
		"no namespace":       with(func(c *acl.Claims) { c.Namespace = kernel.Namespace{} }),
		"no role":            with(func(c *acl.Claims) { c.Role = "" }),
		"unknown role":       with(func(c *acl.Claims) { c.Role = "root" }),
		"no actor":           with(func(c *acl.Claims) { c.Actor = "  " }),
		"NUL actor":          with(func(c *acl.Claims) { c.Actor = "a\x00b" }),
		"long actor":         with(func(c *acl.Claims) { c.Actor = strings.Repeat("a", 257) }),
		"broken agent":       with(func(c *acl.Claims) { c.AgentID = "\xff" }),
		"unknown provenance": with(func(c *acl.Claims) { c.Provenance = "gospel" }),
		"expired":            with(func(c *acl.Claims) { c.ExpiresAt = now }),
	} {
		claims = bad
		k.Clock.Set(now)
		require.ErrorIs(t, second(k.Authenticate(t.Context(), "token")), kernel.ErrUnauthenticated, name)
	}
	for role, provenance := range map[kernel.Role]string{
		kernel.RoleAgent: "conversation", kernel.RoleMember: "manual", kernel.RoleAuditor: "manual", kernel.RoleOwner: "manual",
	} {
		claims = with(func(c *acl.Claims) { c.Role, c.KeyID = role, someID().String() })
		id := must(k.Authenticate(t.Context(), "token"))
		require.Equal(t, provenance, id.Provenance(), role)
		require.Empty(t, id.KeyID(), "a key that the kernel did not make")
	}
	claims = with(func(c *acl.Claims) { c.Provenance, c.Role = "document", kernel.RoleAgent })
	require.Equal(t, "document", must(k.Authenticate(t.Context(), "token")).Provenance())

	// What the host vouched for ends when it said, also for an identity that was kept.
	claims = with(func(c *acl.Claims) { c.ExpiresAt, c.AgentID = now.Add(time.Hour), "portal" })
	id := must(k.Authenticate(t.Context(), "token"))
	row := k.RequireAudit(t, "stats", "ok", func() { must(k.Stats(t.Context(), id, kernel.StatsRequest{})) })
	require.Equal(t, "portal", row.AgentID)
	require.Equal(t, "user:dana", row.Actor)
	require.Empty(t, row.KeyID)
	k.Clock.Advance(time.Hour)
	k.RequireAudit(t, "stats", "denied", func() {
		require.ErrorIs(t, second(k.Stats(t.Context(), id, kernel.StatsRequest{})), kernel.ErrUnauthenticated)
	}, "reason=unauthenticated")
}

func TestAuthenticatorTenant(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kernel.WithAuthenticator(login(func(string) (acl.Claims, error) {
		return acl.Claims{Namespace: kerneltest.Namespace(t, "nobody/here"), Actor: "user:dana", Role: kernel.RoleMember}, nil
	})))
	id := must(k.Authenticate(t.Context(), "token"))
	k.RequireAudit(t, "stats", "denied", func() {
		require.ErrorIs(t, second(k.Stats(t.Context(), id, kernel.StatsRequest{})), kernel.ErrTenantSuspended)
	}, "reason=tenant_suspended")
}

func TestAuthenticatorFails(t *testing.T) {
	t.Parallel()
	var fail func() error
	asked := 0
	k := kerneltest.Open(t, kernel.WithAuthenticator(login(func(string) (acl.Claims, error) {
		asked++
		return acl.Claims{}, fail()
	})))
	_, cred := k.Credential("acme", kernel.RoleOwner)
	for name, tc := range map[string]struct {
		fail   func() error
		target error
		result kernel.AuditResult
		reason string
	}{
		"refuses":   {func() error { return fmt.Errorf("no such user: %w", kernel.ErrUnauthenticated) }, kernel.ErrUnauthenticated, "denied", "unknown"},
		"is down":   {func() error { return errors.New("directory does not answer") }, kernel.ErrUnavailable, "error", "unavailable"},
		"panics":    {func() error { panic("ouch") }, kernel.ErrUnavailable, "error", "unavailable"},
		"times out": {func() error { return context.DeadlineExceeded }, kernel.ErrUnavailable, "error", "unavailable"},
	} {
		fail = tc.fail
		k.RequireAudit(t, "authenticate", tc.result, func() {
			id, err := k.Authenticate(t.Context(), "token")
			require.ErrorIs(t, err, tc.target, name)
			require.True(t, id.IsZero())
		}, "reason="+tc.reason)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	fail = func() error {
		cancel()
		return cancelled.Err()
	}
	k.RequireAudit(t, "authenticate", "error", func() {
		require.ErrorIs(t, second(k.Authenticate(cancelled, "token")), context.Canceled)
	}, "reason=cancelled")
	before := asked
	must(k.Authenticate(t.Context(), cred.Secret))
	require.Equal(t, before, asked, "the kernel's own keys are no business of the host's login")
}
