package kernel_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
)

// TestDuplicateEndsMeanwhile: a write finds that its text is known, and what says so ends
// before the write is committed. It is stored as any other, with a vector.
func TestDuplicateEndsMeanwhile(t *testing.T) {
	t.Parallel()
	for name, model := range models {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := kerneltest.Open(t, kernel.WithEmbedder(model()))
			ctx := t.Context()
			dana := k.Key("acme/eng", kernel.RoleMember)
			first := must(k.Write(ctx, dana, kernel.WriteRequest{Text: "The gate is open."})).Stored[0]
			side, watch := sideConn(t, k), sideConn(t, k)
			tx, err := side.Begin(ctx)
			require.NoError(t, err)
			must(k.WithTx(tx).Retract(ctx, dana, kernel.RetractRequest{ID: first}))
			var reply *kernel.WriteReply
			done := make(chan error, 1)
			go func() {
				var err error
				reply, err = k.Write(ctx, dana, kernel.WriteRequest{Text: "The gate is open.", IdempotencyKey: "1"})
				done <- err
			}()
			awaitBlocked(t, watch, 1)
			require.NoError(t, tx.Commit(ctx))
			require.NoError(t, <-done)
			require.Len(t, reply.Stored, 1)
			require.Empty(t, reply.Degraded)
			require.Equal(t, 1, sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM memkernel.memory_vectors WHERE live`))
			require.Equal(t, reply.Stored[0], lastAudit(k).MemoryID)
			requireSound(t, k.Pool)
		})
	}
}

// TestLostRaceLeavesNoTrace: what a write that lost its race would have stored is not on
// record under an id that was never there.
func TestLostRaceLeavesNoTrace(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	ctx := t.Context()
	dana := k.Key("acme/eng", kernel.RoleMember)
	first := must(k.Write(ctx, dana, kernel.WriteRequest{Text: "The gate is open."})).Stored[0]
	for _, tc := range []struct {
		name   string
		ahead  func(tx *kernel.Kernel) kernel.ID // what must be on record
		req    kernel.WriteRequest
		target error
	}{
		{"another says it", func(tx *kernel.Kernel) kernel.ID {
			return must(tx.Write(ctx, dana, kernel.WriteRequest{Text: "Rain."})).Stored[0]
		}, kernel.WriteRequest{Text: "Rain."}, nil},
		{"the same request", func(tx *kernel.Kernel) kernel.ID {
			return must(tx.Write(ctx, dana, kernel.WriteRequest{Text: "Snow.", IdempotencyKey: "2"})).Stored[0]
		}, kernel.WriteRequest{Text: "Snow.", IdempotencyKey: "2"}, nil},
		{"the target ends", func(tx *kernel.Kernel) kernel.ID {
			must(tx.Retract(ctx, dana, kernel.RetractRequest{ID: first}))
			return first
		}, kernel.WriteRequest{Text: "The gate is shut.", Supersedes: first}, kernel.ErrConflict},
	} {
		side, watch := sideConn(t, k), sideConn(t, k)
		tx, err := side.Begin(ctx)
		require.NoError(t, err)
		want := tc.ahead(k.WithTx(tx))
		done := make(chan error, 1)
		go func() {
			_, err := k.Write(ctx, dana, tc.req)
			done <- err
		}()
		awaitBlocked(t, watch, 1)
		require.NoError(t, tx.Commit(ctx))
		require.ErrorIs(t, <-done, tc.target, tc.name)
		require.Equal(t, want, lastAudit(k).MemoryID, tc.name)
		requireSound(t, k.Pool)
	}
}
