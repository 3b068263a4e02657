package kernel

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/memkernel/memkernel/kernel/mem"
)

// maxBreakers is how many breakers are remembered at most. There is one only where something has
// failed of late.
const maxBreakers = 4096

// breakers keep searches from waiting for a driver's engine that does not answer. There is one for
// each driver and tenant, so that what a tenant's questions do to a driver takes it from nobody else.
type breakers struct {
	failures uint32        // in a row that open one
	pause    time.Duration // until an open one lets a call through, to see
	logger   *slog.Logger

	mu    sync.Mutex
	byKey map[breakerKey]*gobreaker.TwoStepCircuitBreaker[struct{}]
}

func newBreakers(l *Limits, logger *slog.Logger) *breakers {
	return &breakers{
		failures: uint32(l.DriverFailures), pause: l.DriverPause, logger: logger, //nolint:gosec // validated
		byKey: map[breakerKey]*gobreaker.TwoStepCircuitBreaker[struct{}]{},
	}
}

type breakerKey struct{ driver, tenant string }

// errNotCounted is what a call was that says nothing about the driver.
var errNotCounted = errors.New("not counted")

// allow asks whether a driver may be called. The call's outcome is to be reported, once.
func (b *breakers) allow(driver, tenant string) (report func(context.Context, error), ok bool) {
	key := breakerKey{driver, tenant}
	b.mu.Lock()
	cb := b.byKey[key]
	b.mu.Unlock()
	if cb == nil {
		return func(ctx context.Context, err error) {
			if unanswered(err) {
				b.count(ctx, key, err)
			}
		}, true
	}
	done, err := cb.Allow()
	if err != nil {
		return nil, false
	}
	return func(ctx context.Context, err error) {
		done(err)
		b.settle(ctx, key, cb)
	}, true
}

// count counts a failure where none was known when the call began.
func (b *breakers) count(ctx context.Context, key breakerKey, err error) {
	b.mu.Lock()
	cb := b.byKey[key]
	if cb == nil {
		cb = b.add(key)
	}
	b.mu.Unlock()
	if done, refused := cb.Allow(); refused == nil {
		done(err)
		b.settle(ctx, key, cb)
	}
}

// add makes a breaker. The lock is held. Of too many any may go: it opens again if it has to.
func (b *breakers) add(key breakerKey) *gobreaker.TwoStepCircuitBreaker[struct{}] {
	if len(b.byKey) >= maxBreakers {
		for other := range b.byKey {
			delete(b.byKey, other)
			break
		}
	}
	cb := gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		MaxRequests:  1,
		Timeout:      b.pause,
		ReadyToTrip:  func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= b.failures },
		IsSuccessful: func(err error) bool { return !unanswered(err) },
		IsExcluded:   func(err error) bool { return errors.Is(err, errNotCounted) },
	})
	b.byKey[key] = cb
	return cb
}

// settle tells of a breaker that is open, and drops that of a driver that answers again.
func (b *breakers) settle(ctx context.Context, key breakerKey, cb *gobreaker.TwoStepCircuitBreaker[struct{}]) {
	switch state := cb.State(); {
	case state == gobreaker.StateOpen:
		b.logger.LogAttrs(ctx, slog.LevelWarn, "driver is not asked for a while", slog.String("driver", key.driver),
			slog.String("tenant", key.tenant), slog.Duration("pause", b.pause))
		return
	case state != gobreaker.StateClosed || cb.Counts().ConsecutiveFailures > 0:
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.byKey[key] == cb {
		delete(b.byKey, key)
	}
}

// unanswered reports a failure of what a driver depends on: it did not answer in time, cannot be
// called because earlier calls still run, or says that it or its network is down. A panic, a plan
// that does not do and any other error may be the question's, and say that the engine is there.
func unanswered(err error) bool {
	var failed *planError
	if !errors.As(err, &failed) {
		return false
	}
	switch failed.reason {
	case "timeout", "busy":
		return true
	case "error":
		var network net.Error
		return errors.Is(failed.cause, mem.ErrUnavailable) || errors.As(failed.cause, &network)
	default:
		return false
	}
}
