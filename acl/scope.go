package acl

import "slices"

// Scope is the one value that says what a call may see. Every store method that reads
// memory takes one and compiles it into its SQL. It is immutable, its zero value sees
// nothing, and no Scope sees everything. It is made by [Identity.Scope] only.
type Scope struct {
	tenant     string
	namespaces []string
}

// IsZero reports whether the scope sees nothing.
func (s Scope) IsZero() bool { return s.tenant == "" }

// Tenant returns the tenant all of the scope lies in, "" for the zero Scope.
func (s Scope) Tenant() string { return s.tenant }

// Namespaces returns a copy of the visible namespaces, root first; nil for the zero Scope.
func (s Scope) Namespaces() []string { return slices.Clone(s.namespaces) }

// Sees reports whether a memory in namespace n is visible.
func (s Scope) Sees(n Namespace) bool { return slices.Contains(s.namespaces, n.String()) }
