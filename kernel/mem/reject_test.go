package mem_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel/mem"
)

func TestRejectReasonsAreAClosedList(t *testing.T) {
	t.Parallel()
	seen := map[mem.RejectReason]bool{}
	for _, r := range mem.RejectReasons() {
		require.True(t, r.Valid(), r)
		require.False(t, seen[r], "%s is listed twice", r)
		seen[r] = true
	}
	require.Len(t, seen, 10)
	require.False(t, mem.RejectReason("").Valid(), "no reason is not a reason")
	require.False(t, mem.RejectReason("Empty").Valid())
}
