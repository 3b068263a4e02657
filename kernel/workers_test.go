package kernel_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/audit"
	"github.com/memkernel/memkernel/internal/pgtest"
	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
)

// TestWorkersTwoKernels: two kernels work on one database, and each write has its effect once.
func TestWorkersTwoKernels(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	other := kerneltest.OpenOn(t, k.Pool)
	ctx := t.Context()
	who := k.Key("acme/eng", kernel.RoleMember)
	start(t, k)
	start(t, other)
	const n = 60
	var tokens [n]string
	together(n, func(i int) {
		reply, err := k.WriteAsync(ctx, who, kernel.WriteRequest{Text: fmt.Sprint("Room ", i/2, " is taken.")})
		if err != nil {
			t.Error(err)
			return
		}
		tokens[i] = reply.Token
	})
	stored, same := 0, 0
	for _, token := range tokens {
		// Tickets of an identity hold for any kernel on the database.
		reply := await(t, k.Kernel, who, token)
		require.Equal(t, kernel.TicketDone, reply.State)
		stored += len(reply.Reply.Stored)
		same += len(reply.Reply.Deduplicated)
	}
	require.Equal(t, n/2, stored)
	require.Equal(t, n/2, same)
	require.Len(t, writeRows(k), n)
	requireSound(t, k.Pool)
}

// blocker is a model that hangs, whatever its context says, until it is released.
type blocker struct {
	kerneltest.Embedder

	entered, release chan struct{}
}

// newBlocker returns a model that blocks the first calls of it.
func newBlocker(t *testing.T, calls int64, heedsContext bool) *blocker {
	t.Helper()
	b := &blocker{entered: make(chan struct{}, 100), release: make(chan struct{})}
	var seen atomic.Int64
	b.OnEmbed = func(ctx context.Context, _ []string) error {
		if seen.Add(1) > calls {
			return nil
		}
		b.entered <- struct{}{}
		if !heedsContext {
			ctx = context.WithoutCancel(ctx)
		}
		select {
		case <-b.release:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return b
}

// TestWorkersStopped: Close cancels a write that hangs; the attempt does not count, and another
// kernel makes it.
func TestWorkersStopped(t *testing.T) {
	t.Parallel()
	for name, heeds := range map[string]bool{"a model that heeds its context": true, "one that does not": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := newBlocker(t, 1, heeds)
			k := kerneltest.Open(t, kernel.WithEmbedder(model))
			defer close(model.release)
			ctx := t.Context()
			who := k.Key("acme/eng", kernel.RoleMember)
			require.NoError(t, k.Start(ctx))
			require.NoError(t, k.Start(ctx), "a repeat call does nothing")
			order := must(k.WriteAsync(ctx, who, kernel.WriteRequest{Text: "The pager is with Dana."}))
			<-model.entered
			require.Equal(t, kernel.TicketRunning, must(k.Ticket(ctx, who, kernel.TicketRequest{ID: order.Ticket})).State)
			closing, cancel := context.WithTimeout(ctx, 2*time.Second)
			defer cancel()
			require.NoError(t, k.Close(closing))
			require.Equal(t, &kernel.TicketReply{State: kernel.TicketPending}, must(k.Ticket(ctx, who, kernel.TicketRequest{ID: order.Ticket})))
			require.Empty(t, writeRows(k))

			other := kerneltest.OpenOn(t, k.Pool, kernel.WithEmbedder(&kerneltest.Embedder{}))
			start(t, other)
			reply := await(t, k.Kernel, who, order.Token)
			require.Equal(t, kernel.TicketDone, reply.State)
			require.Equal(t, 1, reply.Attempts)
			require.Len(t, writeRows(k), 1)
			requireSound(t, k.Pool)
		})
	}
}

// TestWorkersStopSoftly: Close lets a write that is about to be done be done.
func TestWorkersStopSoftly(t *testing.T) {
	t.Parallel()
	model := newBlocker(t, 1, true)
	k := kerneltest.Open(t, kernel.WithEmbedder(model))
	ctx := t.Context()
	who := k.Key("acme/eng", kernel.RoleMember)
	require.NoError(t, k.Start(ctx))
	order := must(k.WriteAsync(ctx, who, kernel.WriteRequest{Text: "The pager is with Dana."}))
	<-model.entered
	closed := make(chan error, 1)
	go func() { closed <- k.Close(context.WithoutCancel(ctx)) }()
	close(model.release)
	require.NoError(t, <-closed)
	require.Equal(t, kernel.TicketDone, must(k.Ticket(ctx, who, kernel.TicketRequest{ID: order.Ticket})).State)
	require.NoError(t, k.Start(ctx), "it can be started again")
	require.NoError(t, k.Close(ctx))
}

// TestWorkersCut: the connections break between claim and commit.
func TestWorkersCut(t *testing.T) {
	t.Parallel()
	model := newBlocker(t, 1, true)
	k := kerneltest.Open(t, kernel.WithEmbedder(model))
	ctx := t.Context()
	who := k.Key("acme/eng", kernel.RoleMember)
	start(t, k)
	order := must(k.WriteAsync(ctx, who, kernel.WriteRequest{Text: "The pager is with Dana."}))
	<-model.entered
	side := sideConn(t, k)
	_, err := side.Exec(ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE datname = current_database() AND pid <> pg_backend_pid()`)
	require.NoError(t, err)
	close(model.release)
	require.Eventually(t, func() bool {
		var state string
		require.NoError(t, side.QueryRow(ctx, `SELECT state FROM memkernel.captures`).Scan(&state))
		return state == "done"
	}, 60*time.Second, 5*time.Millisecond)
	k.Pool.Reset()
	require.Equal(t, kernel.TicketDone, await(t, k.Kernel, who, order.Token).State)
	require.Len(t, writeRows(k), 1)
	require.Equal(t, 1, sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM memkernel.memory_objects`))
	requireSound(t, k.Pool)
}

// TestWorkersFenced: an attempt that was taken for dead wakes up after another has done the
// work. It leaves no trace.
func TestWorkersFenced(t *testing.T) {
	t.Parallel()
	model := newBlocker(t, 1, true)
	limits := kernel.Limits{UpkeepInterval: 100 * time.Millisecond}
	k := kerneltest.Open(t, kernel.WithEmbedder(model), kernel.WithLimits(limits))
	ctx := t.Context()
	who := k.Key("acme/eng", kernel.RoleMember)
	start(t, k)
	order := must(k.WriteAsync(ctx, who, kernel.WriteRequest{Text: "The pager is with Dana."}))
	<-model.entered
	_, err := k.Pool.Exec(ctx, `UPDATE memkernel.captures SET claimed_at = claimed_at - interval '1 hour'`)
	require.NoError(t, err)
	k.Clock.Advance(time.Hour) // overdue: it gets another job
	reply := await(t, k.Kernel, who, order.Token)
	require.Equal(t, kernel.TicketDone, reply.State)
	require.Equal(t, 2, reply.Attempts)
	close(model.release)
	require.Eventually(t, func() bool {
		return sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM memkernel.river_job WHERE kind = 'memkernel_write' AND state <> 'completed'`) == 0
	}, 60*time.Second, 5*time.Millisecond)
	require.Equal(t, reply, must(k.Ticket(ctx, who, kernel.TicketRequest{ID: order.Ticket})))
	require.Len(t, writeRows(k), 1)
	require.Equal(t, 1, sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM memkernel.memory_objects`))
	requireSound(t, k.Pool)
}

// TestWorkersDeadLetter: what keeps failing is given up, with its text, and can be tried again.
func TestWorkersDeadLetter(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kernel.WithLimits(kernel.Limits{WriteAttempts: 2}))
	ctx := t.Context()
	who := k.Key("acme/eng", kernel.RoleMember)
	_, err := k.Pool.Exec(ctx, `ALTER TABLE memkernel.memory_objects ADD CONSTRAINT broken CHECK (text <> 'secret words')`)
	require.NoError(t, err)
	start(t, k)
	req := kernel.WriteRequest{Text: "secret words", IdempotencyKey: "1"}
	order := must(k.WriteAsync(ctx, who, req))
	reply := await(t, k.Kernel, who, order.Token)
	require.Equal(t, &kernel.TicketReply{State: kernel.TicketFailed, Attempts: 2, Failure: kernel.FailureInternal}, reply)
	rows := writeRows(k)
	require.Len(t, rows, 1, "one row, at the end")
	require.Equal(t, audit.ResultError, rows[0].Result)
	require.Equal(t, "secret words", sqlValue[string](t, k.Pool, `SELECT content FROM memkernel.captures`))
	require.Zero(t, sqlValue[int](t, k.Pool,
		`SELECT count(*)::int FROM memkernel.river_job AS j WHERE j::text LIKE '%secret%' OR j::text LIKE '%broken%'`), "no trace in the jobs")
	require.Zero(t, must(k.Stats(ctx, who, kernel.StatsRequest{})).Pending)

	_, err = k.Pool.Exec(ctx, `ALTER TABLE memkernel.memory_objects DROP CONSTRAINT broken`)
	require.NoError(t, err)
	require.Equal(t, order.Ticket, must(k.WriteAsync(ctx, who, req)).Ticket)
	require.Equal(t, kernel.TicketDone, await(t, k.Kernel, who, order.Token).State)
	requireSound(t, k.Pool)
}

// TestWorkersSmallPools: they work through any pool, beside callers, listening or not, and hold
// no connection while a model thinks.
func TestWorkersSmallPools(t *testing.T) {
	t.Parallel()
	for _, conns := range []int32{1, 2} {
		for name, opts := range map[string][]kernel.Option{"listening": nil, "polling": {kernel.WithLimits(kernel.Limits{PollInterval: 20 * time.Millisecond})}} {
			t.Run(fmt.Sprint(conns, " ", name), func(t *testing.T) {
				t.Parallel()
				pool := pgtest.Open(t, pgtest.WithMaxConns(conns))
				model := &kerneltest.Embedder{OnEmbed: func(ctx context.Context, _ []string) error {
					return pool.Ping(ctx) // there is a connection to be had
				}}
				k := kerneltest.OpenOn(t, pool, append(opts, kernel.WithEmbedder(model))...)
				who := k.Key("acme/eng", kernel.RoleMember)
				start(t, k)
				const n = 20
				together(n, func(i int) {
					order, err := k.WriteAsync(t.Context(), who, kernel.WriteRequest{Text: fmt.Sprint("Room ", i, " is taken.")})
					if err != nil {
						t.Error(err)
						return
					}
					reply, err := k.WaitVisible(t.Context(), who, kernel.WaitVisibleRequest{Token: order.Token})
					if err != nil || reply.State != kernel.TicketDone || len(reply.Reply.Degraded) > 0 {
						t.Error(reply, err)
					}
				})
				requireSound(t, k.Pool)
			})
		}
	}
}

// TestWaitVisibleEnds: with its context, or when the caller may not ask any more.
func TestWaitVisibleEnds(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	who := k.Key("acme/eng", kernel.RoleMember)
	order := must(k.WriteAsync(t.Context(), who, kernel.WriteRequest{Text: "Nobody works."}))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := k.WaitVisible(ctx, who, kernel.WaitVisibleRequest{Token: order.Token})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	ended := make(chan error, 1)
	go func() {
		_, err := k.WaitVisible(t.Context(), who, kernel.WaitVisibleRequest{Token: order.Token})
		ended <- err
	}()
	require.NoError(t, k.Tenants().Suspend(t.Context(), kernel.TenantRequest{Tenant: "acme"}))
	require.ErrorIs(t, <-ended, kernel.ErrTenantSuspended)
}

// TestGapsAreFilled: a memory that was stored while the model was down gets its vector when it is
// back, without a restart; one that ended meanwhile is not brought back.
func TestGapsAreFilled(t *testing.T) {
	t.Parallel()
	model := &kerneltest.Embedder{}
	k := kerneltest.Open(t, kernel.WithEmbedder(model), kernel.WithLimits(kernel.Limits{UpkeepInterval: 50 * time.Millisecond}))
	ctx := t.Context()
	who := k.Key("acme/eng", kernel.RoleMember)
	model.Fail(kerneltest.ErrFake)
	start(t, k)
	var ids []kernel.ID
	for i := range 5 {
		reply := must(k.Write(ctx, who, kernel.WriteRequest{Text: fmt.Sprint("Room ", i, " is taken.")}))
		require.NotEmpty(t, reply.Degraded)
		ids = append(ids, reply.Stored[0])
	}
	order := must(k.WriteAsync(ctx, who, kernel.WriteRequest{Text: "Room 9 is taken."}))
	require.NotEmpty(t, await(t, k.Kernel, who, order.Token).Reply.Degraded)
	must(k.Retract(ctx, who, kernel.RetractRequest{ID: ids[0]}))
	gaps := func() int { return sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM memkernel.embedding_gaps`) }
	require.Equal(t, 6, gaps())
	model.Fail(nil)
	require.Eventually(t, func() bool {
		k.Clock.Advance(time.Hour) // past what failures have put off
		return gaps() == 0
	}, 60*time.Second, 20*time.Millisecond)
	require.Equal(t, 6, sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM memkernel.memory_vectors`))
	require.Equal(t, 5, sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM memkernel.memory_vectors WHERE live`))
	require.Empty(t, must(k.Search(ctx, who, kernel.SearchRequest{Query: "rooms"})).Degraded)
	requireSound(t, k.Pool)
}

// TestGapRaces: a memory ends, or is erased, while the model thinks about its vector.
func TestGapRaces(t *testing.T) {
	t.Parallel()
	model := newBlocker(t, 0, true)
	k := kerneltest.Open(t, kernel.WithEmbedder(model), kernel.WithLimits(kernel.Limits{UpkeepInterval: 50 * time.Millisecond}))
	ctx := t.Context()
	who := k.Key("acme/eng", kernel.RoleMember)
	model.Fail(kerneltest.ErrFake)
	id := must(k.Write(ctx, who, kernel.WriteRequest{Text: "Room 1 is taken."})).Stored[0]
	model.Fail(nil)
	thinking, goOn := make(chan struct{}), make(chan struct{})
	var once atomic.Bool
	model.OnEmbed = func(context.Context, []string) error {
		if once.CompareAndSwap(false, true) {
			close(thinking)
			<-goOn
		}
		return nil
	}
	start(t, k)
	<-thinking
	must(k.Retract(ctx, who, kernel.RetractRequest{ID: id}))
	close(goOn)
	require.Eventually(t, func() bool {
		return sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM memkernel.embedding_gaps`) == 0
	}, 60*time.Second, 5*time.Millisecond)
	require.Equal(t, 0, sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM memkernel.memory_vectors WHERE live`))
	requireSound(t, k.Pool)
}

// TestWorkersLeaveNothing: Open starts nothing, and Close ends all that Start began. It does not
// run beside others.
func TestWorkersLeaveNothing(t *testing.T) { //nolint:paralleltest // it looks at all goroutines of the process
	rivers := func() int {
		buf := make([]byte, 1<<22)
		return strings.Count(string(buf[:runtime.Stack(buf, true)]), "riverqueue/river")
	}
	before := rivers()
	k := kerneltest.Open(t)
	who := k.Key("acme/eng", kernel.RoleMember)
	order := must(k.WriteAsync(t.Context(), who, kernel.WriteRequest{Text: "The pager is with Dana."}))
	require.Equal(t, before, rivers())
	require.NoError(t, k.Start(t.Context()))
	await(t, k.Kernel, who, order.Token)
	require.Greater(t, rivers(), before)
	require.NoError(t, k.Close(t.Context()))
	require.Eventually(t, func() bool { return rivers() <= before }, 10*time.Second, 10*time.Millisecond)
	require.NoError(t, k.Close(t.Context()))
}

// TestGapOfErased: what was erased leaves no work behind.
func TestGapOfErased(t *testing.T) {
	t.Parallel()
	model := &kerneltest.Embedder{}
	k := kerneltest.Open(t, kernel.WithEmbedder(model))
	ctx := t.Context()
	who := k.Key("acme/eng", kernel.RoleMember)
	model.Fail(kerneltest.ErrFake)
	id := must(k.Write(ctx, who, kernel.WriteRequest{Text: "Room 1 is taken."})).Stored[0]
	tx := begin(t, k)
	for _, sql := range []string{fmt.Sprintf(tombstone, "acme", id), fmt.Sprintf("DELETE FROM memkernel.memory_objects WHERE id = '%s'", id)} {
		_, err := tx.Exec(ctx, sql)
		require.NoError(t, err)
	}
	require.NoError(t, tx.Commit(ctx))
	calls := model.Calls()
	start(t, k)
	require.Eventually(t, func() bool {
		return sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM memkernel.embedding_gaps`) == 0
	}, 60*time.Second, 5*time.Millisecond)
	require.Equal(t, calls, model.Calls(), "the model is not asked")
}
