package store_test

import (
	"crypto/rand"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/internal/store"
	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/kernel/model/hashing"
	"github.com/memkernel/memkernel/queries"
	"github.com/memkernel/memkernel/writepath/entity"
)

func freshID() mem.ID {
	id, err := mem.NewID(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), rand.Reader)
	if err != nil {
		panic(err)
	}
	return id
}

func openStore(k *kerneltest.Kit) *store.Store {
	return store.New(k.Pool, hashing.New().Info(), store.AppendOptions{MaxGroup: 1, Timeout: time.Minute})
}

// known reads what a scope may mean by the names of a text.
func known(t *testing.T, k *kerneltest.Kit, scope acl.Scope, text string) []entity.Entity {
	t.Helper()
	var found []store.Entity
	var names store.EntityNames
	require.NoError(t, queries.Pipeline(t.Context(), k.Pool, openStore(k).KnownEntities(scope, entity.Recognise(text), &found, &names)...))
	return store.JoinEntities(found, names)
}

// remember writes a text, which links what it names, and returns the links.
func remember(t *testing.T, k *kerneltest.Kit, who kernel.Identity, text string) []entity.Link {
	t.Helper()
	links := entity.Resolve(entity.Recognise(text), known(t, k, who.Scope(), text))
	rep, err := k.Write(t.Context(), who, kernel.WriteRequest{Text: text})
	require.NoError(t, err)
	steps := openStore(k).LinkEntities(who, k.Clock.Now(), []store.Named{{Memory: rep.Stored[0], Links: links}}, freshID)
	require.NoError(t, queries.Pipeline(t.Context(), k.Pool, steps...), "again adds nothing")
	return links
}

func count(t *testing.T, k *kerneltest.Kit, sql string) int {
	t.Helper()
	var n int
	require.NoError(t, k.Pool.QueryRow(t.Context(), sql).Scan(&n))
	return n
}

// A name is known where it is seen and nowhere else; siblings have an entity each.
func TestEntitiesKeepToTheirNamespace(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	top, eng, sales, db := k.Key("acme", kernel.RoleMember), k.Key("acme/eng", kernel.RoleMember), k.Key("acme/sales", kernel.RoleMember), k.Key("acme/eng/db", kernel.RoleMember)
	const text = "My manager is Ada Lovelace."
	require.True(t, remember(t, k, eng, text)[0].IsNew())
	require.True(t, remember(t, k, sales, text)[0].IsNew(), "a sibling's is not known")
	require.True(t, remember(t, k, top, "We hired Grace Hopper.")[0].IsNew())
	require.Equal(t, 3, count(t, k, `SELECT count(*) FROM memkernel.entity_registry`))

	below := remember(t, k, db, "Ada Lovelace met G. Hopper.")
	require.Len(t, below, 2)
	require.Equal(t, entity.SameName, below[0].Reason)
	require.Equal(t, entity.Initials, below[1].Reason)
	require.Equal(t, 3, count(t, k, `SELECT count(*) FROM memkernel.entity_registry`), "linked, not made")
	require.Equal(t, 1, count(t, k, `SELECT count(*) FROM memkernel.entity_aliases WHERE NOT derived AND namespace = 'acme/eng/db' AND alias_key = 'g hopper'`))
	require.Zero(t, count(t, k, `SELECT count(*) FROM memkernel.entity_aliases WHERE NOT derived AND namespace <> 'acme/eng/db'`), "what a child learns stays there")

	for scope, want := range map[*acl.Scope]int{ptr(top.Scope()): 0, ptr(eng.Scope()): 1, ptr(sales.Scope()): 1, ptr(db.Scope()): 1, {}: 0} {
		require.Len(t, known(t, k, *scope, text), want)
		var page []store.Entity
		require.NoError(t, queries.Pipeline(t.Context(), k.Pool, openStore(k).EntityPage(*scope, &store.EntityFilter{Limit: 100}, &page)))
		for _, e := range page {
			require.True(t, scope.Sees(e.Namespace))
		}
	}
	names, err := openStore(k).EntityAliases(t.Context(), top.Scope(), []mem.ID{below[1].Entity})
	require.NoError(t, err)
	require.Empty(t, names, "a parent does not see the names its child uses")
	names, err = openStore(k).EntityAliases(t.Context(), db.Scope(), []mem.ID{below[1].Entity})
	require.NoError(t, err)
	require.Len(t, names[below[1].Entity], 1)
}

func ptr[T any](v T) *T { return &v }

// A link to what the writer does not see, or of what is not there, undoes the write.
func TestLinkEntitiesRefuses(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	eng, sales := k.Key("acme/eng", kernel.RoleMember), k.Key("acme/sales", kernel.RoleMember)
	ada := remember(t, k, eng, "I met Ada Lovelace.")
	id := known(t, k, eng.Scope(), "I met Ada Lovelace.")[0].ID
	rep, err := k.Write(t.Context(), sales, kernel.WriteRequest{Text: "Something."})
	require.NoError(t, err)
	foreign := ada[0]
	foreign.Entity = id
	s := openStore(k)
	require.Error(t, queries.Pipeline(t.Context(), k.Pool, s.LinkEntities(sales, k.Clock.Now(), []store.Named{{Memory: rep.Stored[0], Links: []entity.Link{foreign}}}, freshID)...))
	require.Error(t, queries.Pipeline(t.Context(), k.Pool, s.LinkEntities(eng, k.Clock.Now(), []store.Named{{Memory: rep.Stored[0], Links: []entity.Link{foreign}}}, freshID)...), "a sibling's memory")
	require.Error(t, queries.Pipeline(t.Context(), k.Pool, s.LinkEntities(eng, k.Clock.Now(), []store.Named{{Memory: freshID(), Links: ada}}, freshID)...), "no memory")
	require.Equal(t, 1, count(t, k, `SELECT count(*) FROM memkernel.memory_entities`))
	require.Equal(t, 1, count(t, k, `SELECT count(*) FROM memkernel.entity_registry`))
}

// Many writers meet the same new names at once: one entity each.
func TestLinkEntitiesAtOnce(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	who := k.Key("acme", kernel.RoleMember)
	var wg sync.WaitGroup
	errs := make([]error, 16)
	for i := range errs {
		rep, err := k.Write(t.Context(), who, kernel.WriteRequest{Text: "Text number " + string(rune('a'+i))})
		require.NoError(t, err)
		names := []string{"I met Ada Lovelace and Grace Hopper in Berlin.", "Berlin charmed us, Grace Hopper and Ada Lovelace too."}
		links := entity.Resolve(entity.Recognise(names[i%2]), nil)
		require.Len(t, links, 3)
		wg.Go(func() {
			errs[i] = queries.Pipeline(t.Context(), k.Pool, openStore(k).LinkEntities(who, k.Clock.Now(), []store.Named{{Memory: rep.Stored[0], Links: links}}, freshID)...)
		})
	}
	wg.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	require.Equal(t, 3, count(t, k, `SELECT count(*) FROM memkernel.entity_registry`))
	require.Equal(t, 48, count(t, k, `SELECT count(*) FROM memkernel.memory_entities`))
}

// The database refuses what only an erasure or a merge may do, whoever asks.
func TestEntityGuards(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	who := k.Key("acme", kernel.RoleMember)
	remember(t, k, who, "I met Ada Lovelace in Berlin.")
	remember(t, k, who, "A. Lovelace was there.")
	for _, sql := range []string{
		`UPDATE memkernel.entity_registry SET name = 'x'`, `UPDATE memkernel.entity_registry SET namespace = 'acme/eng'`,
		`UPDATE memkernel.entity_registry AS e SET merged_into = (SELECT o.id FROM memkernel.entity_registry AS o WHERE o.id <> e.id LIMIT 1)`,
		`DELETE FROM memkernel.entity_registry`, `TRUNCATE memkernel.entity_registry CASCADE`,
		`UPDATE memkernel.entity_aliases SET name = 'x'`, `DELETE FROM memkernel.entity_aliases WHERE derived`, `DELETE FROM memkernel.entity_aliases WHERE NOT derived`,
		`UPDATE memkernel.memory_entities SET surface = 'x'`, `DELETE FROM memkernel.memory_entities`, `TRUNCATE memkernel.memory_entities`,
		`UPDATE memkernel.entity_merges SET actor = 'x'`, `DELETE FROM memkernel.entity_merges`, `TRUNCATE memkernel.entity_merges`,
		`INSERT INTO memkernel.entity_merges (tenant, id, entity_id, namespace, into_id, created_at, actor)
			SELECT tenant, gen_random_uuid(), id, namespace, gen_random_uuid(), now(), 'x' FROM memkernel.entity_registry LIMIT 1`,
	} {
		_, err := k.Pool.Exec(t.Context(), sql)
		require.Error(t, err, sql)
	}
	// An erasure takes the links of its memory along, and what nobody names any more.
	_, err := k.Pool.Exec(t.Context(), `
		WITH gone AS (SELECT id, namespace FROM memkernel.memory_objects WHERE text LIKE 'I met%')
		INSERT INTO memkernel.tombstones (tenant, memory_id, namespace, erased_at, erased_by) SELECT 'acme', id, namespace, now(), 'x' FROM gone`)
	require.NoError(t, err)
	_, err = k.Pool.Exec(t.Context(), `DELETE FROM memkernel.memory_objects WHERE text LIKE 'I met%'`)
	require.Error(t, err, "another transaction's tombstone")
	tx, err := k.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(t.Context()) }()
	_, err = tx.Exec(t.Context(), `INSERT INTO memkernel.tombstones (tenant, memory_id, namespace, erased_at, erased_by)
		SELECT 'acme', id, namespace, now(), 'x' FROM memkernel.memory_objects WHERE text LIKE 'A. L%'`)
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), `DELETE FROM memkernel.memory_objects WHERE text LIKE 'A. L%'`)
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), `DELETE FROM memkernel.entity_aliases WHERE NOT derived`)
	require.NoError(t, err)
	require.NoError(t, tx.Commit(t.Context()))
	require.Equal(t, 2, count(t, k, `SELECT count(*) FROM memkernel.memory_entities`))
	require.Zero(t, count(t, k, `SELECT count(*) FROM memkernel.entity_aliases WHERE NOT derived`))
}
