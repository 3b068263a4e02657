package kernel_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/model/hashing"
)

// BenchmarkSearch compares a whole Search, both arms, ranking, re-reading and audit commit,
// with the exact pgvector query over a plain table alone.
func BenchmarkSearch(b *testing.B) {
	for _, size := range []struct {
		name                             string
		perVisible, perInvisible, others int
		goal                             float64
	}{
		{"600of10000", 200, 200, 47, 2.2},
		{"6000of10000", 2000, 200, 20, 1.8},
		{"6000of100000", 2000, 2000, 47, 0.8},
	} {
		b.Run(size.name, func(b *testing.B) {
			if testing.Short() && size.others*size.perInvisible > 50_000 {
				b.Skip("fills 100,000 rows first; run without -short")
			}
			benchSearch(b, size.perVisible, size.perInvisible, size.others, size.goal)
		})
	}
}

func benchSearch(b *testing.B, perVisible, perInvisible, others int, goal float64) {
	b.Helper()
	k := benchKit(b)
	ctx := b.Context()
	c := newCorpus()
	who := k.Key("acme/eng/platform", kernel.RoleMember)
	visible := []string{"acme", "acme/eng", "acme/eng/platform"}
	rows := map[kernel.Identity]int{}
	for _, ns := range visible {
		rows[k.Key(ns, kernel.RoleMember)] = perVisible
	}
	for i := range others {
		rows[k.Key(fmt.Sprintf("acme/other%d", i), kernel.RoleMember)] = perInvisible
	}
	fill(b, k, c, rows)
	for _, sql := range []string{
		`CREATE TABLE plain (id uuid PRIMARY KEY, namespace text NOT NULL, embedding vector(384) NOT NULL)`,
		`INSERT INTO plain SELECT m.id, m.namespace, v.embedding FROM memkernel.memory_objects m JOIN memkernel.memory_vectors v USING (id)
			ORDER BY m.id`,
		`CREATE INDEX ON plain (namespace)`,
	} {
		_, err := k.Pool.Exec(ctx, sql)
		require.NoError(b, err)
	}
	settleTables(b, k.Pool)
	embedder := hashing.New()
	var p pair
	for b.Loop() {
		query := c.sentence(8)
		vectors, err := embedder.Embed(ctx, []string{query})
		require.NoError(b, err)
		literal := vectorLiteral(vectors[0])
		p.run(func() {
			rows, err := k.Pool.Query(ctx, `SELECT id, embedding <=> $2::vector AS distance FROM plain
				WHERE namespace = ANY($1) ORDER BY distance LIMIT 10`, visible, literal)
			require.NoError(b, err)
			for rows.Next() {
			}
			require.NoError(b, rows.Err())
		}, func() {
			reply, err := k.Search(ctx, who, kernel.SearchRequest{Query: query})
			require.NoError(b, err)
			require.Len(b, reply.Items, 10)
		})
	}
	p.report(b, goal)
}

func vectorLiteral(v []float32) string {
	out := make([]byte, 0, 16*len(v))
	for i, x := range v {
		out = fmt.Appendf(out, "%c%g", "[,"[min(i, 1)], x)
	}
	return string(append(out, ']'))
}

// BenchmarkReadCrowd compares 64 callers at once whose reads share commits with 64 that make a
// select by key and an audit insert in a commit each, on the same pool.
func BenchmarkReadCrowd(b *testing.B) {
	const callers, calls, goal = 64, 50, 1.8
	k := benchKit(b)
	ctx := b.Context()
	who := k.Key("acme/eng/platform", kernel.RoleMember)
	fill(b, k, newCorpus(), map[kernel.Identity]int{who: 2_000})
	settleTables(b, k.Pool)
	ids := memoryIDs(b, k.Pool)
	crowd := func(read func(id kernel.ID) error) {
		var wg sync.WaitGroup
		for g := range callers {
			wg.Go(func() {
				for i := range calls {
					if err := read(ids[(g*calls+i)%len(ids)]); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
	}
	var p pair
	for b.Loop() {
		p.run(func() { crowd(func(id kernel.ID) error { return rawRead(ctx, k.Pool, id) }) }, func() {
			crowd(func(id kernel.ID) error {
				_, err := k.Read(ctx, who, kernel.ReadRequest{ID: id})
				return err
			})
		})
	}
	raw, ours := median(p.raw), median(p.ours)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(callers*calls/raw.Seconds(), "raw-reads/s")
	b.ReportMetric(callers*calls/ours.Seconds(), "kernel-reads/s")
	speedup := float64(raw) / float64(ours)
	b.ReportMetric(speedup, "speedup")
	if speedup < goal && !testing.Short() && len(p.ours) >= 10 {
		b.Errorf("%.2f times the throughput of the raw statements, the goal is %.1f", speedup, goal)
	}
}
