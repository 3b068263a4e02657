package writepath_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/writepath"
)

// TestSequence: of one text in several writes the first is stored and the others repeat it; what
// is held is nobody's duplicate, as if the writes had been made one by one.
func TestSequence(t *testing.T) {
	t.Parallel()
	draft := func(id mem.ID, held bool) []*writepath.Draft {
		return []*writepath.Draft{{
			ID: id, Kind: mem.KindFact, Provenance: mem.ProvenanceManual, DedupeKey: writepath.DedupeKey("Ana lives in Oslo."), Held: held,
		}}
	}
	insert, duplicate := writepath.Decision{Action: writepath.Insert}, writepath.Decision{Action: writepath.Duplicate, Memory: first}
	agents := writepath.Standing{Duplicate: third, DuplicateProvenance: mem.ProvenanceConversation}
	for name, tc := range map[string]struct {
		held  [2]bool
		state writepath.Standing
		want  [2]writepath.Decision
	}{
		"new":                      {want: [2]writepath.Decision{insert, duplicate}},
		"held":                     {held: [2]bool{true, true}, want: [2]writepath.Decision{insert, insert}},
		"the first is held":        {held: [2]bool{true, false}, want: [2]writepath.Decision{insert, insert}},
		"the second would be held": {held: [2]bool{false, true}, want: [2]writepath.Decision{insert, duplicate}},
		"less trust": {
			state: agents, want: [2]writepath.Decision{{Action: writepath.Supersede, Memory: third}, duplicate},
		},
		"less trust, held": {
			held: [2]bool{true, true}, state: agents,
			want: [2]writepath.Decision{{Action: writepath.Supersede, Memory: third}, {Action: writepath.Supersede, Memory: third}},
		},
	} {
		seq := writepath.NewSequence(true)
		for i, id := range []mem.ID{first, second} {
			st := one(tc.state)
			got, replay, err := seq.Plan(draft(id, tc.held[i]), &st)
			require.NoError(t, err)
			require.False(t, replay)
			require.Equal(t, []writepath.Decision{tc.want[i]}, got, "%s, write %d", name, i)
			require.Equal(t, tc.state, st.Standings[0], "what was looked up stays")
		}
	}
}
