package kernel_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
	"github.com/memkernel/memkernel/kernel/mem"
)

// expiryWorld has, in a namespace, the one above it and an invisible one, memories that end in
// every way, some of them by themselves at the instant at.
type expiryWorld struct {
	*kerneltest.Kit

	arms     []*armDriver
	opts     []kernel.Option
	who      kernel.Identity
	start    time.Time // when all was written
	at       time.Time
	visible  []string
	memories map[string]map[string]kernel.ID // by namespace and name
}

func newExpiryWorld(t *testing.T, dim int) *expiryWorld {
	t.Helper()
	w := &expiryWorld{arms: armDrivers(), visible: []string{"acme", "acme/eng"}, memories: map[string]map[string]kernel.ID{}}
	w.opts = []kernel.Option{kernel.WithEmbedder(&kerneltest.Embedder{InProcess: true, Dim: dim}), withArms(w.arms)}
	w.Kit = kerneltest.Open(t, w.opts...)
	w.who = w.Key("acme/eng", kernel.RoleMember)
	ctx := t.Context()
	w.at = w.Clock.Now().Add(time.Hour)
	for _, ns := range append([]string{"acme/sales"}, w.visible...) {
		who, ids := w.Key(ns, kernel.RoleMember), map[string]kernel.ID{}
		w.memories[ns] = ids
		write := func(name string, expires time.Time, supersedes kernel.ID) {
			ids[name] = must(w.Write(ctx, who, kernel.WriteRequest{
				Text: fmt.Sprintf("The kiln of %s is %s.", ns, name), Kind: "goal", ExpiresAt: expires, Supersedes: supersedes, EventTime: january,
			})).Stored[0]
		}
		write("kept", time.Time{}, kernel.ID{})
		write("ending", w.at, kernel.ID{})
		write("ending later", w.at.Add(time.Hour), kernel.ID{})
		write("replaced", time.Time{}, kernel.ID{})
		write("an ending successor", w.at, ids["replaced"])
		write("replaced before its end", w.at, kernel.ID{})
		write("a lasting successor", time.Time{}, ids["replaced before its end"])
		write("retracted before its end", w.at, kernel.ID{})
		must(w.Retract(ctx, who, kernel.RetractRequest{ID: ids["retracted before its end"]}))
	}
	w.start = w.Clock.Now()
	return w
}

// another returns a kernel that knows nothing of any caller yet.
func (w *expiryWorld) another(t *testing.T) *kerneltest.Kit {
	t.Helper()
	return kerneltest.OpenOn(t, w.Pool, append(slices.Clone(w.opts), kernel.WithClock(w.Clock.Now))...)
}

// names are the memories that searches find.
func (w *expiryWorld) names(ids []kernel.ID) []string {
	var out []string
	for _, id := range ids {
		for ns, memories := range w.memories {
			for name, other := range memories {
				if id == other {
					out = append(out, ns+" "+name)
				}
			}
		}
	}
	slices.Sort(out)
	return out
}

// visibleOnes are memories of these names as seen from the lower namespace.
func (w *expiryWorld) visibleOnes(names ...string) []string {
	var out []string
	for _, ns := range w.visible {
		for _, name := range names {
			out = append(out, ns+" "+name)
		}
	}
	slices.Sort(out)
	return out
}

func (w *expiryWorld) drivers() []string {
	out := []string{"fusion", "baseline"}
	for _, a := range w.arms {
		out = append(out, a.name)
	}
	return out
}

// stampAll lets a kernel put on record what has expired by now, and returns when all is.
func stampAll(t *testing.T, k *kerneltest.Kit, now time.Time) {
	t.Helper()
	require.NoError(t, k.Start(t.Context()))
	require.Eventually(t, func() bool {
		return sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM memkernel.memory_objects WHERE expires_at <= $1 AND t_valid_to IS NULL`, now) == 0
	}, 60*time.Second, 5*time.Millisecond)
	require.NoError(t, k.Close(t.Context()))
}

// TestExpiryAtTheInstant: a microsecond before it ends by itself a memory is found by every arm,
// at the instant by none, though nothing has put its end on record; nor does it make a difference
// when something has.
func TestExpiryAtTheInstant(t *testing.T) {
	t.Parallel()
	for name, dim := range map[string]int{"": 8, "wide": 600} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newExpiryWorld(t, dim)
			before, after := w.visibleOnes("kept", "ending", "ending later", "an ending successor", "a lasting successor"),
				w.visibleOnes("kept", "ending later", "a lasting successor")
			ever := w.visibleOnes("kept", "ending", "ending later", "replaced", "an ending successor", "replaced before its end",
				"a lasting successor", "retracted before its end")
			just := w.at.Add(-time.Microsecond)
			for _, step := range []struct {
				name  string
				now   time.Time
				stamp bool
				plain []string
			}{
				{"before", just, false, before},
				{"at the instant", w.at, false, after},
				{"later", w.at.Add(time.Hour - time.Microsecond), false, after},
				{"later still", w.at.Add(time.Hour), false, w.visibleOnes("kept", "a lasting successor")},
				{"before again", just, false, before},
				{"on record", w.at, true, after},
				{"on record, later", w.at.Add(time.Hour), false, w.visibleOnes("kept", "a lasting successor")},
			} {
				w.Clock.Set(step.now)
				if step.stamp {
					stampAll(t, w.another(t), w.Clock.Now())
				}
				for _, c := range []struct {
					name string
					req  kernel.SearchRequest
					want []string
				}{
					{"plain", kernel.SearchRequest{}, step.plain},
					{"kinds", kernel.SearchRequest{Kinds: []kernel.Kind{"goal"}}, step.plain},
					{"other kinds", kernel.SearchRequest{Kinds: []kernel.Kind{"fact"}}, nil},
					{"from and to", kernel.SearchRequest{From: january, To: january}, step.plain},
					{"as of before", kernel.SearchRequest{AsOf: just}, before},
					{"as of the instant", kernel.SearchRequest{AsOf: w.at}, after},
					{"as of later", kernel.SearchRequest{AsOf: w.at.Add(time.Hour)}, w.visibleOnes("kept", "a lasting successor")},
					{"ended too", kernel.SearchRequest{IncludeSuperseded: true}, ever},
					{"ended too, as of", kernel.SearchRequest{IncludeSuperseded: true, AsOf: w.at}, after},
				} {
					for _, name := range w.drivers() {
						c.req.Query, c.req.Driver, c.req.K = "kiln", name, 100
						ways := map[string]*kerneltest.Kit{"warm": w.Kit}
						if name == "fusion" || name == "baseline" { // no other has two ways
							ways["cold"] = w.another(t)
						}
						for way, k := range ways {
							where := []any{"%s: %s by %s, %s", step.name, c.name, name, way}
							reply := must(k.Search(t.Context(), w.who, c.req))
							require.Equal(t, c.want, w.names(itemIDs(reply)), where...)
							requireEnds(t, w, reply, where...)
						}
					}
					for _, arm := range w.arms {
						rows := arm.taken()
						ids := make([]kernel.ID, len(rows))
						for i, c := range rows {
							ids[i] = c.Ref
						}
						require.Equal(t, c.want, w.names(ids), "%s: what SQL shows to %s, %s", step.name, arm.name, c.name)
					}
				}
			}
			requireSound(t, w.Pool)
		})
	}
}

// requireEnds: what a search finds says how it ended.
func requireEnds(t *testing.T, w *expiryWorld, reply *kernel.SearchReply, where ...any) {
	t.Helper()
	for i := range reply.Items {
		m := &reply.Items[i].Memory
		switch expired := !m.ExpiresAt.IsZero() && !w.Clock.Now().Before(m.ExpiresAt); {
		case expired && m.EndReason == mem.EndExpired:
			require.Equal(t, m.ExpiresAt, m.ValidTo, where...)
		case expired:
			require.NotEmpty(t, m.EndReason, where...)
			require.True(t, m.ValidTo.Before(m.ExpiresAt), where...)
		case m.EndReason == "":
			require.True(t, m.Current(), where...)
		default:
			require.NotEqual(t, mem.EndExpired, m.EndReason, where...)
		}
	}
}

// expiryView is what a caller gets to know.
type expiryView struct {
	reads     map[string]kernel.Memory
	histories map[string][]kernel.Memory
	stats     kernel.StatsReply
	searches  map[string][]kernel.SearchItem
}

func (w *expiryWorld) look(t *testing.T, k *kerneltest.Kit) expiryView {
	t.Helper()
	ctx := t.Context()
	v := expiryView{reads: map[string]kernel.Memory{}, histories: map[string][]kernel.Memory{}, searches: map[string][]kernel.SearchItem{}}
	for ns, memories := range w.memories {
		for name, id := range memories {
			if ns == "acme/sales" {
				require.ErrorIs(t, second(k.Read(ctx, w.who, kernel.ReadRequest{ID: id})), kernel.ErrNotFound)
				continue
			}
			v.reads[ns+name] = must(k.Read(ctx, w.who, kernel.ReadRequest{ID: id})).Memory
			v.histories[ns+name] = must(k.History(ctx, w.who, kernel.HistoryRequest{ID: id})).Memories
			if reply, err := k.Read(ctx, w.who, kernel.ReadRequest{ID: id, AsOf: w.at.Add(-time.Microsecond)}); err == nil {
				v.reads[ns+name+" before"] = reply.Memory
			}
			if reply, err := k.Read(ctx, w.who, kernel.ReadRequest{ID: id, AsOf: w.at}); err == nil {
				v.reads[ns+name+" then"] = reply.Memory
			}
		}
	}
	v.stats = *must(k.Stats(ctx, w.who, kernel.StatsRequest{}))
	v.stats.Unchecked, v.stats.OldestUnchecked = 0, 0 // the worker checks them as well
	v.stats.Audit = kernel.AuditStats{}
	for _, driver := range w.drivers() {
		for i, req := range []kernel.SearchRequest{{}, {IncludeSuperseded: true}, {AsOf: w.at.Add(-time.Microsecond)}, {AsOf: w.at}, {Kinds: []kernel.Kind{"goal"}}} {
			req.Query, req.Driver = "which kiln is ending", driver
			v.searches[fmt.Sprint(driver, i)] = must(k.Search(ctx, w.who, req)).Items
		}
	}
	return v
}

// TestExpiryOnRecordOrNot: all that a caller gets to know, scores included, is the same before and
// after the end of what has expired is put on record, whichever way a call takes.
func TestExpiryOnRecordOrNot(t *testing.T) {
	t.Parallel()
	w := newExpiryWorld(t, 8)
	w.Clock.Set(w.at.Add(-time.Microsecond))
	before := w.look(t, w.Kit)
	require.Equal(t, before, w.look(t, w.another(t)))
	require.EqualValues(t, 10, before.stats.Live)
	require.Zero(t, before.stats.Expired)
	require.Zero(t, before.reads["acmeending"].ValidTo)
	require.Equal(t, w.at, before.reads["acmeending"].ExpiresAt)

	w.Clock.Set(w.at)
	unstamped := w.look(t, w.Kit)
	require.Equal(t, unstamped, w.look(t, w.another(t)))
	require.EqualValues(t, 6, unstamped.stats.Live)
	require.EqualValues(t, 4, unstamped.stats.Expired)
	require.EqualValues(t, 4, unstamped.stats.Superseded)
	require.EqualValues(t, 2, unstamped.stats.Retracted)
	require.Equal(t, kernel.KindStats{
		Live: 6, Superseded: 4, Retracted: 2, Expired: 4, LiveTokens: unstamped.stats.LiveTokens,
	}, unstamped.stats.ByKind["goal"])
	require.Less(t, unstamped.stats.LiveTokens, before.stats.LiveTokens)
	for _, name := range []string{"ending", "an ending successor"} {
		m := unstamped.reads["acme"+name]
		require.Equal(t, mem.EndExpired, m.EndReason)
		require.Equal(t, w.at, m.ValidTo)
		require.Equal(t, m, unstamped.histories["acme"+name][0])
		require.Contains(t, unstamped.reads, "acme"+name+" before")
		require.NotContains(t, unstamped.reads, "acme"+name+" then")
	}
	require.Equal(t, mem.EndSuperseded, unstamped.reads["acmereplaced before its end"].EndReason)
	require.Equal(t, mem.EndRetracted, unstamped.reads["acmeretracted before its end"].EndReason)
	require.Equal(t, mem.EndSuperseded, unstamped.reads["acmereplaced"].EndReason, "what it replaced is not revived")
	require.NotContains(t, unstamped.reads, "acmereplaced then", "nor is it for a time")

	stampAll(t, w.another(t), w.Clock.Now())
	rows := len(w.Audit())
	require.Equal(t, 6, sqlValue[int](t, w.Pool, `SELECT count(*)::int FROM memkernel.memory_objects WHERE end_reason = 'expired'`))
	require.Equal(t, unstamped, w.look(t, w.Kit))
	require.Equal(t, unstamped, w.look(t, w.another(t)))
	require.Greater(t, len(w.Audit()), rows)
	requireSound(t, w.Pool)
}

// TestExpiryOfOthers: what expires where a caller does not see it changes nothing that it gets to
// know, scores included.
func TestExpiryOfOthers(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	ctx := t.Context()
	who, other := k.Key("acme/eng", kernel.RoleMember), k.Key("acme/sales", kernel.RoleMember)
	at := k.Clock.Now().Add(time.Hour)
	for i := range 5 {
		must(k.Write(ctx, who, kernel.WriteRequest{Text: fmt.Sprint("Our kiln number ", i)}))
		must(k.Write(ctx, other, kernel.WriteRequest{Text: fmt.Sprint("Their kiln number ", i), ExpiresAt: at}))
	}
	look := func() ([]kernel.SearchItem, kernel.StatsReply) {
		stats := *must(k.Stats(ctx, who, kernel.StatsRequest{}))
		stats.Audit, stats.Unchecked, stats.OldestUnchecked = kernel.AuditStats{}, 0, 0 // the worker checks them as well
		return must(k.Search(ctx, who, kernel.SearchRequest{Query: "kiln number 3"})).Items, stats
	}
	items, stats := look()
	require.Len(t, items, 5)
	k.Clock.Set(at)
	require.Empty(t, must(k.Search(ctx, other, kernel.SearchRequest{Query: "kiln number 3"})).Items)
	for range 2 {
		after, afterStats := look()
		require.Equal(t, items, after)
		require.Equal(t, stats, afterStats)
		stampAll(t, k, at)
	}
	requireSound(t, k.Pool)
}

// TestExpiryStarvesNobody: any number of expired memories that would rank first leave room for
// those that have not.
func TestExpiryStarvesNobody(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	ctx := t.Context()
	who := k.Key("acme/eng", kernel.RoleMember)
	at := k.Clock.Now().Add(time.Hour)
	for i := range 60 {
		must(k.Write(ctx, who, kernel.WriteRequest{Text: fmt.Sprint("The red kiln is lit, ", i), ExpiresAt: at}))
	}
	for i := range 5 {
		must(k.Write(ctx, who, kernel.WriteRequest{Text: fmt.Sprint("A kiln was seen in the yard by somebody on day ", i)}))
	}
	search := func() *kernel.SearchReply {
		reply := must(k.Search(ctx, who, kernel.SearchRequest{Query: "red kiln lit", K: 5}))
		require.Len(t, reply.Items, 5)
		return reply
	}
	for range 2 { // the second time knowing the caller
		for _, item := range search().Items {
			require.Equal(t, at, item.Memory.ExpiresAt)
		}
	}
	k.Clock.Set(at)
	for range 2 {
		reply := search()
		for _, item := range reply.Items {
			require.Zero(t, item.Memory.ExpiresAt)
		}
		require.Equal(t, 5, reply.Vector.Rows)
		require.Equal(t, 5, reply.Lexical.Rows)
	}
}
