package kernel

import (
	"context"

	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/kernel/model"
)

// languageModel returns the host's language model on behalf of a tenant, as it may be asked: on
// a goroutine of its own, so that one that hangs, whatever its context says, does not take the
// caller with it, within Limits.ModelTimeout, and seen by the hooks. It must not be asked with a
// transaction open or a connection held.
func (k *Kernel) languageModel(tenant string) model.LLM {
	return &patientLLM{k: k, tenant: tenant}
}

type patientLLM struct {
	k      *Kernel
	tenant string
}

// Name implements model.LLM.
func (p *patientLLM) Name() string { return p.k.llmName }

// Complete implements model.LLM.
func (p *patientLLM) Complete(ctx context.Context, req model.Request) (*model.Response, error) {
	k := p.k
	limited, cancel := context.WithTimeout(ctx, k.limits.ModelTimeout)
	defer cancel()
	type answer struct {
		resp *model.Response
		err  error
	}
	begun := k.now()
	a, err := aside(limited, k.stuck, "model "+k.llmName, func() (a answer) {
		defer func() {
			if r := recover(); r != nil {
				k.logPanic(ctx, "language model", r)
				a.resp, a.err = nil, mem.ErrInternal
			}
		}()
		llm := k.llm
		if accounts, ok := llm.(model.TenantLLM); ok {
			llm = accounts.For(p.tenant)
		}
		a.resp, a.err = llm.Complete(limited, req)
		return a
	})
	if err == nil {
		err = a.err
	}
	info := ModelInfo{Model: k.llmName, Texts: 1, Err: err, Duration: k.now().Sub(begun)}
	if a.resp != nil {
		info.Usage = a.resp.Usage
	}
	runHooks(ctx, k, func(h ModelHook) { h.ModelCall(ctx, info) })
	return a.resp, err
}
