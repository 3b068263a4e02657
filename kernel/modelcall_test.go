package kernel_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/internal/pgtest"
	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
)

// lookout is what a model sees of the database while it is asked.
type lookout struct {
	conn *pgx.Conn
	kit  *kerneltest.Kit

	mu       sync.Mutex
	looks    int
	busy     []string // what other connections were at
	acquired int32    // connections taken from the kernel's pool
	captured []string // raw input that is durable and not done with
}

func (l *lookout) look(ctx context.Context, _ []string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.looks++
	l.acquired += l.kit.Pool.Stat().AcquiredConns()
	rows, err := l.conn.Query(ctx, `SELECT state || ': ' || query FROM pg_stat_activity WHERE datname = current_database()
		AND pid <> pg_backend_pid() AND backend_type = 'client backend' AND state <> 'idle'`)
	if err != nil {
		return err
	}
	busy, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	l.busy = append(l.busy, busy...)
	rows, err = l.conn.Query(ctx, `SELECT content FROM memkernel.captures WHERE state = 'pending'`)
	if err != nil {
		return err
	}
	l.captured, err = pgx.CollectRows(rows, pgx.RowTo[string])
	return err
}

// TestNothingHeldWhileModelThinks looks at the server's activity from inside the model.
func TestNothingHeldWhileModelThinks(t *testing.T) {
	t.Parallel()
	for name, inProcess := range map[string]bool{"in process": true, "remote": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &lookout{}
			k := kerneltest.Open(t, kernel.WithEmbedder(&kerneltest.Embedder{InProcess: inProcess, OnEmbed: l.look}))
			l.conn, l.kit = sideConn(t, k), k
			dana := k.Key("acme/eng", kernel.RoleMember)
			var first kernel.ID
			calls := []struct {
				name, text string // what the model must find durable, if it is remote
				call       func() error
			}{
				{"write", "The port is 5432.", func() error {
					r, err := k.Write(t.Context(), dana, kernel.WriteRequest{Text: "The port is 5432."})
					if err == nil {
						first = r.Stored[0]
					}
					return err
				}},
				{"write that supersedes", "The port is 5433.", func() error {
					_, err := k.Write(t.Context(), dana, kernel.WriteRequest{Text: "The port is 5433.", Supersedes: first})
					return err
				}},
				{"write with a key", "The host is db1.", func() error {
					_, err := k.Write(t.Context(), dana, kernel.WriteRequest{Text: "The host is db1.", IdempotencyKey: "1"})
					return err
				}},
				{"search", "", func() error {
					_, err := k.Search(t.Context(), dana, kernel.SearchRequest{Query: "which port?"})
					return err
				}},
				{"search of the past", "", func() error {
					_, err := k.Search(t.Context(), dana, kernel.SearchRequest{Query: "which port?", IncludeSuperseded: true})
					return err
				}},
			}
			for _, c := range calls {
				before := l.looks
				require.NoError(t, c.call(), c.name)
				require.Equal(t, before+1, l.looks, "%s asked the model", c.name)
				require.Empty(t, l.busy, c.name)
				require.Zero(t, l.acquired, c.name)
				if c.text != "" && !inProcess {
					require.Equal(t, []string{c.text}, l.captured, c.name)
				} else {
					require.Empty(t, l.captured, c.name)
				}
			}
			requireSound(t, k.Pool)
		})
	}
}

// TestWritesWhileModelThinks: with one connection, a write waits for its model and another
// one that needs no model goes through.
func TestWritesWhileModelThinks(t *testing.T) {
	t.Parallel()
	entered, leave := make(chan struct{}), make(chan struct{})
	k := kerneltest.OpenOn(t, pgtest.Open(t, pgtest.WithMaxConns(1)), kernel.WithEmbedder(&kerneltest.Embedder{
		OnEmbed: func(_ context.Context, texts []string) error {
			if texts[0] == "Slow." {
				close(entered)
				<-leave
			}
			return nil
		},
	}))
	dana := k.Key("acme/eng", kernel.RoleMember)
	done := make(chan error, 1)
	go func() {
		_, err := k.Write(t.Context(), dana, kernel.WriteRequest{Text: "Slow."})
		done <- err
	}()
	<-entered
	_, err := k.Write(t.Context(), dana, kernel.WriteRequest{Text: "Quick."})
	require.NoError(t, err)
	_, err = k.Search(t.Context(), dana, kernel.SearchRequest{Query: "quick"})
	require.NoError(t, err)
	close(leave)
	require.NoError(t, <-done)
	requireSound(t, k.Pool)
}

// TestHangingModel: a model that hangs costs the vector and ModelTimeout, whether it listens
// to its context or not, and nothing that was said.
func TestHangingModel(t *testing.T) {
	t.Parallel()
	released := make(chan struct{})
	t.Cleanup(func() { close(released) })
	for name, hang := range map[string]func(context.Context, []string) error{
		"until its context ends": func(ctx context.Context, _ []string) error {
			<-ctx.Done()
			return ctx.Err()
		},
		"for ever": func(context.Context, []string) error {
			<-released
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := kerneltest.Open(t, kernel.WithEmbedder(&kerneltest.Embedder{OnEmbed: hang}),
				kernel.WithLimits(kernel.Limits{ModelTimeout: 50 * time.Millisecond}))
			dana := k.Key("acme/eng", kernel.RoleMember)
			k.RequireAudit(t, "write", "ok", func() {
				r, err := k.Write(t.Context(), dana, kernel.WriteRequest{Text: "The office is in Bern."})
				require.NoError(t, err)
				require.Len(t, r.Stored, 1)
				require.Equal(t, []kernel.Brownout{kernel.BrownoutEmbedder}, r.Degraded)
			}, "stored=1", "brownout=embedder_unavailable")
			require.Zero(t, sqlValue[int](t, k.Pool, `SELECT count(*) FROM memkernel.memory_vectors`))
			k.RequireAudit(t, "search", "ok", func() {
				r, err := k.Search(t.Context(), dana, kernel.SearchRequest{Query: "where is the office?"})
				require.NoError(t, err)
				require.Len(t, r.Items, 1)
				require.Equal(t, "The office is in Bern.", r.Items[0].Memory.Text)
				require.Equal(t, []kernel.Brownout{kernel.BrownoutEmbedder}, r.Degraded)
			}, "driver=bm25-degraded", "brownout=embedder_unavailable")
			requireSound(t, k.Pool)
		})
	}
}

// TestHangingModelIsNotAskedForEver: goroutines that were left behind in a model are bounded,
// and when it comes back so does the vector arm.
func TestHangingModelIsNotAskedForEver(t *testing.T) {
	t.Parallel()
	released := make(chan struct{})
	model := &kerneltest.Embedder{OnEmbed: func(context.Context, []string) error {
		<-released
		return nil
	}}
	k := kerneltest.Open(t, kernel.WithEmbedder(model), kernel.WithLimits(kernel.Limits{ModelTimeout: time.Millisecond}))
	dana := k.Key("acme/eng", kernel.RoleMember)
	for range 40 {
		r, err := k.Search(t.Context(), dana, kernel.SearchRequest{Query: "anything"})
		require.NoError(t, err)
		require.Equal(t, []kernel.Brownout{kernel.BrownoutEmbedder}, r.Degraded)
	}
	const most = 16
	require.LessOrEqual(t, model.Calls(), most)
	close(released)
	// The calls come back, each at its own time; from then on the model is asked again.
	require.Eventually(t, func() bool {
		_, err := k.Search(t.Context(), dana, kernel.SearchRequest{Query: "anything"})
		require.NoError(t, err)
		return model.Calls() > most
	}, 20*time.Second, time.Millisecond)
}
