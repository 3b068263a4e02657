package kernel_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/internal/pgtest"
	"github.com/memkernel/memkernel/internal/store"
	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/kernel/model/hashing"
)

// TestRaceExpiredCopy: of many who write a text that has expired at once, one stores it.
func TestRaceExpiredCopy(t *testing.T) {
	t.Parallel()
	for _, size := range poolSizes {
		t.Run(fmt.Sprint("pool of ", size), func(t *testing.T) {
			t.Parallel()
			k := openPool(t, size)
			who := k.Key("acme/eng", kernel.RoleMember)
			for round := range 5 {
				at := k.Clock.Now().Add(time.Hour)
				text := fmt.Sprint("Ring ", round)
				first := must(k.Write(t.Context(), who, kernel.WriteRequest{Text: text, ExpiresAt: at})).Stored[0]
				k.Clock.Set(at)
				const n = 24
				var replies [n]*kernel.WriteReply
				together(n, func(i int) {
					var err error
					if replies[i], err = k.Write(t.Context(), who, kernel.WriteRequest{Text: text}); err != nil {
						t.Error(err)
					}
				})
				require.False(t, t.Failed())
				stored := 0
				for _, r := range replies {
					stored += len(r.Stored)
					require.NotContains(t, r.Deduplicated, first)
				}
				require.Equal(t, 1, stored)
				requireSound(t, k.Pool)
			}
		})
	}
}

// stamper puts ends on record without a pause, as by many workers, until it is told to stop. It
// does so by a clock of its own.
type stamper struct {
	store   *store.Store
	now     atomic.Pointer[time.Time]
	over    atomic.Bool
	done    chan struct{}
	stamped atomic.Int64
}

func newStamper(t *testing.T, k *kerneltest.Kit, now time.Time) *stamper {
	t.Helper()
	s := &stamper{
		store: store.New(k.Pool, hashing.New().Info(), store.AppendOptions{MaxGroup: 1, Timeout: time.Minute}), done: make(chan struct{}),
	}
	s.now.Store(&now)
	go func() {
		defer close(s.done)
		for !s.over.Load() {
			s.round(t)
		}
	}()
	t.Cleanup(s.stop)
	return s
}

func (s *stamper) stop() { s.over.Store(true); <-s.done }

func (s *stamper) round(t *testing.T) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	now := *s.now.Load()
	due, err := s.store.Expired(ctx, now, 10)
	if err != nil {
		t.Error(err)
	}
	for i := range due {
		n, err := s.store.StampExpired(ctx, &due[i], now, 3)
		if err != nil {
			t.Error(err)
		}
		s.stamped.Add(int64(n))
	}
}

// TestRaceExpiry lets everything happen at once to memories whose time runs out meanwhile, by
// clocks that do not agree: workers put their ends on record while they are replaced, retracted,
// read and written anew.
func TestRaceExpiry(t *testing.T) {
	t.Parallel()
	for _, size := range poolSizes {
		t.Run(fmt.Sprint("pool of ", size), func(t *testing.T) {
			t.Parallel()
			k := openPool(t, size)
			other := kerneltest.OpenOn(t, k.Pool)
			stampers := []*stamper{newStamper(t, k, k.Clock.Now()), newStamper(t, k, k.Clock.Now())}
			who := k.Key("acme/eng", kernel.RoleMember)
			const rounds, each = 10, 6
			for round := range rounds {
				at := k.Clock.Now().Add(time.Second)
				text := fmt.Sprintf("Round %d is on.", round)
				id := must(k.Write(t.Context(), who, kernel.WriteRequest{Text: text, ExpiresAt: at})).Stored[0]
				together(5*each, func(i int) {
					kit := []*kerneltest.Kit{k, other}[i%2]
					if i >= each { // each clock passes the instant, back and forth
						now := at.Add(time.Duration(i%3-1) * time.Microsecond)
						kit.Clock.Set(now)
						stampers[i/each%2].now.Store(&now)
					}
					var err error
					switch i % 5 {
					case 0:
						err = second(kit.Write(t.Context(), who, kernel.WriteRequest{
							Text: fmt.Sprintf("Round %d moves to %d.", round, i), Supersedes: id, ExpiresAt: at.Add(2 * time.Microsecond),
						}))
					case 1:
						err = second(kit.Retract(t.Context(), who, kernel.RetractRequest{ID: id}))
					case 2:
						err = second(kit.Search(t.Context(), who, kernel.SearchRequest{Query: "round"}))
					case 3:
						err = second(kit.Read(t.Context(), who, kernel.ReadRequest{ID: id}))
					default:
						err = second(kit.Write(t.Context(), who, kernel.WriteRequest{Text: text, ExpiresAt: at.Add(2 * time.Microsecond)}))
					}
					if err != nil && !isConflict(err) {
						t.Error(err)
					}
				})
				k.Clock.Set(at.Add(time.Microsecond))
				other.Clock.Set(at)
			}
			for _, s := range stampers {
				s.stop()
			}
			requireSound(t, k.Pool)
			end := k.Clock.Now().Add(time.Hour)
			k.Clock.Set(end)
			before := must(k.Stats(t.Context(), who, kernel.StatsRequest{}))
			require.Zero(t, before.Live)
			stampers[0].now.Store(&end)
			for stampers[0].stamped.Store(1); stampers[0].stamped.Swap(0) > 0; {
				stampers[0].round(t)
			}
			after := must(k.Stats(t.Context(), who, kernel.StatsRequest{}))
			before.Audit, after.Audit = kernel.AuditStats{}, kernel.AuditStats{}
			require.Equal(t, before, after)
			require.Zero(t, sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM memkernel.memory_objects WHERE t_valid_to IS NULL`))
			require.Positive(t, sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM memkernel.memory_objects WHERE end_reason = 'expired'`))
			requireSound(t, k.Pool)
		})
	}
}

// TestStampersShareTheWork: workers that meet take what others have not, and what somebody holds
// is left alone.
func TestStampersShareTheWork(t *testing.T) {
	t.Parallel()
	k := kerneltest.OpenOn(t, pgtest.Open(t))
	ctx := t.Context()
	who := k.Key("acme/eng", kernel.RoleMember)
	at := k.Clock.Now().Add(time.Hour)
	const n = 40
	for i := range n {
		must(k.Write(ctx, who, kernel.WriteRequest{Text: fmt.Sprint("Room ", i, " is taken."), ExpiresAt: at}))
	}
	tx := begin(t, k)
	_, err := tx.Exec(ctx, `SELECT FROM memkernel.memory_objects WHERE text = 'Room 7 is taken.' FOR SHARE`)
	require.NoError(t, err)
	var all int64
	var stampers []*stamper
	for range 3 {
		stampers = append(stampers, newStamper(t, k, at))
	}
	require.Eventually(t, func() bool {
		return sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM memkernel.memory_objects WHERE t_valid_to IS NULL`) == 1
	}, 60*time.Second, 5*time.Millisecond)
	requireSound(t, k.Pool)
	require.NoError(t, tx.Rollback(ctx))
	require.Eventually(t, func() bool {
		return sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM memkernel.memory_objects WHERE t_valid_to IS NULL`) == 0
	}, 60*time.Second, 5*time.Millisecond)
	for _, s := range stampers {
		s.stop()
		all += s.stamped.Load()
	}
	require.EqualValues(t, n, all)
	requireSound(t, k.Pool)
}

// TestExpiredInACrowd: reads that share a statement say how it ended, as one alone does.
func TestExpiredInACrowd(t *testing.T) {
	t.Parallel()
	k := groupKit(t, 256)
	ctx := t.Context()
	who := k.Key("acme/eng", kernel.RoleMember)
	at := k.Clock.Now().Add(time.Hour)
	id := must(k.Write(ctx, who, kernel.WriteRequest{Text: "The bell rang.", ExpiresAt: at})).Stored[0]
	must(k.Read(ctx, who, kernel.ReadRequest{ID: id}))
	k.Clock.Set(at)
	const n = 20
	var ended [n]mem.EndReason
	gatherSearches(t, k, n, func(i int) {
		if reply, err := k.Read(ctx, who, kernel.ReadRequest{ID: id}); err != nil {
			t.Error(err)
		} else if reply.Memory.ValidTo.Equal(at) {
			ended[i] = reply.Memory.EndReason
		}
	})
	for _, reason := range ended {
		require.Equal(t, mem.EndExpired, reason)
	}
}
