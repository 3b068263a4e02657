package driver_test

import (
	"bytes"
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/driver"
	"github.com/memkernel/memkernel/kernel/mem"
)

func TestNewPlan(t *testing.T) {
	t.Parallel()
	rows := func(rows ...[3]int) []driver.Scored {
		var out []driver.Scored
		for _, r := range rows {
			out = append(out, driver.Scored{Ref: mem.ID{byte(r[0])}, Score: mem.Score(r[1]), Tokens: r[2]})
		}
		return out
	}
	for _, tc := range []struct {
		name string
		q    driver.Query
		rows []driver.Scored
		want []byte
	}{
		{"nothing", driver.Query{K: 10}, nil, nil},
		{"best first", driver.Query{K: 10}, rows([3]int{1, 1, 1}, [3]int{2, 3, 1}, [3]int{3, 2, 1}), []byte{2, 3, 1}},
		{"the ref decides a tie", driver.Query{K: 10}, rows([3]int{9, 1, 1}, [3]int{3, 1, 1}, [3]int{5, 1, 1}), []byte{3, 5, 9}},
		{"k", driver.Query{K: 2}, rows([3]int{1, 1, 1}, [3]int{2, 3, 1}, [3]int{3, 2, 1}), []byte{2, 3}},
		{"no k", driver.Query{}, rows([3]int{1, 1, 1}), nil},
		{"what does not fit is left out", driver.Query{K: 3, TokenBudget: 5}, rows([3]int{1, 3, 3}, [3]int{2, 2, 3}, [3]int{3, 1, 2}), []byte{1, 3}},
		{"the best is kept though it is over", driver.Query{K: 3, TokenBudget: 1}, rows([3]int{1, 3, 3}, [3]int{2, 2, 3}), []byte{1}},
		{"k counts before the budget", driver.Query{K: 2, TokenBudget: 5}, rows([3]int{1, 3, 3}, [3]int{2, 2, 3}, [3]int{3, 1, 2}), []byte{1}},
	} {
		var got []byte
		for _, it := range driver.NewPlan(tc.q, tc.rows).Items {
			got = append(got, it.Ref[0])
		}
		require.Equal(t, tc.want, got, tc.name)
	}
}

// TestNewPlanOfMany: picking few of many is the same as sorting all.
func TestNewPlanOfMany(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 1))
	for _, k := range []int{1, 2, 10, 99, 100, 1000} {
		rows := make([]driver.Scored, 800)
		for i := range rows {
			rows[i] = driver.Scored{Ref: mem.ID{byte(r.UintN(256)), byte(i), byte(i >> 8)}, Score: mem.Score(r.IntN(50))}
		}
		all := slices.Clone(rows)
		slices.SortFunc(all, func(a, b driver.Scored) int {
			return cmp.Or(cmp.Compare(b.Score, a.Score), bytes.Compare(a.Ref[:], b.Ref[:]))
		})
		items := driver.NewPlan(driver.Query{K: k}, rows).Items
		require.Len(t, items, min(k, len(all)))
		for i, it := range items {
			require.Equal(t, driver.Ranked{Ref: all[i].Ref, Score: all[i].Score}, it, "place %d of %d", i, k)
		}
	}
}
