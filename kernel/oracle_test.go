package kernel_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/internal/pgtest"
	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
)

// statements takes down what a pool sends to the server, in order: statements on their own,
// the batches and what is in them, and what is prepared.
type statements struct {
	mu   sync.Mutex
	sent []string
}

func (s *statements) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = append(s.sent, fmt.Sprintf(format, args...))
}

func (s *statements) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	sent := s.sent
	s.sent = nil
	return sent
}

func (s *statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	s.note("query %s", d.SQL)
	return ctx
}
func (s *statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (s *statements) TraceBatchStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceBatchStartData) context.Context {
	s.note("batch of %d", d.Batch.Len())
	for _, q := range d.Batch.QueuedQueries {
		s.note("queued %s", q.SQL)
	}
	return ctx
}
func (s *statements) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (s *statements) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}

func (s *statements) TracePrepareStart(ctx context.Context, _ *pgx.Conn, d pgx.TracePrepareStartData) context.Context {
	s.note("prepare %s", d.SQL)
	return ctx
}
func (s *statements) TracePrepareEnd(context.Context, *pgx.Conn, pgx.TracePrepareEndData) {}

var (
	_ pgx.QueryTracer   = (*statements)(nil)
	_ pgx.BatchTracer   = (*statements)(nil)
	_ pgx.PrepareTracer = (*statements)(nil)
)

// openTraced is kerneltest.Open with one connection that is listened to.
func openTraced(t *testing.T) (*kerneltest.Kit, *statements) {
	t.Helper()
	trace := &statements{}
	cfg := pgtest.Open(t).Config()
	cfg.MaxConns = 1
	cfg.ConnConfig.Tracer = trace
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return kerneltest.OpenOn(t, pool), trace
}

// probe is one way to ask for something by its id or name.
type probe struct {
	name string
	// invisible is the targets that exist and are not the caller's business, by why.
	invisible map[string]any
	missing   []any
	ask       func(target any) error
	// tells reports that the audit log tells an invisible target of the caller's own tenant
	// from a missing one.
	tells bool
}

// oracleWorld prepares what there is to ask for, and who asks.
type oracleWorld struct {
	*world

	trace  *statements
	caller kernel.Identity
	admin  kernel.Identity
	keys   map[string]kernel.ID
}

var oraclePaths = []string{
	"acme", "acme/eng", "acme/eng/platform", "acme/eng/platform/db", "acme/sales", "acme/eng_", "globex/eng", "globex",
}

// tenantsOwn is the reasons below that lie within the caller's tenant.
var tenantsOwn = []string{"a sibling's", "a sibling's that has ended", "a child's", "a look-alike's"}

func newOracleWorld(t *testing.T) *oracleWorld {
	t.Helper()
	k, trace := openTraced(t)
	o := &oracleWorld{world: fillWorld(t, k, oraclePaths), trace: trace, keys: map[string]kernel.ID{}}
	for _, path := range oraclePaths {
		_, cred := o.Credential(path, kernel.RoleAgent)
		o.keys[path] = cred.Key.ID
		if path == "acme/eng" {
			continue // sees no policy of its own
		}
		owner := o.Key(kerneltest.Namespace(t, path).Tenant(), kernel.RoleOwner)
		_, err := o.Policies().Put(t.Context(), owner, kernel.PutPolicyRequest{Namespace: kerneltest.Namespace(t, path)})
		require.NoError(t, err)
	}
	o.caller, o.admin = o.members["acme/eng/platform"], o.Key("acme/eng/platform", kernel.RoleAdmin)
	return o
}

func (o *oracleWorld) probes(t *testing.T) []probe {
	t.Helper()
	ctx := t.Context()
	memories := map[string]any{
		"a sibling's": o.current["acme/sales"], "a sibling's that has ended": o.old["acme/sales"],
		"a child's": o.current["acme/eng/platform/db"], "a look-alike's": o.current["acme/eng_"],
		"another tenant's": o.current["globex/eng"], "another tenant's that has ended": o.old["globex"],
	}
	missing := []any{kernel.ID{0xff, 1}, o.keys["acme/eng/platform"], kernel.ID{}}
	byID := func(ask func(id kernel.ID) error) func(any) error {
		return func(target any) error {
			id, ok := target.(kernel.ID)
			require.True(t, ok)
			return ask(id)
		}
	}
	keys := map[string]any{
		"the parent's": o.keys["acme/eng"], "a sibling's": o.keys["acme/sales"], "a look-alike's": o.keys["acme/eng_"],
		"another tenant's": o.keys["globex/eng"],
	}
	notKeys := []any{kernel.ID{0xff, 1}, o.current["acme/eng/platform"], kernel.ID{}}
	namespaces := map[string]any{
		"a sibling": "acme/sales", "a look-alike": "acme/eng_", "another tenant": "globex/eng", "a child": "acme/eng/platform/db",
	}
	noNamespaces := []any{"acme/eng", "acme/sales/none", "none/at/all"}
	return []probe{
		{"read", memories, missing, byID(func(id kernel.ID) error {
			_, err := o.Read(ctx, o.caller, kernel.ReadRequest{ID: id})
			return err
		}), true},
		{"read as of", memories, missing, byID(func(id kernel.ID) error {
			_, err := o.Read(ctx, o.caller, kernel.ReadRequest{ID: id, AsOf: o.between})
			return err
		}), true},
		{"history", memories, missing, byID(func(id kernel.ID) error {
			_, err := o.History(ctx, o.caller, kernel.HistoryRequest{ID: id})
			return err
		}), true},
		{"retract", memories, missing, byID(func(id kernel.ID) error {
			_, err := o.Retract(ctx, o.caller, kernel.RetractRequest{ID: id, Reason: "guess"})
			return err
		}), true},
		{"supersede", memories, missing[:2], byID(func(id kernel.ID) error {
			_, err := o.Write(ctx, o.caller, kernel.WriteRequest{Text: "A guess.", Supersedes: id})
			return err
		}), true},
		{"supersede with a text that is there", memories, missing[:2], byID(func(id kernel.ID) error {
			_, err := o.Write(ctx, o.caller, kernel.WriteRequest{Text: currentText, Supersedes: id})
			return err
		}), true},
		{"revoke", keys, notKeys, byID(func(id kernel.ID) error {
			_, err := o.Keys().Revoke(ctx, o.admin, kernel.RevokeKeyRequest{ID: id})
			return err
		}), false},
		{"rotate", keys, notKeys, byID(func(id kernel.ID) error {
			_, err := o.Keys().Rotate(ctx, o.admin, kernel.RotateKeyRequest{ID: id})
			return err
		}), false},
		{"policy", namespaces, noNamespaces, func(target any) error {
			path, ok := target.(string)
			require.True(t, ok)
			_, err := o.Policies().Get(ctx, o.caller, kernel.GetPolicyRequest{Namespace: kerneltest.Namespace(t, path)})
			return err
		}, false},
	}
}

// answer is all that a probe brought: what the caller got, what was sent, what was recorded.
type answer struct {
	err  error
	sent []string
	row  kernel.AuditEvent
}

func (o *oracleWorld) answer(t *testing.T, p *probe, target any) answer {
	t.Helper()
	before := o.Audit()
	o.trace.take()
	err := p.ask(target)
	sent := o.trace.take()
	after := o.Audit()
	require.ErrorIs(t, err, kernel.ErrNotFound, "%s: %v", p.name, target)
	require.NotEmpty(t, sent)
	require.Len(t, after, len(before)+1)
	row := after[len(after)-1]
	// What differs from call to call, and what the caller has said itself.
	row.Seq, row.Call, row.MemoryID = 0, kernel.ID{}, kernel.ID{}
	row.Detail = strings.Join(slices.DeleteFunc(strings.Fields(row.Detail), func(part string) bool {
		return strings.HasPrefix(part, "target=")
	}), " ")
	return answer{err: err, sent: sent, row: row}
}

// Missing and invisible are the same error with the same message after the same statements,
// and only the result of the audit row can tell them apart.
func TestMissingAndInvisibleAreTheSame(t *testing.T) {
	t.Parallel()
	o := newOracleWorld(t)
	for _, p := range o.probes(t) {
		_ = p.ask(p.missing[0]) // what is prepared once is prepared now
		want := o.answer(t, &p, p.missing[0])
		require.Equal(t, kernel.AuditResult("miss"), want.row.Result, p.name)
		targets := maps.Clone(p.invisible)
		for i, target := range p.missing {
			targets[fmt.Sprintf("missing %d", i)] = target
		}
		for why, target := range targets {
			got := o.answer(t, &p, target)
			require.Equal(t, want.err, got.err, "%s: %s", p.name, why)
			require.Equal(t, want.err.Error(), got.err.Error(), "%s: %s", p.name, why)
			require.Equal(t, want.sent, got.sent, "%s: %s", p.name, why)
			row := want.row
			if p.tells && slices.Contains(tenantsOwn, why) {
				row.Result = "denied"
			}
			require.Equal(t, row, got.row, "%s: %s", p.name, why)
		}
	}
	o.requireUntouched(t)
}

// What the caller sees and what is only not there at the time it asks about is no denial.
func TestVisibleButNotThenIsAMiss(t *testing.T) {
	t.Parallel()
	w := newWorld(t, []string{"acme", "acme/eng"})
	w.RequireAudit(t, "read", "miss", func() {
		_, err := w.Read(t.Context(), w.members["acme/eng"], kernel.ReadRequest{ID: w.current["acme"], AsOf: january})
		require.ErrorIs(t, err, kernel.ErrNotFound)
	})
}

// Nor do the numbers that everybody may ask for move differently.
func TestCountsDoNotTellMissingFromInvisible(t *testing.T) {
	t.Parallel()
	o := newOracleWorld(t)
	count := func() kernel.StatsReply {
		rep, err := o.Stats(t.Context(), o.caller, kernel.StatsRequest{})
		require.NoError(t, err)
		return *rep
	}
	for _, p := range o.probes(t) {
		var want kernel.AuditStats
		targets := []any{p.missing[0]}
		for _, why := range slices.Sorted(maps.Keys(p.invisible)) {
			targets = append(targets, p.invisible[why])
		}
		for i, target := range targets {
			before := count()
			require.ErrorIs(t, p.ask(target), kernel.ErrNotFound)
			after := count()
			moved := kernel.AuditStats{
				Total: after.Audit.Total - before.Audit.Total, Denied: after.Audit.Denied - before.Audit.Denied,
				Failed: after.Audit.Failed - before.Audit.Failed,
			}
			before.Audit, after.Audit = kernel.AuditStats{}, kernel.AuditStats{}
			require.Equal(t, before, after)
			if i == 0 {
				want = moved
			}
			require.Equal(t, want, moved, "%s: %v", p.name, target)
		}
	}
}
