package kernel_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
	"github.com/memkernel/memkernel/kernel/mem"
)

type stageFunc func(ctx context.Context, in *kernel.StageInput) error

func (stageFunc) Name() string { return "test" }

func (f stageFunc) Run(ctx context.Context, in *kernel.StageInput) error { return f(ctx, in) }

// TestStages: a stage changes, rejects and adds facts, and what it makes is classified, deduplicated
// and stored like any other, on every route.
func TestStages(t *testing.T) {
	t.Parallel()
	shout := stageFunc(func(_ context.Context, in *kernel.StageInput) error {
		for i := range in.Facts {
			f := &in.Facts[i]
			if strings.Contains(f.Text, "cello") {
				f.Rejected = mem.RejectPolicy
			}
			f.Text = strings.ReplaceAll(f.Text, "Lisbon", "Lisbon, Portugal")
		}
		return nil
	})
	var seen int
	count := stageFunc(func(_ context.Context, in *kernel.StageInput) error {
		seen += len(in.Facts)
		in.Facts = append(in.Facts, kernel.Fact{Text: "Heard of by " + in.Who.Actor() + ": " + madeUpKey, Kind: mem.KindFact, Certainty: 1})
		return nil
	})
	_, opt := withLLM(llmAnswer("Mira moved to Lisbon.", "Mira plays the cello."))
	k := kerneltest.Open(t, opt, kernel.WithStages(shout, count))
	dana := k.Key("acme/eng", kernel.RoleMember)
	reply := must(k.Write(t.Context(), dana, kernel.WriteRequest{Text: talk}))
	require.Equal(t, []kernel.Rejection{{Text: "Mira plays the cello.", Reason: mem.RejectPolicy}}, reply.Rejected)
	require.Len(t, reply.Stored, 2)
	require.Equal(t, 1, seen, "what was rejected is not handed on")
	require.Equal(t, "Mira moved to Lisbon, Portugal.", currentTexts(t, k)[0])
	added := must(k.Read(t.Context(), dana, kernel.ReadRequest{ID: reply.Stored[1]})).Memory
	require.NotEmpty(t, added.Classification.SecretKinds, "what a stage adds is classified")

	start(t, k)
	order := must(k.WriteAsync(t.Context(), dana, kernel.WriteRequest{Text: "Mira lives in Lisbon.", Verbatim: true}))
	require.Len(t, await(t, k.Kernel, dana, order.Token).Reply.Stored, 1)
	require.Contains(t, currentTexts(t, k), "Mira lives in Lisbon, Portugal.")
	requireSound(t, k.Pool)
}

// TestStageRejectsAll: what a stage rejects is not kept by another way, the capture says why, and
// a retry gets the same answer.
func TestStageRejectsAll(t *testing.T) {
	t.Parallel()
	no := stageFunc(func(_ context.Context, in *kernel.StageInput) error {
		for i := range in.Facts {
			in.Facts[i].Rejected = mem.RejectPolicy
		}
		return nil
	})
	for name, opts := range map[string][]kernel.Option{
		"verbatim":  {kernel.WithStages(no)},
		"extracted": {kernel.WithStages(no), kernel.WithLLM(&kerneltest.LLM{Answers: []string{llmAnswer("Mira plays the cello.")}}, mem.DestinationLocal)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := kerneltest.Open(t, opts...)
			dana := k.Key("acme/eng", kernel.RoleMember)
			req := kernel.WriteRequest{Text: talk, IdempotencyKey: "once"}
			var reply *kernel.WriteReply
			k.RequireAudit(t, "write", "ok", func() { reply = must(k.Write(t.Context(), dana, req)) }, "stored=0", "rejected=1", "reject_reason=policy_denied")
			require.Len(t, reply.Rejected, 1)
			require.Empty(t, currentTexts(t, k))
			replay := must(k.Write(t.Context(), dana, req))
			require.True(t, replay.Replayed)
			require.Equal(t, reply.Rejected, replay.Rejected)
			requireSound(t, k.Pool)
		})
	}
}

// TestStageFails: a stage that does not come to an end lets nothing through.
func TestStageFails(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	t.Cleanup(func() { close(release) }) // after the parallel ones
	for name, stage := range map[string]stageFunc{
		"an error":      func(context.Context, *kernel.StageInput) error { return errors.New("no: " + talk) },
		"a panic":       func(context.Context, *kernel.StageInput) error { panic(talk) },
		"an exit":       func(context.Context, *kernel.StageInput) error { runtime.Goexit(); return nil },
		"a hang":        func(context.Context, *kernel.StageInput) error { <-release; return nil },
		"a lost fact":   func(_ context.Context, in *kernel.StageInput) error { in.Facts = nil; return nil },
		"a reason":      func(_ context.Context, in *kernel.StageInput) error { in.Facts[0].Rejected = "mood"; return nil },
		"no likelihood": func(_ context.Context, in *kernel.StageInput) error { in.Facts[0].Certainty = 7; return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := &logBuffer{}
			k := kerneltest.Open(t, kernel.WithStages(stage), kernel.WithLogger(log.logger()),
				kernel.WithLimits(kernel.Limits{ModelTimeout: 200 * time.Millisecond}))
			dana := k.Key("acme/eng", kernel.RoleMember)
			k.RequireAudit(t, "write", "error", func() {
				_, err := k.Write(t.Context(), dana, kernel.WriteRequest{Text: talk})
				require.ErrorIs(t, err, kernel.ErrUnavailable)
				require.NotContains(t, err.Error(), "Mira")
			}, "reason=unavailable")
			require.NotContains(t, log.String(), "Mira")
			require.Empty(t, currentTexts(t, k))
		})
	}
}

// TestEverythingDown: with dead models a write is kept as it is, classified and flagged, and found
// by words at once.
func TestEverythingDown(t *testing.T) {
	t.Parallel()
	embedder := &kerneltest.Embedder{}
	embedder.Fail(kerneltest.ErrFake)
	k := kerneltest.Open(t, kernel.WithLLM(&kerneltest.LLM{}, mem.DestinationLocal), kernel.WithEmbedder(embedder))
	dana := k.Key("acme/eng", kernel.RoleMember)
	var reply *kernel.WriteReply
	k.RequireAudit(t, "write", "ok", func() {
		reply = must(k.Write(t.Context(), dana, kernel.WriteRequest{Text: "Mira plays the cello."}))
	}, "stored=1", "verbatim=model_failed", "brownout=llm_unavailable", "brownout=embedder_unavailable")
	require.Equal(t, []kernel.Brownout{kernel.BrownoutLLM, kernel.BrownoutEmbedder}, reply.Degraded)
	m := must(k.Read(t.Context(), dana, kernel.ReadRequest{ID: reply.Stored[0]})).Memory
	require.Equal(t, mem.SensitivityInternal, m.Classification.Sensitivity)
	require.Len(t, must(k.Search(t.Context(), dana, kernel.SearchRequest{Query: "cello"})).Items, 1)
	requireSound(t, k.Pool)
}
