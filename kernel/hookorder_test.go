package kernel_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
)

func TestSearchModelRunsInsideTheSyscall(t *testing.T) {
	t.Parallel()
	o := &observer{name: "span"}
	k := kerneltest.Open(t, kernel.WithEmbedder(&kerneltest.Embedder{InProcess: true}), kernel.WithHooks(o))
	o.kit = func() *kerneltest.Kit { return k }
	who := k.Key("acme/eng", kernel.RoleMember)
	o.seen = nil
	must(k.Search(t.Context(), who, kernel.SearchRequest{Query: "deploy"}))
	require.Equal(t, []string{"begin search in <nil>", "model fake in span", "plan fusion in span", "end search in span"}, o.seen)
}

func TestRefusedSearchAsksNoModel(t *testing.T) {
	t.Parallel()
	e := &kerneltest.Embedder{InProcess: true}
	k, who, _ := limited(t, map[kernel.Op]kernel.RateLimit{"search": {PerSecond: 0.001, Burst: 1}}, kernel.WithEmbedder(e))
	must(k.Search(t.Context(), who, kernel.SearchRequest{Query: "deploy"}))
	before := e.Calls()
	_, err := k.Search(t.Context(), who, kernel.SearchRequest{Query: "deploy"})
	require.ErrorIs(t, err, kernel.ErrRateLimited)
	require.Equal(t, before, e.Calls(), "a refused search asks no model")
}
