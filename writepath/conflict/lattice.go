package conflict

import (
	"bytes"
	"cmp"
	"time"

	"github.com/memkernel/memkernel/kernel/mem"
)

// Compare orders two memories by who wins a contradiction: negative if a loses to b, positive
// if a wins, 0 only if both have the same id, rank and times. Rank comes first, then recency;
// see CompareRecency. It is a total order, pure, and does not look at the text.
func Compare(a, b *mem.Memory) int {
	return cmp.Or(cmp.Compare(a.Provenance.Rank(), b.Provenance.Rank()), CompareRecency(a, b))
}

// CompareRecency orders two memories by how late they are: by the event time, or the assertion
// time where the event time is unknown, then by the assertion time, then by the id. Times are
// compared as instants of a microsecond, which is what the database keeps. It is a total order
// and pure.
func CompareRecency(a, b *mem.Memory) int {
	return cmp.Or(
		instant(happened(a)).Compare(instant(happened(b))),
		instant(a.AssertionTime).Compare(instant(b.AssertionTime)),
		bytes.Compare(a.ID[:], b.ID[:]),
	)
}

// Beats reports whether a wins a contradiction with b. Never both of a and b beat each other,
// and a memory does not beat itself.
func Beats(a, b *mem.Memory) bool { return Compare(a, b) > 0 }

func happened(m *mem.Memory) time.Time {
	if m.EventTime.IsZero() {
		return m.AssertionTime
	}
	return m.EventTime
}

func instant(t time.Time) time.Time { return t.Truncate(time.Microsecond) }

// apart reports that both memories say when they were so, from when to when, and that the
// times do not meet: then both can be true. An end is not part of its interval.
func apart(a, b *mem.Memory) bool {
	if a.EventTime.IsZero() || b.EventTime.IsZero() || a.EventEnd.IsZero() || b.EventEnd.IsZero() {
		return false
	}
	return !a.EventEnd.After(b.EventTime) || !b.EventEnd.After(a.EventTime)
}

// otherTime reports that both memories are dated, and differently.
func otherTime(a, b *mem.Memory) bool {
	return !a.EventTime.IsZero() && !b.EventTime.IsZero() && !sameTime(a, b)
}

// sameTime reports that both memories are of one time, or that neither says of which.
func sameTime(a, b *mem.Memory) bool {
	return instant(a.EventTime).Equal(instant(b.EventTime)) && instant(a.EventEnd).Equal(instant(b.EventEnd))
}
