package openai

import (
	"errors"
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// transient reports whether a failed request may succeed if it is made again.
func transient(err error) bool {
	var api *APIError
	if errors.As(err, &api) {
		return api.transient()
	}
	var network *networkError
	return errors.As(err, &network)
}

// wait returns how long to wait after the n-th attempt, counted from 1, has failed: a random
// time up to the doubled backoff (full jitter), or what the server asks for and a random
// time more, so that those it sent away do not come back together. It is false if the server
// asks for more than it is granted.
func (c *Client) wait(n int, err error) (time.Duration, bool) {
	ceiling := c.cfg.MaxBackoff
	if shift := n - 1; shift < 62 && c.cfg.Backoff <= c.cfg.MaxBackoff>>shift {
		ceiling = c.cfg.Backoff << shift
	}
	var api *APIError
	if errors.As(err, &api) && api.RetryAfter > 0 {
		if api.RetryAfter > c.cfg.MaxRetryAfter {
			return 0, false
		}
		return api.RetryAfter + jitter(min(ceiling, c.cfg.Backoff)), true
	}
	return jitter(ceiling), true
}

// jitter returns a random time below d.
func jitter(d time.Duration) time.Duration {
	return time.Duration(rand.Int64N(max(1, int64(d)))) //nolint:gosec // spreads load; nobody gains by guessing it
}

// retryAfter reads how long a server wants to be left alone: a number of milliseconds in the
// header that Azure adds, a number of seconds, or a date.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if d := number(h.Get("Retry-After-Ms"), time.Millisecond); d > 0 {
		return d
	}
	value := h.Get("Retry-After")
	if d := number(value, time.Second); d > 0 {
		return d
	}
	if t, err := http.ParseTime(value); err == nil {
		return max(0, t.Sub(now))
	}
	return 0
}

// number reads a count of units. What is no positive number is 0.
func number(s string, unit time.Duration) time.Duration {
	f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || !(f > 0) {
		return 0
	}
	if f *= float64(unit); f >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(f)
}
