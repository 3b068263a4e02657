package jobs

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
)

// Config says how jobs are run.
type Config struct {
	Logger *slog.Logger
	// Workers is how many jobs of the main queue run at once.
	Workers int
	// JobTimeout bounds one attempt. A job whose process died is handed out again when it and a
	// little more has passed.
	JobTimeout time.Duration
	// PollInterval, unless it is 0, has jobs looked for this often, without a connection that listens.
	PollInterval time.Duration
}

const (
	schema = "memkernel"
	// maxAttempts is far beyond what any kind of job takes to give up by itself, on its own
	// record: a job that River gives up leaves no trace there.
	maxAttempts = 1000
	// fetchCooldown and the workers bound the throughput.
	fetchCooldown = 10 * time.Millisecond
	// pollInterval is how long a job may go unnoticed that nobody was told of.
	pollInterval = time.Second
	// rescueMargin is what is left to an attempt that has timed out to come to an end.
	rescueMargin = 5 * time.Second
	// softStop bounds how long Stop lets jobs run on.
	softStop = 5 * time.Second
	upkeep   = 2 // jobs of the upkeep queue at once
)

// Client adds jobs and, between Start and Stop, runs them. It is safe for concurrent use.
//
// Of a job that fails, River keeps that it did and when, not why: an error can hold what must
// not outlive an erasure.
type Client struct {
	pool   *pgxpool.Pool
	cfg    Config
	kinds  []Kind
	insert *river.Client[pgx.Tx]
	// known is set when River has asked the server what it can do, which it asks once.
	known atomic.Bool

	mu      sync.Mutex
	running *river.Client[pgx.Tx]
}

// New returns a client. It does no I/O and starts nothing.
func New(pool *pgxpool.Pool, cfg Config, kinds ...Kind) (*Client, error) {
	c := &Client{pool: pool, cfg: cfg, kinds: kinds}
	workers, err := c.workers()
	if err != nil {
		return nil, err
	}
	c.insert, err = river.NewClient(riverpgxv5.New(pool), &river.Config{Schema: schema, Logger: cfg.Logger, Workers: workers})
	if err != nil {
		return nil, fmt.Errorf("jobs: %w", err)
	}
	return c, nil
}

func (c *Client) workers() (*river.Workers, error) {
	workers := river.NewWorkers()
	for _, kind := range c.kinds {
		if err := kind.add(workers, &c.cfg); err != nil {
			return nil, fmt.Errorf("jobs: %w", err)
		}
	}
	return workers, nil
}

// Brief reports that Add sends one statement, beside a hint to those who listen for jobs, which
// may go missing.
func (c *Client) Brief() bool { return c.known.Load() }

// Add adds a job within tx: it exists when tx has been committed, and uses no other connection.
func (c *Client) Add(ctx context.Context, tx pgx.Tx, args river.JobArgs) error {
	if _, err := c.insert.InsertTx(ctx, tx, args, &river.InsertOpts{Queue: queueWork, MaxAttempts: maxAttempts}); err != nil {
		return fmt.Errorf("add job: %w", err)
	}
	c.known.Store(true)
	return nil
}

// Ensure adds jobs for tickets, but none that an earlier Ensure has added and that is not over.
func (c *Client) Ensure(ctx context.Context, writes []Write) error {
	if len(writes) == 0 {
		return nil
	}
	params := make([]river.InsertManyParams, len(writes))
	for i, a := range writes {
		params[i] = river.InsertManyParams{Args: a, InsertOpts: &river.InsertOpts{
			Queue: queueWork, MaxAttempts: maxAttempts, UniqueOpts: once(),
		}}
	}
	if _, err := c.insert.InsertMany(ctx, params); err != nil {
		return fmt.Errorf("add jobs: %w", err)
	}
	return nil
}

// Start begins to run jobs, until Stop. ctx bounds the start alone. A repeat call does nothing.
func (c *Client) Start(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running != nil {
		return nil
	}
	workers, err := c.workers()
	if err != nil {
		return err
	}
	cfg := &river.Config{
		Schema: schema, Logger: c.cfg.Logger, Workers: workers, PollOnly: c.cfg.PollInterval > 0,
		Queues: map[string]river.QueueConfig{
			queueWork: {MaxWorkers: c.cfg.Workers}, queueUpkeep: {MaxWorkers: upkeep},
		},
		FetchCooldown: fetchCooldown, FetchPollInterval: pollInterval,
		JobTimeout: c.cfg.JobTimeout, RescueStuckJobsAfter: c.cfg.JobTimeout + rescueMargin,
		// It takes the owner of the tables.
		ReindexerSchedule: river.NeverSchedule(),
	}
	if c.cfg.PollInterval > 0 {
		cfg.FetchPollInterval = c.cfg.PollInterval
	}
	for _, kind := range c.kinds {
		if kind.periodic != nil {
			cfg.PeriodicJobs = append(cfg.PeriodicJobs, kind.periodic())
		}
	}
	running, err := river.NewClient(riverpgxv5.New(c.pool), cfg)
	if err != nil {
		return fmt.Errorf("jobs: %w", err)
	}
	if err := c.launch(ctx, running); err != nil {
		return fmt.Errorf("start jobs: %w", err)
	}
	c.running = running
	return nil
}

// launch starts a client whose life does not end with ctx, and gives up when ctx does.
func (c *Client) launch(ctx context.Context, running *river.Client[pgx.Tx]) error {
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	undo := context.AfterFunc(ctx, cancel)
	err := running.Start(life)
	if undo() {
		// It lives until it is stopped.
		return err //nolint:wrapcheck // wrapped by Start
	}
	cancel()
	if err == nil {
		<-running.Stopped()
	}
	return ctx.Err()
}

// Stop lets the jobs that run come to an end, for softStop or half of what ctx leaves, cancels
// those that do not, and waits for them until ctx is done. A job that was cancelled runs again
// later, and has not used up an attempt. With an error, a job is still running, cancelled. A
// repeat call does nothing, unless the first one failed: then it waits on.
func (c *Client) Stop(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running == nil {
		return nil
	}
	soft, cancel := context.WithTimeout(ctx, patience(ctx))
	defer cancel()
	if c.running.Stop(soft) != nil {
		if err := c.running.StopAndCancel(ctx); err != nil {
			return fmt.Errorf("stop jobs: %w", err)
		}
	}
	c.running = nil
	return nil
}

// patience is how long jobs may run on.
func patience(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return softStop
	}
	return min(softStop, time.Until(deadline)/2) //nolint:forbidigo // a deadline is set by the same clock
}
