package kernel_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
)

func TestSmoke(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	ctx := t.Context()
	require.NoError(t, k.Ready(ctx))
	dana := k.Key("acme/eng/platform", kernel.RoleMember)
	w, err := k.Write(ctx, dana, kernel.WriteRequest{Text: "The deploy window is Tuesday 10:00 UTC."})
	require.NoError(t, err)
	require.Len(t, w.Stored, 1)
	again, err := k.Write(ctx, dana, kernel.WriteRequest{Text: "the deploy window is  tuesday 10:00 UTC."})
	require.NoError(t, err)
	require.Equal(t, w.Stored, again.Deduplicated)
	got, err := k.Read(ctx, dana, kernel.ReadRequest{ID: w.Stored[0]})
	require.NoError(t, err)
	require.Equal(t, "The deploy window is Tuesday 10:00 UTC.", got.Memory.Text)
	found, err := k.Search(ctx, dana, kernel.SearchRequest{Query: "when can we deploy?"})
	require.NoError(t, err)
	require.Len(t, found.Items, 1)
	require.Equal(t, "fusion", found.Driver)
	next, err := k.Write(ctx, dana, kernel.WriteRequest{Text: "The deploy window is Thursday 09:00 UTC.", Supersedes: w.Stored[0]})
	require.NoError(t, err)
	require.Equal(t, w.Stored, next.Superseded)
	hist, err := k.History(ctx, dana, kernel.HistoryRequest{ID: w.Stored[0]})
	require.NoError(t, err)
	require.Len(t, hist.Memories, 2)
	found, err = k.Search(ctx, dana, kernel.SearchRequest{Query: "when can we deploy?"})
	require.NoError(t, err)
	require.Len(t, found.Items, 1)
	require.Equal(t, next.Stored[0], found.Items[0].Memory.ID)
	found, err = k.Search(ctx, dana, kernel.SearchRequest{Query: "when can we deploy?", IncludeSuperseded: true})
	require.NoError(t, err)
	require.Len(t, found.Items, 2)
	_, err = k.Retract(ctx, dana, kernel.RetractRequest{ID: next.Stored[0], Reason: "cancelled"})
	require.NoError(t, err)
	found, err = k.Search(ctx, dana, kernel.SearchRequest{Query: "when can we deploy?"})
	require.NoError(t, err)
	require.Empty(t, found.Items)
	st, err := k.Stats(ctx, dana, kernel.StatsRequest{})
	require.NoError(t, err)
	t.Logf("%+v", st)
	owner := k.Key("acme", kernel.RoleOwner)
	for e, err := range k.AuditSearch(ctx, owner, kernel.AuditSearchRequest{}) {
		require.NoError(t, err)
		t.Log(e.Seq, e.Namespace, e.Actor, e.Op, e.Result, e.Purpose, e.Detail)
	}
}
