package kernel_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/internal/pgtest"
	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
)

// poolSizes are the pools that races run on: the default, and so small that a call which
// wanted a second connection while it holds one would wait for itself.
var poolSizes = []int32{0, 1, 2}

// openPool returns a kernel on a pool of n connections, 0 for the default.
func openPool(t *testing.T, n int32) *kerneltest.Kit {
	t.Helper()
	var opts []pgtest.Option
	if n > 0 {
		opts = append(opts, pgtest.WithMaxConns(n))
	}
	return kerneltest.OpenOn(t, pgtest.Open(t, opts...))
}

// together runs n calls at once and returns when all have.
func together(n int, call func(i int)) {
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-start
			call(i)
		})
	}
	close(start)
	wg.Wait()
}

// auditRows counts the audit rows of an operation by result.
func auditRows(k *kerneltest.Kit, op kernel.Op) map[kernel.AuditResult]int {
	out := map[kernel.AuditResult]int{}
	for _, e := range k.Audit() {
		if e.Op == op {
			out[e.Result]++
		}
	}
	return out
}

func TestRaceSupersedeDifferentTexts(t *testing.T) {
	t.Parallel()
	for _, size := range poolSizes {
		t.Run(fmt.Sprint("pool of ", size), func(t *testing.T) {
			t.Parallel()
			k := openPool(t, size)
			const n = 64
			dana := k.Key("acme/eng", kernel.RoleMember)
			first, err := k.Write(t.Context(), dana, kernel.WriteRequest{Text: "The limit is 0."})
			require.NoError(t, err)
			var replies [n]*kernel.WriteReply
			var errs [n]error
			together(n, func(i int) {
				replies[i], errs[i] = k.Write(t.Context(), dana, kernel.WriteRequest{
					Text: fmt.Sprintf("The limit is %d.", i+1), Supersedes: first.Stored[0],
				})
			})
			replaced := map[kernel.ID]kernel.ID{} // predecessor to successor
			won := 0
			for i, err := range errs {
				if err != nil {
					require.ErrorIs(t, err, kernel.ErrConflict)
					continue
				}
				won++
				require.Len(t, replies[i].Stored, 1)
				require.Len(t, replies[i].Superseded, 1)
				require.NotContains(t, replaced, replies[i].Superseded[0], "two replies replaced one memory")
				replaced[replies[i].Superseded[0]] = replies[i].Stored[0]
			}
			rows := auditRows(k, "write")
			require.Equal(t, won+1, rows["ok"])
			require.Equal(t, n-won, rows["error"])

			// One line from the first to the only head, through every stored memory.
			hist, err := k.History(t.Context(), dana, kernel.HistoryRequest{ID: first.Stored[0]})
			require.NoError(t, err)
			require.Len(t, hist.Memories, won+1)
			byID := map[kernel.ID]kernel.Memory{}
			for _, m := range hist.Memories {
				byID[m.ID] = m
			}
			at := first.Stored[0]
			for range won {
				next, ok := replaced[at]
				require.True(t, ok, "the chain breaks")
				require.Equal(t, at, byID[next].Supersedes)
				require.True(t, byID[next].ValidFrom.Equal(byID[at].ValidTo))
				at = next
			}
			require.True(t, byID[at].ValidTo.IsZero(), "the last one is current")
			requireSound(t, k.Pool)
		})
	}
}

func TestRaceSupersedeSameText(t *testing.T) {
	t.Parallel()
	for _, size := range poolSizes {
		t.Run(fmt.Sprint("pool of ", size), func(t *testing.T) {
			t.Parallel()
			k := openPool(t, size)
			const n = 64
			dana := k.Key("acme/eng", kernel.RoleMember)
			first, err := k.Write(t.Context(), dana, kernel.WriteRequest{Text: "The limit is 10."})
			require.NoError(t, err)
			var replies [n]*kernel.WriteReply
			together(n, func(i int) {
				var err error
				replies[i], err = k.Write(t.Context(), dana, kernel.WriteRequest{Text: "The limit is 20.", Supersedes: first.Stored[0]})
				if err != nil {
					t.Error(err)
				}
			})
			require.False(t, t.Failed())
			var stored, same []kernel.ID
			for _, r := range replies {
				stored = append(stored, r.Stored...)
				same = append(same, r.Deduplicated...)
			}
			require.Len(t, stored, 1)
			require.Len(t, same, n-1)
			for _, id := range same {
				require.Equal(t, stored[0], id)
			}
			require.Equal(t, map[kernel.AuditResult]int{"ok": n + 1}, auditRows(k, "write"))
			require.Equal(t, 2, sqlValue[int](t, k.Pool, `SELECT count(*) FROM memkernel.memory_objects`))
			requireSound(t, k.Pool)
		})
	}
}

// TestRaceSupersedeRetractDuplicate lets everything that can happen to one memory happen to
// it at once, over and over.
func TestRaceSupersedeRetractDuplicate(t *testing.T) {
	t.Parallel()
	for _, size := range poolSizes {
		t.Run(fmt.Sprint("pool of ", size), func(t *testing.T) {
			t.Parallel()
			k := openPool(t, size)
			const rounds, each = 12, 6
			dana := k.Key("acme/eng", kernel.RoleMember)
			calls := map[kernel.Op]int{}
			for round := range rounds {
				text := fmt.Sprintf("Round %d is on.", round)
				first, err := k.Write(t.Context(), dana, kernel.WriteRequest{Text: text})
				require.NoError(t, err)
				id := first.Stored[0]
				var mu sync.Mutex
				retracted, already := 0, 0
				together(3*each, func(i int) {
					var err error
					switch i % 3 {
					case 0:
						_, err = k.Write(t.Context(), dana, kernel.WriteRequest{Text: fmt.Sprintf("Round %d moves to %d.", round, i), Supersedes: id})
					case 1:
						var r *kernel.RetractReply
						r, err = k.Retract(t.Context(), dana, kernel.RetractRequest{ID: id})
						mu.Lock()
						if err == nil && r.Already {
							already++
						} else if err == nil {
							retracted++
						}
						mu.Unlock()
					default:
						// Says the same: a duplicate while the memory is believed, else a new one.
						_, err = k.Write(t.Context(), dana, kernel.WriteRequest{Text: text})
					}
					if err != nil && !isConflict(err) {
						t.Error(err)
					}
				})
				calls["write"] += 2*each + 1
				calls["retract"] += each
				require.LessOrEqual(t, retracted, 1, "a memory is retracted once")
				if already > 0 {
					require.Equal(t, 1, retracted)
				}
				require.Zero(t, sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM memkernel.memory_objects AS m WHERE NOT EXISTS (
					SELECT FROM memkernel.memory_vectors AS v WHERE v.id = m.id)`), "stored without a vector")
				requireSound(t, k.Pool)
			}
			for op, n := range calls {
				rows := auditRows(k, op)
				require.Equal(t, n, rows["ok"]+rows["error"], op)
				require.Len(t, rows, min(len(rows), 2), "only ok and error")
			}
		})
	}
}
