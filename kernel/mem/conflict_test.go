package mem_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel/mem"
)

func TestMergeConflictReviews(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		modes []mem.ConflictReview
		want  mem.ConflictReview
	}{
		{nil, mem.ReviewAuto},
		{[]mem.ConflictReview{"", "sometimes"}, mem.ReviewAuto},
		{[]mem.ConflictReview{mem.ReviewOff}, mem.ReviewOff},
		{[]mem.ConflictReview{mem.ReviewOff, mem.ReviewAuto}, mem.ReviewAuto},
		{[]mem.ConflictReview{mem.ReviewAuto, mem.ReviewOff}, mem.ReviewAuto},
		{[]mem.ConflictReview{mem.ReviewAll, mem.ReviewOff, mem.ReviewAuto}, mem.ReviewAll},
		{[]mem.ConflictReview{mem.ReviewOff, "", mem.ReviewAll}, mem.ReviewAll},
	} {
		require.Equal(t, c.want, mem.MergeConflictReviews(c.modes...), "%v", c.modes)
	}
	for _, m := range []mem.ConflictReview{mem.ReviewOff, mem.ReviewAuto, mem.ReviewAll} {
		require.True(t, m.Valid())
	}
	require.False(t, mem.ConflictReview("").Valid())
	require.False(t, mem.ConflictReview("AUTO").Valid())
}

// The ranks are those of the design's trust lattice.
func TestProvenanceRank(t *testing.T) {
	t.Parallel()
	for p, rank := range map[mem.Provenance]int{
		mem.ProvenanceManual: 50, mem.ProvenanceDocument: 40, mem.ProvenanceLiveFetch: 40,
		mem.ProvenanceConsolidation: 30, mem.ProvenanceSwapImport: 20, mem.ProvenanceConversation: 10,
		"": 0, "Manual": 0, "owner": 0,
	} {
		require.Equal(t, rank, p.Rank(), p)
		require.Equal(t, rank > 0, p.Valid(), p)
	}
}
