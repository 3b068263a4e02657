package lexical

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
)

// keepSlots bounds the table that goes back to the pool.
const keepSlots = 1 << 18

// tally sums scores per row: an open-addressing table from row id to a place in rows.
// A Go map keyed by 16 bytes takes about three times as long.
type tally struct {
	slots []int32 // place in rows plus one, 0 when free; a power of two
	shift int
	rows  []row
}

type row struct {
	id     [16]byte
	score  int64
	tokens int32
}

// reset prepares for at most n rows.
func (t *tally) reset(n int) {
	size := 1 << max(4, bits.Len(uint(n)*2-1))
	if cap(t.slots) < size || cap(t.slots) > keepSlots {
		t.slots = make([]int32, size)
	} else {
		t.slots = t.slots[:size]
		clear(t.slots)
	}
	t.shift = 64 - bits.TrailingZeros(uint(size))
	t.rows = t.rows[:0]
}

func (t *tally) add(p *Posting, score int64) {
	hi, lo := binary.LittleEndian.Uint64(p.ID[:8]), binary.LittleEndian.Uint64(p.ID[8:])
	// A multiplication by 2^64 divided by the golden ratio spreads what both halves hold
	// over the top bits, which pick the slot.
	at := int(((hi ^ bits.RotateLeft64(lo, 29)) * 0x9E3779B97F4A7C15) >> t.shift) //nolint:gosec // fits by the shift
	for mask := len(t.slots) - 1; ; at = (at + 1) & mask {
		i := t.slots[at]
		if i == 0 {
			t.rows = append(t.rows, row{id: p.ID, score: score, tokens: p.Tokens})
			t.slots[at] = int32(len(t.rows)) //nolint:gosec // fewer than the postings that fit in memory
			return
		}
		if r := &t.rows[i-1]; r.id == p.ID {
			r.score += score
			return
		}
	}
}

// top returns the best rows, best first.
func (t *tally) top(limit int) []Scored {
	rows := t.rows
	if len(rows) == 0 {
		return nil
	}
	if limit > 0 && limit < len(rows) {
		selectTop(rows, limit)
		rows = rows[:limit]
	}
	slices.SortFunc(rows, func(x, y row) int { return order(&x, &y) })
	out := make([]Scored, len(rows))
	for i := range rows {
		out[i] = Scored{ID: rows[i].id, Score: float64(rows[i].score) / fixed, Tokens: rows[i].tokens}
	}
	return out
}

// order is negative when x ranks before y: higher score first, then lower id.
func order(x, y *row) int {
	switch {
	case x.score > y.score:
		return -1
	case x.score < y.score:
		return 1
	}
	return bytes.Compare(x.id[:], y.id[:])
}

// selectTop moves the best n rows to the front, in no order, through a heap whose root is
// the worst of them: one comparison for each row that does not get in.
func selectTop(rows []row, n int) {
	heap := rows[:n]
	for i := n/2 - 1; i >= 0; i-- {
		sink(heap, i)
	}
	for i := n; i < len(rows); i++ {
		if order(&rows[i], &heap[0]) < 0 {
			heap[0], rows[i] = rows[i], heap[0]
			sink(heap, 0)
		}
	}
}

// sink restores the heap below i.
func sink(heap []row, i int) {
	for {
		child := 2*i + 1
		if child >= len(heap) {
			return
		}
		if other := child + 1; other < len(heap) && order(&heap[other], &heap[child]) > 0 {
			child = other
		}
		if order(&heap[child], &heap[i]) <= 0 {
			return
		}
		heap[i], heap[child] = heap[child], heap[i]
		i = child
	}
}
