package store

import (
	"slices"

	"github.com/memkernel/memkernel/kernel/mem"
)

// rivals are what stands in the place of a memory that is to be activated: at most one copy of its
// text, and one that is about the same thing.
type rivals struct {
	// beaten end in its favour: an older one that is about the same thing, and a copy of less trust.
	beaten []mem.ID
	// same is a copy that it is a duplicate of. newer is a later one about the same thing: what comes
	// after its successor changes nothing.
	same, newer mem.ID
	// expired have no end on record.
	expired []mem.ID
}

// rivals says how the memory that may be activated stands to those in its place, but for what is
// about to be closed anyway.
func (s *settling) rivals(closing []mem.ID) *rivals {
	var r rivals
	for _, t := range s.twins {
		id := mem.ID(t.ID)
		outranked := mem.Provenance(t.Provenance).Rank() < mem.Provenance(t.OwnProvenance).Rank()
		switch {
		case t.Expired:
			r.expired = append(r.expired, id)
		case slices.Contains(closing, id):
		case t.SameText && !outranked:
			r.same = id
		case t.SameText, t.Older:
			r.beaten = append(r.beaten, id)
		default:
			r.newer = id
		}
	}
	if !r.newer.IsZero() {
		r.beaten, r.same = nil, mem.ID{}
	}
	return &r
}

// activate makes a memory active, and ends what it beats. If another takes its place, it is closed
// in that one's favour: by tells which. The end of one that has expired is put on record first.
func (s *settling) activate(id mem.ID, r *rivals) (by mem.ID) {
	for _, beaten := range r.beaten {
		s.close(beaten, id)
	}
	for _, by := range []mem.ID{r.newer, r.same} {
		if !by.IsZero() {
			s.close(id, by)
			return by
		}
	}
	for _, gone := range r.expired {
		s.steps = append(s.steps, expire(s.tenant, s.ns, s.place, gone, s.now)...)
		s.rowsDelta, s.lengthDelta = s.rowsDelta-1, s.lengthDelta-s.rows[gone].length
	}
	s.setStatus(id, mem.StatusActive)
	return mem.ID{}
}
