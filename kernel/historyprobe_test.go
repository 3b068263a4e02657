package kernel_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
)

// A page of a history is asked for like the first one: who does not see the memory learns
// nothing, and the audit log says what was tried.
func TestHistoryPageOfInvisibleMemory(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	ctx := t.Context()
	dana, eve := k.Key("acme/eng", kernel.RoleMember), k.Key("acme/sales", kernel.RoleMember)
	id := must(k.Write(ctx, dana, kernel.WriteRequest{Text: "The vault code is 7."})).Stored[0]
	var missing kernel.ID
	missing[0] = 1
	for _, after := range []*kernel.Memory{nil, {}, {ID: id}, {ID: missing}} {
		k.RequireAudit(t, "history", "denied", func() {
			reply, err := k.History(ctx, eve, kernel.HistoryRequest{ID: id, After: after})
			require.ErrorIs(t, err, kernel.ErrNotFound)
			require.Nil(t, reply)
		}, "reason=not_found")
		k.RequireAudit(t, "history", "miss", func() {
			_, err := k.History(ctx, eve, kernel.HistoryRequest{ID: missing, After: after})
			require.ErrorIs(t, err, kernel.ErrNotFound)
		}, "reason=not_found")
	}
	k.RequireAudit(t, "history", "ok", func() {
		reply := must(k.History(ctx, dana, kernel.HistoryRequest{ID: id, After: &kernel.Memory{ID: id}}))
		require.Empty(t, reply.Memories, "nothing follows the last page")
		require.False(t, reply.More)
	})
}
