package embedded

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// progress writes one line per step of provisioning.
type progress struct {
	mu    sync.Mutex
	w     io.Writer
	start time.Time
}

func newProgress(w io.Writer) *progress {
	return &progress{w: w, start: time.Now()} //nolint:forbidigo // elapsed time, shown to a person
}

func (p *progress) say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	elapsed := time.Since(p.start).Seconds() //nolint:forbidigo // shown to a person
	_, _ = fmt.Fprintf(p.w, "memkernel: postgres: [%4.1fs] %s\n", elapsed, fmt.Sprintf(format, args...))
}

// every calls report at intervals until the returned function is called, which waits for a
// running report to end.
func every(d time.Duration, report func()) (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		t := time.NewTicker(d)
		defer t.Stop()
		for {
			select {
			case <-quit:
				return
			case <-t.C:
				report()
			}
		}
	}()
	return func() {
		close(quit)
		<-done
	}
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }
