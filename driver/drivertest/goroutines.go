package drivertest

import (
	"bytes"
	"fmt"
	"runtime/pprof"
	"strings"
	"time"
)

// labelKey is the profiler label that a driver's goroutines carry, which those that they start
// inherit.
const labelKey = "drivertest"

// settle waits until the driver's goroutines are gone, for as long as grace, and returns where
// those are that remain.
func (s *suite) settle(label string) []string {
	const pause = 10 * time.Millisecond
	for range int(grace / pause) {
		if len(s.running(label)) == 0 {
			return nil
		}
		time.Sleep(pause)
	}
	return s.running(label)
}

// running returns the functions in which goroutines with the label are.
func (s *suite) running(label string) []string {
	var profile bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
		s.tb.Fatalf("drivertest: goroutine profile: %v", err)
	}
	var found []string
	mark := fmt.Sprintf("%q:%q", labelKey, label)
	for stack := range strings.SplitSeq(profile.String(), "\n\n") {
		if !strings.Contains(stack, mark) {
			continue
		}
		// The innermost function that is not the runtime's.
		where := "an unknown function"
		for line := range strings.Lines(stack) {
			if fields := strings.Fields(line); len(fields) >= 3 && fields[0] == "#" && strings.HasPrefix(fields[1], "0x") {
				where = fields[2]
				if !strings.HasPrefix(where, "runtime.") && !strings.HasPrefix(where, "time.") {
					break
				}
			}
		}
		found = append(found, where)
	}
	return found
}
