package entity

import (
	"slices"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/kernel/mem"
)

// Registry resolves the mentions of texts that are written one after the other: what one is the
// first to name is known to the next, and so is a name that one has taught. It is not safe for
// concurrent use.
type Registry struct {
	x    *index
	home acl.Namespace
}

// NewRegistry returns a registry of what a caller sees, for texts that the caller writes in home.
func NewRegistry(known []Entity, home acl.Namespace) *Registry {
	return &Registry{x: newIndex(known), home: home}
}

// Resolve is the function Resolve for the next text, or for what was one text before it was taken
// apart: a name that is new in several parts is one entity, and what one of them spells out explains
// the others. It gives new entities ids from newID, which their links have in NewID.
func (r *Registry) Resolve(parts [][]Mention, newID func() mem.ID) [][]Link {
	before := len(r.x.known)
	links := r.x.resolveAll(parts)
	for at := before; at < len(r.x.known); at++ {
		e := &r.x.known[at]
		e.ID, e.Namespace = newID(), r.home
		r.x.settle(at)
	}
	for _, part := range links {
		for i := range part {
			l := &part[i]
			if l.IsNew() {
				at := slices.IndexFunc(r.x.known[before:], func(e Entity) bool { return e.Key == l.Key && e.Type == l.Type })
				l.NewID = r.x.known[before+at].ID
			}
			if l.Learns() {
				r.x.learn(l.Entity, Alias{Name: l.Mention.Surface, Key: CanonicalKey(l.Mention.Surface), Namespace: r.home})
			}
		}
	}
	return links
}
