package kernel_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
	"github.com/memkernel/memkernel/kernel/mem"
)

// TestExpiresAtIsChecked: an end that is not in the future, or no time, is refused by name, and
// nothing of the text is kept.
func TestExpiresAtIsChecked(t *testing.T) {
	t.Parallel()
	w := newWarmBench(t)
	now := w.other.Clock.Now()
	for name, at := range map[string]time.Time{
		"now":                       now,
		"before now":                now.Add(-time.Microsecond),
		"now, in another zone":      now.In(time.FixedZone("", 3600)),
		"now, but for a nanosecond": now.Add(999 * time.Nanosecond),
		"the year 10000":            time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC),
		"the year 0":                time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC),
	} {
		before := tableCounts(t, w.Kit)
		for op, call := range map[kernel.Op]func(kernel.WriteRequest) error{
			"write":       func(r kernel.WriteRequest) error { return second(w.Write(t.Context(), w.who, r)) },
			"write_async": func(r kernel.WriteRequest) error { return second(w.WriteAsync(t.Context(), w.who, r)) },
		} {
			for _, key := range []string{"", "1"} {
				w.RequireAudit(t, op, "error", func() {
					err := call(kernel.WriteRequest{Text: "Too late.", ExpiresAt: at, IdempotencyKey: key})
					var invalid *kernel.InvalidError
					require.ErrorAs(t, err, &invalid, name)
					require.Equal(t, "ExpiresAt", invalid.Field, name)
				}, "reason=invalid")
				before["audit_log"]++
			}
		}
		require.Equal(t, before, tableCounts(t, w.Kit), name)
	}
}

// TestExpiresAtIsKept: to the microsecond and as the instant that it is, on record too.
func TestExpiresAtIsKept(t *testing.T) {
	t.Parallel()
	w := newWarmBench(t)
	at := w.other.Clock.Now().Add(time.Hour + 1234567*time.Nanosecond)
	want := at.Truncate(time.Microsecond)
	for _, k := range []*kerneltest.Kit{w.Kit, w.other} {
		for i, zone := range []*time.Location{time.UTC, time.FixedZone("", -7*3600)} {
			id := must(k.Write(t.Context(), w.who, kernel.WriteRequest{Text: fmt.Sprintf("Kept by %p %d.", k, i), ExpiresAt: at.In(zone)})).Stored[0]
			row := lastAudit(k)
			require.Contains(t, row.Detail, "stored=1 rejected=0 superseded=0 deduplicated=0 expires_at=2026-03-01T13:00:00.001234Z")
			for range 2 {
				require.Equal(t, want, must(k.Read(t.Context(), w.who, kernel.ReadRequest{ID: id})).Memory.ExpiresAt)
			}
		}
	}
	row := w.RequireAudit(t, "write", "ok", func() {
		must(w.Write(t.Context(), w.who, kernel.WriteRequest{Text: "For good."}))
	})
	require.NotContains(t, row.Detail, "expires")
}

// TestExpiredIsNoDuplicate: up to its end a memory stands for its text, from then on the text is
// stored anew, whichever way the write takes.
func TestExpiredIsNoDuplicate(t *testing.T) {
	t.Parallel()
	ways := map[string]func(t *testing.T, w *warmBench) (write func(kernel.WriteRequest) (*kernel.WriteReply, error)){
		"warm": func(t *testing.T, w *warmBench) func(kernel.WriteRequest) (*kernel.WriteReply, error) {
			t.Helper()
			return func(r kernel.WriteRequest) (*kernel.WriteReply, error) { return w.Write(t.Context(), w.who, r) }
		},
		"cold": func(t *testing.T, w *warmBench) func(kernel.WriteRequest) (*kernel.WriteReply, error) {
			t.Helper()
			return func(r kernel.WriteRequest) (*kernel.WriteReply, error) {
				return kerneltest.OpenOn(t, w.Pool, kernel.WithClock(w.other.Clock.Now)).Write(t.Context(), w.who, r)
			}
		},
		"in a transaction": func(t *testing.T, w *warmBench) func(kernel.WriteRequest) (*kernel.WriteReply, error) {
			t.Helper()
			return func(r kernel.WriteRequest) (*kernel.WriteReply, error) {
				tx := begin(t, w.Kit)
				reply, err := w.WithTx(tx).Write(t.Context(), w.who, r)
				require.NoError(t, tx.Commit(t.Context()))
				return reply, err
			}
		},
		"remote model": func(t *testing.T, w *warmBench) func(kernel.WriteRequest) (*kernel.WriteReply, error) {
			t.Helper()
			k := kerneltest.OpenOn(t, w.Pool, kernel.WithClock(w.other.Clock.Now), kernel.WithEmbedder(&kerneltest.Embedder{}))
			return func(r kernel.WriteRequest) (*kernel.WriteReply, error) { return k.Write(t.Context(), w.who, r) }
		},
		"async": func(t *testing.T, w *warmBench) func(kernel.WriteRequest) (*kernel.WriteReply, error) {
			t.Helper()
			start(t, w.Kit)
			return func(r kernel.WriteRequest) (*kernel.WriteReply, error) {
				order, err := w.WriteAsync(t.Context(), w.who, r)
				if err != nil {
					return nil, err
				}
				return await(t, w.Kernel, w.who, order.Token).Reply, nil
			}
		},
	}
	for name, way := range ways {
		for _, stamped := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " ", stamped), func(t *testing.T) {
				t.Parallel()
				w := newWarmBench(t)
				ctx, clock := t.Context(), w.other.Clock
				write := way(t, w)
				at := clock.Now().Add(time.Hour)
				first := must(write(kernel.WriteRequest{Text: "The pass is Snow.", ExpiresAt: at})).Stored[0]
				clock.Set(at.Add(-time.Microsecond))
				same := must(write(kernel.WriteRequest{Text: "the pass is  snow.", ExpiresAt: at.Add(time.Hour)}))
				require.Equal(t, []kernel.ID{first}, same.Deduplicated)
				require.Equal(t, at, must(w.Read(ctx, w.who, kernel.ReadRequest{ID: first})).Memory.ExpiresAt, "as it was")

				clock.Set(at)
				if stamped {
					stampAll(t, kerneltest.OpenOn(t, w.Pool, kernel.WithClock(clock.Now)), at)
				}
				second := must(write(kernel.WriteRequest{Text: "the pass is snow.", ExpiresAt: at.Add(time.Hour)}))
				require.Len(t, second.Stored, 1)
				require.Empty(t, second.Superseded)
				require.Equal(t, second.Stored, must(write(kernel.WriteRequest{Text: "The pass is snow."})).Deduplicated)
				old := must(w.Read(ctx, w.who, kernel.ReadRequest{ID: first})).Memory
				require.Equal(t, mem.EndExpired, old.EndReason)
				require.Equal(t, at, old.ValidTo)
				require.Len(t, must(w.History(ctx, w.who, kernel.HistoryRequest{ID: first})).Memories, 1, "it is not replaced")
				found := itemIDs(must(w.Search(ctx, w.who, kernel.SearchRequest{Query: "snow on the pass"})))
				require.Contains(t, found, second.Stored[0])
				require.NotContains(t, found, first)

				// And a text that replaces another memory may be one that has expired.
				clock.Set(at.Add(time.Hour))
				target := must(write(kernel.WriteRequest{Text: "The pass is ice."})).Stored[0]
				third := must(write(kernel.WriteRequest{Text: "The pass is snow.", Supersedes: target}))
				require.Len(t, third.Stored, 1)
				require.Equal(t, []kernel.ID{target}, third.Superseded)
				requireSound(t, w.Pool)
			})
		}
	}
}

// TestExpiredCannotBeChanged: what has expired is neither replaced nor retracted, and what was
// before stays so.
func TestExpiredCannotBeChanged(t *testing.T) {
	t.Parallel()
	for _, stamped := range []bool{false, true} {
		t.Run(fmt.Sprint("on record: ", stamped), func(t *testing.T) {
			t.Parallel()
			w := newWarmBench(t)
			ctx, clock := t.Context(), w.other.Clock
			at := clock.Now().Add(time.Hour)
			write := func(text string, supersedes kernel.ID) kernel.ID {
				return must(w.Write(ctx, w.who, kernel.WriteRequest{Text: text, ExpiresAt: at, Supersedes: supersedes})).Stored[0]
			}
			alone, first, replaced, wrong := write("Alone.", kernel.ID{}), write("First.", kernel.ID{}), write("Replaced.", kernel.ID{}), write("Wrong.", kernel.ID{})
			head := write("Head.", first)
			clock.Set(at.Add(-time.Microsecond))
			lasting := must(w.Write(ctx, w.who, kernel.WriteRequest{Text: "Lasting.", Supersedes: replaced})).Stored[0]
			must(w.Retract(ctx, w.who, kernel.RetractRequest{ID: wrong}))
			clock.Set(at)
			if stamped {
				stampAll(t, kerneltest.OpenOn(t, w.Pool, kernel.WithClock(clock.Now)), at)
			}
			before := digest(t, w.Pool, "memory_objects")
			for _, id := range []kernel.ID{alone, first, head} {
				w.RequireAudit(t, "write", "error", func() {
					err := second(w.Write(ctx, w.who, kernel.WriteRequest{Text: "Too late.", Supersedes: id}))
					require.ErrorIs(t, err, kernel.ErrConflict)
					require.ErrorContains(t, err, map[bool]string{true: "superseded", false: "expired"}[id == first])
				}, "reason=conflict")
				w.RequireAudit(t, "retract", "error", func() {
					err := second(w.Retract(ctx, w.who, kernel.RetractRequest{ID: id}))
					require.ErrorIs(t, err, kernel.ErrConflict)
					require.ErrorContains(t, err, map[bool]string{true: "superseded", false: "expired"}[id == first])
				}, "reason=conflict")
			}
			require.Equal(t, before, digest(t, w.Pool, "memory_objects"))
			require.True(t, must(w.Retract(ctx, w.who, kernel.RetractRequest{ID: wrong})).Already)
			must(w.Write(ctx, w.who, kernel.WriteRequest{Text: "Still lasting.", Supersedes: replaced}))
			require.Equal(t, mem.EndSuperseded, must(w.Read(ctx, w.who, kernel.ReadRequest{ID: lasting})).Memory.EndReason)
			requireSound(t, w.Pool)
		})
	}
}

// TestExpiryIsProlonged: the same text with another end replaces the memory; with the same end it
// is a duplicate.
func TestExpiryIsProlonged(t *testing.T) {
	t.Parallel()
	w := newWarmBench(t)
	ctx := t.Context()
	at := w.other.Clock.Now().Add(time.Hour)
	req := kernel.WriteRequest{Text: "The guest code is 4711.", ExpiresAt: at}
	first := must(w.Write(ctx, w.who, req)).Stored[0]
	req.Supersedes = first
	require.Equal(t, []kernel.ID{first}, must(w.Write(ctx, w.who, req)).Deduplicated)
	req.ExpiresAt = at.Add(time.Hour)
	longer := must(w.Write(ctx, w.who, req))
	require.Equal(t, []kernel.ID{first}, longer.Superseded)
	req.ExpiresAt = time.Time{}
	ever := must(w.Write(ctx, w.who, req))
	require.Equal(t, longer.Stored, ever.Superseded)
	w.other.Clock.Set(at.Add(2 * time.Hour))
	require.Zero(t, must(w.Read(ctx, w.who, kernel.ReadRequest{ID: ever.Stored[0]})).Memory.ValidTo)
	require.Equal(t, mem.EndSuperseded, must(w.Read(ctx, w.who, kernel.ReadRequest{ID: first})).Memory.EndReason)
	requireSound(t, w.Pool)
}

// TestExpiryAndIdempotency: a retry is the same request if it means the same instant, and is
// answered as before when that has passed.
func TestExpiryAndIdempotency(t *testing.T) {
	t.Parallel()
	w := newWarmBench(t)
	ctx := t.Context()
	at := w.other.Clock.Now().Add(time.Hour)
	req := kernel.WriteRequest{Text: "Until noon.", ExpiresAt: at, IdempotencyKey: "1"}
	first := must(w.Write(ctx, w.who, req))
	async := req
	async.Text, async.IdempotencyKey = "Until one.", "2"
	order := must(w.WriteAsync(ctx, w.who, async))
	for _, other := range []time.Time{{}, at.Add(time.Microsecond), at.Add(-time.Microsecond)} {
		req, async := req, async
		req.ExpiresAt, async.ExpiresAt = other, other
		require.ErrorIs(t, second(w.Write(ctx, w.who, req)), kernel.ErrConflict)
		require.ErrorIs(t, second(w.WriteAsync(ctx, w.who, async)), kernel.ErrConflict)
	}
	for range 2 {
		for _, same := range []time.Time{at, at.In(time.FixedZone("", 3600)), at.Add(999)} {
			req, async := req, async
			req.ExpiresAt, async.ExpiresAt = same, same
			again := must(w.Write(ctx, w.who, req))
			require.True(t, again.Replayed)
			require.Equal(t, first.Stored, again.Stored)
			ticket := must(w.WriteAsync(ctx, w.who, async))
			require.True(t, ticket.Replayed)
			require.Equal(t, order.Ticket, ticket.Ticket)
		}
		w.other.Clock.Set(at.Add(time.Hour))
	}
	requireSound(t, w.Pool)
}

// TestExpiryOfAnOrder: an order whose memory has expired by the time that a worker comes to it has
// the effect that it would have had in time.
func TestExpiryOfAnOrder(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	ctx := t.Context()
	who := k.Key("acme/eng", kernel.RoleMember)
	at := k.Clock.Now().Add(time.Hour)
	target := must(k.Write(ctx, who, kernel.WriteRequest{Text: "The lead is Omar."})).Stored[0]
	inTime := must(k.WriteAsync(ctx, who, kernel.WriteRequest{Text: "The pager is with Dana.", ExpiresAt: at.Add(24 * time.Hour)}))
	late := must(k.WriteAsync(ctx, who, kernel.WriteRequest{Text: "The lead is Priya, for an hour.", ExpiresAt: at, Supersedes: target}))
	twice := must(k.WriteAsync(ctx, who, kernel.WriteRequest{Text: "The gate is open.", ExpiresAt: at}))
	again := must(k.WriteAsync(ctx, who, kernel.WriteRequest{Text: "The gate is open.", ExpiresAt: at.Add(time.Microsecond)}))
	run := at.Add(time.Hour)
	k.Clock.Set(run)
	start(t, k)

	reply := await(t, k.Kernel, who, inTime.Token)
	require.Equal(t, at.Add(24*time.Hour), must(k.Read(ctx, who, kernel.ReadRequest{ID: reply.Reply.Stored[0]})).Memory.ExpiresAt)
	reply = await(t, k.Kernel, who, late.Token)
	require.Equal(t, kernel.TicketDone, reply.State)
	require.Equal(t, []kernel.ID{target}, reply.Reply.Superseded)
	m := must(k.Read(ctx, who, kernel.ReadRequest{ID: reply.Reply.Stored[0]})).Memory
	require.Equal(t, mem.EndExpired, m.EndReason)
	require.Equal(t, at, m.ExpiresAt)
	require.Equal(t, run, m.ValidFrom)
	require.Equal(t, run, m.ValidTo, "it was never believed")
	require.Equal(t, mem.EndSuperseded, must(k.Read(ctx, who, kernel.ReadRequest{ID: target})).Memory.EndReason)
	for _, asOf := range []time.Time{{}, at.Add(-time.Microsecond), at, run} {
		for _, item := range must(k.Search(ctx, who, kernel.SearchRequest{Query: "lead", AsOf: asOf})).Items {
			require.NotEqual(t, m.ID, item.Memory.ID)
		}
	}
	require.NotEqual(t,
		await(t, k.Kernel, who, twice.Token).Reply.Stored[0], await(t, k.Kernel, who, again.Token).Reply.Stored[0], "neither is current")
	stampAll(t, kerneltest.OpenOn(t, k.Pool, kernel.WithClock(k.Clock.Now)), run)
	require.Equal(t, m, must(k.Read(ctx, who, kernel.ReadRequest{ID: m.ID})).Memory)
	requireSound(t, k.Pool)
}
