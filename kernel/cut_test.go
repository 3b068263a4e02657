package kernel_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/internal/pgtest"
	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
)

// cutBench is a kernel whose connections can be cut, and one on the same database whose
// connections stay, to prepare and to look.
type cutBench struct {
	*kerneltest.Kit

	whole *kerneltest.Kit
	wire  *pgtest.Wire
	who   kernel.Identity
}

func newCutBench(t *testing.T, opts ...kernel.Option) *cutBench {
	t.Helper()
	b := &cutBench{whole: kerneltest.Open(t)}
	wire, pool := pgtest.OpenWire(t, b.whole.Pool)
	b.wire, b.Kit = wire, kerneltest.OpenOn(t, pool, opts...)
	b.who = b.whole.Key("acme/eng", kernel.RoleOwner)
	// The first call of all also registers the model and the namespace.
	_, err := b.Write(t.Context(), b.who, kernel.WriteRequest{Text: "Once upon a time."})
	require.NoError(t, err)
	return b
}

// attempt is one call that a connection is cut under.
type attempt struct {
	// call makes the call.
	call func(ctx context.Context) error
	// done counts what the call leaves behind if it happened: 0 or 1.
	done func() int
	op   kernel.Op
}

// cutEverywhere makes attempts, each with fresh connections, and cuts them at one message
// after the other, before it, and where the server answers also before and after the answer.
func (b *cutBench) cutEverywhere(t *testing.T, next func(n int) attempt) {
	t.Helper()
	tries, cuts, failed := 0, 0, 0
	try := func(n int, moment pgtest.Moment) []byte {
		tries++
		a := next(tries)
		before := len(b.whole.Audit())
		b.Pool.Reset()
		b.wire.Arm(n, moment)
		err := a.call(t.Context())
		seen := b.wire.Disarm()
		if n > 0 && n <= len(seen) {
			cuts++
		}
		done := a.done()
		rows := b.whole.Audit()[before:]
		if err == nil {
			require.Equal(t, 1, done, "the call succeeded and left nothing")
		} else {
			failed++
			require.ErrorIs(t, err, kernel.ErrUnavailable)
			require.Zero(t, done, "the call failed and left something")
		}
		require.Len(t, rows, 1)
		require.Equal(t, a.op, rows[0].Op)
		require.Equal(t, err == nil, rows[0].Result == "ok", rows[0].Detail)
		return seen
	}
	whole := try(0, 0)
	for n := 1; n <= len(whole); n++ {
		seen := try(n, pgtest.CutBefore)
		if n <= len(seen) && (seen[n-1] == 'S' || seen[n-1] == 'Q') {
			try(n, pgtest.CutUnanswered)
			try(n, pgtest.CutAnswered)
		}
	}
	requireSound(t, b.whole.Pool) // what breaks an invariant stays
	// Not how many attempts failed: a call that learns that it was recorded asks again.
	require.Greater(t, cuts, 5, "the connection was hardly ever cut")
	t.Logf("%d attempts, %d of them cut, %d failed", tries, cuts, failed)
}

func (b *cutBench) count(t *testing.T, sql string, args ...any) int {
	t.Helper()
	return sqlValue[int](t, b.whole.Pool, sql, args...)
}

func (b *cutBench) write(t *testing.T, req kernel.WriteRequest) kernel.ID {
	t.Helper()
	reply, err := b.whole.Write(t.Context(), b.who, req)
	require.NoError(t, err)
	require.Len(t, reply.Stored, 1)
	return reply.Stored[0]
}

// models are the two kinds of embedding model: with a remote one the raw input is durable
// before the model is asked, which is a commit of its own.
var models = map[string]func() *kerneltest.Embedder{
	"in process": func() *kerneltest.Embedder { return &kerneltest.Embedder{InProcess: true} },
	"remote":     func() *kerneltest.Embedder { return &kerneltest.Embedder{} },
}

const countText = `SELECT count(*)::int FROM memkernel.memory_objects AS m JOIN memkernel.memory_vectors AS v USING (id)
	WHERE m.text = $1 AND m.t_valid_to IS NULL`

func TestCutWrite(t *testing.T) {
	t.Parallel()
	for name, model := range models {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newCutBench(t, kernel.WithEmbedder(model()))
			b.cutEverywhere(t, func(n int) attempt {
				text := fmt.Sprintf("Fact %d holds.", n)
				return attempt{
					op: "write",
					call: func(ctx context.Context) error {
						_, err := b.Write(ctx, b.who, kernel.WriteRequest{Text: text})
						return err
					},
					done: func() int { return b.count(t, countText, text) },
				}
			})
		})
	}
}

func TestCutWriteSupersedes(t *testing.T) {
	t.Parallel()
	for name, model := range models {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newCutBench(t, kernel.WithEmbedder(model()))
			b.cutEverywhere(t, func(n int) attempt {
				text := fmt.Sprintf("Fact %d holds no longer.", n)
				old := b.write(t, kernel.WriteRequest{Text: fmt.Sprintf("Fact %d holds.", n)})
				return attempt{
					op: "write",
					call: func(ctx context.Context) error {
						_, err := b.Write(ctx, b.who, kernel.WriteRequest{Text: text, Supersedes: old})
						return err
					},
					done: func() int {
						done := b.count(t, countText, text)
						closed := b.count(t, `SELECT count(*)::int FROM memkernel.memory_objects WHERE id = $1 AND end_reason = 'superseded'`, old.String())
						require.Equal(t, done, closed)
						return done
					},
				}
			})
		})
	}
}

func TestCutWriteDuplicate(t *testing.T) {
	t.Parallel()
	b := newCutBench(t, kernel.WithEmbedder(&kerneltest.Embedder{}))
	b.cutEverywhere(t, func(n int) attempt {
		text := fmt.Sprintf("Fact %d holds.", n)
		id := b.write(t, kernel.WriteRequest{Text: text})
		return attempt{
			op: "write",
			call: func(ctx context.Context) error {
				_, err := b.Write(ctx, b.who, kernel.WriteRequest{Text: text})
				return err
			},
			done: func() int {
				return b.count(t, `SELECT coalesce(sum(hits), 0)::int FROM memkernel.memory_access WHERE memory_id = $1`, id.String())
			},
		}
	})
}

// TestCutWriteWithKey also retries every write, whatever was answered, and gets one memory.
func TestCutWriteWithKey(t *testing.T) {
	t.Parallel()
	for name, model := range models {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newCutBench(t, kernel.WithEmbedder(model()))
			var last kernel.WriteRequest
			retry := func() {
				b.Pool.Reset() // what the cut left in the pool is no connection any more
				reply, err := b.Write(t.Context(), b.who, last)
				require.NoError(t, err)
				require.Len(t, reply.Stored, 1)
				require.Equal(t, 1, b.count(t, countText, last.Text))
				require.Equal(t, reply.Stored[0].String(), sqlValue[string](t, b.whole.Pool,
					`SELECT id::text FROM memkernel.memory_objects WHERE text = $1`, last.Text))
				require.Equal(t, 1, b.count(t, `SELECT count(*)::int FROM memkernel.captures WHERE idempotency_key = $1 AND state = 'done'`,
					last.IdempotencyKey))
			}
			b.cutEverywhere(t, func(n int) attempt {
				if n > 1 {
					retry()
				}
				req := kernel.WriteRequest{Text: fmt.Sprintf("Fact %d holds.", n), IdempotencyKey: fmt.Sprint("request ", n)}
				last = req
				return attempt{
					op: "write",
					call: func(ctx context.Context) error {
						_, err := b.Write(ctx, b.who, req)
						return err
					},
					done: func() int { return b.count(t, countText, req.Text) },
				}
			})
			retry()
		})
	}
}

func TestCutRetract(t *testing.T) {
	t.Parallel()
	b := newCutBench(t)
	b.cutEverywhere(t, func(n int) attempt {
		id := b.write(t, kernel.WriteRequest{Text: fmt.Sprintf("Fact %d holds.", n)})
		return attempt{
			op: "retract",
			call: func(ctx context.Context) error {
				_, err := b.Retract(ctx, b.who, kernel.RetractRequest{ID: id})
				return err
			},
			done: func() int {
				return b.count(t, `SELECT count(*)::int FROM memkernel.memory_objects WHERE id = $1 AND end_reason = 'retracted'`, id.String())
			},
		}
	})
}

func TestCutKeyCreate(t *testing.T) {
	t.Parallel()
	b := newCutBench(t)
	b.cutEverywhere(t, func(n int) attempt {
		label := fmt.Sprint("key ", n)
		return attempt{
			op: "key_create",
			call: func(ctx context.Context) error {
				cred, err := b.Keys().Create(ctx, b.who, kernel.KeyRequest{Actor: "user:dana", Role: kernel.RoleMember, Label: label})
				if err == nil {
					_, err = b.whole.Authenticate(ctx, cred.Secret)
				}
				return err
			},
			done: func() int {
				return b.count(t, `SELECT count(*)::int FROM memkernel.api_keys WHERE label = $1`, label)
			},
		}
	})
}

// TestCutRead: a read is answered if and only if the log says so, also where the answer, and
// not the question, was lost.
func TestCutRead(t *testing.T) {
	t.Parallel()
	b := newCutBench(t)
	id := b.write(t, kernel.WriteRequest{Text: "The kiln is lit."})
	for op, call := range map[kernel.Op]func(ctx context.Context) error{
		"read": func(ctx context.Context) error {
			reply, err := b.Read(ctx, b.who, kernel.ReadRequest{ID: id})
			if err == nil {
				require.Equal(t, "The kiln is lit.", reply.Memory.Text)
			}
			return err
		},
		"search": func(ctx context.Context) error {
			reply, err := b.Search(ctx, b.who, kernel.SearchRequest{Query: "kiln"})
			if err == nil {
				require.Equal(t, id, reply.Items[0].Memory.ID)
			}
			return err
		},
	} {
		b.Pool.Reset()                            // what a cut left in the pool is no connection any more
		require.NoError(t, call(t.Context()), op) // from here on it is eager
		b.cutEverywhere(t, func(int) attempt {
			before := b.hits(t, id)
			return attempt{op: op, call: call, done: func() int { return b.hits(t, id) - before }}
		})
	}
}

func (b *cutBench) hits(t *testing.T, id kernel.ID) int {
	t.Helper()
	return b.count(t, `SELECT coalesce(sum(hits), 0)::int FROM memkernel.memory_access WHERE memory_id = $1`, id.String())
}
