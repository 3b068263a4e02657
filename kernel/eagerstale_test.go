package kernel_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
)

// TestWarmReadForgetsItsFirstTry: what a try that came to nothing had read is not the answer.
func TestWarmReadForgetsItsFirstTry(t *testing.T) {
	t.Parallel()
	b := newWarmBench(t)
	sqlExec(t, b.Pool, `CREATE TABLE memkernel.broken (n int)`)
	sqlExec(t, b.Pool, `CREATE FUNCTION memkernel.breaks() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN
			IF EXISTS (SELECT 1 FROM memkernel.broken) THEN
				PERFORM pg_advisory_xact_lock(4711);
				RAISE EXCEPTION 'lost a race' USING ERRCODE = '40001';
			END IF;
			RETURN NULL;
		END $$`)
	sqlExec(t, b.Pool, `CREATE CONSTRAINT TRIGGER breaks AFTER INSERT ON memkernel.audit_log DEFERRABLE INITIALLY DEFERRED
		FOR EACH ROW WHEN (NEW.op = 'read') EXECUTE FUNCTION memkernel.breaks()`)
	sqlExec(t, b.Pool, `INSERT INTO memkernel.broken VALUES (1)`)
	holder := sideConn(t, b.other)
	_, err := holder.Exec(t.Context(), `SELECT pg_advisory_lock(4711)`)
	require.NoError(t, err)
	type answer struct {
		reply *kernel.ReadReply
		err   error
	}
	got := make(chan answer, 1)
	go func() {
		reply, err := b.Read(context.WithoutCancel(t.Context()), b.who, kernel.ReadRequest{ID: b.id})
		got <- answer{reply, err}
	}()
	awaitBlocked(t, holder, 1)
	// Not on the pool, whose only connection the read may hold.
	for _, sql := range []string{
		`UPDATE memkernel.memory_objects SET status = 'disputed' WHERE id = '` + b.id.String() + `'`, `DELETE FROM memkernel.broken`,
		`SELECT pg_advisory_unlock(4711)`,
	} {
		_, err = holder.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	a := <-got
	require.ErrorIs(t, a.err, kernel.ErrNotFound, "%+v", a.reply)
}

// TestWarmSearchAsksOnce: a search asks the model and the driver once, also if it finds nothing.
func TestWarmSearchAsksOnce(t *testing.T) {
	t.Parallel()
	model := &kerneltest.Embedder{InProcess: true}
	plans := &planCounter{}
	b := newWarmBench(t, kernel.WithEmbedder(model), kernel.WithHooks(plans))
	before := model.Calls()
	plans.n = 0
	reply := must(b.Search(t.Context(), b.who, kernel.SearchRequest{Query: "kiln", Kinds: []kernel.Kind{"skill"}}))
	require.Empty(t, reply.Items)
	require.Equal(t, 1, model.Calls()-before, "calls of the model")
	require.Equal(t, 1, plans.n, "plans")
}

type planCounter struct {
	kernel.HookDefaults

	n int
}

func (p *planCounter) DriverPlan(context.Context, kernel.DriverInfo) { p.n++ }
