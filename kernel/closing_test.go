package kernel_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/internal/pgtest"
	"github.com/memkernel/memkernel/kernel"
)

func TestCloseKeepsToItsContext(t *testing.T) {
	url := pgtest.ConnString(t)
	t.Setenv("DATABASE_URL", url)
	k := must(kernel.OpenDefault(t.Context()))
	cred := must(k.Bootstrap(t.Context(), kernel.BootstrapRequest{Tenant: "acme", Actor: "user:dana"}))
	who := must(k.Authenticate(t.Context(), cred.Secret))
	conn := must(pgx.Connect(t.Context(), url))
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	held := holdLock(t, conn, "LOCK TABLE memkernel.memory_objects")
	called := make(chan struct{})
	go func() {
		defer close(called)
		_, _ = k.Stats(context.WithoutCancel(t.Context()), who, kernel.StatsRequest{})
	}()
	watch := must(pgx.Connect(t.Context(), url))
	defer func() { _ = watch.Close(context.WithoutCancel(t.Context())) }()
	awaitBlocked(t, watch, 1)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	closed := make(chan error, 1)
	go func() { closed <- k.Close(ctx) }()
	select {
	case err := <-closed:
		require.ErrorIs(t, err, context.DeadlineExceeded)
	case <-time.After(10 * time.Second):
		t.Error("Close waits for a call past its context")
	}
	require.NoError(t, held.Rollback(t.Context()))
	<-called
}

// Options that are no good are told before a server is started or asked.
func TestOpenDefaultChecksOptionsFirst(t *testing.T) {
	t.Setenv("DATABASE_URL", "postgres://127.0.0.1:1/nobody")
	_, err := kernel.OpenDefault(t.Context(), kernel.WithLimits(kernel.Limits{MaxPage: -1}))
	require.ErrorIs(t, err, kernel.ErrInvalid)
	require.Equal(t, "Limits.MaxPage", fieldOf(err))
}

func TestReadyWithoutDatabase(t *testing.T) {
	t.Parallel()
	closed := must(pgxpool.New(t.Context(), pgtest.ConnString(t)))
	closed.Close()
	unreachable := must(pgxpool.New(t.Context(), "postgres://127.0.0.1:1/nobody?connect_timeout=5"))
	defer unreachable.Close()
	for name, pool := range map[string]*pgxpool.Pool{"closed": closed, "unreachable": unreachable} {
		require.ErrorIs(t, must(kernel.Open(pool)).Ready(t.Context()), kernel.ErrUnavailable, name)
	}
	require.ErrorIs(t, must(kernel.Open(pgtest.OpenEmpty(t))).Ready(t.Context()), kernel.ErrSchemaMissing)
}

// A database in another encoding cannot hold every text: better to know it at once.
func TestOtherEncodingIsRefused(t *testing.T) {
	t.Parallel()
	url := pgtest.ConnStringEmpty(t)
	conn := must(pgx.Connect(t.Context(), url))
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	name := fmt.Sprintf("memkernel_test_latin_%d", os.Getpid())
	_, err := conn.Exec(t.Context(), "CREATE DATABASE "+name+" ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
	require.NoError(t, err)
	defer func() { _, _ = conn.Exec(context.WithoutCancel(t.Context()), "DROP DATABASE "+name+" WITH (FORCE)") }()
	cfg := must(pgxpool.ParseConfig(url))
	cfg.ConnConfig.Database, cfg.MaxConns = name, 2
	pool := must(pgxpool.NewWithConfig(t.Context(), cfg))
	defer pool.Close()
	err = kernel.Migrate(t.Context(), pool)
	require.ErrorIs(t, err, kernel.ErrEncoding)
	require.ErrorContains(t, err, "LATIN1")
	require.ErrorIs(t, must(kernel.Open(pool)).Ready(t.Context()), kernel.ErrEncoding)
}
