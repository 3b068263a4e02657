package kernel

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/kernel/model"
	"github.com/memkernel/memkernel/writepath/conflict"
)

// cosineFloor is the similarity under which two memories are taken to be about different things
// without asking, and a contradiction between them is not believed: 0 for the default, which
// is made for embeddings of meaning. The built-in embedder knows nothing of that, and with it
// no neighbour is too far.
func (k *Kernel) cosineFloor() mem.Cosine {
	if spells(&k.model) {
		return -1
	}
	return 0
}

// keepLocal marks the texts that may not be shown to the model.
func (k *Kernel) keepLocal(q *conflict.Question) {
	to := k.llmDestination
	may := func(m *mem.Memory) bool {
		return m.Text != "" && (to == mem.DestinationLocal || m.Classification.MaySend(to))
	}
	if q.Incoming == nil {
		return
	}
	q.Local = !may(q.Incoming)
	for i := range q.Candidates {
		c := &q.Candidates[i]
		c.Local = !may(c.Memory) || c.Memory.ID == q.Replaces // nothing hangs on what is said of that one
	}
}

// ruling is what a judge said in one check.
type ruling struct {
	judgement conflict.Judgement
	// postponed reports that the model failed and is to be asked again later.
	postponed bool
	// unasked reports that it was not even asked this time, because it has failed at others.
	unasked bool
	// alone says why the rules decided without the model, empty if they did not have to.
	alone string
	// err is a fault of the judge's own, or the context's error.
	err error
}

// abandoned says that the attempts before came to no end: their processes died.
const abandoned = "abandoned"

// judgeAll judges the questions, some at the same time if a model is asked: then all of them are
// asked or none of a tenant's.
func (r *checkRun) judgeAll(ctx context.Context, work []checking) {
	for i := range work {
		work[i].spared = r.health.of(work[i].Namespace.Tenant()).down()
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	for i := range work {
		if r.k.llm == nil || len(work) == 1 {
			work[i].ruling = r.judge(ctx, &work[i])
			continue
		}
		wg.Go(func() { work[i].ruling = r.judge(ctx, &work[i]) })
	}
}

// judge asks the judge there is. With a model that fails the memory is put off, until it has
// been so often enough.
func (r *checkRun) judge(ctx context.Context, c *checking) (out ruling) {
	if c.question.Incoming == nil || len(c.question.Candidates) == 0 {
		return ruling{err: ctx.Err()}
	}
	var judge conflict.Judge = conflict.Rules{}
	var llm *judgeLLM
	switch {
	case r.k.llm == nil:
	case c.Attempt > maxJudged:
		out.alone = abandoned
	default:
		tenant := c.Namespace.Tenant()
		llm = &judgeLLM{LLM: r.k.languageModel(tenant), health: r.health.of(tenant), spared: c.spared}
		judge = &conflict.ModelJudge{LLM: llm, GreyFloor: r.k.cosineFloor()}
	}
	out.judgement, out.err = r.ask(ctx, judge, &c.question)
	if out.err != nil || out.judgement.Fault == conflict.FaultNone {
		return out
	}
	unasked := !llm.asked && c.Waited < maxUnasked
	if unasked || c.Attempt < maxJudged && !llm.final {
		return ruling{postponed: true, unasked: unasked}
	}
	out.alone = string(out.judgement.Fault)
	out.judgement, out.err = r.ask(ctx, conflict.Rules{}, &c.question)
	return out
}

// ask is a call of the judge that may run on a goroutine of its own.
func (r *checkRun) ask(ctx context.Context, judge conflict.Judge, q *conflict.Question) (j conflict.Judgement, err error) {
	defer func() {
		if p := recover(); p != nil {
			r.k.logPanic(ctx, "judge", p)
			err = mem.ErrInternal
		}
	}()
	if j, err = judge.Judge(ctx, q); err != nil && ctx.Err() == nil {
		err = fmt.Errorf("%w: judge: %w", mem.ErrInternal, err)
	}
	return j, err
}

// tenantHealth is how a model does for each tenant: what one brings it must not keep it from others,
// and each may have an account of its own with it.
type tenantHealth struct {
	mu       sync.Mutex
	byTenant map[string]*modelHealth
}

func (h *tenantHealth) of(tenant string) *modelHealth {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.byTenant == nil {
		h.byTenant = map[string]*modelHealth{}
	}
	if h.byTenant[tenant] == nil {
		h.byTenant[tenant] = &modelHealth{}
	}
	return h.byTenant[tenant]
}

// modelHealth counts the failures of a model in a row. After some the model is taken for down, and
// is not asked any more in the same run.
type modelHealth struct {
	mu     sync.Mutex
	failed int
}

func (h *modelHealth) note(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.failed++; err == nil {
		h.failed = 0
	}
}

func (h *modelHealth) down() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.failed >= modelDown
}

// errModelDown: the model has failed before and is left alone.
var errModelDown = errors.New("the model is down")

// judgeLLM is the model of one judgement.
type judgeLLM struct {
	model.LLM

	health *modelHealth
	// spared keeps the model from being asked, and asked is set when it was asked anything at all.
	spared, asked bool
	// final is set when the model says that asking again will not help.
	final bool
}

var _ model.LLM = (*judgeLLM)(nil)

// Complete implements model.LLM.
func (j *judgeLLM) Complete(ctx context.Context, req model.Request) (*model.Response, error) {
	if j.spared {
		return nil, errModelDown
	}
	j.asked = true
	resp, err := j.LLM.Complete(ctx, req)
	switch {
	case ctx.Err() != nil:
	case errors.Is(err, model.ErrFinal):
		j.final = true // which says nothing of other questions
	default:
		j.health.note(err)
	}
	return resp, err
}
