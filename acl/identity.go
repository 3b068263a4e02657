package acl

import (
	"time"

	"github.com/memkernel/memkernel/internal/mint"
)

// Identity says who calls. The kernel resolves it from a credential; nobody else can make
// or alter one. It is an immutable value, safe to copy and to share between goroutines.
// The zero Identity is nobody: every syscall refuses it.
type Identity struct {
	claims Claims
	issuer mint.Token
}

// Claims is what an identity is made from. Holding one proves nothing.
type Claims struct {
	// Namespace is where the caller writes, and whose ancestors it reads.
	Namespace Namespace
	// Actor names the person or program, for example "user:dana".
	Actor string
	// Role says which operations the caller may use.
	Role Role
	// KeyID is the identifier of the kernel's own key, "" when the host authenticated the
	// caller. A key is looked up again on every call, so its revocation takes effect at once.
	KeyID string
	// AgentID names the agent or transport that calls, for example "http".
	AgentID string
	// Provenance is the highest trust class that the caller's writes can have.
	Provenance string
	// ExpiresAt ends the identity; the zero time means never.
	ExpiresAt time.Time
}

// NewIdentity makes an identity. Its first argument is of an internal type, so only this
// module can call it; with a token or claims that are not valid it returns the zero Identity.
func NewIdentity(token mint.Token, claims Claims) Identity {
	if !token.Valid() || claims.Namespace.IsZero() || !claims.Role.Valid() {
		return Identity{}
	}
	return Identity{claims: claims, issuer: token}
}

// IssuedWith reports whether the identity was made with this very token. A kernel takes the
// word of a host's login only from its own: what another kernel's authenticator vouched for
// means nothing to it.
func IssuedWith(token mint.Token, id Identity) bool { return token.Valid() && id.issuer == token }

// IsZero reports whether the identity is nobody.
func (id Identity) IsZero() bool { return id.claims.Namespace.IsZero() }

// Namespace returns where the caller writes.
func (id Identity) Namespace() Namespace { return id.claims.Namespace }

// Tenant returns the first segment of the namespace.
func (id Identity) Tenant() string { return id.claims.Namespace.Tenant() }

// Actor returns the name of the person or program.
func (id Identity) Actor() string { return id.claims.Actor }

// Role returns the caller's role.
func (id Identity) Role() Role { return id.claims.Role }

// KeyID returns the identifier of the caller's key, "" for a caller that the host authenticated.
func (id Identity) KeyID() string { return id.claims.KeyID }

// AgentID returns the name of the agent or transport.
func (id Identity) AgentID() string { return id.claims.AgentID }

// Provenance returns the highest trust class of the caller's writes.
func (id Identity) Provenance() string { return id.claims.Provenance }

// ExpiresAt returns when the identity ends, the zero time for never.
func (id Identity) ExpiresAt() time.Time { return id.claims.ExpiresAt }

// Principal names the caller for what belongs to a caller rather than to a namespace, such
// as idempotency keys and rate limits: the key, or else the actor.
func (id Identity) Principal() string {
	if id.claims.KeyID != "" {
		return "key:" + id.claims.KeyID
	}
	// No namespace contains or ends in what separates the two, so they cannot run into each other.
	return "actor:" + id.claims.Namespace.String() + "//" + id.claims.Actor
}

// Scope returns what the identity may read: its namespace and the ancestors of it.
func (id Identity) Scope() Scope {
	if id.IsZero() {
		return Scope{}
	}
	ancestors := id.claims.Namespace.Ancestors()
	paths := make([]string, len(ancestors))
	for i, n := range ancestors {
		paths[i] = n.String()
	}
	return Scope{tenant: id.Tenant(), namespaces: paths}
}
