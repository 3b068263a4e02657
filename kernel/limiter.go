package kernel

import (
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/kernel/mem"
)

// limiter keeps one token bucket per caller and operation, in this process.
type limiter struct {
	max int

	mu      sync.Mutex
	buckets map[bucketKey]*bucket
}

// bucket remembers the latest time it was asked at: the limiter itself takes every time it is
// given, and calls that come in late would turn it back and earn the time between once more.
type bucket struct {
	*rate.Limiter
	latest time.Time
}

// maxLate is how much earlier than another call's a time can be without the clock having
// been set back, in which case the bucket starts from there.
const maxLate = time.Hour

func (b *bucket) at(now time.Time) time.Time {
	if late := b.latest.Sub(now); late > 0 && late < maxLate {
		return b.latest
	}
	b.latest = now
	return now
}

type bucketKey struct {
	principal string
	op        acl.Op
}

func newLimiter(maxCallers int) *limiter {
	return &limiter{max: maxCallers, buckets: map[bucketKey]*bucket{}}
}

// take takes one token, or says how long until there is one.
func (l *limiter) take(principal string, op acl.Op, limit mem.RateLimit, now time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := bucketKey{principal, op}
	b := l.buckets[key]
	if b == nil {
		l.makeRoom(now)
		b = &bucket{Limiter: rate.NewLimiter(rate.Limit(limit.PerSecond), limit.Burst)}
		l.buckets[key] = b
	}
	now = b.at(now)
	if b.Limit() != rate.Limit(limit.PerSecond) || b.Burst() != limit.Burst {
		// The policy has changed; what was spent stays spent.
		b.SetLimitAt(now, rate.Limit(limit.PerSecond))
		b.SetBurstAt(now, limit.Burst)
	}
	r := b.ReserveN(now, 1)
	if wait := r.DelayFrom(now); wait > 0 {
		r.CancelAt(now)
		// Rounded up: whoever waits as long must not be a moment early. A rate next to nothing
		// gives a wait next to for ever, which must not overflow.
		wait = min(wait, math.MaxInt64-time.Millisecond)
		return &mem.RateLimitError{RetryAfter: (wait + time.Millisecond - 1).Truncate(time.Millisecond)}
	}
	return nil
}

// spent reports whether the caller's bucket was empty when it was last looked at, so that a
// call bound to be refused does not send its reads along with the gate.
func (l *limiter) spent(principal string, op acl.Op, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.buckets[bucketKey{principal, op}]
	return b != nil && b.TokensAt(now) < 1
}

// makeRoom forgets full buckets, which a new one would equal, and if that is not enough,
// others: a caller among too many may then spend its burst once more. It frees a sixteenth
// at a time, because it looks at all of them.
func (l *limiter) makeRoom(now time.Time) {
	if len(l.buckets) < l.max {
		return
	}
	for key, b := range l.buckets {
		if b.TokensAt(now) >= float64(b.Burst()) {
			delete(l.buckets, key)
		}
	}
	for key := range l.buckets {
		if len(l.buckets) <= l.max-max(1, l.max/16) {
			return
		}
		delete(l.buckets, key)
	}
}
