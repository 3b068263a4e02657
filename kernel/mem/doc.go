// Package mem holds the value types and errors that every other package speaks in. It is a
// leaf: no I/O, no clock, nothing of the database. Package kernel re-exports its names by
// alias, so a host imports it only to implement an interface of this module.
package mem
