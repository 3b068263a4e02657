package kernel

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
)

// maxStuck is how many calls of one plugged-in part may run on after they were given up,
// before the part is not asked any more: a goroutine cannot be killed, only not started.
const maxStuck = 16

// maxStuckInAll is that for all tenants' calls of one driver, which are counted for each.
const maxStuckInAll = 256

// errStuck: so many calls of the part were given up and still run that it is not asked.
var errStuck = errors.New("too many calls are stuck")

// errExited: the part ended its goroutine instead of returning.
var errExited = errors.New("the goroutine was ended")

// stuckCalls counts the calls that were given up and still run, per part.
type stuckCalls struct {
	mu      sync.Mutex
	running map[string]int
}

func (s *stuckCalls) add(part string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running == nil {
		s.running = map[string]int{}
	}
	if s.running[part] += n; s.running[part] == 0 {
		delete(s.running, part)
	}
}

// sum counts the stuck calls of all parts of that name.
func (s *stuckCalls) sum(prefix string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for part, running := range s.running {
		if strings.HasPrefix(part, prefix+" ") {
			n += running
		}
	}
	return n
}

func (s *stuckCalls) full(part string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running[part] >= maxStuck
}

// aside calls fn on a goroutine of its own and leaves it behind when ctx is done first. fn
// must not panic; if it ends its goroutine that is errExited. Any other error is the
// context's or errStuck.
func aside[R any](ctx context.Context, s *stuckCalls, part string, fn func() R) (result R, err error) {
	if s.full(part) {
		return result, errStuck
	}
	var settled atomic.Bool
	answer := make(chan R, 1)
	receive := func(r R, ok bool) (R, error) {
		if !ok {
			return r, errExited
		}
		return r, nil
	}
	go func() {
		// Deferred, because fn may call runtime.Goexit.
		defer func() {
			close(answer)
			if !settled.CompareAndSwap(false, true) {
				s.add(part, -1) // it was given up, and has come back after all
			}
		}()
		answer <- fn()
	}()
	select {
	case r, ok := <-answer:
		return receive(r, ok)
	case <-ctx.Done():
	}
	s.add(part, 1)
	if settled.CompareAndSwap(false, true) {
		return result, ctx.Err()
	}
	s.add(part, -1)
	r, ok := <-answer
	return receive(r, ok)
}
