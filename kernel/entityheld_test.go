package kernel_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/mem"
)

// requireNoName says that nobody hears of an entity: by no list, by no name and by no id.
func (c *contested) requireNoName(t *testing.T, id kernel.ID, names ...string) {
	t.Helper()
	child := c.Key(quarrel+"/db", kernel.RoleAdmin)
	for _, who := range []kernel.Identity{c.dana, c.admin, child} {
		for _, merged := range []bool{false, true} {
			for _, listed := range entityNames(t, c.Kit, who, kernel.ListEntitiesRequest{Merged: merged}) {
				for _, name := range names {
					require.NotContains(t, listed, name)
				}
			}
		}
		_, missing := c.Entities().Get(t.Context(), who, kernel.GetEntityRequest{ID: someID()})
		_, err := c.Entities().Get(t.Context(), who, kernel.GetEntityRequest{ID: id})
		require.Equal(t, missing, err)
		for _, name := range append(names, strings.ToUpper(names[0])) {
			_, err := c.Entities().Get(t.Context(), who, kernel.GetEntityRequest{Name: name})
			require.Equal(t, missing, err, name)
		}
	}
	_, missing := c.Entities().Split(t.Context(), child, kernel.SplitEntityRequest{ID: someID()})
	_, err := c.Entities().Split(t.Context(), child, kernel.SplitEntityRequest{ID: id})
	require.Equal(t, missing, err)
}

// entityOf returns the entity that a memory names so.
func (c *contested) entityOf(t *testing.T, id kernel.ID, surface string) kernel.ID {
	t.Helper()
	return must(mem.ParseID(sqlValue[string](t, c.Pool, `SELECT entity_id::text FROM memkernel.memory_entities
		WHERE memory_id = $1 AND surface = $2`, id.String(), surface)))
}

// TestNamesOfHeldMemories: a name is nobody's to know before a memory that has it is in sight.
func TestNamesOfHeldMemories(t *testing.T) {
	t.Parallel()
	c := newHolding(t, kernel.Policy{})
	ctx := t.Context()
	id := c.held(t, c.agent, kernel.WriteRequest{Text: "I met Zorblax Quimby."})
	quimby := c.entityOf(t, id, "Zorblax Quimby")
	c.requireNoName(t, quimby, "Zorblax Quimby", "Quimby")
	// Another that is held does not change that, nor does one elsewhere; they name the same.
	other := c.held(t, c.agent, kernel.WriteRequest{Text: "I called Zorblax Quimby."})
	require.Equal(t, quimby, c.entityOf(t, other, "Zorblax Quimby"))
	name(t, c.Kit, c.Key("acme/sales", kernel.RoleMember), "I met Zorblax Quimby.")
	c.requireNoName(t, quimby, "Zorblax Quimby")
	must(c.Retract(ctx, c.agent, kernel.RetractRequest{ID: other}))
	c.requireNoName(t, quimby, "Zorblax Quimby")

	c.settle(t)
	require.Equal(t, []string{quarrel + " Zorblax Quimby"}, entityNames(t, c.Kit, c.dana, kernel.ListEntitiesRequest{}))
	require.Equal(t, quimby, must(c.Entities().Get(ctx, c.dana, kernel.GetEntityRequest{Name: "Quimby"})).Entity.ID)
	require.Equal(t, quimby, must(c.Entities().Get(ctx, c.dana, kernel.GetEntityRequest{ID: quimby})).Entity.ID)
	// What has ended can still be read, and so can its names.
	must(c.Retract(ctx, c.agent, kernel.RetractRequest{ID: id}))
	require.Len(t, entityNames(t, c.Kit, c.dana, kernel.ListEntitiesRequest{}), 1)
}

// TestNamesOfDisputedMemories: a name goes out of sight with the last memory that has it.
func TestNamesOfDisputedMemories(t *testing.T) {
	t.Parallel()
	c := newContested(t)
	c.judge.contradicts = func(in, _ string) bool { return strings.Contains(in, "Quimby is") }
	c.write(t, c.reader, "There is no head of sales by now.")
	c.settle(t)
	id := c.write(t, c.agent, "Zorblax Quimby is the head of sales.")
	quimby := c.entityOf(t, id, "Zorblax Quimby")
	require.Contains(t, entityNames(t, c.Kit, c.dana, kernel.ListEntitiesRequest{}), quarrel+" Zorblax Quimby")
	c.settle(t)
	require.Len(t, c.cases(t, ""), 1)
	c.requireNoName(t, quimby, "Zorblax Quimby")
	again := c.write(t, c.dana, "I met Zorblax Quimby.")
	require.Equal(t, quimby, c.entityOf(t, again, "Zorblax Quimby"), "it is the same one")
	require.Contains(t, entityNames(t, c.Kit, c.dana, kernel.ListEntitiesRequest{}), quarrel+" Zorblax Quimby")
}

// TestAliasesOfHeldMemories: the same of another name of an entity that is in sight.
func TestAliasesOfHeldMemories(t *testing.T) {
	t.Parallel()
	c := newContested(t)
	ctx := t.Context()
	hopper := name(t, c.Kit, c.dana, "I met Grace Hopper.")
	c.settle(t)
	aliases := func(of string) []string {
		return must(c.Entities().Get(ctx, c.dana, kernel.GetEntityRequest{Name: of})).Entity.Aliases
	}
	c.rule(t, kernel.Policy{HoldForReview: true})
	first := c.held(t, c.agent, kernel.WriteRequest{Text: "I called G. Hopper."})
	require.Equal(t, hopper, c.entityOf(t, first, "G. Hopper"))
	require.Empty(t, aliases("Grace Hopper"))
	require.Empty(t, must(c.Entities().Get(ctx, c.dana, kernel.GetEntityRequest{ID: hopper})).Entity.Aliases)
	must(c.Retract(ctx, c.agent, kernel.RetractRequest{ID: first}))
	require.Empty(t, aliases("Grace Hopper"))
	second := c.held(t, c.agent, kernel.WriteRequest{Text: "I asked G. Hopper."})
	require.Equal(t, hopper, c.entityOf(t, second, "G. Hopper"))
	c.settle(t)
	require.Equal(t, []string{"G. Hopper"}, aliases("Grace Hopper"), "though the first to say so never came into sight")
	require.Equal(t, []string{"G. Hopper"}, aliases("G. Hopper"))
}

// TestMergesWithHeldNames: a merge that an administrator makes tells no name either.
func TestMergesWithHeldNames(t *testing.T) {
	t.Parallel()
	c := newHolding(t, kernel.Policy{})
	ctx := t.Context()
	turing := c.entityOf(t, c.held(t, c.agent, kernel.WriteRequest{Text: "I met Alan Turing."}), "Alan Turing")
	c.settle(t)
	quimby := c.entityOf(t, c.held(t, c.agent, kernel.WriteRequest{Text: "I met Zorblax Quimby."}), "Zorblax Quimby")
	must(c.Entities().Merge(ctx, c.admin, kernel.MergeEntitiesRequest{ID: turing, Into: quimby}))
	require.Equal(t, turing, must(c.Entities().Get(ctx, c.dana, kernel.GetEntityRequest{ID: turing})).Current.ID)
	must(c.Entities().Split(ctx, c.admin, kernel.SplitEntityRequest{ID: turing}))
	must(c.Entities().Merge(ctx, c.admin, kernel.MergeEntitiesRequest{ID: quimby, Into: turing}))
	_, err := c.Entities().Get(ctx, c.dana, kernel.GetEntityRequest{ID: quimby})
	require.ErrorIs(t, err, kernel.ErrNotFound)
	c.settle(t)
	require.Equal(t, turing, must(c.Entities().Get(ctx, c.dana, kernel.GetEntityRequest{ID: quimby})).Current.ID)
}

// TestAliasesOfHeldMemoriesDecideNothing: whom a name stands for does not tell who was called so out
// of sight.
func TestAliasesOfHeldMemoriesDecideNothing(t *testing.T) {
	t.Parallel()
	c := newContested(t)
	grace := name(t, c.Kit, c.Key("acme", kernel.RoleMember), "I met Grace Hopper.")
	c.rule(t, kernel.Policy{HoldForReview: true})
	first := c.held(t, c.agent, kernel.WriteRequest{Text: "I called G. Hopper."})
	require.Equal(t, grace, c.entityOf(t, first, "G. Hopper"))
	gary := c.entityOf(t, c.held(t, c.agent, kernel.WriteRequest{Text: "I met Gary Hopper."}), "Gary Hopper")
	must(c.Retract(t.Context(), c.agent, kernel.RetractRequest{ID: first}))
	c.settle(t)
	stands := func() kernel.ID {
		return must(c.Entities().Get(t.Context(), c.dana, kernel.GetEntityRequest{Name: "G. Hopper"})).Entity.ID
	}
	require.Equal(t, gary, stands(), "the nearer of two with these initials")
	sqlExec(t, c.Pool, `INSERT INTO memkernel.memory_entities (tenant, memory_id, entity_id, namespace, surface)
		SELECT l.tenant, l.memory_id, $1, l.namespace, 'G. Hopper' FROM memkernel.memory_entities AS l WHERE l.entity_id = $2`, grace.String(), gary.String())
	require.Equal(t, grace, stands(), "by a memory in sight")
}
