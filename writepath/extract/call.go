package extract

import (
	"context"
	"errors"
	"fmt"

	"github.com/memkernel/memkernel/kernel/model"
)

// errPanic: the model panicked. What with is not told: it may hold the prompt.
var errPanic = errors.New("the model panicked")

// errNoAnswer: the model returned neither an answer nor an error.
var errNoAnswer = errors.New("the model returned nothing")

func timedOut(err error) bool { return errors.Is(err, context.DeadlineExceeded) }

// part extracts the facts of one part, with at most two calls.
func (c *collector) part(ctx context.Context, text string) {
	c.result.Parts++
	switch {
	case ctx.Err() != nil || c.hung:
		c.verbatim(text, ReasonTimeout)
		return
	case len(c.result.Facts) >= c.opts.MaxFacts:
		c.verbatim(text, ReasonTooManyFacts)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, c.opts.Timeout)
	defer cancel()
	reason, err := c.ask(ctx, text)
	if err != nil {
		c.result.Err = err
	}
	c.hung = reason == ReasonTimeout
	if reason != ReasonNone {
		c.verbatim(text, reason)
	}
}

// ask gets the answer for one part, the second time if need be, and takes its facts.
func (c *collector) ask(ctx context.Context, text string) (Reason, error) {
	req := c.request(text)
	answer, err := c.call(ctx, req)
	var items []item
	switch {
	case err != nil && ctx.Err() != nil:
		return ReasonTimeout, err
	case err != nil && !c.opts.Retry(err):
		return ReasonModelFailed, err
	case err == nil:
		if items, err = parse(answer); err == nil {
			return c.take(items), nil
		}
		req = c.repair(text, answer, err)
	}
	// The second and last call.
	answer, callErr := c.call(ctx, req)
	switch {
	case callErr != nil && (ctx.Err() != nil || timedOut(callErr)):
		return ReasonTimeout, callErr
	case callErr != nil:
		return ReasonModelFailed, callErr
	}
	if items, err = parse(answer); err != nil {
		c.reject(items)
		return ReasonBadJSON, err
	}
	return c.take(items), nil
}

// call asks the model once.
func (c *collector) call(ctx context.Context, req model.Request) (answer []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			answer, err = nil, fmt.Errorf("%w: %T", errPanic, r)
		}
	}()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c.result.Calls++
	resp, err := c.llm.Complete(ctx, req)
	if resp != nil {
		c.result.Usage.PromptTokens += max(resp.Usage.PromptTokens, 0)
		c.result.Usage.AnswerTokens += max(resp.Usage.AnswerTokens, 0)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("extract: %w", err)
	case resp == nil:
		return nil, errNoAnswer
	}
	return resp.JSON, nil
}
