// Package mint holds the token that the constructor of acl.Identity asks for. Only this
// module can import it, so only this module can make an identity. It must never grow a way
// for a token to leave the module.
package mint

// Token proves that its holder is code of this module, and tells one issuer of identities
// from another. The zero value proves nothing, so a token conjured up by reflection does not
// help. Tokens are comparable: equal ones are of one issuer.
type Token struct{ issuer *issuer }

// issuer is not empty, so that every one has an address of its own.
type issuer struct{ _ byte }

// New returns the token of a new issuer.
func New() Token { return Token{issuer: &issuer{}} }

// Valid reports whether the token came from New.
func (t Token) Valid() bool { return t.issuer != nil }
