package kernel_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
)

// segments make paths that run into each other.
var segments = []string{"a", "a_", "a%", "ab", "a0", "a.", `a\`, "a'", `a"`, "a ", "A", "á", "_", "%", "..."}

// randomPaths draws a tree of namespaces in three tenants.
func randomPaths(random *rand.Rand, n int) []string {
	paths := []string{"a", "a_", "ab"}
	for len(paths) < n {
		parent := paths[random.IntN(len(paths))]
		path := parent + "/" + segments[random.IntN(len(segments))]
		if random.IntN(4) == 0 {
			path = parent + "/" + segments[random.IntN(len(segments))] + segments[random.IntN(len(segments))]
		}
		if !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	return paths
}

// FuzzVisibility draws namespaces and memories and holds what the database returns against
// the enumeration of ancestors and against the predicate, for reads, searches and the
// audit log.
func FuzzVisibility(f *testing.F) {
	for seed := range uint64(4) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		t.Parallel()
		random := rand.New(rand.NewPCG(seed, 0))
		arms := armDrivers()
		k := kerneltest.Open(t, withArms(arms))
		ctx := t.Context()
		paths := randomPaths(random, 12)
		where := map[kernel.ID]kernel.Namespace{}
		auditors := map[string]kernel.Identity{}
		for range 30 {
			path := paths[random.IntN(len(paths))]
			if _, ok := auditors[path]; !ok {
				auditors[path] = k.Key(path, kernel.RoleAuditor)
			}
			text := []string{"one beacon", "two beacons", "three beacons", "no lamp"}[random.IntN(4)]
			rep, err := k.Write(ctx, k.Key(path, kernel.RoleAgent), kernel.WriteRequest{Text: text})
			require.NoError(t, err)
			for _, id := range append(rep.Stored, rep.Deduplicated...) {
				if ns, ok := where[id]; ok {
					require.Equal(t, path, ns.String(), "a duplicate of another namespace")
				}
				where[id] = kerneltest.Namespace(t, path)
			}
		}
		for _, who := range auditors {
			requireAgreement(t, k, arms, who, where)
		}
	})
}

func requireAgreement(t *testing.T, k *kerneltest.Kit, arms []*armDriver, who kernel.Identity, where map[kernel.ID]kernel.Namespace) {
	t.Helper()
	ctx := t.Context()
	var visible []kernel.ID
	for id, ns := range where {
		predicate := who.Namespace().Sees(ns)
		require.Equal(t, predicate, slices.Contains(who.Namespace().Ancestors(), ns))
		require.Equal(t, predicate, who.Scope().Sees(ns))
		require.Equal(t, predicate, sees(who.Namespace().String(), ns.String()))
		_, err := k.Read(ctx, who, kernel.ReadRequest{ID: id})
		if !predicate {
			require.ErrorIs(t, err, kernel.ErrNotFound, "%q reads %q", who.Namespace(), ns)
			continue
		}
		require.NoError(t, err, "%q reads %q", who.Namespace(), ns)
		visible = append(visible, id)
	}
	slices.SortFunc(visible, compareIDs)
	for _, arm := range arms {
		rep, err := k.Search(ctx, who, kernel.SearchRequest{Query: "one two three beacon no lamp", K: 100, Driver: arm.name})
		require.NoError(t, err)
		require.Equal(t, visible, candidateIDs(arm.taken()), "%q, %s", who.Namespace(), arm.name)
		require.Equal(t, visible, itemIDs(rep), "%q, %s", who.Namespace(), arm.name)
	}
	stats, err := k.Stats(ctx, who, kernel.StatsRequest{})
	require.NoError(t, err)
	require.Equal(t, int64(len(visible)), stats.Live)

	var want, got []int64
	for _, e := range k.Audit() {
		if inSubtree(e.Namespace, who.Namespace().String()) {
			want = append(want, e.Seq)
			exact, from, to := who.Namespace().Range()
			require.True(t, e.Namespace == exact || from <= e.Namespace && e.Namespace < to)
		}
	}
	for _, e := range collect(t, k.AuditSearch(ctx, who, kernel.AuditSearchRequest{})) {
		got = append(got, e.Seq)
	}
	slices.Sort(got)
	require.Equal(t, want, got, "audit rows that %q finds", who.Namespace())
}
