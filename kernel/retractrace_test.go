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

// Of equal retractions at once, one ends the memory and the others say that it has ended.
func TestRetractAtOnce(t *testing.T) {
	t.Parallel()
	k := kerneltest.OpenOn(t, pgtest.Open(t, pgtest.WithMaxConns(8)))
	who := k.Key("acme/eng", kernel.RoleMember)
	for i := range 10 {
		id := must(k.Write(t.Context(), who, kernel.WriteRequest{Text: fmt.Sprintf("Fact %d.", i)})).Stored[0]
		const callers = 4
		var replies [callers]*kernel.RetractReply
		var errs [callers]error
		var wg sync.WaitGroup
		for j := range callers {
			wg.Go(func() { replies[j], errs[j] = k.Retract(t.Context(), who, kernel.RetractRequest{ID: id}) })
		}
		wg.Wait()
		first := 0
		for j := range callers {
			require.NoError(t, errs[j])
			if !replies[j].Already {
				first++
			}
		}
		require.Equal(t, 1, first)
	}
}
