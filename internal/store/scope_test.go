package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/driver"
	"github.com/memkernel/memkernel/internal/store"
	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/kernel/model/hashing"
	"github.com/memkernel/memkernel/queries"
)

// filters is the ordinary search and one of every kind that takes the statements with
// conditions.
var filters = map[string]store.Filter{
	"none": {}, "ended": {Ended: true}, "as of": {AsOf: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)}, "kinds": {Kinds: []mem.Kind{"fact"}},
	"from": {From: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)}, "to": {To: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)},
}

// reach returns every memory that any way into the store shows under a scope, asked for all
// of them by name.
func reach(t *testing.T, k *kerneltest.Kit, scope acl.Scope, ids []mem.ID) map[mem.ID]bool {
	t.Helper()
	ctx := t.Context()
	s := store.New(k.Pool, hashing.New().Info(), store.AppendOptions{MaxGroup: 1, Timeout: time.Minute})
	seen := map[mem.ID]bool{}
	for name, filter := range filters {
		view := s.NewView(ctx, store.ViewConfig{Scope: scope, Filter: filter, Embed: embedOne})
		embedding, err := view.Driver().Embed(ctx, "the beacon")
		require.NoError(t, err)
		words, err := view.Driver().Candidates(ctx, driver.CandidateQuery{Text: "the beacon", Limit: 100})
		require.NoError(t, err, name)
		recent, err := view.Driver().Candidates(ctx, driver.CandidateQuery{Limit: 100})
		require.NoError(t, err, name)
		near, err := view.Driver().Vector(ctx, driver.VectorQuery{Embedding: embedding, Limit: 100, Detail: true})
		require.NoError(t, err, name)
		for _, c := range append(append(words, recent...), near...) {
			seen[c.Ref] = true
		}
		view.Close()
		served, err := s.Serve(ctx, scope, &filter, ids)
		require.NoError(t, err, name)
		for id := range served {
			seen[id] = true
		}
	}
	for _, id := range ids {
		var found store.Found
		var page store.Page
		steps := append(s.Find(scope, acl.Namespace{}, id, time.Time{}, time.Time{}, &found), s.History(scope, acl.Namespace{}, id, mem.ID{}, 10, time.Time{}, &page)...)
		require.NoError(t, queries.Pipeline(ctx, k.Pool, steps...))
		if found.Memory != nil {
			seen[found.Memory.ID] = true
		}
		for i := range page.Memories {
			seen[page.Memories[i].ID] = true
		}
	}
	return seen
}

func embedOne(ctx context.Context, text string) ([]float32, error) {
	vectors, err := hashing.New().Embed(ctx, []string{text})
	if err != nil {
		return nil, err
	}
	return vectors[0], nil
}

// A scope shows its own namespaces by every way in, the second look at what a driver
// proposes included, and the zero scope shows nothing.
func TestStoreKeepsToItsScope(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	byPath := map[string]mem.ID{}
	var ids []mem.ID
	who := map[string]kernel.Identity{}
	for _, path := range []string{"acme", "acme/eng", "acme/sales", "acme/eng/db", "globex"} {
		who[path] = k.Key(path, kernel.RoleMember)
		rep, err := k.Write(t.Context(), who[path], kernel.WriteRequest{Text: "The beacon is green."})
		require.NoError(t, err)
		byPath[path] = rep.Stored[0]
		ids = append(ids, rep.Stored[0])
	}
	require.Equal(t, map[mem.ID]bool{byPath["acme"]: true, byPath["acme/eng"]: true}, reach(t, k, who["acme/eng"].Scope(), ids))
	require.Equal(t, map[mem.ID]bool{byPath["globex"]: true}, reach(t, k, who["globex"].Scope(), ids))
	require.Empty(t, reach(t, k, acl.Scope{}, ids))

	s := store.New(k.Pool, hashing.New().Info(), store.AppendOptions{MaxGroup: 1, Timeout: time.Minute})
	var kinds []store.KindStats
	var log store.AuditStats
	require.NoError(t, queries.Pipeline(t.Context(), k.Pool, s.Stats(acl.Scope{}, acl.Namespace{}, time.Time{}, &kinds, &log)...))
	require.Empty(t, kinds)
	require.Zero(t, log)
	for path := range byPath {
		_, err := s.LatestPolicy(t.Context(), acl.Scope{}, acl.Namespace{}, kerneltest.Namespace(t, path))
		require.ErrorIs(t, err, mem.ErrNotFound)
	}
	keys, err := s.ListKeys(t.Context(), acl.Namespace{}, "", mem.ID{}, 100)
	require.NoError(t, err)
	require.Empty(t, keys)
}
