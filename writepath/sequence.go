package writepath

import (
	"bytes"
	"maps"
	"slices"

	"github.com/memkernel/memkernel/kernel/mem"
)

// Sequence plans writes of one caller that are looked at together and committed together: each as if
// those before it had been committed before it was looked at. None of them may name what it replaces.
type Sequence struct {
	counts bool
	// stored and handedOut are what the writes so far have stored, and have asked for once more.
	stored, handedOut map[[32]byte]mem.ID
}

// NewSequence returns a sequence without writes. counts reports that what a duplicate repeats
// counts as asked for, and so as handed out.
func NewSequence(counts bool) *Sequence {
	return &Sequence{counts: counts, stored: map[[32]byte]mem.ID{}, handedOut: map[[32]byte]mem.ID{}}
}

// Says reports whether a text, of which the state is given, has been said by the writes so far or
// before them.
func (s *Sequence) Says(d *Draft, st *State) bool {
	decisions, _, err := s.look([]*Draft{d}, st)
	return err == nil && len(decisions) == 1 && !decisions[0].Action.Stores()
}

// Plan is the function Plan for the next write. A write that fails, or is a replay, leaves nothing
// for those after it.
func (s *Sequence) Plan(drafts []*Draft, st *State) (decisions []Decision, replay bool, err error) {
	decisions, replay, err = s.look(drafts, st)
	for i, dec := range decisions {
		switch {
		case dec.Action.Stores() && drafts[i].Held: // and so no duplicate is one of it
		case dec.Action.Stores():
			s.stored[drafts[i].DedupeKey] = drafts[i].ID
		case dec.Action == Duplicate && s.counts:
			s.handedOut[drafts[i].DedupeKey] = dec.Memory
		}
	}
	return decisions, replay, err
}

func (s *Sequence) look(drafts []*Draft, st *State) (decisions []Decision, replay bool, err error) {
	own := *st
	own.Standings = slices.Clone(st.Standings)
	for i, d := range drafts[:min(len(drafts), len(own.Standings))] {
		if id, ok := s.stored[d.DedupeKey]; ok {
			own.Standings[i].Duplicate, own.Standings[i].DuplicateProvenance = id, d.Provenance // of one caller
		}
	}
	if len(s.handedOut) > 0 {
		own.HandedOut = maps.Clone(s.handedOut)
		for key, id := range st.HandedOut { // of several that say it the newest, as it is looked up
			if mine, ok := own.HandedOut[key]; !ok || bytes.Compare(mine[:], id[:]) < 0 {
				own.HandedOut[key] = id
			}
		}
	}
	return Plan(drafts, &own)
}
