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

// maxBreakers is how many breakers are remembered, at most; over it, those that nothing has failed of
// late are forgotten first.
const maxBreakers = 4096

// breakers keep searches from waiting for a driver's engine that does not answer. There is one for
// each driver and tenant, so that what a tenant's questions do to a driver takes it from nobody else.
type breakers struct {
	failures uint32        // in a row that open one
	pause    time.Duration // until an open one lets a call through, to see
	logger   *slog.Logger

	// mu is held around every use of a breaker: it makes of a question and what follows one step.
	mu    sync.Mutex
	byKey map[breakerKey]*breaker
}

type breaker = gobreaker.TwoStepCircuitBreaker[struct{}]

type breakerKey struct{ driver, tenant string }

func newBreakers(l *Limits, logger *slog.Logger) *breakers {
	return &breakers{
		failures: uint32(l.DriverFailures), pause: l.DriverPause, logger: logger, //nolint:gosec // validated
		byKey: map[breakerKey]*breaker{},
	}
}

// errNotCounted is what a call was that says nothing about the driver.
var errNotCounted = errors.New("not counted")

// allow asks whether a driver may be called. The call's outcome is to be reported, once. What comes in
// when the breaker has opened or closed since the call began changes nothing.
func (b *breakers) allow(driver, tenant string) (report func(context.Context, error), ok bool) {
	key := breakerKey{driver, tenant}
	b.mu.Lock()
	defer b.mu.Unlock()
	cb := b.byKey[key]
	if cb == nil {
		cb = b.add(key)
	}
	done, err := cb.Allow()
	if err != nil {
		return nil, false
	}
	return func(ctx context.Context, err error) {
		b.mu.Lock()
		was := cb.State()
		done(err)
		opened := was != gobreaker.StateOpen && cb.State() == gobreaker.StateOpen
		b.mu.Unlock()
		if opened {
			b.logger.LogAttrs(ctx, slog.LevelWarn, "driver is not asked for a while", slog.String("driver", driver),
				slog.String("tenant", tenant), slog.Duration("pause", b.pause))
		}
	}, true
}

// add makes a breaker. The lock is held.
func (b *breakers) add(key breakerKey) *breaker {
	if len(b.byKey) >= maxBreakers {
		b.makeRoom()
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

// makeRoom forgets breakers. If all have failures to remember any goes: it opens again if it has to.
func (b *breakers) makeRoom() {
	for key, cb := range b.byKey {
		if cb.State() == gobreaker.StateClosed && cb.Counts().ConsecutiveFailures == 0 {
			delete(b.byKey, key)
		}
	}
	for key := range b.byKey {
		if len(b.byKey) < maxBreakers {
			return
		}
		delete(b.byKey, key)
	}
}

// unanswered reports a failure of what a driver depends on: it did not answer in time, or says that it
// or its network is down. A panic, a plan that does not do and any other error may be the question's,
// and say that the engine is there.
func unanswered(err error) bool {
	var failed *planError
	if !errors.As(err, &failed) {
		return false
	}
	switch failed.reason {
	case reasonTimeout:
		return true
	case reasonError:
		var network net.Error
		return errors.Is(failed.cause, mem.ErrUnavailable) || errors.As(failed.cause, &network)
	default:
		return false
	}
}
