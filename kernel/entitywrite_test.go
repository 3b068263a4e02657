package kernel_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
)

// linked counts the links of a memory, and all entities.
func linked(t *testing.T, k *kerneltest.Kit, id kernel.ID) (links, entities int) {
	t.Helper()
	return sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM memkernel.memory_entities WHERE memory_id = $1`, id.String()),
		sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM memkernel.entity_registry`)
}

// TestWritesSayWhomTheyName: a name is linked to the entity that the writer's own namespace or an
// ancestor knows by it, and is a new one where nobody above does.
func TestWritesSayWhomTheyName(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	root, eng, sales := k.Key("acme", kernel.RoleMember), k.Key("acme/eng", kernel.RoleMember), k.Key("acme/sales", kernel.RoleMember)
	ofRoot := name(t, k, root, "Ada Quill runs the kiln.")
	require.Equal(t, ofRoot, name(t, k, eng, "Ada Quill fired a second batch."), "the parent's")
	inEng := name(t, k, eng, "Bo Tern glazes on Fridays.")
	require.NotEqual(t, inEng, name(t, k, sales, "Bo Tern sells on Fridays."), "a sibling's namesake is somebody else")
	require.Equal(t, inEng, name(t, k, eng, "Bo Tern was late."))
}

// TestWritesWithNamesAreWrites: names change nothing in what becomes of a text.
func TestWritesWithNamesAreWrites(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	dana := k.Key("acme/eng", kernel.RoleMember)
	ctx := t.Context()
	first := must(k.Write(ctx, dana, kernel.WriteRequest{Text: "Ada Quill runs the kiln."})).Stored[0]
	links, entities := linked(t, k, first)
	require.Equal(t, []int{1, 1}, []int{links, entities})
	again := must(k.Write(ctx, dana, kernel.WriteRequest{Text: "  ada quill RUNS the kiln. "}))
	require.Equal(t, []kernel.ID{first}, again.Deduplicated, "the annotation is no part of what a text says")

	next := must(k.Write(ctx, dana, kernel.WriteRequest{Text: "Ada Quill runs both kilns.", Supersedes: first}))
	links, entities = linked(t, k, next.Stored[0])
	require.Equal(t, []int{1, 1}, []int{links, entities})

	text := "The oven is off. [entities: Ada Quill]"
	id := must(k.Write(ctx, dana, kernel.WriteRequest{Text: text})).Stored[0]
	require.Equal(t, text, must(k.Read(ctx, dana, kernel.ReadRequest{ID: id})).Memory.Text, "text that looks like one is text")

	rollback := errors.New("no")
	require.ErrorIs(t, pgx.BeginFunc(ctx, k.Pool, func(tx pgx.Tx) error {
		must(k.WithTx(tx).Write(ctx, dana, kernel.WriteRequest{Text: "Cy Vole keeps the books."}))
		return rollback
	}), rollback)
	_, entities = linked(t, k, first)
	require.Equal(t, 1, entities)
}

// TestWritesNameOnePersonAtOnce: of many writers that bring up the same name one makes the entity,
// and all of them are linked to it.
func TestWritesNameOnePersonAtOnce(t *testing.T) {
	t.Parallel()
	const n = 24
	k := kerneltest.Open(t)
	dana := k.Key("acme/eng", kernel.RoleMember)
	together(n, func(i int) {
		_, err := k.Write(t.Context(), dana, kernel.WriteRequest{Text: fmt.Sprintf("Ada Quill and Bo Tern fired batch %d.", i)})
		if err != nil {
			t.Error(err)
		}
	})
	require.Equal(t, 2, sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM memkernel.entity_registry`))
	require.Equal(t, 2*n, sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM memkernel.memory_entities`))
}
