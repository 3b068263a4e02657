package kernel_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/embedded"
	"github.com/memkernel/memkernel/kernel/kerneltest"
)

// The benchmarks of this package state ratios: each iteration runs the raw statement and the
// kernel's call one after the other, on the same server, with fsync on, over a unix socket,
// and the medians are compared. Run them with a fixed number of iterations, for example
// -benchtime 2000x; see README.

// benchKit returns a kernel on a server of its own that keeps what it acknowledges.
func benchKit(b *testing.B, opts ...kernel.Option) *kerneltest.Kit {
	b.Helper()
	server, err := embedded.Start(b.Context(), embedded.Config{
		Ephemeral: true, Settings: map[string]string{"fsync": "on", "full_page_writes": "on", "synchronous_commit": "on"},
	})
	require.NoError(b, err)
	b.Cleanup(func() { _ = server.Close(context.WithoutCancel(b.Context())) })
	config, err := pgxpool.ParseConfig(server.ConnString())
	require.NoError(b, err)
	config.MaxConns = 16
	pool, err := pgxpool.NewWithConfig(b.Context(), config)
	require.NoError(b, err)
	b.Cleanup(pool.Close)
	require.NoError(b, kernel.Migrate(b.Context(), pool))
	return kerneltest.OpenOn(b, pool, append(opts, kernel.WithClock(time.Now))...)
}

// pair measures two ways of doing a thing in turns.
type pair struct{ raw, ours []time.Duration }

func (p *pair) run(raw, ours func()) {
	begun := time.Now()
	raw()
	middle := time.Now()
	ours()
	p.raw = append(p.raw, middle.Sub(begun))
	p.ours = append(p.ours, time.Since(middle))
}

// report states the ratio and fails above the goal, unless the run is too short for medians.
func (p *pair) report(b *testing.B, goal float64) {
	b.Helper()
	raw, ours := median(p.raw), median(p.ours)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(raw.Nanoseconds())/1e3, "raw-µs")
	b.ReportMetric(float64(ours.Nanoseconds())/1e3, "kernel-µs")
	ratio := float64(ours) / float64(raw)
	b.ReportMetric(ratio, "ratio")
	if ratio > goal && !testing.Short() && len(p.ours) >= 100 {
		b.Errorf("%.2f times the raw statements, the goal is %.2f", ratio, goal)
	}
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// corpus makes sentences whose words are distributed roughly as in natural text.
type corpus struct {
	rng     *rand.Rand
	zipf    *rand.Zipf
	written int
}

// newCorpus's parameters make a question of eight words read 0.4 postings per visible row,
// about what questions about real conversations do once function words are left out.
func newCorpus() *corpus {
	rng := rand.New(rand.NewPCG(1, 2))
	return &corpus{rng: rng, zipf: rand.NewZipf(rng, 1.1, 8, 20_000)}
}

func (c *corpus) sentence(words int) string {
	var s strings.Builder
	for range words {
		n := c.zipf.Uint64()
		s.WriteByte("bcdfghjklmnprstvz"[n%17])
		s.WriteByte("aeiou"[n/17%5])
		s.WriteByte("bcdfghjklmnprstvz"[n/85%17])
		s.WriteByte("aeiou"[n/1445%5])
		s.WriteByte("bcdfghjklmnprstvz"[n/7225%17])
		s.WriteByte(' ')
	}
	return s.String()
}

// fill writes n memories for each caller, in mixed order as they would arrive, and many to a
// commit: loading is not what is measured.
func fill(b *testing.B, k *kerneltest.Kit, c *corpus, n map[kernel.Identity]int) {
	b.Helper()
	ctx := b.Context()
	var order []kernel.Identity
	for _, who := range slices.SortedFunc(maps.Keys(n), func(x, y kernel.Identity) int {
		return strings.Compare(x.Namespace().String(), y.Namespace().String())
	}) {
		order = append(order, slices.Repeat([]kernel.Identity{who}, n[who])...)
	}
	c.rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	for chunk := range slices.Chunk(order, 500) {
		require.NoError(b, pgx.BeginFunc(ctx, k.Pool, func(tx pgx.Tx) error {
			bound := k.WithTx(tx)
			for _, who := range chunk {
				c.written++
				if _, err := bound.Write(ctx, who, kernel.WriteRequest{Text: fmt.Sprint(c.sentence(14), c.written)}); err != nil {
					return err
				}
			}
			return nil
		}))
	}
}

func settleTables(b *testing.B, pool *pgxpool.Pool) {
	b.Helper()
	_, err := pool.Exec(b.Context(), "VACUUM ANALYZE")
	require.NoError(b, err)
}

const rawAudit = `INSERT INTO memkernel.audit_log (tenant, call_id, ts, namespace, actor, agent_id, op, memory_id, purpose, result, detail)
	VALUES ('acme', gen_random_uuid(), now(), 'acme/eng/platform', 'test:member', 'library', $1, $2, NULL, 'ok', 'tokens=20')`

// BenchmarkRead compares Read with a select by key and an audit insert in one commit.
func BenchmarkRead(b *testing.B) {
	k := benchKit(b)
	ctx := b.Context()
	who := k.Key("acme/eng/platform", kernel.RoleMember)
	fill(b, k, newCorpus(), map[kernel.Identity]int{who: 10_000})
	settleTables(b, k.Pool)
	ids := memoryIDs(b, k.Pool)
	var p pair
	n := 0
	for b.Loop() {
		id := ids[n%len(ids)]
		n++
		p.run(func() { require.NoError(b, rawRead(ctx, k.Pool, id)) }, func() {
			_, err := k.Read(ctx, who, kernel.ReadRequest{ID: id})
			require.NoError(b, err)
		})
	}
	p.report(b, 2.0)
}

// rawRead is a select by key and an audit insert in one commit.
func rawRead(ctx context.Context, db *pgxpool.Pool, id kernel.ID) error {
	batch := &pgx.Batch{}
	batch.Queue(`SELECT id, namespace, kind, text, event_time, event_end, assertion_time, t_valid_from, t_valid_to, end_reason,
		end_note, supersedes, status, provenance, source, actor, agent_id, tokens FROM memkernel.memory_objects
		WHERE tenant = 'acme' AND id = $1`, id.String())
	batch.Queue(rawAudit, "read", id.String())
	return db.SendBatch(ctx, batch).Close()
}

func memoryIDs(b *testing.B, pool *pgxpool.Pool) []kernel.ID {
	b.Helper()
	rows, err := pool.Query(b.Context(), "SELECT id FROM memkernel.memory_objects ORDER BY md5(id::text)")
	require.NoError(b, err)
	ids, err := pgx.CollectRows(rows, pgx.RowTo[[16]byte])
	require.NoError(b, err)
	out := make([]kernel.ID, len(ids))
	for i, id := range ids {
		out[i] = id
	}
	return out
}

// BenchmarkWrite compares Write, with its capture, vector, words and counters, with the
// insert of the memory row and its audit row alone in one commit.
func BenchmarkWrite(b *testing.B) {
	k := benchKit(b)
	who := k.Key("acme/eng/platform", kernel.RoleMember)
	c := newCorpus()
	fill(b, k, c, map[kernel.Identity]int{who: 10_000})
	settleTables(b, k.Pool)
	n := 0
	benchWrite(b, k, who, 2.5, func() string {
		n++
		return fmt.Sprint(c.sentence(14), " bench ", n)
	})
}

// BenchmarkWritePipeline is BenchmarkWrite for turns of conversations of an agent's, each of which
// names somebody or something, known by then or new, so that nothing of the pipeline is left out.
func BenchmarkWritePipeline(b *testing.B) {
	k := benchKit(b)
	who := k.Key("acme/eng/platform", kernel.RoleAgent)
	fill(b, k, newCorpus(), map[kernel.Identity]int{who: 10_000})
	c := newChat()
	for range 2_000 {
		_, err := k.Write(b.Context(), who, kernel.WriteRequest{Text: c.turn()})
		require.NoError(b, err)
	}
	settleTables(b, k.Pool)
	benchWrite(b, k, who, 3.0, func() string { return c.turnNaming(1+c.rng.IntN(2), 2) })
}

// benchWrite compares Write with the raw insert of the memory and its audit row.
func benchWrite(b *testing.B, k *kerneltest.Kit, who kernel.Identity, goal float64, text func() string) {
	b.Helper()
	ctx := b.Context()
	var p pair
	n := 0
	for b.Loop() {
		n++
		text := text()
		p.run(func() {
			id := fmt.Sprintf("00000000-0000-4000-8000-%012d", n)
			batch := &pgx.Batch{}
			batch.Queue(`INSERT INTO memkernel.memory_objects (tenant, id, namespace, kind, text, dedupe_key, assertion_time,
				t_valid_from, provenance, actor, tokens, terms, terms_length, terms_version)
				VALUES ('acme', $1, 'acme/raw', 'fact', $2, sha256($2::text::bytea), now(), now(), 'manual', 'test:member', 20, '{}', 0, 1)`,
				id, text)
			batch.Queue(rawAudit, "write", id)
			require.NoError(b, k.Pool.SendBatch(ctx, batch).Close())
		}, func() {
			_, err := k.Write(ctx, who, kernel.WriteRequest{Text: text})
			require.NoError(b, err)
		})
	}
	p.report(b, goal)
}
