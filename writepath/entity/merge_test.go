package entity_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/writepath/entity"
)

func TestMergesRefuse(t *testing.T) {
	t.Parallel()
	var m entity.Merges
	merge := func(n, from, into byte) error {
		return m.Apply(entity.Merge{ID: id(n), From: id(from), Into: id(into)})
	}
	split := func(n, of, from, into byte) error {
		return m.Apply(entity.Merge{ID: id(n), From: id(from), Into: id(into), Reverses: id(of)})
	}
	require.ErrorIs(t, merge(1, 1, 1), entity.ErrSameEntity)
	require.ErrorIs(t, split(1, 9, 1, 2), entity.ErrNotMerged)
	require.NoError(t, merge(1, 1, 2))
	require.ErrorIs(t, merge(2, 1, 2), entity.ErrMerged, "a repeat")
	require.ErrorIs(t, merge(2, 1, 3), entity.ErrMerged)
	require.ErrorIs(t, merge(2, 2, 1), entity.ErrCycle)
	require.NoError(t, merge(2, 2, 3))
	require.ErrorIs(t, merge(3, 3, 1), entity.ErrCycle, "round two corners")
	require.Equal(t, id(3), m.Root(id(1)))
	require.ErrorIs(t, split(3, 2, 1, 2), entity.ErrNotMerged, "another row's")
	require.ErrorIs(t, split(3, 1, 1, 3), entity.ErrNotMerged, "into another")
	require.NoError(t, split(3, 1, 1, 2))
	require.ErrorIs(t, split(4, 1, 1, 2), entity.ErrNotMerged, "a repeat")
	require.Equal(t, id(1), m.Root(id(1)))
	require.Equal(t, id(3), m.Root(id(2)))
	require.Equal(t, 1, m.Len())
	_, err := entity.Replay([]entity.Merge{{ID: id(1), From: id(1), Into: id(2)}, {ID: id(2), From: id(2), Into: id(1)}})
	require.ErrorIs(t, err, entity.ErrCycle)
}

const entities = 7

// roots is the state of a log as anybody can see it.
func roots(m *entity.Merges) [entities]mem.ID {
	var out [entities]mem.ID
	for i := range out {
		out[i] = m.Root(id(byte(i + 1)))
	}
	return out
}

// TestSplitIsAsIfItHadNeverBeen: whatever was merged and split before and after a merge, in
// whatever order, splitting it leaves what the same rows without it leave.
func TestSplitIsAsIfItHadNeverBeen(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	undone := 0
	for range 5000 {
		var m entity.Merges
		var log, inForce []entity.Merge
		for n := range byte(24) {
			row := entity.Merge{ID: mem.ID{14: 1, 15: n}, From: id(byte(1 + rng.IntN(entities))), Into: id(byte(1 + rng.IntN(entities)))}
			if len(inForce) > 0 && rng.IntN(3) == 0 {
				old := inForce[rng.IntN(len(inForce))]
				row.From, row.Into, row.Reverses = old.From, old.Into, old.ID
			}
			before := roots(&m)
			if m.Apply(row) != nil {
				require.Equal(t, before, roots(&m), "a refusal changes nothing")
				continue
			}
			log = append(log, row)
			if row.Reverses.IsZero() {
				inForce = append(inForce, row)
				continue
			}
			// The log without both the merge and its split leaves the same.
			var without []entity.Merge
			for _, r := range log {
				if r.ID != row.ID && r.ID != row.Reverses {
					without = append(without, r)
				}
			}
			other, err := entity.Replay(without)
			require.NoError(t, err, "what came later stands without it")
			require.Equal(t, roots(other), roots(&m))
			require.Equal(t, other.Len(), m.Len())
			log = without
			for i := range inForce {
				if inForce[i].ID == row.Reverses {
					inForce = append(inForce[:i:i], inForce[i+1:]...)
					break
				}
			}
			undone++
		}
		// Everything split again, in any order, is the beginning.
		rng.Shuffle(len(inForce), func(i, j int) { inForce[i], inForce[j] = inForce[j], inForce[i] })
		for i, old := range inForce {
			require.NoError(t, m.Apply(entity.Merge{ID: mem.ID{14: 2, 15: byte(i)}, From: old.From, Into: old.Into, Reverses: old.ID}))
		}
		require.Equal(t, roots(&entity.Merges{}), roots(&m))
		require.Zero(t, m.Len())
	}
	require.Greater(t, undone, 1000)
}
