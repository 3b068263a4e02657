package pgtest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/internal/pgtest"
)

func TestOpenIsMigratedAndIsolated(t *testing.T) {
	t.Parallel()
	t0 := time.Now()
	a, b := pgtest.Open(t), pgtest.Open(t)
	t.Log(time.Since(t0))
	ctx := t.Context()
	const count = `SELECT count(*) FROM pg_tables WHERE schemaname = 'memkernel'`
	var n int
	require.NoError(t, a.QueryRow(ctx, count).Scan(&n))
	require.Positive(t, n)
	_, err := a.Exec(ctx, `CREATE TABLE only_here (x int)`)
	require.NoError(t, err)
	_, err = b.Exec(ctx, `SELECT * FROM only_here`)
	require.Error(t, err)
}

func BenchmarkOpen(b *testing.B) {
	for b.Loop() {
		b.Run("x", func(b *testing.B) { pgtest.Open(b) })
	}
}

func TestMany(t *testing.T) {
	for range 20 {
		t.Run("", func(t *testing.T) {
			t0 := time.Now()
			p := pgtest.Open(t)
			t1 := time.Now()
			require.NoError(t, p.Ping(t.Context()))
			t2 := time.Now()
			t.Cleanup(func() { t.Log(t1.Sub(t0), t2.Sub(t1)) })
		})
	}
}
