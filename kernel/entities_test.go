package kernel_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/writepath/entity"
)

// name writes a text and returns the first entity that it names.
func name(t *testing.T, k *kerneltest.Kit, who kernel.Identity, text string) kernel.ID {
	t.Helper()
	rep, err := k.Write(t.Context(), who, kernel.WriteRequest{Text: text})
	require.NoError(t, err)
	return must(mem.ParseID(sqlValue[string](t, k.Pool, `SELECT entity_id::text FROM memkernel.memory_entities
		WHERE memory_id = $1 AND surface = $2`, rep.Stored[0].String(), entity.Recognise(text)[0].Surface)))
}

func entityNames(t *testing.T, k *kerneltest.Kit, who kernel.Identity, req kernel.ListEntitiesRequest) []string {
	t.Helper()
	out := []string{}
	for e, err := range k.Entities().List(t.Context(), who, req) {
		require.NoError(t, err)
		out = append(out, e.Namespace.String()+" "+e.Name)
	}
	return out
}

// mention has a memory of each namespace name all entities at home there.
func mention(t *testing.T, k *kerneltest.Kit, namespaces ...string) {
	t.Helper()
	for _, ns := range namespaces {
		id := must(k.Write(t.Context(), k.Key(ns, kernel.RoleMember), kernel.WriteRequest{Text: "so many names"})).Stored[0]
		sqlExec(t, k.Pool, `INSERT INTO memkernel.memory_entities (tenant, memory_id, entity_id, namespace, surface)
			SELECT e.tenant, $1, e.id, e.namespace, e.name FROM memkernel.entity_registry AS e WHERE e.namespace = $2`, id.String(), ns)
	}
}

// What a caller does not see is not there: in no list, by no id and by no name.
func TestEntitiesAreSeenFromBelow(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	ctx := t.Context()
	at := map[string]kernel.Identity{}
	for _, path := range []string{"acme", "acme/eng", "acme/engineering", "acme/sales", "umbrella"} {
		at[path] = k.Key(path, kernel.RoleOwner)
	}
	ids := map[string]kernel.ID{}
	for _, path := range []string{"acme/eng", "acme/sales", "umbrella"} {
		ids[path] = name(t, k, at[path], "I met Ada Lovelace.")
	}
	ids["acme"] = name(t, k, at["acme"], "I met Grace Hopper.")
	require.Equal(t, []string{"acme/eng Ada Lovelace", "acme Grace Hopper"}, entityNames(t, k, at["acme/eng"], kernel.ListEntitiesRequest{}))
	require.Equal(t, []string{"acme Grace Hopper"}, entityNames(t, k, at["acme/engineering"], kernel.ListEntitiesRequest{}))
	require.Equal(t, []string{"acme Grace Hopper"}, entityNames(t, k, at["acme"], kernel.ListEntitiesRequest{}))
	require.Equal(t, []string{"umbrella Ada Lovelace"}, entityNames(t, k, at["umbrella"], kernel.ListEntitiesRequest{Type: "person"}))
	require.Empty(t, entityNames(t, k, at["umbrella"], kernel.ListEntitiesRequest{Type: "place"}))

	for _, path := range []string{"acme", "acme/engineering"} {
		for _, req := range []kernel.GetEntityRequest{{ID: ids["acme/eng"]}, {ID: someID()}, {Name: "Ada Lovelace"}, {Name: "Nobody Known"}} {
			k.RequireAudit(t, "entity_get", "miss", func() {
				_, err := k.Entities().Get(ctx, at[path], req)
				require.Equal(t, &kernel.OpError{Op: "entity_get", Err: kernel.ErrNotFound}, err)
			})
		}
	}
	for _, req := range []kernel.GetEntityRequest{{ID: ids["acme/sales"]}, {Name: "dr. ada lovelace"}, {Name: "Lovelace"}, {Name: "Ada"}} {
		k.RequireAudit(t, "entity_get", "ok", func() {
			rep := must(k.Entities().Get(ctx, at["acme/sales"], req))
			require.Equal(t, ids["acme/sales"], rep.Entity.ID, "%v", req)
			require.Equal(t, rep.Entity, rep.Current)
			require.Empty(t, rep.Others)
		}, "entity="+ids["acme/sales"].String())
	}
	// A child's name for its parent's entity is the child's.
	require.Equal(t, ids["acme"], name(t, k, at["acme/eng"], "I called G. Hopper."))
	require.Equal(t, []string{"G. Hopper"}, must(k.Entities().Get(ctx, at["acme/eng"], kernel.GetEntityRequest{Name: "Grace Hopper"})).Entity.Aliases)
	require.Empty(t, must(k.Entities().Get(ctx, at["acme"], kernel.GetEntityRequest{Name: "Grace Hopper"})).Entity.Aliases)
	_, err := k.Entities().Get(ctx, at["acme"], kernel.GetEntityRequest{})
	require.ErrorIs(t, err, kernel.ErrInvalid)
	_, err = drain(k.Entities().List(ctx, at["acme"], kernel.ListEntitiesRequest{Type: "alien"}))
	require.ErrorIs(t, err, kernel.ErrInvalid)
}

func TestEntitiesMergeAndSplit(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	ctx := t.Context()
	top, eng, sales := k.Key("acme", kernel.RoleOwner), k.Key("acme/eng", kernel.RoleAdmin), k.Key("acme/sales", kernel.RoleOwner)
	hopper := name(t, k, top, "I met Grace Hopper.")
	amazing := name(t, k, eng, "She goes by Gracie Murray.")
	third := name(t, k, eng, "I met Jean Sammet.")
	theirs := name(t, k, sales, "I met Bob Builder.")
	merge := func(who kernel.Identity, id, into kernel.ID) (*kernel.MergeEntitiesReply, error) {
		return k.Entities().Merge(ctx, who, kernel.MergeEntitiesRequest{ID: id, Into: into})
	}
	for name, c := range map[string]struct {
		who      kernel.Identity
		id, into kernel.ID
		want     error
		result   kernel.AuditResult
	}{
		"a parent's, altered by a child": {eng, hopper, amazing, kernel.ErrForbidden, "denied"},
		"a sibling's":                    {eng, theirs, amazing, kernel.ErrNotFound, "miss"},
		"into a sibling's":               {eng, amazing, theirs, kernel.ErrNotFound, "miss"},
		"missing":                        {eng, someID(), amazing, kernel.ErrNotFound, "miss"},
		"into a missing":                 {eng, amazing, someID(), kernel.ErrNotFound, "miss"},
		"into itself":                    {eng, amazing, amazing, kernel.ErrInvalid, "error"},
		"down":                           {top, hopper, amazing, kernel.ErrInvalid, "error"},
		"across":                         {top, theirs, amazing, kernel.ErrInvalid, "error"},
	} {
		k.RequireAudit(t, "entity_merge", c.result, func() {
			_, err := merge(c.who, c.id, c.into)
			require.ErrorIs(t, err, c.want, name)
		})
	}
	_, missing := merge(eng, someID(), amazing)
	_, hidden := merge(eng, theirs, amazing)
	require.Equal(t, missing, hidden)

	before := entityNames(t, k, eng, kernel.ListEntitiesRequest{})
	k.RequireAudit(t, "entity_merge", "ok", func() { require.False(t, must(merge(eng, amazing, hopper)).Already) }, "entity="+amazing.String(), "into="+hopper.String())
	k.RequireAudit(t, "entity_merge", "ok", func() { require.True(t, must(merge(eng, amazing, hopper)).Already) })
	_, err := merge(eng, amazing, third)
	require.ErrorIs(t, err, kernel.ErrConflict)
	rep := must(k.Entities().Get(ctx, eng, kernel.GetEntityRequest{Name: "Gracie Murray"}))
	require.Equal(t, amazing, rep.Entity.ID)
	require.Equal(t, hopper, rep.Current.ID)
	require.Equal(t, []string{"acme Grace Hopper", "acme/eng Jean Sammet"}, entityNames(t, k, eng, kernel.ListEntitiesRequest{}))
	require.Len(t, entityNames(t, k, eng, kernel.ListEntitiesRequest{Merged: true}), 3)

	// A later merge into the same one stays when the first is split, from above too.
	require.False(t, must(merge(eng, third, hopper)).Already)
	_, err = k.Entities().Split(ctx, sales, kernel.SplitEntityRequest{ID: amazing})
	require.ErrorIs(t, err, kernel.ErrNotFound)
	_, err = k.Entities().Split(ctx, eng, kernel.SplitEntityRequest{ID: hopper})
	require.ErrorIs(t, err, kernel.ErrForbidden)
	k.RequireAudit(t, "entity_split", "ok", func() {
		require.Equal(t, hopper, must(k.Entities().Split(ctx, top, kernel.SplitEntityRequest{ID: amazing})).From)
	})
	require.True(t, must(k.Entities().Split(ctx, eng, kernel.SplitEntityRequest{ID: amazing})).Already)
	require.Equal(t, []string{"acme Grace Hopper", "acme/eng Gracie Murray"}, entityNames(t, k, eng, kernel.ListEntitiesRequest{}))
	require.False(t, must(k.Entities().Split(ctx, eng, kernel.SplitEntityRequest{ID: third})).Already)
	require.Equal(t, before, entityNames(t, k, eng, kernel.ListEntitiesRequest{}))
	require.False(t, must(merge(eng, amazing, hopper)).Already, "merged once more")
	requireSound(t, k.Pool)
}

// Concurrent merges never close a circle.
func TestEntitiesMergeAtOnce(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	who := k.Key("acme", kernel.RoleOwner)
	var ids []kernel.ID
	for _, text := range []string{"I met Ada Lovelace.", "I met Grace Hopper.", "I met Alan Turing.", "I met Kurt Gödel."} {
		ids = append(ids, name(t, k, who, text))
	}
	for range 5 {
		var wg sync.WaitGroup
		errs := make([]error, len(ids))
		for i := range ids {
			wg.Go(func() {
				_, errs[i] = k.Entities().Merge(t.Context(), who, kernel.MergeEntitiesRequest{ID: ids[i], Into: ids[(i+1)%len(ids)]})
			})
		}
		wg.Wait()
		failed := slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err == nil })
		require.Len(t, failed, 1)
		require.ErrorIs(t, failed[0], kernel.ErrConflict)
		require.Len(t, entityNames(t, k, who, kernel.ListEntitiesRequest{}), 1)
		for _, id := range ids {
			_, err := k.Entities().Split(t.Context(), who, kernel.SplitEntityRequest{ID: id})
			require.NoError(t, err)
		}
		require.Len(t, entityNames(t, k, who, kernel.ListEntitiesRequest{}), 4)
	}
}

// A long list comes in pages, in order and once, and ends with its caller.
func TestEntitiesListPages(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	ctx := t.Context()
	who, cred := k.Credential("acme/eng", kernel.RoleMember)
	sqlExec(t, k.Pool, `INSERT INTO memkernel.entity_registry (tenant, id, namespace, canonical_key, name, type, created_at, actor)
		SELECT 'acme', gen_random_uuid(), (ARRAY['acme', 'acme/eng', 'acme/sales'])[1 + g % 3], 'name ' || g / 6, 'Name ' || g, (ARRAY['person', 'other'])[1 + g / 3 % 2], now(), 'x'
		FROM generate_series(0, 1799) AS g`)
	mention(t, k, "acme", "acme/eng", "acme/sales")
	names := entityNames(t, k, who, kernel.ListEntitiesRequest{})
	require.Len(t, names, 1200)
	require.Len(t, slices.Compact(slices.Sorted(slices.Values(names))), 1200)
	for _, n := range names {
		require.NotContains(t, n, "acme/sales")
	}
	list := k.Entities().List(ctx, who, kernel.ListEntitiesRequest{})
	_, err := k.Keys().Revoke(ctx, k.Key("acme", kernel.RoleOwner), kernel.RevokeKeyRequest{ID: cred.Key.ID})
	require.NoError(t, err)
	n, err := drain(list)
	require.Equal(t, 500, n)
	require.ErrorIs(t, err, kernel.ErrUnauthenticated)
}
