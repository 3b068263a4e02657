package kernel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
)

// BenchmarkImport compares WriteMany with Write, called for one turn after the other: 5,882 turns of
// conversations of an agent's, half a percent of which say again what another one has said.
func BenchmarkImport(b *testing.B) {
	const turns, goal = 5_882, 3.0
	k := benchKit(b)
	ctx := b.Context()
	c := newChat()
	var one, many []time.Duration
	for b.Loop() {
		writes := make([]kernel.WriteRequest, turns)
		for i := range writes {
			writes[i].Text = c.turn()
			if i > 0 && i%200 == 0 {
				writes[i].Text = writes[i/2].Text
			}
		}
		first, second := benchNamespace(k, "one"), benchNamespace(k, "many")
		begun := time.Now()
		for _, req := range writes {
			_, err := k.Write(ctx, first, req)
			require.NoError(b, err)
		}
		middle := time.Now()
		reply, err := k.WriteMany(ctx, second, kernel.WriteManyRequest{Writes: writes})
		require.NoError(b, err)
		one, many = append(one, middle.Sub(begun)), append(many, time.Since(middle))
		for _, r := range reply.Results {
			require.NoError(b, r.Err)
		}
		b.StopTimer()
		require.Equal(b, imported(b, k, first), imported(b, k, second))
		b.StartTimer()
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(turns/median(one).Seconds(), "one-writes/s")
	b.ReportMetric(turns/median(many).Seconds(), "many-writes/s")
	speedup := float64(median(one)) / float64(median(many))
	b.ReportMetric(speedup, "speedup")
	if speedup < goal && !testing.Short() {
		b.Errorf("%.2f times as fast as one by one, the goal is %.1f", speedup, goal)
	}
}

// benchNamespace returns an agent of a new namespace.
func benchNamespace(k *kerneltest.Kit, name string) kernel.Identity {
	return k.Key("acme/"+name+"/"+someID().String(), kernel.RoleAgent)
}

// imported counts what there is of an import.
func imported(b *testing.B, k *kerneltest.Kit, who kernel.Identity) map[string]int {
	b.Helper()
	ns := who.Namespace().String()
	out := map[string]int{}
	for name, sql := range map[string]string{
		"memories": `SELECT count(*)::int FROM memkernel.memory_objects WHERE namespace = $1`,
		"inputs":   `SELECT count(*)::int FROM memkernel.captures WHERE namespace = $1 AND state = 'done'`,
		"audit":    `SELECT count(*)::int FROM memkernel.audit_log WHERE namespace = $1 AND op = 'write' AND result = 'ok'`,
		"stored":   `SELECT count(*)::int FROM memkernel.audit_log WHERE namespace = $1 AND detail LIKE 'stored=1 %'`,
		"repeated": `SELECT count(*)::int FROM memkernel.audit_log WHERE namespace = $1 AND detail LIKE '% deduplicated=1'`,
		"entities": `SELECT count(*)::int FROM memkernel.entity_registry WHERE namespace = $1`,
		"aliases":  `SELECT count(*)::int FROM memkernel.entity_aliases WHERE namespace = $1`,
		"links":    `SELECT count(*)::int FROM memkernel.memory_entities WHERE namespace = $1`,
		"vectors":  `SELECT count(*)::int FROM memkernel.memory_vectors AS v JOIN memkernel.namespaces AS n ON n.id = v.ns WHERE n.path = $1`,
		"terms":    `SELECT count(*)::int FROM memkernel.memory_terms AS t JOIN memkernel.namespaces AS n ON n.id = t.ns WHERE n.path = $1`,
		"counted":  `SELECT live_rows::int FROM memkernel.namespaces WHERE path = $1`,
		"accesses": `SELECT coalesce(sum(hits), 0)::int FROM memkernel.memory_access WHERE reader = $1`,
	} {
		out[name] = sqlValue[int](b, k.Pool, sql, ns)
	}
	require.Equal(b, len(out), 12)
	return out
}
