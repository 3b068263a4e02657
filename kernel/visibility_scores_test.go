package kernel_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
)

// crowd multiplies the one memory of a namespace, with its postings, its vector and its
// counters.
func crowd(t *testing.T, k *kerneltest.Kit, path string, copies int) {
	t.Helper()
	tx, err := k.Pool.Begin(t.Context())
	require.NoError(t, err)
	for _, sql := range []string{
		`CREATE TEMP TABLE copies ON COMMIT DROP AS
			SELECT m.tenant, m.id AS of, gen_random_uuid() AS id
			FROM memkernel.memory_objects m, generate_series(1, $2::int) WHERE m.namespace = $1`,
		`INSERT INTO memkernel.memory_objects
			SELECT (jsonb_populate_record(m, jsonb_build_object('id', c.id, 'dedupe_key', sha256(c.id::text::bytea)))).*
			FROM copies c JOIN memkernel.memory_objects m ON m.tenant = c.tenant AND m.id = c.of`,
		`INSERT INTO memkernel.memory_terms SELECT t.tenant, t.ns, t.term, t.live, c.id, t.tf, t.length, t.tokens
			FROM copies c JOIN memkernel.memory_terms t ON t.id = c.of`,
		`INSERT INTO memkernel.memory_vectors SELECT v.tenant, c.id, v.model, v.ns, v.live, v.tokens, v.dim, v.embedding
			FROM copies c JOIN memkernel.memory_vectors v ON v.id = c.of`,
		`UPDATE memkernel.namespaces SET live_rows = live_rows * ($2::int + 1), live_length = live_length * ($2::int + 1)
			WHERE path = $1`,
	} {
		args := []any{path, copies}
		if sql[0] == 'I' {
			args = nil
		}
		_, err := tx.Exec(t.Context(), sql, args...)
		require.NoError(t, err)
	}
	require.NoError(t, tx.Commit(t.Context()))
}

// Thousands of rows with the query's own words, in namespaces that the caller does not see,
// change neither what it finds nor one bit of a score: not through document frequencies, not
// through average lengths, and not by pushing its rows out of the nearest.
func TestScoresDoNotDependOnInvisibleRows(t *testing.T) {
	t.Parallel()
	arms := armDrivers()
	k := kerneltest.Open(t, withArms(arms))
	ctx := t.Context()
	who := k.Key("acme/eng/platform", kernel.RoleMember)
	for path, texts := range map[string][]string{
		"acme": {"The beacon on the roof is red.", "Lunch is at noon."},
		"acme/eng/platform": {
			"The roof has a beacon, and the beacon has a lamp.", "Nobody has seen the beacon since Tuesday, when it was dark.",
			"The lamp of the second beacon is green.",
		},
	} {
		member := k.Key(path, kernel.RoleMember)
		for _, text := range texts {
			_, err := k.Write(ctx, member, kernel.WriteRequest{Text: text})
			require.NoError(t, err)
		}
	}
	hidden := []string{"acme/sales", "acme/eng/platform/db", "acme/engineering", "acmecorp"}
	for _, path := range hidden {
		_, err := k.Write(ctx, k.Key(path, kernel.RoleMember), kernel.WriteRequest{Text: "What colour is the beacon on the roof?"})
		require.NoError(t, err)
	}

	const question = "What colour is the beacon on the roof?"
	ask := func() map[string]any {
		out := map[string]any{}
		for filter, req := range map[string]kernel.SearchRequest{
			"": {}, " filtered": {IncludeSuperseded: true}, " as of": {AsOf: k.Clock.Now()},
		} {
			req.Query, req.K = question, 5
			for _, name := range []string{"fusion", "baseline"} {
				req.Driver = name
				rep, err := k.Search(ctx, who, req)
				require.NoError(t, err)
				out[name+filter] = rep
			}
			for _, arm := range arms {
				req.Driver = arm.name
				_, err := k.Search(ctx, who, req)
				require.NoError(t, err)
				out[arm.name+filter] = arm.taken()
			}
		}
		return out
	}
	before := ask()
	for _, name := range []string{"fusion", "baseline"} {
		rep, ok := before[name].(*kernel.SearchReply)
		require.True(t, ok)
		require.Len(t, rep.Items, 5, "all that is visible")
	}
	stats, err := k.Stats(ctx, who, kernel.StatsRequest{})
	require.NoError(t, err)

	for _, path := range hidden {
		crowd(t, k, path, 1500)
	}
	require.Equal(t, before, ask())
	again, err := k.Stats(ctx, who, kernel.StatsRequest{})
	require.NoError(t, err)
	require.Equal(t, stats.Live, again.Live)
	require.Equal(t, stats.LiveTokens, again.LiveTokens)

	sibling, err := k.Search(ctx, k.Key("acme/sales", kernel.RoleMember), kernel.SearchRequest{Query: question, K: 100})
	require.NoError(t, err)
	require.Len(t, sibling.Items, 100, "the crowd is there for those who see it")
}
