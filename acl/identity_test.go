package acl_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/internal/mint"
)

func claims(tb testing.TB, path string) acl.Claims {
	tb.Helper()
	return acl.Claims{
		Namespace: parse(tb, path), Actor: "user:dana", Role: acl.RoleMember, KeyID: "k1", AgentID: "http",
		Provenance: "manual", ExpiresAt: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC),
	}
}

func requireNobody(tb testing.TB, id acl.Identity) {
	tb.Helper()
	require.True(tb, id.IsZero())
	require.Equal(tb, acl.Identity{}, id)
	require.True(tb, id.Namespace().IsZero())
	require.Empty(tb, id.Tenant())
	require.False(tb, id.Role().Valid())
	require.True(tb, id.Scope().IsZero())
}

func TestNewIdentity(t *testing.T) {
	t.Parallel()
	c := claims(t, "acme/eng")
	id := acl.NewIdentity(mint.New(), c)
	require.False(t, id.IsZero())
	require.Equal(t, c, acl.Claims{
		Namespace: id.Namespace(), Actor: id.Actor(), Role: id.Role(), KeyID: id.KeyID(), AgentID: id.AgentID(),
		Provenance: id.Provenance(), ExpiresAt: id.ExpiresAt(),
	})
	require.Equal(t, "acme", id.Tenant())
}

func TestNewIdentityRefusesBadClaims(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*acl.Claims){
		"no namespace": func(c *acl.Claims) { c.Namespace = acl.Namespace{} },
		"no role":      func(c *acl.Claims) { c.Role = "" },
		"unknown role": func(c *acl.Claims) { c.Role = "root" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := claims(t, "acme")
			spoil(&c)
			requireNobody(t, acl.NewIdentity(mint.New(), c))
		})
	}
}

// Code outside the module cannot name the token's type, but reflection can make its zero value.
func TestNewIdentityRefusesConjuredToken(t *testing.T) {
	t.Parallel()
	constructor := reflect.ValueOf(acl.NewIdentity)
	token := reflect.Zero(constructor.Type().In(0))
	out := constructor.Call([]reflect.Value{token, reflect.ValueOf(claims(t, "acme"))})
	id, ok := out[0].Interface().(acl.Identity)
	require.True(t, ok)
	requireNobody(t, id)
	require.False(t, token.Type().Field(0).IsExported(), "the token can be filled in by reflection")
}

// Neither a decoder nor reflection gets into an identity or a scope.
func TestIdentityAndScopeAreSealed(t *testing.T) {
	t.Parallel()
	for _, typ := range []reflect.Type{reflect.TypeFor[acl.Identity](), reflect.TypeFor[acl.Scope]()} {
		for i := range typ.NumField() {
			require.False(t, typ.Field(i).IsExported(), "%s.%s", typ, typ.Field(i).Name)
		}
		for i := range reflect.PointerTo(typ).NumMethod() {
			// A method with a pointer receiver could change the value.
			name := reflect.PointerTo(typ).Method(i).Name
			_, onValue := typ.MethodByName(name)
			require.True(t, onValue, "%s.%s takes a pointer", typ, name)
		}
	}
	id := acl.NewIdentity(mint.New(), claims(t, "acme/eng"))
	before := id
	forged := []byte(`{"claims":{"Namespace":"globex","Role":"owner"},"Claims":{"Namespace":"globex"},"Namespace":"globex"}`)
	var nobody acl.Identity
	for _, target := range []any{&id, &nobody} {
		require.NoError(t, json.Unmarshal(forged, target))
	}
	require.Equal(t, before, id)
	requireNobody(t, nobody)
}

func TestScope(t *testing.T) {
	t.Parallel()
	id := acl.NewIdentity(mint.New(), claims(t, "acme/eng/platform"))
	scope := id.Scope()
	require.False(t, scope.IsZero())
	require.Equal(t, "acme", scope.Tenant())
	want := []string{"acme", "acme/eng", "acme/eng/platform"}
	require.Equal(t, want, scope.Namespaces())

	// What it hands out is a copy, each time.
	got := scope.Namespaces()
	got[0], got[1] = "globex", "acme/sales"
	_ = append(got[:1], "acme/sales")
	require.Equal(t, want, scope.Namespaces())
	require.False(t, scope.Sees(parse(t, "globex")))
	require.True(t, scope.Sees(parse(t, "acme/eng")))
	require.False(t, scope.Sees(parse(t, "acme/eng/platform/db")))

	ancestors := id.Namespace().Ancestors()
	ancestors[0] = parse(t, "globex")
	require.Equal(t, want, id.Scope().Namespaces())
}

func TestZeroScopeSeesNothing(t *testing.T) {
	t.Parallel()
	var zero acl.Scope
	require.True(t, zero.IsZero())
	require.Empty(t, zero.Tenant())
	require.Empty(t, zero.Namespaces())
	for _, n := range []acl.Namespace{{}, parse(t, "acme"), parse(t, "-")} {
		require.False(t, zero.Sees(n))
		require.False(t, acl.Identity{}.Scope().Sees(n))
	}
	id := acl.NewIdentity(mint.New(), claims(t, "acme"))
	require.False(t, id.Scope().Sees(acl.Namespace{}), "no namespace is in no scope")
}

// Two callers that the host authenticated never share what belongs to one caller, however
// their names run into each other.
func TestPrincipal(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, c := range [][3]string{
		{"acme", "x:y", ""},
		{"acme:x", "y", ""},
		{"acme", "/x", ""},
		{"acme/x", "", ""},
		{"acme/x", "y", ""},
		{"acme", "x/y", ""},
		{"acme", "x//y", ""},
		{"acme", "y", "k1"},
		{"acme", "y", "k2"},
		{"key:k1", "", ""},
		{"k1", "y", ""},
	} {
		cl := claims(t, c[0])
		cl.Actor, cl.KeyID = c[1], c[2]
		p := acl.NewIdentity(mint.New(), cl).Principal()
		require.Empty(t, seen[p], "%q is also the principal of %v", p, c)
		seen[p] = c[0] + " " + c[1] + " " + c[2]
	}
}
