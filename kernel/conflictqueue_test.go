package kernel_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
	"github.com/memkernel/memkernel/kernel/mem"
)

// TestMarkOutlivesCheck: what is to be checked anew while it is being checked is, however the check
// under way ends and whenever the mark becomes known.
func TestMarkOutlivesCheck(t *testing.T) {
	t.Parallel()
	for _, late := range []bool{false, true} {
		t.Run(fmt.Sprint("claimed before it was marked ", late), func(t *testing.T) {
			t.Parallel()
			c := newHolding(t, kernel.Policy{ConflictReview: mem.ReviewAll})
			c.judge.contradicts = func(in, _ string) bool { return in == "The lift is fixed." }
			a := c.held(t, c.agent, kernel.WriteRequest{Text: "The lift is broken."})
			b := c.held(t, c.agent, kernel.WriteRequest{Text: "The lift is stuck."})
			c.settle(t)
			in := c.held(t, c.agent, kernel.WriteRequest{Text: "The lift is fixed."})
			c.settle(t)
			require.Len(t, c.cases(t, ""), 2)
			c.judge.contradicts = func(_, _ string) bool { return false }
			c.writeAs(t, c.dana, kernel.WriteRequest{Text: "A lift was broken in May.", Supersedes: a})
			tx, err := sideConn(t, c.Kit).BeginTx(t.Context(), pgx.TxOptions{})
			require.NoError(t, err)
			marked := false
			mark := func() {
				if !marked {
					marked = true
					must(c.WithTx(tx).Write(t.Context(), c.dana, kernel.WriteRequest{Text: "A lift was stuck in May.", Supersedes: b, Verbatim: true}))
				}
			}
			if late {
				c.judge.on = func(_ context.Context, shown []string) error {
					if shown[0] == "The lift is fixed." {
						mark()
					}
					return nil
				}
			} else {
				mark()
			}
			c.settle(t)
			require.True(t, marked)
			require.NoError(t, tx.Commit(t.Context()))
			c.judge.on = nil
			c.settle(t)
			require.Contains(t, c.found(t, "lift"), in)
			require.Zero(t, c.unchecked(t))
			requireSound(t, c.Pool)
		})
	}
}

// TestMarkOutlivesIdleCheck: the same of a check that leaves everything as it is.
func TestMarkOutlivesIdleCheck(t *testing.T) {
	t.Parallel()
	embedder := &nearModel{dim: 200}
	c := newContested(t, kernel.WithEmbedder(embedder))
	embedder.fail.Store(true)
	c.write(t, c.agent, "Ana lives in Oslo.")
	c.write(t, c.agent, "Ana sings in Oslo.")
	c.judge.on = func(ctx context.Context, _ []string) error {
		if embedder.fail.CompareAndSwap(true, false) {
			return c.FillGaps(ctx)
		}
		return nil
	}
	c.Clock.Advance(time.Hour)
	c.settle(t)
	require.False(t, embedder.fail.Load())
	require.EqualValues(t, 2, c.judge.calls.Load(), "by their words, and anew by their vectors")
	require.Zero(t, c.unchecked(t))
	require.Empty(t, c.checkRows())
}

// TestMarkOutlivesOldCheck: nor does the check end it that was under way, if another worker has taken
// it up by then.
func TestMarkOutlivesOldCheck(t *testing.T) {
	t.Parallel()
	embedder := &nearModel{dim: 200}
	c := newContested(t, kernel.WithEmbedder(embedder))
	other := kerneltest.OpenOn(t, c.Pool, kernel.WithEmbedder(embedder), kernel.WithClock(c.Clock.Now))
	thinking, goOn, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	other.SetLLM(&judge{contradicts: cities, on: func(context.Context, []string) error {
		close(thinking)
		<-goOn
		return nil
	}}, mem.DestinationLocal)
	embedder.fail.Store(true)
	oslo := c.write(t, c.agent, "Ana lives in Oslo.")
	bern := c.write(t, c.agent, "Ana lives in Bern.")
	c.judge.contradicts = func(_, _ string) bool { return false }
	c.judge.on = func(ctx context.Context, _ []string) error {
		embedder.fail.Store(false)
		if err := c.FillGaps(ctx); err != nil {
			return err
		}
		go func() { ended <- other.CheckAll(context.WithoutCancel(ctx)) }()
		<-thinking
		return nil
	}
	c.Clock.Advance(time.Hour)
	c.settle(t)
	require.EqualValues(t, 1, c.judge.calls.Load())
	close(goOn)
	require.NoError(t, <-ended)
	require.Equal(t, bern, c.read(t, oslo).SupersededBy)
	require.Zero(t, c.unchecked(t))
	requireSound(t, c.Pool)
}

// TestJudgeFailsForOneTenant: what one tenant makes the model fail at does not keep it from being
// asked about another's memories.
func TestJudgeFailsForOneTenant(t *testing.T) {
	t.Parallel()
	c := newContested(t)
	c.judge.on = func(_ context.Context, shown []string) error {
		if strings.HasPrefix(shown[0], "Eve") {
			return kerneltest.ErrFake
		}
		return nil
	}
	evil := c.Key("evil", kernel.RoleAgent)
	oslo := c.write(t, c.reader, "Ana lives in Oslo.")
	c.settle(t)
	for _, city := range []string{"Oslo", "Bern", "Rome", "Paris", "Lima", "Quito", "Kyiv", "Riga", "Cork"} {
		c.write(t, evil, "Eve lives in "+city+".")
	}
	bern := c.write(t, c.agent, "Ana lives in Bern.")
	c.settle(t)
	require.Equal(t, []kernel.ID{oslo}, c.found(t, "Ana"))
	require.Equal(t, bern, c.cases(t, "")[0].From.ID)
	require.Equal(t, 8, c.unchecked(t), "the first of the other tenant has nobody to be compared with")
	requireSound(t, c.Pool)
}

// TestUnaskedIsNoAttempt: a memory whose turn comes while the model is taken for down is put off as
// if it had not been its turn, and is asked about before those that the model has failed at.
func TestUnaskedIsNoAttempt(t *testing.T) {
	t.Parallel()
	c := newContested(t)
	old := c.write(t, c.agent, "Ana lives in Oslo.")
	c.settle(t)
	for i := range 12 {
		c.write(t, c.agent, fmt.Sprint("Ana drank poison number ", i, " in Oslo."))
	}
	last := c.write(t, c.agent, "Ana lives in Bern.")
	c.judge.on = func(_ context.Context, shown []string) error {
		if strings.Contains(shown[0], "poison") {
			return kerneltest.ErrFake
		}
		return nil
	}
	c.settle(t)
	attempts := func() int {
		return sqlValue[int](t, c.Pool, `SELECT attempts FROM memkernel.conflict_checks WHERE memory_id = $1`, last.String())
	}
	require.Zero(t, attempts())
	calls := c.judge.calls.Load()
	c.settle(t)
	require.Equal(t, calls, c.judge.calls.Load(), "not before some time has passed")
	for range 3 {
		c.Clock.Advance(time.Minute)
		c.settle(t)
	}
	require.Equal(t, last, c.read(t, old).SupersededBy)
	requireSound(t, c.Pool)
}

// TestJudgeDownForLong: with a model that stays down every memory is decided about in the end, many
// as they are.
func TestJudgeDownForLong(t *testing.T) {
	t.Parallel()
	c := newHolding(t, kernel.Policy{})
	const people = 40
	for i := range people {
		c.held(t, c.agent, kernel.WriteRequest{Text: fmt.Sprint("Person number ", i, " lives in Oslo.")})
	}
	c.judge.on = func(context.Context, []string) error { return kerneltest.ErrFake }
	for range 24 {
		c.settle(t)
		c.Clock.Advance(5 * time.Minute)
	}
	require.Zero(t, c.unchecked(t))
	require.EqualValues(t, people, must(c.Stats(t.Context(), c.agent, kernel.StatsRequest{})).Live)
	requireSound(t, c.Pool)
}

// TestWriterAhead: a writer whose clock is ahead of the checker's does not put its check off.
func TestWriterAhead(t *testing.T) {
	t.Parallel()
	for _, job := range []bool{false, true} {
		t.Run(fmt.Sprint("by the job of the write ", job), func(t *testing.T) {
			t.Parallel()
			c := newHolding(t, kernel.Policy{})
			c.Clock.Advance(24 * time.Hour)
			oslo := c.held(t, c.agent, kernel.WriteRequest{Text: "Ana lives in Oslo."})
			bern := c.held(t, c.agent, kernel.WriteRequest{Text: "Ana lives in Bern."})
			c.Clock.Advance(-24 * time.Hour)
			c.judge.on = func(context.Context, []string) error { return kerneltest.ErrFake }
			check := func() {
				if !job {
					c.settle(t)
					return
				}
				require.NoError(t, c.CheckSome(t.Context(), "acme", oslo))
				require.NoError(t, c.CheckSome(t.Context(), "acme", bern))
			}
			status := func(id kernel.ID) string {
				return sqlValue[string](t, c.Pool, `SELECT status FROM memkernel.memory_objects WHERE id = $1`, id.String())
			}
			check()
			require.Equal(t, "active", status(oslo))
			require.EqualValues(t, 1, c.judge.calls.Load())
			check()
			require.EqualValues(t, 1, c.judge.calls.Load(), "it is put off by the checker's clock, as any other")
			require.Equal(t, 1, c.unchecked(t))
			c.judge.on = nil
			c.Clock.Advance(time.Minute)
			check()
			require.Equal(t, "active", status(bern))
			require.Zero(t, c.unchecked(t))
			requireSound(t, c.Pool)
		})
	}
}

// TestWorkerAhead: a worker whose clock is ahead of the database's takes nothing up before its time,
// and keeps the others off what it takes up no longer than they would.
func TestWorkerAhead(t *testing.T) {
	t.Parallel()
	c := newContested(t)
	fast := kerneltest.OpenOn(t, c.Pool)
	fast.SetLLM(c.judge, mem.DestinationLocal)
	c.Clock.Set(sqlValue[time.Time](t, c.Pool, `SELECT now()`))
	old := c.write(t, c.agent, "Ana lives in Oslo.")
	c.settle(t)
	id := c.write(t, c.agent, "Ana lives in Bern.")
	fast.Clock.Set(c.Clock.Now().Add(24 * time.Hour))
	c.judge.on = func(context.Context, []string) error { return kerneltest.ErrFake }
	for range 6 {
		require.NoError(t, fast.CheckAll(t.Context()))
		require.NoError(t, fast.CheckSome(t.Context(), "acme", id))
		fast.Clock.Advance(time.Hour)
		c.settle(t)
	}
	require.EqualValues(t, 1, c.judge.calls.Load())
	require.True(t, sqlValue[bool](t, c.Pool, `SELECT attempts = 1 AND due_at < now() + interval '1 hour' FROM memkernel.conflict_checks`))
	// Its time has come.
	sqlExec(t, c.Pool, `UPDATE memkernel.conflict_checks SET due_at = due_at - interval '1 hour'`)
	c.judge.on = nil
	c.settle(t)
	require.Equal(t, id, c.read(t, old).SupersededBy)
	requireSound(t, c.Pool)
}

// TestSuspendedWhileJudged: what was suspended while a model thought is not changed.
func TestSuspendedWhileJudged(t *testing.T) {
	t.Parallel()
	c := newContested(t)
	old := c.write(t, c.agent, "Ana lives in Oslo.")
	c.settle(t)
	id := c.write(t, c.agent, "Ana lives in Bern.")
	before := digest(t, c.Pool, "memory_objects")
	c.judge.on = func(ctx context.Context, _ []string) error {
		return c.Tenants().Suspend(ctx, kernel.TenantRequest{Tenant: "acme"})
	}
	c.settle(t)
	require.Equal(t, before, digest(t, c.Pool, "memory_objects"))
	require.Empty(t, c.checkRows())
	c.judge.on = nil
	require.NoError(t, c.Tenants().Resume(t.Context(), kernel.TenantRequest{Tenant: "acme"}))
	c.Clock.Advance(time.Hour)
	c.settle(t)
	require.Equal(t, id, c.read(t, old).SupersededBy)
	require.Zero(t, c.unchecked(t))
	requireSound(t, c.Pool)
}

// TestPolicyWhileJudged: what the model's answer comes to is for the policy by then to say.
func TestPolicyWhileJudged(t *testing.T) {
	t.Parallel()
	c := newContested(t)
	old := c.write(t, c.agent, "Ana lives in Oslo.")
	c.settle(t)
	id := c.write(t, c.agent, "Ana lives in Bern.")
	c.judge.on = func(context.Context, []string) error {
		c.rule(t, kernel.Policy{ConflictReview: mem.ReviewAll})
		return nil
	}
	c.settle(t)
	require.ElementsMatch(t, []kernel.ID{old, id}, c.found(t, "Ana"))
	require.Equal(t, "review_mode", c.cases(t, "")[0].Reason)
	requireSound(t, c.Pool)
}
