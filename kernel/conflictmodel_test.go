package kernel_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/internal/pgtest"
	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/kernel/model"
)

// TestJudgeDown: a memory that the model fails at stays queued, longer each time; then the rules
// decide alone, and the log says so. Nothing is lost, and nothing is held for ever.
func TestJudgeDown(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(context.Context) error{
		"an error": func(context.Context) error { return kerneltest.ErrFake },
		"a panic":  func(context.Context) error { panic("no text here") },
		"a hang": func(ctx context.Context) error {
			<-context.WithoutCancel(ctx).Done()
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newContested(t, kernel.WithLimits(kernel.Limits{ModelTimeout: 20 * time.Millisecond}))
			k.rule(t, kernel.Policy{HoldForReview: true})
			old := k.held(t, k.agent, kernel.WriteRequest{Text: "Ana lives in Oslo."})
			k.settle(t)
			k.judge.on = func(ctx context.Context, _ []string) error { return fail(ctx) }
			id := k.held(t, k.reader, kernel.WriteRequest{Text: "Ana lives in Bern."})
			rows := len(k.checkRows())
			var waits []time.Duration
			for k.unchecked(t) > 0 {
				k.settle(t)
				k.settle(t) // at once, which does nothing
				if k.unchecked(t) == 0 {
					break
				}
				require.Len(t, k.checkRows(), rows, "nothing has happened")
				k.requireGone(t, id, "Ana lives in Bern.")
				require.EqualValues(t, 1, must(k.Stats(t.Context(), k.agent, kernel.StatsRequest{})).Held)
				due := sqlValue[time.Time](t, k.Pool, `SELECT due_at FROM memkernel.conflict_checks`)
				waits = append(waits, due.Sub(k.Clock.Now()))
				k.Clock.Set(due)
			}
			require.Equal(t, []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute}, waits)
			require.EqualValues(t, 5, k.judge.calls.Load())
			log := k.checkRows()[rows:]
			require.Len(t, log, 2)
			require.Equal(t, "judge=rules brownout=llm_unavailable fault=model_unavailable attempts=5", log[0].Detail)
			require.Equal(t, id, log[0].MemoryID)
			require.Equal(t, "effect=activate reason=undecided", log[1].Detail)
			require.ElementsMatch(t, []kernel.ID{old, id}, k.found(t, "Ana"), "what the rules cannot tell stays")
			requireSound(t, k.Pool)
		})
	}
}

// TestJudgeComesBack: what was put off is judged when the model is back.
func TestJudgeComesBack(t *testing.T) {
	t.Parallel()
	c := newContested(t)
	old := c.write(t, c.agent, "Ana lives in Oslo.")
	id := c.write(t, c.agent, "Ana lives in Bern.")
	c.judge.on = func(context.Context, []string) error { return kerneltest.ErrFake }
	c.settle(t)
	require.Equal(t, 1, c.unchecked(t))
	c.judge.on = nil
	c.Clock.Advance(time.Minute)
	c.settle(t)
	require.Equal(t, id, c.read(t, old).SupersededBy)
	require.Zero(t, c.unchecked(t))
	requireSound(t, c.Pool)
}

// TestJudgeIsSparedWhenDown: a model that fails twice in a row is not asked any more in the same
// run, and only those that it was asked about have had an attempt.
func TestJudgeIsSparedWhenDown(t *testing.T) {
	t.Parallel()
	c := newContested(t)
	for i := range 20 {
		c.write(t, c.agent, fmt.Sprint("Person number ", i, " lives in Oslo."))
	}
	c.judge.on = func(context.Context, []string) error { return kerneltest.ErrFake }
	c.settle(t)
	require.LessOrEqual(t, c.judge.calls.Load(), int64(8), "one round of several at once")
	require.Equal(t, 19, c.unchecked(t), "the first has nobody to be compared with")
	require.EqualValues(t, c.judge.calls.Load(), sqlValue[int](t, c.Pool, `SELECT sum(attempts)::int FROM memkernel.conflict_checks`))
	require.Zero(t, sqlValue[int](t, c.Pool, `SELECT count(*)::int FROM memkernel.conflict_checks WHERE due_at <= $1`, c.Clock.Now()))
}

// TestJudgePoison: a memory that makes the model fail does not keep others from being judged.
func TestJudgePoison(t *testing.T) {
	t.Parallel()
	c := newContested(t)
	c.judge.on = func(_ context.Context, shown []string) error {
		if strings.Contains(shown[0], "poison") {
			return errors.New("choked")
		}
		return nil
	}
	c.write(t, c.agent, "Ana lives in Oslo.")
	for i := range 10 {
		c.write(t, c.agent, fmt.Sprint("Ana drank poison number ", i, " in Oslo."))
		c.settle(t)
	}
	bern := c.write(t, c.agent, "Ana lives in Bern.")
	c.settle(t)
	require.Equal(t, []kernel.ID{bern}, c.found(t, "Ana lives"))
	require.Equal(t, 10, c.unchecked(t))
	requireSound(t, c.Pool)
}

// TestJudgeAnswers: an answer that is none, or about what was not shown, changes nothing.
func TestJudgeAnswers(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"no JSON":         "certainly!",
		"another list":    `{"verdicts": [{"i": 7, "relation": "contradicts", "confidence": 100}]}`,
		"an unknown word": `{"verdicts": [{"i": 0, "relation": "delete", "confidence": 100}]}`,
		"nothing":         `{"verdicts": []}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newContested(t)
			c.SetLLM(&kerneltest.LLM{Answers: []string{answer}}, mem.DestinationLocal)
			old, id := c.write(t, c.agent, "Ana lives in Oslo."), c.write(t, c.dana, "Ana lives in Bern.")
			for range 6 {
				c.settle(t)
				require.ElementsMatch(t, []kernel.ID{old, id}, c.found(t, "Ana"))
				c.Clock.Advance(time.Hour)
			}
			require.Zero(t, c.unchecked(t))
			require.Len(t, c.checkRows(), 1, "that the rules decided alone")
			requireSound(t, c.Pool)
		})
	}
}

// TestJudgeSeesWhatItMay: a text that may not leave for where the model is, is not shown to it,
// whether it is new or was there.
func TestJudgeSeesWhatItMay(t *testing.T) {
	t.Parallel()
	const secret = "Ana uses the key AKIAQ7JX2MPLW4TZ5RVB."
	for _, tc := range []struct {
		where mem.Destination
		shown bool
	}{{mem.DestinationRemoteModel, false}, {mem.DestinationTrustedModel, false}, {mem.DestinationLocal, true}} {
		for _, first := range []bool{true, false} {
			t.Run(fmt.Sprint(tc.where, first), func(t *testing.T) {
				t.Parallel()
				c := newContested(t)
				c.SetLLM(c.judge, tc.where)
				var seen atomic.Bool
				c.judge.on = func(_ context.Context, shown []string) error {
					for _, text := range shown {
						if strings.Contains(text, "AKIA") {
							seen.Store(true)
						}
					}
					return nil
				}
				texts := []string{secret, "Ana uses another key."}
				if !first {
					texts[0], texts[1] = texts[1], texts[0]
				}
				for _, text := range texts {
					c.write(t, c.agent, text)
					c.settle(t)
				}
				require.Equal(t, tc.shown, seen.Load())
				require.Zero(t, c.unchecked(t))
			})
		}
	}
}

// TestJudgeHoldsNoConnection: while a model thinks, the only connection of a pool is free.
func TestJudgeHoldsNoConnection(t *testing.T) {
	t.Parallel()
	pool := pgtest.Open(t, pgtest.WithMaxConns(1))
	k := kerneltest.OpenOn(t, pool)
	asked := 0
	llm := &judge{contradicts: cities, on: func(ctx context.Context, _ []string) error {
		asked++
		return pool.Ping(ctx)
	}}
	k.SetLLM(llm, mem.DestinationLocal)
	who := k.Key("acme/eng", kernel.RoleAgent)
	for _, city := range []string{"Oslo", "Bern", "Rome"} {
		k.Clock.Advance(time.Second)
		must(k.Write(t.Context(), who, kernel.WriteRequest{Text: "Ana lives in " + city + "."}))
		require.NoError(t, k.CheckAll(t.Context()))
	}
	require.Equal(t, 2, asked)
	require.EqualValues(t, 1, must(k.Stats(t.Context(), who, kernel.StatsRequest{})).Live)
	requireSound(t, pool)
}

// nearModel embeds texts by their first words, so that what is about one thing is near, in as
// many dimensions as it is asked for.
type nearModel struct {
	dim  int
	fail atomic.Bool
}

func (m *nearModel) Info() model.Info {
	return model.Info{Name: "near", Revision: "1", Dim: m.dim, InProcess: true}
}

func (m *nearModel) Embed(_ context.Context, texts []string) ([][]float32, error) {
	if m.fail.Load() {
		return nil, kerneltest.ErrFake
	}
	out := make([][]float32, len(texts))
	for i, text := range texts {
		out[i] = make([]float32, m.dim)
		out[i][int(text[0])%m.dim] = 1
		out[i][m.dim-1] = float32(len(text)%7) / 50
	}
	return out, nil
}

// TestNeighbours: a memory is compared with the nearest by its vector, in any dimension, and by
// its words if it has none; with so many as the model is shown, and never with itself.
func TestNeighbours(t *testing.T) {
	t.Parallel()
	for _, dim := range []int{200, 600} {
		for _, embedded := range []bool{true, false} {
			t.Run(fmt.Sprint(dim, " ", embedded), func(t *testing.T) {
				t.Parallel()
				embedder := &nearModel{dim: dim}
				c := newContested(t, kernel.WithEmbedder(embedder))
				c.judge.on = func(_ context.Context, shown []string) error {
					if len(shown) > 11 {
						t.Error("too many are shown")
					}
					for _, text := range shown[1:] {
						if text == shown[0] {
							t.Error("a memory is compared with itself")
						}
					}
					return nil
				}
				embedder.fail.Store(!embedded)
				oslo := c.write(t, c.agent, "Ana lives in Oslo.")
				for i := range 30 {
					c.write(t, c.agent, fmt.Sprint("Bob has been to place ", i, "."))
				}
				for i := range 15 {
					c.write(t, c.agent, fmt.Sprint("Ana owns horse number ", i, " of many horses in the stable."))
				}
				c.settle(t)
				bern := c.write(t, c.agent, "Ana lives in Bern.")
				c.settle(t)
				require.Equal(t, bern, c.read(t, oslo).SupersededBy)
				require.Zero(t, c.unchecked(t))
				requireSound(t, c.Pool)
			})
		}
	}
}

// TestLongTexts: a text that is too long to be compared is neither compared nor in the way, and
// is not held for ever.
func TestLongTexts(t *testing.T) {
	t.Parallel()
	c := newContested(t)
	c.rule(t, kernel.Policy{HoldForReview: true})
	c.judge.on = func(_ context.Context, shown []string) error {
		for _, text := range shown {
			if text == "" || len(text) > 4096 {
				t.Errorf("a text of %d bytes is shown", len(text))
			}
		}
		return nil
	}
	long := "Ana lives in " + strings.Repeat("Oslo ", 2000) + "."
	first := c.held(t, c.agent, kernel.WriteRequest{Text: long})
	second := c.held(t, c.agent, kernel.WriteRequest{Text: "Ana lives in Oslo."})
	c.settle(t)
	require.ElementsMatch(t, []kernel.ID{first, second}, c.found(t, "Ana"))
	third := c.held(t, c.agent, kernel.WriteRequest{Text: "Ana lives nowhere.", Supersedes: first})
	c.settle(t)
	require.Equal(t, third, c.read(t, first).SupersededBy)
	requireSound(t, c.Pool)
}

// TestSuspendedTenantsWait: nothing of a suspended tenant is shown to a model or changed.
func TestSuspendedTenantsWait(t *testing.T) {
	t.Parallel()
	c := newContested(t)
	c.write(t, c.agent, "Ana lives in Oslo.")
	c.write(t, c.agent, "Ana lives in Bern.")
	require.NoError(t, c.Tenants().Suspend(t.Context(), kernel.TenantRequest{Tenant: "acme"}))
	c.settle(t)
	require.Equal(t, 2, c.unchecked(t))
	require.Zero(t, c.judge.calls.Load())
	require.NoError(t, c.Tenants().Resume(t.Context(), kernel.TenantRequest{Tenant: "acme"}))
	c.settle(t)
	require.Zero(t, c.unchecked(t))
	require.Len(t, c.found(t, "Ana"), 1)
}

// TestErasedMemoriesAreNotChecked: the work that is left of a memory that was erased is dropped.
func TestErasedMemoriesAreNotChecked(t *testing.T) {
	t.Parallel()
	c := newContested(t)
	c.write(t, c.agent, "Ana lives in Oslo.")
	id := c.write(t, c.agent, "Ana lives in Bern.")
	require.NoError(t, attemptSQL(t.Context(), c.Pool, fmt.Sprintf(tombstone, "acme", id), "DELETE FROM memkernel.memory_objects WHERE id = '"+id.String()+"'"))
	c.settle(t)
	require.Zero(t, c.unchecked(t))
	require.Zero(t, c.judge.calls.Load())
	require.Empty(t, c.checkRows())
}
