package kernel_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/internal/pgtest"
	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
	"github.com/memkernel/memkernel/kernel/mem"
)

// TestCheckAbandoned: a check whose worker died between claim and commit is taken up again when
// its lease is over, and not before; the worker's own outcome, should it come after all, is none.
func TestCheckAbandoned(t *testing.T) {
	t.Parallel()
	c := newContested(t)
	other := kerneltest.OpenOn(t, c.Pool)
	slow := &judge{contradicts: cities}
	other.SetLLM(slow, mem.DestinationLocal)
	old := c.write(t, c.agent, "Ana lives in Oslo.")
	c.settle(t)
	id := c.write(t, c.reader, "Ana lives in Bern.")
	other.Clock.Set(c.Clock.Now())
	thinking, goOn, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	slow.on = func(context.Context, []string) error {
		close(thinking)
		<-goOn
		return nil
	}
	go func() { ended <- other.CheckAll(t.Context()) }()
	<-thinking
	c.settle(t)
	require.Zero(t, c.judge.calls.Load(), "it is being worked on")
	c.Clock.Advance(time.Hour)
	c.settle(t)
	require.Equal(t, id, c.read(t, old).SupersededBy)
	rows := c.checkRows()
	require.Len(t, rows, 1)
	close(goOn)
	require.NoError(t, <-ended)
	require.Equal(t, rows, c.checkRows(), "the effect is there once")
	require.Zero(t, c.unchecked(t))
	requireSound(t, c.Pool)
}

// TestCheckStopped: a worker that is stopped in the middle leaves its work to others at once.
func TestCheckStopped(t *testing.T) {
	t.Parallel()
	c := newContested(t)
	old := c.write(t, c.agent, "Ana lives in Oslo.")
	c.settle(t)
	id := c.write(t, c.reader, "Ana lives in Bern.")
	ctx, cancel := context.WithCancel(t.Context())
	c.judge.on = func(ctx context.Context, _ []string) error {
		cancel()
		<-ctx.Done()
		return ctx.Err()
	}
	require.ErrorIs(t, c.CheckAll(ctx), context.Canceled)
	require.Equal(t, 0, sqlValue[int](t, c.Pool, `SELECT attempts FROM memkernel.conflict_checks`), "it does not count")
	c.judge.on = nil
	c.settle(t)
	require.Equal(t, id, c.read(t, old).SupersededBy)
	requireSound(t, c.Pool)
}

// TestCheckCut: the connection breaks at one message after the other, before it, behind it and
// behind its answer. Whatever was done is done whole, and once, when the next worker is through.
func TestCheckCut(t *testing.T) {
	t.Parallel()
	for name, hold := range map[string]bool{"supersedes": false, "releases": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newCutBench(t)
			must(b.whole.Policies().Put(t.Context(), b.who, kernel.PutPolicyRequest{Policy: kernel.Policy{HoldForReview: hold}}))
			llm := &judge{contradicts: cities}
			b.whole.SetLLM(llm, mem.DestinationLocal)
			b.SetLLM(llm, mem.DestinationLocal)
			require.NoError(t, b.whole.CheckAll(t.Context()))
			cuts, tries := 0, 0
			try := func(n int, moment pgtest.Moment) []byte {
				tries++
				who := fmt.Sprint("Number", tries, "x")
				old := must(b.whole.Write(t.Context(), b.who, kernel.WriteRequest{Text: who + " lives in Oslo."})).Stored[0]
				require.NoError(t, b.whole.CheckAll(t.Context()))
				b.whole.Clock.Advance(time.Second)
				id := must(b.whole.Write(t.Context(), b.who, kernel.WriteRequest{Text: who + " lives in Bern."})).Stored[0]
				b.Clock.Set(b.whole.Clock.Now())
				b.Pool.Reset()
				b.wire.Arm(n, moment)
				err := b.CheckAll(t.Context())
				seen := b.wire.Disarm()
				if n > 0 && n <= len(seen) {
					cuts++
				}
				if err != nil {
					require.ErrorIs(t, err, kernel.ErrUnavailable)
				}
				b.whole.Clock.Advance(time.Hour)
				require.NoError(t, b.whole.CheckAll(t.Context()))
				require.Zero(t, b.count(t, `SELECT count(*)::int FROM memkernel.conflict_checks`))
				require.Equal(t, 1, b.count(t, `SELECT count(*)::int FROM memkernel.memory_objects WHERE id = $1 AND superseded_by = $2`, old.String(), id.String()))
				require.Equal(t, 1, b.count(t, `SELECT count(*)::int FROM memkernel.audit_log WHERE op = 'conflict_check' AND memory_id = $1
					AND detail LIKE 'effect=close%'`, old.String()))
				require.Equal(t, map[bool]int{true: 1}[hold], b.count(t, `SELECT count(*)::int FROM memkernel.audit_log WHERE op = 'conflict_check'
					AND memory_id = $1 AND detail LIKE 'effect=activate%'`, id.String()))
				return seen
			}
			whole := try(0, 0)
			for n := 1; n <= len(whole); n++ {
				seen := try(n, pgtest.CutBefore)
				if n <= len(seen) && (seen[n-1] == 'S' || seen[n-1] == 'Q') {
					try(n, pgtest.CutUnanswered)
					try(n, pgtest.CutAnswered)
				}
			}
			requireSound(t, b.whole.Pool)
			require.Greater(t, cuts, 5, "the connection was hardly ever cut")
			t.Logf("%d attempts, %d of them cut", tries, cuts)
		})
	}
}

// TestCheckWorkersAtOnce: several kernels check what others write; each contradiction has its
// effect once.
func TestCheckWorkersAtOnce(t *testing.T) {
	t.Parallel()
	c := newContested(t)
	kits := []*kerneltest.Kit{c.Kit, kerneltest.OpenOn(t, c.Pool), kerneltest.OpenOn(t, c.Pool)}
	for _, k := range kits[1:] {
		k.SetLLM(&judge{contradicts: cities}, mem.DestinationLocal)
	}
	const people = 24
	for i := range people {
		c.write(t, c.agent, fmt.Sprint("Person", i, "x lives in Oslo."))
	}
	c.settle(t)
	for i := range people {
		c.write(t, c.reader, fmt.Sprint("Person", i, "x lives in Bern."))
	}
	for _, k := range kits {
		k.Clock.Set(c.Clock.Now())
	}
	together(3*len(kits), func(i int) {
		if err := kits[i%len(kits)].CheckAll(t.Context()); err != nil {
			t.Error(err)
		}
	})
	for _, k := range kits {
		k.Clock.Advance(time.Hour)
	}
	c.settle(t)
	require.Zero(t, c.unchecked(t))
	require.Len(t, c.checkRows(), people)
	require.Equal(t, people, sqlValue[int](t, c.Pool, `SELECT count(*)::int FROM memkernel.memory_objects WHERE superseded_by IS NOT NULL`))
	require.EqualValues(t, people, must(c.Stats(t.Context(), c.agent, kernel.StatsRequest{})).Live)
	requireSound(t, c.Pool)
}

// TestCheckBehindMany: one fact behind 10,000 others has its turn in the same round, and writes
// go on meanwhile.
func TestCheckBehindMany(t *testing.T) {
	t.Parallel()
	c := newContested(t)
	c.SetLLM(nil, "")
	old := c.write(t, c.agent, "Ana is allergic to nuts.")
	// As the writes of an importer would have left them.
	sqlExec(t, c.Pool, `WITH m AS (
		INSERT INTO memkernel.memory_objects (tenant, id, namespace, kind, text, dedupe_key, assertion_time, t_valid_from, provenance,
			actor, tokens, terms, terms_length, terms_version)
		SELECT 'acme', gen_random_uuid(), 'acme/other', 'fact', 'Item number ' || n || ' is in stock.', sha256(n::text::bytea), now(), $1,
			'conversation', 'importer', 8, '{}', 0, 1 FROM generate_series(1, 10000) AS n RETURNING tenant, id, namespace)
		INSERT INTO memkernel.conflict_checks (tenant, memory_id, namespace, marked_at, due_at) SELECT tenant, id, namespace, $1, $1 FROM m`, c.Clock.Now())
	sqlExec(t, c.Pool, `INSERT INTO memkernel.namespaces (tenant, path, tenant_id, live_rows)
		SELECT tenant, 'acme/other', id, 10000 FROM memkernel.tenants WHERE tenant = 'acme'`)
	id := c.write(t, c.agent, "Ana is not allergic to nuts.")
	done := make(chan error, 1)
	go func() { done <- c.CheckAll(t.Context()) }()
	for i := range 50 {
		must(c.Write(t.Context(), c.dana, kernel.WriteRequest{Text: fmt.Sprint("Write ", i, " goes on.")}))
	}
	select {
	case err := <-done:
		t.Fatal("the writes waited for the checks, which ended with ", err)
	default:
		require.NoError(t, <-done)
	}
	c.settle(t)
	require.Zero(t, c.unchecked(t))
	cases := c.cases(t, "")
	require.Len(t, cases, 1)
	require.Equal(t, id, cases[0].From.ID)
	require.Equal(t, old, cases[0].To.ID)
}

// TestConflictRaces: everything that can happen to two contradicting memories happens at once.
func TestConflictRaces(t *testing.T) {
	t.Parallel()
	for _, hold := range []bool{false, true} {
		t.Run(fmt.Sprint("held ", hold), func(t *testing.T) {
			t.Parallel()
			c := newContested(t)
			c.rule(t, kernel.Policy{HoldForReview: hold})
			other := kerneltest.OpenOn(t, c.Pool)
			other.SetLLM(&judge{contradicts: cities}, mem.DestinationLocal)
			ctx := t.Context()
			writers := []kernel.Identity{c.agent, c.reader, c.dana}
			for round := range 16 {
				who := fmt.Sprint("Round", round, "x")
				old := c.write(t, c.agent, who+" lives in Oslo.")
				if round%2 == 0 {
					c.settle(t)
				}
				id := c.write(t, writers[round%3], who+" lives in Bern.")
				other.Clock.Set(c.Clock.Now())
				ok := func(err error) {
					if err != nil && !errors.Is(err, kernel.ErrConflict) && !errors.Is(err, kernel.ErrNotFound) {
						t.Error(err)
					}
				}
				together(12, func(i int) {
					switch i % 6 {
					case 0:
						ok(c.CheckAll(ctx))
					case 1:
						ok(other.CheckAll(ctx))
					case 2:
						ok(second(c.Write(ctx, c.dana, kernel.WriteRequest{Text: fmt.Sprint(who, " moves to ", i, "."), Supersedes: old})))
					case 3:
						ok(second(c.Retract(ctx, c.dana, kernel.RetractRequest{ID: []kernel.ID{old, id}[i/6]})))
					case 4:
						ok(second(c.Write(ctx, c.dana, kernel.WriteRequest{Text: who + " lives in " + []string{"Oslo.", "BERN."}[i/6]})))
					default:
						state := []kernel.ConflictState{kernel.ConflictRetracted, kernel.ConflictCoexist}[i/6]
						ok(second(c.Conflicts().Resolve(ctx, c.admin, kernel.ConflictResolveRequest{From: id, To: old, State: state})))
					}
				})
				c.Clock.Advance(time.Hour)
				c.settle(t)
				require.Zero(t, c.unchecked(t))
				requireSound(t, c.Pool)
			}
			for _, e := range c.Audit() {
				if e.Op == acl.OpConflictCheck {
					require.Equal(t, kernel.AuditResult("ok"), e.Result)
				}
			}
		})
	}
}
