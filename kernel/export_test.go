package kernel

import (
	"context"

	"github.com/memkernel/memkernel/internal/jobs"
	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/kernel/model"
)

// SetLLM makes llm the model that judges contradictions.
func (k *Kernel) SetLLM(llm model.LLM, where mem.Destination) { k.llm, k.llmDestination = llm, where }

// CheckAll runs one round of the checks for contradictions, on the caller's goroutine.
func (k *Kernel) CheckAll(ctx context.Context) error {
	return k.checkAll(ctx, jobs.Run[jobs.CheckAll]{})
}
