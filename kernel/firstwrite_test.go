package kernel_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/internal/pgtest"
	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
)

// sideConn connects to the kit's database beside the kernel's pool.
func sideConn(t *testing.T, k *kerneltest.Kit) *pgx.Conn {
	t.Helper()
	conn, err := pgx.ConnectConfig(t.Context(), k.Pool.Config().ConnConfig)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	return conn
}

// awaitBlocked returns once n backends of the database wait for a lock.
func awaitBlocked(t *testing.T, conn *pgx.Conn, n int) {
	t.Helper()
	require.Eventually(t, func() bool {
		var blocked int
		err := conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&blocked)
		require.NoError(t, err)
		return blocked >= n
	}, 20*time.Second, time.Millisecond)
}

// TestFirstWriteMeetsAnother holds what the first write of a new deployment makes on the way,
// as another process does that is a moment ahead, and lets go when the write waits for it.
func TestFirstWriteMeetsAnother(t *testing.T) {
	t.Parallel()
	for name, other := range map[string]string{
		"making the namespace":  `INSERT INTO memkernel.namespaces (tenant, path, tenant_id) SELECT tenant, 'acme/eng', id FROM memkernel.tenants`,
		"registering the model": `INSERT INTO memkernel.embedding_models (name, revision, dim) VALUES ('fake', '1', 8)`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// One connection: whoever wants a second while it holds one waits for itself.
			k := kerneltest.OpenOn(t, pgtest.Open(t, pgtest.WithMaxConns(1)), kernel.WithEmbedder(&kerneltest.Embedder{}))
			dana := k.Key("acme/eng", kernel.RoleMember)
			side, watch := sideConn(t, k), sideConn(t, k)
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			tx, err := side.Begin(ctx)
			require.NoError(t, err)
			_, err = tx.Exec(ctx, other)
			require.NoError(t, err)
			done := make(chan error, 1)
			go func() {
				_, err := k.Write(ctx, dana, kernel.WriteRequest{Text: "The first fact."})
				done <- err
			}()
			awaitBlocked(t, watch, 1)
			require.NoError(t, tx.Commit(ctx))
			require.NoError(t, <-done)
			require.Equal(t, 1, sqlValue[int](t, k.Pool, `SELECT count(*) FROM memkernel.memory_vectors WHERE live`))
			requireSound(t, k.Pool)
		})
	}
}
