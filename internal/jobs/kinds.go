package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/memkernel/memkernel/kernel/mem"
)

// The queues. Upkeep has one of its own, so that it cannot keep what somebody waits for from
// running.
const (
	queueWork   = river.QueueDefault
	queueUpkeep = "upkeep"
)

// Write runs the write behind a ticket.
type Write struct {
	Tenant string `json:"tenant"`
	Ticket mem.ID `json:"ticket"`
}

// Kind implements river.JobArgs. It is stored with the job and never changes.
func (Write) Kind() string { return "memkernel_write" }

// Embed adds the vectors that memories lack.
type Embed struct{}

// Kind implements river.JobArgs.
func (Embed) Kind() string { return "memkernel_embed" }

// Sweep sees to it that no ticket waits without a job.
type Sweep struct{}

// Kind implements river.JobArgs.
func (Sweep) Kind() string { return "memkernel_sweep" }

// Expire puts the ends of memories that have expired on record.
type Expire struct{}

// Kind implements river.JobArgs.
func (Expire) Kind() string { return "memkernel_expire" }

// Check compares memories with their neighbours, because they are held until then.
type Check struct {
	Tenant   string   `json:"tenant"`
	Memories []mem.ID `json:"memories"`
}

// Kind implements river.JobArgs.
func (Check) Kind() string { return "memkernel_check" }

// CheckAll compares all memories with their neighbours that have not been.
type CheckAll struct{}

// Kind implements river.JobArgs.
func (CheckAll) Kind() string { return "memkernel_check_all" }

// Run is one run of a job: what it is about and which job it is. Its number is the same at
// every attempt, of which River runs one at a time.
type Run[A river.JobArgs] struct {
	Args   A
	Number int64
}

// Kind is a kind of job and what runs it. Every process must know all kinds, whether it runs
// jobs or not: one of them removes jobs of kinds that it does not know.
type Kind struct {
	add      func(*river.Workers, *Config) error
	periodic func() *river.PeriodicJob
}

// On returns the kind of jobs with arguments A, run by fn. fn may run more than once for one
// job, and in the worst case at the same time as an attempt that was taken for dead: its effect
// must be guarded. An error makes River try again, after a second, four, sixteen and so on; a
// context's error that comes of stopping does not count. fn must not panic.
func On[A river.JobArgs](fn func(ctx context.Context, run Run[A]) error) Kind {
	return Kind{add: func(w *river.Workers, cfg *Config) error {
		return river.AddWorkerSafely(w, &worker[A]{fn: fn, timeout: cfg.JobTimeout})
	}}
}

// Every is On for a job of no arguments that one process of all runs at every interval, and when
// that process starts. It is not started while it still runs.
func Every[A river.JobArgs](interval time.Duration, fn func(ctx context.Context, run Run[A]) error) Kind {
	kind := On(fn)
	kind.periodic = func() *river.PeriodicJob {
		return river.NewPeriodicJob(river.PeriodicInterval(interval), func() (river.JobArgs, *river.InsertOpts) {
			var args A
			// The next interval is the next attempt.
			return args, &river.InsertOpts{Queue: queueUpkeep, MaxAttempts: 1, UniqueOpts: once()}
		}, &river.PeriodicJobOpts{RunOnStart: true})
	}
	return kind
}

// once keeps a second job with the same arguments from being added while one is not over.
func once() river.UniqueOpts {
	return river.UniqueOpts{ByArgs: true, ByState: []rivertype.JobState{
		rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRetryable, rivertype.JobStateRunning,
		rivertype.JobStateScheduled,
	}}
}

// worker runs the jobs of one kind.
type worker[A river.JobArgs] struct {
	river.WorkerDefaults[A]

	fn      func(context.Context, Run[A]) error
	timeout time.Duration
}

var _ river.Worker[Write] = (*worker[Write])(nil)

// errJob stands for whatever went wrong. The reason was logged where it arose; River keeps the
// text of this one.
var errJob = errors.New("the attempt failed")

// Work implements river.Worker.
func (w *worker[A]) Work(ctx context.Context, job *river.Job[A]) error {
	err := w.fn(ctx, Run[A]{Args: job.Args, Number: job.ID})
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		// As it is: River tells by it that the job was stopped and did not fail.
		return fmt.Errorf("%w: %w", errJob, ctx.Err())
	default:
		return errJob
	}
}

// Timeout implements river.Worker.
func (w *worker[A]) Timeout(*river.Job[A]) time.Duration { return w.timeout }

const (
	firstRetry = time.Second
	lastRetry  = 5 * time.Minute
)

// NextRetry implements river.Worker.
func (*worker[A]) NextRetry(job *river.Job[A]) time.Time {
	delay := firstRetry
	for range job.Attempt - 1 {
		delay = min(4*delay, lastRetry)
	}
	if job.AttemptedAt == nil {
		return time.Time{} // River's own policy
	}
	return job.AttemptedAt.Add(delay)
}
