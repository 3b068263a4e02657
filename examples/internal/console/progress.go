package console

import (
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Progress reports on w how far a task is, until stop is called: what it does, how much of
// total is done, at which rate, for how long, and how long it has left at that rate. On a
// terminal it rewrites one line several times a second; elsewhere it adds a line every ten
// seconds. A task that is over in a second is not worth a report.
func Progress(w io.Writer, doing string, done *atomic.Int64, total int) (stop func()) {
	begun := time.Now()
	interval, end, width := 10*time.Second, "\n", 0
	if isTerminal(w) {
		interval, end, width = 250*time.Millisecond, "\r", 79 // enough to cover the line before
	}
	report := func(end string) {
		n, elapsed := int(done.Load()), time.Since(begun)
		if elapsed < time.Second {
			return
		}
		left := ""
		if n > 0 && n < total {
			left = fmt.Sprintf(", %s left", (elapsed * time.Duration(total-n) / time.Duration(n)).Round(time.Second))
		}
		line := fmt.Sprintf("%s: %s of %s (%d %%), %.0f/s, %s%s", doing, Grouped(n), Grouped(total), n*100/max(total, 1),
			float64(n)/elapsed.Seconds(), elapsed.Round(100*time.Millisecond), left)
		_, _ = fmt.Fprintf(w, "%-*s%s", width, line, end)
	}
	quit := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		ticks := time.NewTicker(interval)
		defer ticks.Stop()
		for {
			select {
			case <-quit:
				return
			case <-ticks.C:
				report(end)
			}
		}
	})
	return func() {
		close(quit)
		group.Wait()
		report("\n")
	}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
