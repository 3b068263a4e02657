package kernel

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/memkernel/memkernel/internal/jobs"
	"github.com/memkernel/memkernel/kernel/mem"
)

// Start begins to run background work in this process: the writes of WriteAsync, the checks for
// contradictions, and the upkeep, such as vectors that a brownout left out and ends of expired memories that are to be
// put on record. It is optional: without it every syscall
// works, and work waits until a kernel on the same database is started. Any number of
// processes may; a piece of work has its effect once. Close stops it.
//
// ctx bounds the start, not the work. A repeat call does nothing, and after Close the kernel
// can be started again. Start fails with ErrUnavailable if the database cannot be reached, and
// with ErrInvalid on a kernel that WithTx returned.
//
// It works on the connections of the pool, and listens on one beside them unless
// Limits.PollInterval is set. A pool of one connection will do.
func (k *Kernel) Start(ctx context.Context) error {
	if k.store.InTx() {
		return &mem.InvalidError{Field: "WithTx", Reason: "background work does not run in a transaction"}
	}
	return k.store.Reached(k.jobs.Start(ctx))
}

// newJobs returns the client of background work with all kinds of it. More kinds are added here
// and nowhere else, so that every process knows them all.
func (k *Kernel) newJobs(db *pgxpool.Pool) (*jobs.Client, error) {
	return jobs.New(db, jobs.Config{
		Logger: k.logger, Workers: k.limits.Workers, JobTimeout: k.jobTimeout(), PollInterval: k.limits.PollInterval,
	},
		jobs.On(k.runTicket),
		jobs.Every(k.limits.UpkeepInterval, k.fillGaps),
		jobs.Every(k.limits.UpkeepInterval, k.sweepTickets),
		jobs.On(k.checkSome),
		jobs.Every(k.limits.UpkeepInterval, k.checkAll),
		jobs.Every(k.limits.UpkeepInterval, k.stampExpired),
	)
}

// jobTimeout bounds one attempt at a piece of work: the answers of the models, of the host's stages
// and of its classifier, which is asked for the text and its source, and again for what is left of them once
// they were redacted, and what comes before and after them.
func (k *Kernel) jobTimeout() time.Duration {
	answers := time.Duration(1)
	if k.scanner != nil {
		answers += 2 * maxRedactions
	}
	if k.llm != nil {
		answers += maxParts
	}
	answers += time.Duration(len(k.stages))
	return answers*k.limits.ModelTimeout + 2*k.limits.AuditTimeout
}

const (
	// overdueAfter is when a ticket that is not over is made sure to have a job. That it has none
	// happens only if jobs were lost.
	overdueAfter = 10 * time.Minute
	// mostOverdue is how many are at a time.
	mostOverdue = 500
)

// sweepTickets adds jobs for tickets that have waited for long.
func (k *Kernel) sweepTickets(ctx context.Context, _ jobs.Run[jobs.Sweep]) error {
	overdue, err := k.store.Overdue(ctx, k.clock().Add(-overdueAfter), mostOverdue)
	if err != nil {
		return err
	}
	writes := make([]jobs.Write, len(overdue))
	for i, t := range overdue {
		writes[i] = jobs.Write{Tenant: t.Tenant, Ticket: t.ID}
	}
	if len(writes) > 0 {
		k.logger.LogAttrs(ctx, slog.LevelWarn, "tickets are overdue", slog.Int("tickets", len(writes)))
	}
	return k.jobs.Ensure(ctx, writes)
}

// bells tell those who wait for a ticket in this process that it is over. Nobody relies on
// them: the ticket may be worked on elsewhere.
type bells struct {
	mu      sync.Mutex
	waiting map[ID][]chan struct{}
}

// watch returns what is closed when the bell of a ticket is rung, and what ends the watch.
func (b *bells) watch(id ID) (rung <-chan struct{}, release func()) {
	bell := make(chan struct{})
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiting == nil {
		b.waiting = map[ID][]chan struct{}{}
	}
	b.waiting[id] = append(b.waiting[id], bell)
	return bell, func() { b.forget(id, bell) }
}

func (b *bells) forget(id ID, bell chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var rest []chan struct{}
	for _, other := range b.waiting[id] {
		if other != bell {
			rest = append(rest, other)
		}
	}
	if rest == nil {
		delete(b.waiting, id)
	} else {
		b.waiting[id] = rest
	}
}

// ring wakes everybody who waits for the ticket.
func (b *bells) ring(id ID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, bell := range b.waiting[id] {
		close(bell)
	}
	delete(b.waiting, id)
}
