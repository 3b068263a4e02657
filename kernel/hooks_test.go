package kernel_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
)

// span is what a tracing hook puts into the context.
type spanKey struct{}

// observer writes down what it sees and within which span.
type observer struct {
	kernel.HookDefaults

	name string
	kit  func() *kerneltest.Kit

	mu     sync.Mutex
	seen   []string
	ended  []kernel.SyscallInfo
	models []kernel.ModelInfo
	plans  []kernel.DriverInfo
	rows   []int // audit rows when a call ended
}

func (o *observer) note(ctx context.Context, what string) {
	o.seen = append(o.seen, fmt.Sprintf("%s in %v", what, ctx.Value(spanKey{})))
}

func (o *observer) SyscallBegin(ctx context.Context, op kernel.Op) context.Context {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.note(ctx, "begin "+string(op))
	return context.WithValue(ctx, spanKey{}, o.name)
}

func (o *observer) SyscallEnd(ctx context.Context, info kernel.SyscallInfo) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.note(ctx, "end "+string(info.Op))
	o.ended = append(o.ended, info)
	o.rows = append(o.rows, len(o.kit().Audit()))
}

func (o *observer) ModelCall(ctx context.Context, info kernel.ModelInfo) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.note(ctx, "model "+info.Model)
	o.models = append(o.models, info)
}

func (o *observer) DriverPlan(ctx context.Context, info kernel.DriverInfo) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.note(ctx, "plan "+info.Driver)
	o.plans = append(o.plans, info)
}

func TestHooksSeeCalls(t *testing.T) {
	t.Parallel()
	var k *kerneltest.Kit
	outer, inner := &observer{name: "outer"}, &observer{name: "inner"}
	model := &kerneltest.Embedder{}
	k = kerneltest.Open(t, kernel.WithHooks(outer, inner), kernel.WithEmbedder(model))
	outer.kit, inner.kit = func() *kerneltest.Kit { return k }, func() *kerneltest.Kit { return k }
	dana := k.Key("acme/eng", kernel.RoleMember)
	setup := len(k.Audit())
	require.Equal(t, []string{"begin key_create in <nil>", "end key_create in inner"}, outer.seen, "what the host does itself is no call")
	outer.seen, outer.ended, outer.rows, inner.seen, inner.ended, inner.rows = nil, nil, nil, nil, nil, nil

	must(k.Write(t.Context(), dana, kernel.WriteRequest{Text: "The lift is broken."}))
	must(k.Search(t.Context(), dana, kernel.SearchRequest{Query: "lift"}))
	require.Error(t, second(k.Keys().Create(t.Context(), dana, kernel.KeyRequest{Actor: "x", Role: kernel.RoleAgent})))
	require.Error(t, second(k.Read(t.Context(), dana, kernel.ReadRequest{ID: someID()})))

	require.Equal(t, []string{
		"begin write in <nil>", "model fake in inner", "end write in inner",
		"begin search in <nil>", "model fake in inner", "plan fusion in inner", "end search in inner",
		"begin key_create in <nil>", "end key_create in inner",
		"begin read in <nil>", "end read in inner",
	}, outer.seen)
	require.Equal(t, "begin write in outer", inner.seen[0])
	require.Equal(t, outer.ended, inner.ended)
	require.Equal(t, []int{setup + 1, setup + 2, setup + 3, setup + 4}, outer.rows, "the row is there when the call ends")
	var results []kernel.AuditResult
	for _, info := range outer.ended {
		require.Equal(t, "acme/eng", info.Namespace.String())
		results = append(results, info.Result)
	}
	require.Equal(t, []kernel.AuditResult{"ok", "ok", "denied", "miss"}, results)
	require.NoError(t, outer.ended[0].Err)
	require.ErrorIs(t, outer.ended[2].Err, kernel.ErrForbidden)
	require.ErrorIs(t, outer.ended[3].Err, kernel.ErrNotFound)
	require.Equal(t, kernel.ModelInfo{Model: "fake", Texts: 1}, outer.models[0])
	require.Equal(t, kernel.DriverInfo{Driver: "fusion", Items: 1}, outer.plans[0])
}

// TestHooksSeeFailures: what went wrong, and that it could not be recorded.
func TestHooksSeeFailures(t *testing.T) {
	t.Parallel()
	var k *kerneltest.Kit
	o := &observer{kit: func() *kerneltest.Kit { return k }}
	clock := kerneltest.NewClock()
	model := &kerneltest.Embedder{InProcess: true, OnEmbed: func(context.Context, []string) error {
		clock.Advance(3 * time.Second)
		return nil
	}}
	k = kerneltest.Open(t, kernel.WithHooks(o), kernel.WithEmbedder(model), kernel.WithClock(clock.Now))
	dana := k.Key("acme/eng", kernel.RoleMember)
	o.ended = nil
	model.Fail(kerneltest.ErrFake)
	must(k.Write(t.Context(), dana, kernel.WriteRequest{Text: "The lift is broken."}))
	require.ErrorIs(t, o.models[0].Err, kerneltest.ErrFake)
	require.Equal(t, 3*time.Second, o.models[0].Duration)
	require.NoError(t, o.ended[0].Err, "degraded, not failed")
	require.Equal(t, 3*time.Second, o.ended[0].Duration)

	mend := breakAudit(t, k)
	err := second(k.Read(t.Context(), dana, kernel.ReadRequest{ID: someID()}))
	mend()
	require.ErrorIs(t, err, kernel.ErrUnavailable)
	require.Equal(t, kernel.AuditResult("error"), o.ended[1].Result)
	require.True(t, errors.Is(o.ended[1].Err, kernel.ErrUnavailable))
}
