package kernel_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/kernel/model"
)

// tenantLLM keeps an account of who asked.
type tenantLLM struct {
	kerneltest.LLM

	mu    sync.Mutex
	asked []string
}

func (l *tenantLLM) For(tenant string) model.LLM {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked = append(l.asked, tenant)
	return &l.LLM
}

func TestLLMIsAskedForTheTenant(t *testing.T) {
	t.Parallel()
	llm := &tenantLLM{LLM: kerneltest.LLM{OnComplete: func(context.Context, model.Request) error {
		return fmt.Errorf("no more: %w", model.ErrFinal)
	}}}
	k := kerneltest.Open(t, kernel.WithLLM(llm, mem.DestinationLocal))
	reply := must(k.Write(t.Context(), k.Key("acme/eng", kernel.RoleMember), kernel.WriteRequest{Text: talk}))
	require.Equal(t, kernel.VerbatimModelFailed, reply.Verbatim)
	require.Equal(t, []string{"acme"}, llm.asked)
	require.Equal(t, 1, llm.Calls(), "what is final is not asked again")
}

// tenantEmbedder is out of budget for some tenants.
type tenantEmbedder struct {
	kerneltest.Embedder

	mu    sync.Mutex
	spent map[string]bool
	asked map[string]int
}

func (e *tenantEmbedder) For(tenant string) model.Embedder {
	return &tenantView{tenantEmbedder: e, tenant: tenant}
}

func (e *tenantEmbedder) spend(tenant string, spent bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.spent[tenant] = spent
}

type tenantView struct {
	*tenantEmbedder

	tenant string
}

func (v *tenantView) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	v.mu.Lock()
	v.asked[v.tenant] += len(texts)
	spent := v.spent[v.tenant]
	v.mu.Unlock()
	if spent {
		return nil, fmt.Errorf("no more: %w", model.ErrFinal)
	}
	return v.Embedder.Embed(ctx, texts)
}

// TestEmbedderIsAskedForTheTenant: every text goes on its own tenant's account, and a tenant whose
// budget is spent does not keep others from getting their vectors.
func TestEmbedderIsAskedForTheTenant(t *testing.T) {
	t.Parallel()
	e := &tenantEmbedder{spent: map[string]bool{"acme": true, "umbrella": true}, asked: map[string]int{}}
	k := kerneltest.Open(t, kernel.WithEmbedder(e), kernel.WithLimits(kernel.Limits{UpkeepInterval: time.Hour}))
	acme, umbrella := k.Key("acme/eng", kernel.RoleMember), k.Key("umbrella", kernel.RoleMember)
	const n = 40
	for i := range n {
		r := must(k.Write(t.Context(), acme, kernel.WriteRequest{Text: fmt.Sprintf("Fact %d of acme.", i)}))
		require.Equal(t, []kernel.Brownout{kernel.BrownoutEmbedder}, r.Degraded)
	}
	must(k.Write(t.Context(), umbrella, kernel.WriteRequest{Text: "A fact of umbrella."}))
	require.Equal(t, map[string]int{"acme": n, "umbrella": 1}, e.asked)
	must(k.Search(t.Context(), umbrella, kernel.SearchRequest{Query: "fact"}))
	require.Equal(t, 2, e.asked["umbrella"])

	e.spend("umbrella", false)
	start(t, k)
	require.Eventually(t, func() bool {
		return sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM memkernel.memory_vectors`) == 1
	}, 60*time.Second, 20*time.Millisecond)
	require.Equal(t, n, sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM memkernel.embedding_gaps`))
}
