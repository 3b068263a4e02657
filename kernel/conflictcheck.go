package kernel

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/audit"
	"github.com/memkernel/memkernel/internal/jobs"
	"github.com/memkernel/memkernel/internal/store"
	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/writepath"
	"github.com/memkernel/memkernel/writepath/conflict"
)

// held reports whether policy keeps a new memory out of sight until it has been checked. Raw
// input takes no part in the check; and what a person replaces is not to vanish for a while with
// nothing in its place.
func held(policy *mem.EffectivePolicy, d *writepath.Draft) bool {
	p := conflict.Policy{Review: policy.ConflictReview, Hold: policy.HoldForReview}
	person := d.Provenance == mem.ProvenanceManual && !d.Supersedes.IsZero()
	return p.InitialStatus() == mem.StatusHeld && d.Kind != mem.KindRaw && !person
}

// review tells the facts what the check for contradictions means for them, under the policy as it
// was last read.
func (wr *writing) review() {
	for _, d := range wr.facts {
		d.Unchecked = wr.cur.policy.ConflictReview != mem.ReviewOff && d.Kind != mem.KindRaw
		d.Held = held(&wr.cur.policy, d)
	}
}

// checkJob returns what adds the job that checks memories of a tenant that are held.
func (k *Kernel) checkJob(tenant string) store.CheckJob {
	return store.CheckJob{Brief: k.jobs.Brief, Add: func(ctx context.Context, tx pgx.Tx, ids []ID) error {
		return k.jobs.Add(ctx, tx, jobs.Check{Tenant: tenant, Memories: ids})
	}}
}

const (
	// checkBatch is how many memories are checked at once where no model is asked.
	checkBatch = 64
	// judgesAtOnce is how many of them a model is asked about at the same time.
	judgesAtOnce = 4
	// maxJudged is how often a model is asked about a memory before the rules decide alone. The
	// pauses between are those of gapPause: a quarter of an hour in all.
	maxJudged = 5
	// maxUnasked is how long a memory waits for a model that is not asked because it has failed at
	// others, before that counts as if it had been: nothing is held for ever.
	maxUnasked = time.Hour
	// maxCheckTries is how often an outcome that loses a race is decided at a time.
	maxCheckTries = 3
)

// checkRun is one go at what is to be checked.
type checkRun struct {
	k       *Kernel
	health  tenantHealth
	checked int
}

// checkAll checks the memories that have not been, of all namespaces, until none is due. It holds
// no transaction and no connection while a model thinks. What a model fails at is left alone for
// a while and does not keep the others.
func (k *Kernel) checkAll(ctx context.Context, _ jobs.Run[jobs.CheckAll]) error {
	r := &checkRun{k: k}
	for {
		now := k.clock()
		claims, err := k.store.ClaimChecks(ctx, now, now.Add(k.jobTimeout()), k.checkBatch())
		if err == nil && len(claims) > 0 {
			err = r.check(ctx, claims)
		}
		if err != nil || len(claims) == 0 {
			return r.end(ctx, err)
		}
	}
}

// checkSome checks memories that are held, soon after they were written. One that is being checked
// elsewhere, or is put off, is left to checkAll.
func (k *Kernel) checkSome(ctx context.Context, run jobs.Run[jobs.Check]) error {
	r := &checkRun{k: k}
	var err error
	for ids := range slices.Chunk(run.Args.Memories, k.checkBatch()) {
		now := k.clock()
		var claims []store.Check
		claims, err = k.store.ClaimCheck(ctx, run.Args.Tenant, ids, now, now.Add(k.jobTimeout()))
		if err == nil && len(claims) > 0 {
			err = r.check(ctx, claims)
		}
		if err != nil {
			break
		}
	}
	return r.end(ctx, err)
}

func (k *Kernel) checkBatch() int {
	if k.llm != nil {
		return judgesAtOnce
	}
	return checkBatch
}

// end logs what was done. A run whose time is up has left the rest to the next one.
func (r *checkRun) end(ctx context.Context, err error) error {
	if r.checked > 0 {
		r.k.logger.LogAttrs(ctx, slog.LevelInfo, "memories checked", slog.Int("memories", r.checked))
	}
	if err == nil {
		return nil
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		r.k.logger.LogAttrs(ctx, slog.LevelDebug, "check of memories ran out of time", slog.String("error", store.Detail(err)))
		return nil
	}
	return r.k.opError(ctx, acl.OpConflictCheck, err)
}

// check decides about memories that were claimed. An error ends the run: the database does not
// answer or the worker is being stopped. What is then undecided is given back, as if it had not
// been claimed.
func (r *checkRun) check(ctx context.Context, claims []store.Check) error {
	todo := &claimed{open: claims}
	err := r.checkGuarded(ctx, todo)
	if err == nil {
		return nil
	}
	detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.k.limits.AuditTimeout)
	defer cancel()
	return errors.Join(err, r.putOff(detached, todo.open, 0, true))
}

// claimed is what was claimed and is still to be decided.
type claimed struct{ open []store.Check }

func (c *claimed) over(done *store.Check) {
	rest := c.open[:0:0]
	for _, other := range c.open {
		if other.Memory != done.Memory || other.Namespace != done.Namespace {
			rest = append(rest, other)
		}
	}
	c.open = rest
}

// checking is one check under way.
type checking struct {
	*store.Check

	policy   conflict.Policy
	question conflict.Question
	// spared reports that the model is down and is not to be asked.
	spared bool
	ruling ruling
}

func (r *checkRun) checkGuarded(ctx context.Context, todo *claimed) error {
	work, err := r.prepare(ctx, todo)
	if err != nil {
		return err
	}
	r.judgeAll(ctx, work)
	var plain []store.Check
	for i := range work {
		same, err := r.finish(ctx, &work[i])
		if err != nil {
			err = r.fail(ctx, work[i].Check, err)
		}
		switch {
		case err != nil:
			return err
		case same:
			plain = append(plain, *work[i].Check)
		default:
			todo.over(work[i].Check)
		}
	}
	if err := r.k.store.FinishChecks(ctx, plain); err != nil {
		return err
	}
	r.checked += len(plain)
	return nil
}

// prepare reads the policies in force and the questions.
func (r *checkRun) prepare(ctx context.Context, todo *claimed) ([]checking, error) {
	policies := map[acl.Namespace]conflict.Policy{}
	var checks []store.Check
	for _, c := range todo.open {
		if _, known := policies[c.Namespace]; !known {
			p, err := r.policy(ctx, c.Namespace)
			if err != nil {
				if err := r.fail(ctx, &c, err); err != nil {
					return nil, err
				}
				todo.over(&c)
				continue
			}
			policies[c.Namespace] = p
		}
		checks = append(checks, c)
	}
	questions, err := r.k.store.Questions(ctx, checks, r.k.clock())
	switch {
	case err == nil:
	case ctx.Err() != nil, errors.Is(err, mem.ErrUnavailable):
		return nil, err
	default:
		return r.prepareSingly(ctx, todo, checks, policies)
	}
	work := make([]checking, len(checks))
	for i := range checks {
		work[i] = checking{Check: &checks[i], policy: policies[checks[i].Namespace], question: questions[i]}
		r.k.keepLocal(&work[i].question)
	}
	return work, nil
}

// prepareSingly finds the memory whose question cannot be read, and puts it off.
func (r *checkRun) prepareSingly(
	ctx context.Context, todo *claimed, checks []store.Check, policies map[acl.Namespace]conflict.Policy,
) ([]checking, error) {
	var work []checking
	for i := range checks {
		q, err := r.k.store.Questions(ctx, checks[i:i+1], r.k.clock())
		if err != nil {
			if err := r.fail(ctx, &checks[i], err); err != nil {
				return nil, err
			}
			todo.over(&checks[i])
			continue
		}
		work = append(work, checking{Check: &checks[i], policy: policies[checks[i].Namespace], question: q[0]})
		r.k.keepLocal(&work[len(work)-1].question)
	}
	return work, nil
}

// policy reads what the policies of a namespace and its ancestors say now.
func (r *checkRun) policy(ctx context.Context, ns acl.Namespace) (conflict.Policy, error) {
	who := acl.NewIdentity(r.k.issuer, acl.Claims{Namespace: ns, Actor: audit.ConflictActor, Role: acl.RoleMember})
	gate, err := r.k.store.Gate(ctx, who, store.Ahead{})
	if err != nil {
		return conflict.Policy{}, err
	}
	merged := mem.MergePolicies(gate.Policies)
	return conflict.Policy{
		Review: merged.ConflictReview, Hold: merged.HoldForReview, ConflictFloor: r.k.cosineFloor(),
	}, nil
}

// finish decides about a memory and carries that out. same reports that nothing is to be done but
// to end the check.
func (r *checkRun) finish(ctx context.Context, c *checking) (same bool, err error) {
	for try := range maxCheckTries {
		if try > 0 {
			questions, err := r.k.store.Questions(ctx, []store.Check{*c.Check}, r.k.clock())
			if err != nil {
				return false, err
			}
			c.question = questions[0]
			r.k.keepLocal(&c.question)
			c.ruling = r.judge(ctx, c)
		}
		if c.ruling.err != nil {
			return false, c.ruling.err
		}
		if c.question.Incoming == nil {
			return true, nil // it was erased
		}
		if c.ruling.postponed {
			pause := gapPause(c.Attempt - 1)
			if c.ruling.unasked {
				pause /= 2 // to have its turn before what the model has failed at
			}
			return false, r.putOff(ctx, []store.Check{*c.Check}, pause, c.ruling.unasked)
		}
		if c.ruling.judgement.Calls > 0 {
			// The model may have thought for long.
			if c.policy, err = r.policy(ctx, c.Namespace); err != nil {
				return false, err
			}
		}
		v, err := r.verdict(c)
		if err != nil {
			return false, err
		}
		if !v.Changes() {
			return true, nil
		}
		switch err = r.k.store.Settle(ctx, v); {
		case err == nil:
			r.checked++
			return false, nil
		case errors.Is(err, store.ErrFenced):
			return false, nil // it is another's to do by now, or done
		case !errors.Is(err, writepath.ErrStale):
			return false, err
		}
	}
	return false, fmt.Errorf("%w: lost %d races in a row", mem.ErrConflict, maxCheckTries)
}

func (r *checkRun) verdict(c *checking) (*store.Verdict, error) {
	out, err := conflict.Decide(c.policy, &c.question, &c.ruling.judgement)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", mem.ErrInternal, err)
	}
	now := r.k.clock()
	v := &store.Verdict{Check: c.Check, Question: &c.question, Outcome: &out, Now: now}
	v.Event = func(memory ID, detail *audit.Detail) audit.Event {
		return audit.Event{
			Call: newID(now), Time: now, Tenant: c.Namespace.Tenant(), Namespace: c.Namespace.String(), Actor: audit.ConflictActor,
			Op: acl.OpConflictCheck, MemoryID: memory, Result: audit.ResultOK, Detail: detail.String(),
		}
	}
	if c.ruling.alone != "" && c.question.Incoming.Current() {
		var d audit.Detail
		d.Str("judge", "rules").Str("brownout", string(BrownoutLLM)).Str("fault", c.ruling.alone).Int("attempts", int64(c.Attempt))
		note := v.Event(c.Memory, &d)
		v.Note = &note
	}
	return v, nil
}

// fail puts a memory off that something went wrong with. Its error ends the run.
func (r *checkRun) fail(ctx context.Context, c *store.Check, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	r.k.logger.LogAttrs(ctx, slog.LevelWarn, "memory not checked", slog.String("memory", c.Memory.String()),
		slog.Int("attempt", c.Attempt), slog.String("error", store.Detail(err)))
	return r.putOff(ctx, []store.Check{*c}, gapPause(c.Attempt-1), false)
}

// putOff leaves memories alone for a while.
func (r *checkRun) putOff(ctx context.Context, checks []store.Check, pause time.Duration, uncounted bool) error {
	now := r.k.clock()
	return r.k.store.DeferChecks(ctx, checks, now, now.Add(pause), uncounted)
}
