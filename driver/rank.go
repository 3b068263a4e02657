package driver

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/memkernel/memkernel/kernel/mem"
)

// Scored is a row with what a plan is made by.
type Scored struct {
	Ref    mem.ID
	Score  mem.Score
	Tokens int
}

// NewPlan makes a plan of scored rows, each ref once: best first with the ref as the tie-break,
// cut to q.K, and of these greedily what fits into q.TokenBudget, the best in any case. It
// takes rows over: what is in them afterwards is undefined.
func NewPlan(q Query, rows []Scored) Plan {
	rows = best(rows, max(q.K, 0))
	items := make([]Ranked, 0, len(rows))
	tokens := 0
	for i, r := range rows {
		if i > 0 && q.TokenBudget > 0 && tokens+r.Tokens > q.TokenBudget {
			continue
		}
		tokens += r.Tokens
		items = append(items, Ranked{Ref: r.Ref, Score: r.Score})
	}
	return Plan{Items: items}
}

func before(a, b Scored) int {
	return cmp.Or(cmp.Compare(b.Score, a.Score), bytes.Compare(a.Ref[:], b.Ref[:]))
}

// best returns the best k rows in order. Few of many are picked out, which spares sorting all.
func best(rows []Scored, k int) []Scored {
	const many = 8
	if k == 0 || len(rows) < many*k {
		slices.SortFunc(rows, before)
		return rows[:min(len(rows), k)]
	}
	slices.SortFunc(rows[:k], before)
	for i := k; i < len(rows); i++ {
		r := rows[i]
		if before(r, rows[k-1]) > 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(rows[:k], r, before)
		copy(rows[at+1:k], rows[at:k-1])
		rows[at] = r
	}
	return rows[:k]
}
