package openai

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	goopenai "github.com/sashabaranov/go-openai"
)

// request is one question to the server, however often it has to be asked.
type request struct {
	op     string   // what it does, for errors and logs
	tenant string   // whose budget it uses
	most   Cost     // the most that an attempt uses
	texts  []string // what must not be repeated

	// send asks once and checks the answer. It returns what was used, as far as the
	// server told, also with an error.
	send func(ctx context.Context, wire *goopenai.Client, x *exchange) (Cost, error)
}

// call makes a request until it succeeds, fails for good, or has failed too often.
func (c *Client) call(ctx context.Context, r *request) error {
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := c.attempt(ctx, r)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case !transient(err):
			return fmt.Errorf("openai: %s: %w", r.op, err)
		}
		wait, granted := c.wait(n, err)
		if n >= c.cfg.Attempts || !granted || c.endsWithin(ctx, wait) {
			return fmt.Errorf("openai: %s: gave up at attempt %d: %w", r.op, n, err)
		}
		c.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "model request failed, trying again",
			slog.String("op", r.op), slog.Int("attempt", n), slog.Duration("wait", wait), slog.Any("error", err))
		if failure := c.cfg.Sleep(ctx, wait); failure != nil && ctx.Err() == nil {
			return fmt.Errorf("openai: %s: %w; waiting to try again: %w", r.op, err, failure)
		}
	}
}

// endsWithin reports whether the caller's time is over before a wait is.
func (c *Client) endsWithin(ctx context.Context, wait time.Duration) bool {
	deadline, ok := ctx.Deadline()
	return ok && deadline.Sub(c.cfg.Now()) <= wait
}

// attempt makes a request once, within the tenant's budget.
func (c *Client) attempt(ctx context.Context, r *request) error {
	settle := func(context.Context, Cost) {}
	if c.cfg.Budget != nil {
		s, err := c.cfg.Budget.Reserve(ctx, r.tenant, r.most)
		if err != nil {
			return err
		}
		if s != nil {
			settle = s
		}
	}
	used := r.most // unless more is known
	defer func() { settle(context.WithoutCancel(ctx), used) }()

	limited, cancel := c.timeout(ctx, c.cfg.AttemptTimeout)
	defer cancel()
	x := &exchange{
		http: c.http, limit: c.cfg.MaxResponseBytes, now: c.cfg.Now,
		redact: redactor{key: c.key(), texts: r.texts},
	}
	told, err := r.send(limited, c.wire(x), x)
	switch x.outcome {
	case unsent, refused:
		used = Cost{Model: r.most.Model}
	case answered:
		used = told.orElse(r.most)
	case lost:
		// The server may have done the work, and may charge for it.
	}
	if network, ok := err.(*networkError); ok && limited.Err() != nil { //nolint:errorlint // made by the exchange, not wrapped
		network.timeout = true
	}
	return err
}
