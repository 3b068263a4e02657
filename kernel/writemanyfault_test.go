package kernel_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/internal/pgtest"
	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
	"github.com/memkernel/memkernel/kernel/mem"
)

// batch returns some writes with idempotency keys, three in a hundred of which are repeated.
func batch(n int) kernel.WriteManyRequest {
	var req kernel.WriteManyRequest
	for i := range n {
		w := kernel.WriteRequest{Text: fmt.Sprintf("Ada Quill fired batch %d with Bo Tern.", i), IdempotencyKey: strconv.Itoa(i)}
		if i%33 == 32 {
			w.Text = req.Writes[i-7].Text
		}
		req.Writes = append(req.Writes, w)
	}
	return req
}

// outcomes counts results.
func outcomes(reply *kernel.WriteManyReply) map[string]int {
	out := map[string]int{}
	for _, r := range reply.Results {
		switch {
		case r.Err != nil:
			out[strings.TrimPrefix(r.Err.Error(), "write: ")]++
		case r.Reply.Replayed:
			out["replayed"]++
		case len(r.Reply.Stored) > 0:
			out["stored"]++
		case len(r.Reply.Deduplicated) > 0:
			out["deduplicated"]++
		}
	}
	return out
}

// TestWriteManyAgain: a batch that is repeated changes nothing and returns the first receipts.
func TestWriteManyAgain(t *testing.T) {
	t.Parallel()
	for name, model := range models {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := model()
			k := kerneltest.Open(t, kernel.WithEmbedder(m))
			dana := k.Key("acme/eng", kernel.RoleMember)
			first := must(k.WriteMany(t.Context(), dana, batch(300)))
			require.Equal(t, map[string]int{"stored": 291, "deduplicated": 9}, outcomes(first))
			require.Equal(t, 3, m.Calls(), "the model is asked once for a hundred and more")
			before := tableCounts(t, k)
			again := must(k.WriteMany(t.Context(), dana, batch(300)))
			require.Equal(t, map[string]int{"replayed": 300}, outcomes(again))
			for i := range again.Results {
				again.Results[i].Reply.Replayed = false
			}
			require.Equal(t, first, again)
			before["audit_log"] += 300
			require.Equal(t, before, tableCounts(t, k))
			require.Equal(t, map[kernel.AuditResult]int{"ok": 600}, auditRows(k, "write"))
			requireSound(t, k.Pool)
		})
	}
}

// TestWriteManyBrokenOff: a key that is revoked, or a context that ends, while a batch is under way
// stops what has not been done, each write with its own row, and nothing else.
func TestWriteManyBrokenOff(t *testing.T) {
	t.Parallel()
	const revoked, cancelled = "unauthenticated", "context canceled"
	for name, c := range map[string]struct {
		want   map[string]int
		result kernel.AuditResult
		detail string
	}{
		revoked:   {map[string]int{"stored": 125, "deduplicated": 3, revoked: 172}, "denied", "reason=unauthenticated"},
		cancelled: {map[string]int{"stored": 125, "deduplicated": 3, cancelled: 172}, "error", "reason=cancelled"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &kerneltest.Embedder{}
			k := kerneltest.Open(t, kernel.WithEmbedder(m))
			owner := k.Key("acme", kernel.RoleOwner)
			dana, cred := k.Credential("acme/eng", kernel.RoleMember)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			m.OnEmbed = func(ctx context.Context, _ []string) error {
				if m.Calls() != 2 {
					return nil
				}
				if name == cancelled {
					cancel()
					return ctx.Err()
				}
				return second(k.Keys().Revoke(ctx, owner, kernel.RevokeKeyRequest{ID: cred.Key.ID}))
			}
			reply := must(k.WriteMany(ctx, dana, batch(300)))
			require.Equal(t, c.want, outcomes(reply))
			rows := map[kernel.AuditResult]int{"ok": c.want["stored"] + c.want["deduplicated"], c.result: c.want[name]}
			require.Equal(t, rows, auditRows(k, "write"))
			for _, row := range k.Audit() {
				if row.Op == "write" && row.Result == c.result {
					require.Equal(t, c.detail, row.Detail)
				}
			}
			requireSound(t, k.Pool)
			if name == revoked {
				return
			}
			again := must(k.WriteMany(t.Context(), dana, batch(300)))
			require.Equal(t, map[string]int{"replayed": 128, "stored": 166, "deduplicated": 6}, outcomes(again))
			requireSound(t, k.Pool)
		})
	}
}

// TestWriteManyPolicyChanges: a policy that comes into force under way is kept by what comes after,
// also by what has been prepared under the one before.
func TestWriteManyPolicyChanges(t *testing.T) {
	t.Parallel()
	h := &callHook{}
	k := kerneltest.Open(t, kernel.WithHooks(h))
	owner, dana := k.Key("acme", kernel.RoleOwner), k.Key("acme/eng", kernel.RoleMember)
	var req kernel.WriteManyRequest
	for i := range 256 {
		req.Writes = append(req.Writes, kernel.WriteRequest{Text: fmt.Sprintf("Room %d has the password: zanzibarquokka%d.", i, i)})
	}
	h.onBegin = func(n int) {
		if n == 129 {
			must(k.Policies().Put(t.Context(), owner, kernel.PutPolicyRequest{Policy: kernel.Policy{Write: kernel.WritePolicy{Secrets: mem.SecretsRedact}}}))
		}
	}
	reply := must(k.WriteMany(t.Context(), dana, req))
	for i, r := range reply.Results {
		require.NoError(t, r.Err)
		require.Equal(t, i >= 128, r.Reply.Redacted == 1, i)
	}
	require.Equal(t, 128, sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM memkernel.captures WHERE content LIKE '%zanzibar%'`))
	requireSound(t, k.Pool)
}

// TestWriteManyLosesRace: what looked like a duplicate has ended, and so has what the whole chunk
// rests on. It is written one by one, once.
func TestWriteManyLosesRace(t *testing.T) {
	t.Parallel()
	m := &kerneltest.Embedder{}
	k := kerneltest.Open(t, kernel.WithEmbedder(m))
	dana := k.Key("acme/eng", kernel.RoleMember)
	old := must(k.Write(t.Context(), dana, kernel.WriteRequest{Text: "Ada Quill fired batch 3 with Bo Tern."})).Stored[0]
	m.OnEmbed = func(ctx context.Context, _ []string) error {
		if m.Calls() != 2 {
			return nil
		}
		return second(k.Retract(ctx, dana, kernel.RetractRequest{ID: old}))
	}
	reply := must(k.WriteMany(t.Context(), dana, batch(40)))
	require.Equal(t, map[string]int{"stored": 39, "deduplicated": 1}, outcomes(reply))
	require.Equal(t, 3, m.Calls(), "only what had not been embedded was")
	require.Equal(t, map[kernel.AuditResult]int{"ok": 41}, auditRows(k, "write"))
	requireSound(t, k.Pool)
}

// TestWriteManyAtOnce: of many batches with the same texts each text is stored once, whoever is first.
func TestWriteManyAtOnce(t *testing.T) {
	t.Parallel()
	for _, size := range poolSizes {
		t.Run(fmt.Sprint("pool of ", size), func(t *testing.T) {
			t.Parallel()
			const n, texts = 6, 150
			k := kerneltest.OpenOn(t, pgtest.Open(t, pgtest.WithMaxConns(size)))
			dana := k.Key("acme/eng", kernel.RoleMember)
			together(n, func(i int) {
				req := batch(texts)
				rng := rand.New(rand.NewPCG(uint64(i), 1))
				rng.Shuffle(texts, func(a, b int) { req.Writes[a], req.Writes[b] = req.Writes[b], req.Writes[a] })
				for j := range req.Writes {
					req.Writes[j].IdempotencyKey = ""
				}
				reply, err := k.WriteMany(t.Context(), dana, req)
				if err != nil {
					t.Error(err)
					return
				}
				for _, r := range reply.Results {
					if r.Err != nil {
						t.Error(r.Err)
					}
				}
				if _, err := k.Write(t.Context(), dana, kernel.WriteRequest{Text: req.Writes[i].Text}); err != nil {
					t.Error(err)
				}
			})
			require.False(t, t.Failed())
			require.Equal(t, 146, sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM memkernel.memory_objects`))
			require.Equal(t, 2, sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM memkernel.entity_registry`))
			require.Equal(t, map[kernel.AuditResult]int{"ok": n * (texts + 1)}, auditRows(k, "write"))
			requireSound(t, k.Pool)
		})
	}
}

// TestCutWriteMany: wherever the connection breaks, each write has happened once and says so, or not
// at all; and what is repeated is completed.
func TestCutWriteMany(t *testing.T) {
	t.Parallel()
	for name, model := range models {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newCutBench(t, kernel.WithEmbedder(model()))
			tries, cuts := 0, 0
			try := func(n int, moment pgtest.Moment) []byte {
				tries++
				var req kernel.WriteManyRequest
				for i, text := range []string{"Ada Quill fired batch %d.", "Nobody saw batch %d.", " ", "Nobody saw batch %d."} {
					req.Writes = append(req.Writes, kernel.WriteRequest{
						Text: strings.ReplaceAll(text, "%d", strconv.Itoa(tries)), IdempotencyKey: fmt.Sprint(tries, " ", i),
					})
				}
				before := len(b.whole.Audit())
				b.Pool.Reset()
				b.wire.Arm(n, moment)
				reply, err := b.WriteMany(t.Context(), b.who, req)
				seen := b.wire.Disarm()
				if n > 0 && n <= len(seen) {
					cuts++
				}
				stored := b.count(t, `SELECT count(*)::int FROM memkernel.memory_objects WHERE text LIKE $1`, fmt.Sprintf("%% batch %d.", tries))
				rows := b.whole.Audit()[before:]
				if err != nil {
					require.ErrorIs(t, err, kernel.ErrUnavailable)
					require.Zero(t, stored)
					require.Len(t, rows, 1)
				} else {
					require.Len(t, rows, len(req.Writes))
					require.ErrorIs(t, reply.Results[2].Err, kernel.ErrInvalid)
					done := 0
					for i, r := range reply.Results {
						if r.Err == nil {
							done++
						} else if i != 2 {
							require.ErrorIs(t, r.Err, kernel.ErrUnavailable)
						}
					}
					ok := 0
					for _, row := range rows {
						if row.Result == "ok" {
							ok++
						}
					}
					require.Equal(t, done, ok)
					require.Equal(t, map[int]int{0: 0, 3: 2}[done], stored, "%d done", done)
				}
				again := must(b.whole.WriteMany(t.Context(), b.who, req))
				require.Equal(t, 2, b.count(t, `SELECT count(*)::int FROM memkernel.memory_objects WHERE text LIKE $1`, fmt.Sprintf("%% batch %d.", tries)))
				require.Equal(t, stored == 2, again.Results[0].Reply.Replayed)
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
			requireSound(t, b.whole.Pool)
			require.Greater(t, cuts, 20)
			t.Logf("%d attempts, %d of them cut", tries, cuts)
		})
	}
}

// TestWriteManyWithTx: all of it is the host's to commit or to roll back, but for the rows of what was
// refused.
func TestWriteManyWithTx(t *testing.T) {
	t.Parallel()
	for name, model := range models {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := kerneltest.Open(t, kernel.WithEmbedder(model()))
			dana := k.Key("acme/eng", kernel.RoleMember)
			req := batch(140)
			req.Writes[5].Text = " "
			req.Writes[6] = kernel.WriteRequest{Text: "The tap drips.", Source: "plumber", Kind: "pointer"} // by itself
			before := tableCounts(t, k)
			tx := begin(t, k)
			reply := must(k.WithTx(tx).WriteMany(t.Context(), dana, req))
			require.Equal(t, map[string]int{"stored": 135, "deduplicated": 4, "invalid Text: it is blank": 1}, outcomes(reply))
			again := must(k.WithTx(tx).WriteMany(t.Context(), dana, req))
			require.Equal(t, map[string]int{"replayed": 138, "deduplicated": 1, "invalid Text: it is blank": 1}, outcomes(again))
			require.NoError(t, tx.Rollback(t.Context()))
			after := tableCounts(t, k)
			require.Equal(t, map[kernel.AuditResult]int{"error": 2, "ok": 138}, auditRows(k, "write"), "what was refused, and answered")
			before["audit_log"] += 140
			require.Equal(t, before, after)

			tx = begin(t, k)
			must(k.WithTx(tx).WriteMany(t.Context(), dana, req))
			require.NoError(t, tx.Commit(t.Context()))
			require.Equal(t, 135, tableCounts(t, k)["memory_objects"])
			require.Equal(t, 135, tableCounts(t, k)["memory_vectors"])
			requireSound(t, k.Pool)
		})
	}
}

// TestWriteManyNoRow: while the audit log cannot be written nothing is, and what comes after is not
// even tried.
func TestWriteManyNoRow(t *testing.T) {
	t.Parallel()
	m := &kerneltest.Embedder{InProcess: true}
	k := kerneltest.Open(t, kernel.WithEmbedder(m))
	dana := k.Key("acme/eng", kernel.RoleMember)
	must(k.Write(t.Context(), dana, kernel.WriteRequest{Text: "Snow on the pass."}))
	before := tableCounts(t, k)
	sqlExec(t, k.Pool, `ALTER TABLE memkernel.audit_log ADD CONSTRAINT none CHECK (op <> 'write') NOT VALID`)
	reply := must(k.WriteMany(t.Context(), dana, batch(600)))
	for i, r := range reply.Results {
		require.ErrorIs(t, r.Err, kernel.ErrUnavailable, i)
	}
	require.Equal(t, before, tableCounts(t, k))
	require.Less(t, m.Calls(), 5)
	require.ErrorIs(t, second(k.WriteMany(t.Context(), kernel.Identity{}, batch(3))), kernel.ErrUnavailable)
}

// TestWriteManyHooks: hooks see each write as a call, and one that ends the goroutine costs no write
// its row.
func TestWriteManyHooks(t *testing.T) {
	t.Parallel()
	h := &callHook{}
	k := kerneltest.Open(t, kernel.WithHooks(h))
	dana := k.Key("acme/eng", kernel.RoleMember)
	must(k.WriteMany(t.Context(), dana, batch(150)))
	require.Equal(t, 150, h.begun)
	require.Equal(t, map[kernel.AuditResult]int{"ok": 150}, h.ended)
	exits := func() {
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = k.WriteMany(t.Context(), dana, batch(20))
			t.Error("the goroutine goes on")
		}()
		<-done
	}
	h.onBegin = func(n int) {
		if n == 155 {
			runtime.Goexit()
		}
	}
	exits()
	require.Equal(t, map[kernel.AuditResult]int{"ok": 150, "error": 20}, auditRows(k, "write"))
	h.onEnd = runtime.Goexit
	exits()
	require.Equal(t, map[kernel.AuditResult]int{"ok": 170, "error": 20}, auditRows(k, "write"))
	requireSound(t, k.Pool)
}

// callHook counts writes.
type callHook struct {
	kernel.HookDefaults

	begun   int
	onBegin func(n int)
	onEnd   func()
	ended   map[kernel.AuditResult]int
}

func (h *callHook) SyscallBegin(ctx context.Context, op kernel.Op) context.Context {
	if op == "write" {
		if h.begun++; h.onBegin != nil {
			h.onBegin(h.begun)
		}
	}
	return ctx
}

func (h *callHook) SyscallEnd(_ context.Context, info kernel.SyscallInfo) {
	if info.Op != "write" {
		return
	}
	if h.ended == nil {
		h.ended = map[kernel.AuditResult]int{}
	}
	if h.ended[info.Result]++; h.onEnd != nil {
		h.onEnd()
	}
}

// TestWriteManyKeepsToItsNamespace: what is beside is no duplicate and nobody's name, and what is
// above is seen.
func TestWriteManyKeepsToItsNamespace(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	ctx := t.Context()
	root, eng, sales := k.Key("acme", kernel.RoleMember), k.Key("acme/eng", kernel.RoleMember), k.Key("acme/sales", kernel.RoleMember)
	must(k.Write(ctx, root, kernel.WriteRequest{Text: "Bo Tern owns the place."}))
	for _, who := range []kernel.Identity{eng, sales} {
		require.Equal(t, map[string]int{"stored": 32}, outcomes(must(k.WriteMany(ctx, who, batch(32)))))
	}
	require.Equal(t, []string{"acme/eng ada quill"}, sqlValue[[]string](t, k.Pool,
		`SELECT array_agg(DISTINCT e.namespace || ' ' || e.canonical_key) FROM memkernel.memory_entities AS l JOIN memkernel.entity_registry AS e ON e.id = l.entity_id
			WHERE l.namespace = 'acme/eng' AND e.namespace <> 'acme'`))
	require.Equal(t, 3, sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM memkernel.entity_registry`), "Bo Tern is the parent's, Ada Quill each sibling's own")
	require.Len(t, must(k.Search(ctx, eng, kernel.SearchRequest{Query: "who fired batch 7", K: 100})).Items, 33, "what is found by words and by vector")
	requireSound(t, k.Pool)
}

// TestWriteManyLargeTexts: chunks are bounded by size too.
func TestWriteManyLargeTexts(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	dana := k.Key("acme/eng", kernel.RoleMember)
	var req kernel.WriteManyRequest
	for _, text := range megabytes() {
		req.Writes = append(req.Writes, kernel.WriteRequest{Text: text}, kernel.WriteRequest{Text: "In between."}, kernel.WriteRequest{Text: text + "x"})
	}
	reply := must(k.WriteMany(t.Context(), dana, req))
	stored := 0
	for i, r := range reply.Results {
		if i%3 == 2 {
			require.ErrorIs(t, r.Err, kernel.ErrTooLarge)
			continue
		}
		require.NoError(t, r.Err)
		stored += len(r.Reply.Stored)
	}
	require.Equal(t, len(megabytes())+1, stored)
	require.Equal(t, stored, sqlValue[int](t, k.Pool, `SELECT live_rows::int FROM memkernel.namespaces WHERE path = 'acme/eng'`))
	require.Equal(t, sqlValue[int](t, k.Pool, `SELECT sum(cardinality(terms))::int FROM memkernel.memory_objects`),
		sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM memkernel.memory_terms WHERE live`))
}
