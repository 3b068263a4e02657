package kernel_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
)

// TestHistoryOrder: newest first is the order in which memories replaced each other, also
// when they did so in the same instant or under a clock that went backwards, on one page or
// on many.
func TestHistoryOrder(t *testing.T) {
	t.Parallel()
	for name, step := range map[string]time.Duration{"standing": 0, "running": time.Second, "backwards": -time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := kerneltest.Open(t)
			dana := k.Key("acme/eng", kernel.RoleMember)
			chain := must(k.Write(t.Context(), dana, kernel.WriteRequest{Text: "The count is 0."})).Stored
			for i := range 20 {
				k.Clock.Advance(step)
				r := must(k.Write(t.Context(), dana, kernel.WriteRequest{Text: fmt.Sprintf("The count is %d.", i+1), Supersedes: chain[0]}))
				chain = append(r.Stored, chain...)
			}
			for _, limit := range []int{0, 7, 1} {
				var got []kernel.ID
				req := kernel.HistoryRequest{ID: chain[3], Limit: limit}
				for {
					page := must(k.History(t.Context(), dana, req))
					for _, m := range page.Memories {
						got = append(got, m.ID)
					}
					if !page.More {
						break
					}
					req.After = &page.Memories[len(page.Memories)-1]
				}
				require.Equal(t, chain, got, "pages of %d", limit)
			}
		})
	}
}
