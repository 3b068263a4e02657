package kernel

import (
	"context"

	"github.com/memkernel/memkernel/internal/jobs"
	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/kernel/model"
)

// SetLLM makes llm the language model, nil for none.
func (k *Kernel) SetLLM(llm model.LLM, where mem.Destination) {
	if k.llm, k.llmDestination = llm, where; llm != nil {
		k.llmName = llm.Name()
	}
}

// CheckAll runs one round of the checks for contradictions, on the caller's goroutine.
func (k *Kernel) CheckAll(ctx context.Context) error {
	return k.checkAll(ctx, jobs.Run[jobs.CheckAll]{})
}

// FillGaps embeds what was stored without a vector, on the caller's goroutine.
func (k *Kernel) FillGaps(ctx context.Context) error {
	return k.fillGaps(ctx, jobs.Run[jobs.Embed]{})
}

// CheckSome runs the check of some memories that were held, on the caller's goroutine.
func (k *Kernel) CheckSome(ctx context.Context, tenant string, ids ...ID) error {
	return k.checkSome(ctx, jobs.Run[jobs.Check]{Args: jobs.Check{Tenant: tenant, Memories: ids}})
}
