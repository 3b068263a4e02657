package console_test

import (
	"bytes"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/examples/internal/console"
)

func TestProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		var done atomic.Int64
		stop := console.Progress(&out, "loading", &done, 4000)
		done.Store(1500)
		time.Sleep(15 * time.Second)
		done.Store(4000)
		stop()
		require.Equal(t, "loading: 1,500 of 4,000 (37 %), 150/s, 10s, 17s left\nloading: 4,000 of 4,000 (100 %), 267/s, 15s\n", out.String())
	})
}

// TestProgressOfNothing has a task of which nothing is done, and one with nothing to do.
func TestProgressOfNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		var done atomic.Int64
		stop, idle := console.Progress(&out, "a", &done, 7), console.Progress(&bytes.Buffer{}, "b", &done, 0)
		time.Sleep(2 * time.Second)
		stop()
		idle()
		require.Equal(t, "a: 0 of 7 (0 %), 0/s, 2s\n", out.String())
	})
}

func TestText(t *testing.T) {
	t.Parallel()
	require.Equal(t, "a b c", console.Clip(" a\n\tb \x00 c ", 10))
	require.Equal(t, "größ…", console.Clip("größer", 5))
	require.Equal(t, "größer", console.Clip("größer", 6))
	require.Equal(t, []string{"0", "999", "1,000", "5,882", "1,234,567"}, []string{
		console.Grouped(0), console.Grouped(999), console.Grouped(1000), console.Grouped(5882), console.Grouped(1234567),
	})
}

func TestPrinter(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := console.Printer{Out: &out}
	p.Printf("%d", 1)
	p.Wrapped("--", 10, nil)
	p.Wrapped("--", 10, []string{"äb", "cdé", "f", "a longer name", "g", "h"})
	require.NoError(t, p.Err)
	require.Equal(t, "1\n--äb, cdé,\n--f,\n--a longer name,\n--g, h\n", out.String())
	p = console.Printer{Out: &out, Err: errors.ErrUnsupported}
	p.Printf("2")
	require.ErrorIs(t, p.Err, errors.ErrUnsupported)
	require.NotContains(t, out.String(), "2")
}
