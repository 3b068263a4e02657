package openai

import (
	"context"
	"time"
)

// SetTimeout replaces what bounds an attempt.
func (c *Client) SetTimeout(f func(context.Context, time.Duration) (context.Context, context.CancelFunc)) {
	c.timeout = f
}

// Inside for tests of what has no door of its own.
var (
	Batches    = batches
	RetryAfter = retryAfter
)

// ErrorOf reads an error's body.
func ErrorOf(status int, body []byte, key string, texts ...string) *APIError {
	return newAPIError(status, body, redactor{key: key, texts: texts})
}

// ErrorInside reads an answer's body.
func ErrorInside(body []byte, key string, texts ...string) *APIError {
	return apiErrorInside(body, redactor{key: key, texts: texts})
}

// Wait returns the wait after the n-th attempt.
func (c *Client) Wait(n int, err error) (time.Duration, bool) { return c.wait(n, err) }
