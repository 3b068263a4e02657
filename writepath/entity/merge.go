package entity

import (
	"errors"
	"fmt"

	"github.com/memkernel/memkernel/kernel/mem"
)

// Merge is a row of the merge log: that one entity turned out to be another, or that an
// earlier row was wrong.
type Merge struct {
	ID mem.ID
	// From is the entity that was merged away, Into the one that it is said to be.
	From, Into mem.ID
	// Reverses is the row that this one takes back, zero for a merge.
	Reverses mem.ID
}

// Why a row cannot be added to a merge log; compare with errors.Is.
var (
	// ErrSameEntity reports a merge of an entity into itself.
	ErrSameEntity = errors.New("an entity cannot be merged into itself")
	// ErrMerged reports a merge of an entity that has been merged already.
	ErrMerged = errors.New("the entity has been merged already")
	// ErrCycle reports a merge into an entity that is part of the one to be merged.
	ErrCycle = errors.New("the entities are one already")
	// ErrNotMerged reports a split that takes back no merge that is in force.
	ErrNotMerged = errors.New("no such merge is in force")
)

// Merges is the state that a merge log leaves: for each entity what it has been merged into.
//
// A merge in force is one arrow, from the entity to another. Nothing else about either changes,
// neither names nor links, and no arrow is drawn anew because of another. So a split, which
// takes one arrow away, leaves exactly what would be there if that merge had never been, and
// all other merges as they are: those before it and those after it, into either of the two and
// out of the second. What an entity is now is found by following the arrows. An entity has at
// most one, and following them always ends.
//
// The zero value is the state of an empty log. It is not safe for concurrent use.
type Merges struct {
	into map[mem.ID]Merge
}

// Replay returns the state that a log leaves, or the error of the first row that does not fit
// the rows before it.
func Replay(log []Merge) (*Merges, error) {
	m := &Merges{}
	for _, row := range log {
		if err := m.Apply(row); err != nil {
			return nil, fmt.Errorf("merge %s: %w", row.ID, err)
		}
	}
	return m, nil
}

// Root returns what an entity is now: itself if it has not been merged.
func (m *Merges) Root(id mem.ID) mem.ID {
	for {
		row, ok := m.into[id]
		if !ok {
			return id
		}
		id = row.Into
	}
}

// Of returns the merge in force by which an entity was merged away; false if there is none.
func (m *Merges) Of(id mem.ID) (Merge, bool) {
	row, ok := m.into[id]
	return row, ok
}

// Len returns the number of merges in force.
func (m *Merges) Len() int { return len(m.into) }

// Apply adds a row, or returns why it does not fit and changes nothing. A row that is applied
// twice does not fit the second time.
func (m *Merges) Apply(row Merge) error {
	if !row.Reverses.IsZero() {
		old, ok := m.into[row.From]
		if !ok || old.ID != row.Reverses || old.Into != row.Into {
			return ErrNotMerged
		}
		delete(m.into, row.From)
		return nil
	}
	if row.From == row.Into {
		return ErrSameEntity
	}
	if _, ok := m.into[row.From]; ok {
		return ErrMerged
	}
	if m.Root(row.Into) == row.From {
		return ErrCycle
	}
	if m.into == nil {
		m.into = map[mem.ID]Merge{}
	}
	m.into[row.From] = row
	return nil
}
