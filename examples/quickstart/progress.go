package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// showProgress reports on w how far a load is, until stop is called. On a terminal it
// rewrites one line several times a second; elsewhere it adds a line every ten seconds. A
// load that is over in a second is not worth a report.
func showProgress(w io.Writer, done *atomic.Int64, total int) (stop func()) {
	begun := time.Now()
	interval, end := 10*time.Second, "\n"
	if isTerminal(w) {
		interval, end = 250*time.Millisecond, "   \r"
	}
	report := func(end string) {
		n, elapsed := done.Load(), time.Since(begun)
		if elapsed < time.Second {
			return
		}
		_, _ = fmt.Fprintf(w, "loading: %s of %s (%d %%), %.0f/s, %s%s", grouped(int(n)), grouped(total), n*100/int64(total),
			float64(n)/elapsed.Seconds(), elapsed.Round(100*time.Millisecond), end)
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
