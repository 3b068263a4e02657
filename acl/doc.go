// Package acl decides who may do what and see what: namespaces and the ancestor rule, roles
// and the table of operations, identities and scopes.
//
// It is pure: no I/O, no clock, nothing of the database. An [Identity] can be made only
// inside this module, a [Scope] only from an identity, and the zero value of either is
// nobody and sees nothing. The package must never offer a value that sees everything.
package acl
