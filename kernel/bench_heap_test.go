package kernel_test

import (
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
)

// BenchmarkHeap runs 100,000 writes and searches by 100 callers and fails if the heap has
// then grown by more than a tenth over what it was after the first 10,000. With -short it
// makes a tenth as many calls, too few to judge by.
func BenchmarkHeap(b *testing.B) {
	for b.Loop() {
		k := benchKit(b)
		callers := make([]kernel.Identity, 100)
		for i := range callers {
			callers[i] = k.Key(fmt.Sprintf("acme/team%d", i), kernel.RoleMember)
		}
		first, last := 10_000, 100_000
		if testing.Short() {
			first, last = first/10, last/10
		}
		early := heapAfter(b, k, callers, 0, first)
		late := heapAfter(b, k, callers, first, last)
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(early/1e6, "MB-early")
		b.ReportMetric(late/1e6, "MB-late")
		b.ReportMetric(late/early, "growth")
		if late > 1.1*early && !testing.Short() {
			b.Fatalf("the heap grew from %.0f to %.0f bytes", early, late)
		}
	}
}

// heapAfter makes the calls numbered from and up to to, half of them writes, and returns the
// live heap.
func heapAfter(b *testing.B, k *kerneltest.Kit, callers []kernel.Identity, from, to int) float64 {
	b.Helper()
	const workers = 4
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			c := newCorpus()
			for n := from + w; n < to; n += workers {
				who := callers[n/2%len(callers)]
				var err error
				if n%2 == w/2%2 {
					_, err = k.Write(b.Context(), who, kernel.WriteRequest{Text: fmt.Sprint(c.sentence(10), n)})
				} else {
					_, err = k.Search(b.Context(), who, kernel.SearchRequest{Query: c.sentence(4)})
				}
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	require.False(b, b.Failed())
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}
