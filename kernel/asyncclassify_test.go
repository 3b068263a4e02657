package kernel_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/audit"
	"github.com/memkernel/memkernel/internal/pgtest"
	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/writepath/classify"
)

// TestAsyncIsClassified: a ticket's memory has the classification that Write gives it, what the
// caller declared included.
func TestAsyncIsClassified(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	dana := k.Key("acme/eng", kernel.RoleMember)
	start(t, k)
	for _, req := range []kernel.WriteRequest{
		{Text: "Pay with " + card + " for ada.quill@lovelace-mail.net."},
		{Text: "The gate opens at nine.", Sensitivity: mem.SensitivityPublic},
		{Text: "The gate opens at ten.", Sensitivity: mem.SensitivityConfidential},
	} {
		order := must(k.WriteAsync(t.Context(), dana, req))
		id := await(t, k.Kernel, dana, order.Token).Reply.Stored[0]
		got := must(k.Read(t.Context(), dana, kernel.ReadRequest{ID: id})).Memory
		req.Text += " Indeed."
		want := must(k.Read(t.Context(), dana, kernel.ReadRequest{ID: must(k.Write(t.Context(), dana, req)).Stored[0]})).Memory
		require.Equal(t, want.Classification, got.Classification, req.Text)
	}
}

// TestAsyncRedactedSecretsAreNowhere: neither what is kept for the worker, nor its job, nor what
// it writes, nor the log has the secret in it.
func TestAsyncRedactedSecretsAreNowhere(t *testing.T) {
	t.Parallel()
	sent, log := &texts{}, &logBuffer{}
	k := kerneltest.Open(t, kernel.WithEmbedder(&kerneltest.Embedder{OnEmbed: sent.keep}), kernel.WithLogger(log.logger()))
	secretRules(t, k, "acme", mem.SecretsRedact)
	dana := k.Key("acme/eng", kernel.RoleMember)
	must(k.WriteAsync(t.Context(), dana, kernel.WriteRequest{Text: "The namespace is known from here on."}))
	for _, req := range []kernel.WriteRequest{
		{Text: "The deploy key is " + madeUpKey + "."},
		{Text: "The deploy key is " + madeUpKey + ", again.", IdempotencyKey: "again"},
	} {
		var order *kernel.WriteAsyncReply
		k.RequireAudit(t, acl.OpWriteAsync, audit.ResultOK, func() { order = must(k.WriteAsync(t.Context(), dana, req)) }, "redacted=1")
		require.Equal(t, 1, order.Redacted)
		require.Empty(t, order.Rejected)
		requireNowhere(t, k, madeUpKey)
		if req.IdempotencyKey != "" {
			require.Equal(t, order.Ticket, must(k.WriteAsync(t.Context(), dana, req)).Ticket, "it is the same request")
		}
	}
	start(t, k)
	require.Eventually(t, func() bool {
		return sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM memkernel.captures WHERE state = 'done'`) == 3
	}, 60*time.Second, 5*time.Millisecond)
	requireNowhere(t, k, madeUpKey)
	require.NotContains(t, sent.all(), madeUpKey)
	require.NotContains(t, log.String(), madeUpKey)
	found := must(k.Search(t.Context(), dana, kernel.SearchRequest{Query: "deploy key", K: 2})).Items
	require.Len(t, found, 2)
	for _, it := range found {
		require.Contains(t, it.Memory.Text, "The deploy key is [redacted:aws_access_key]")
		reply := must(k.Ticket(t.Context(), dana, kernel.TicketRequest{ID: captureOf(t, k, it.Memory.ID)}))
		require.Equal(t, 1, reply.Reply.Redacted, "as Write would have said")
	}
}

func captureOf(t *testing.T, k *kerneltest.Kit, id kernel.ID) kernel.ID {
	t.Helper()
	return must(mem.ParseID(sqlValue[string](t, k.Pool, `SELECT capture_id::text FROM memkernel.memory_objects WHERE id = $1`, id.String())))
}

// TestAsyncRedactedGrows: what is kept is no larger than policy allows, or there is no ticket.
func TestAsyncRedactedGrows(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	dana := k.Key("acme/eng", kernel.RoleMember)
	must(k.Policies().Put(t.Context(), k.Key("acme", kernel.RoleAdmin), kernel.PutPolicyRequest{
		Policy: kernel.Policy{Write: kernel.WritePolicy{Secrets: mem.SecretsRedact, MaxBytes: len(madeUpKey)}},
	}))
	require.ErrorIs(t, second(k.WriteAsync(t.Context(), dana, kernel.WriteRequest{Text: madeUpKey})), kernel.ErrTooLarge)
	require.Zero(t, jobCount(t, k))
}

// TestAsyncBlockedSecretsAreNowhere: a blocked text leaves an audit row and nothing else, and the
// writer is told why.
func TestAsyncBlockedSecretsAreNowhere(t *testing.T) {
	t.Parallel()
	log := &logBuffer{}
	k := kerneltest.Open(t, kernel.WithLogger(log.logger()))
	secretRules(t, k, "acme", mem.SecretsBlock)
	dana := k.Key("acme/eng", kernel.RoleMember)
	must(k.WriteAsync(t.Context(), dana, kernel.WriteRequest{Text: "Nothing to see."}))
	for _, key := range []string{"", "", "once", "once"} {
		k.RequireAudit(t, acl.OpWriteAsync, audit.ResultOK, func() {
			reply := must(k.WriteAsync(t.Context(), dana, kernel.WriteRequest{Text: "The deploy key is " + madeUpKey + ".", IdempotencyKey: key}))
			require.Equal(t, &kernel.WriteAsyncReply{Rejected: []kernel.Rejection{{Reason: mem.RejectSecret}}}, reply)
		}, "stored=0", "rejected=1", "reject_reason=secret_forbidden")
	}
	requireNowhere(t, k, madeUpKey)
	require.NotContains(t, log.String(), madeUpKey)
	require.Equal(t, 1, sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM memkernel.captures`))
	require.Equal(t, 1, jobCount(t, k))
}

// TestAsyncSecretRuleTakesEffectAtOnce: also in a kernel that let such writes through before.
func TestAsyncSecretRuleTakesEffectAtOnce(t *testing.T) {
	t.Parallel()
	for rule, rejected := range map[kernel.SecretRule]int{mem.SecretsBlock: 1, mem.SecretsRedact: 0} {
		b := newWarmBench(t)
		b.put(t, "acme", kernel.Policy{Write: kernel.WritePolicy{Secrets: rule}})
		reply := must(b.WriteAsync(t.Context(), b.who, kernel.WriteRequest{Text: "The deploy key is " + madeUpKey + "."}))
		require.Len(t, reply.Rejected, rejected, rule)
		require.Equal(t, 1-rejected, reply.Redacted, rule)
		requireNowhere(t, b.Kit, madeUpKey)
	}
}

// TestWarmSourcesAreRedacted: a secret beside a text that has none is redacted as well, whichever
// way the write takes.
func TestWarmSourcesAreRedacted(t *testing.T) {
	t.Parallel()
	for rule, rejected := range map[kernel.SecretRule]int{mem.SecretsBlock: 1, mem.SecretsRedact: 0} {
		b := newWarmBench(t)
		b.put(t, "acme", kernel.Policy{Write: kernel.WritePolicy{Secrets: rule}})
		b.warm(t)
		source := "https://logs.test/?key=" + madeUpKey
		written := must(b.Write(t.Context(), b.who, kernel.WriteRequest{Text: "The gate opens at nine.", Source: source}))
		require.Len(t, written.Rejected, rejected)
		require.Equal(t, 1-rejected, written.Redacted)
		order := must(b.WriteAsync(t.Context(), b.who, kernel.WriteRequest{Text: "The gate opens at ten.", Source: source}))
		require.Len(t, order.Rejected, rejected)
		require.Equal(t, 1-rejected, order.Redacted)
		requireNowhere(t, b.Kit, madeUpKey)
		if rejected > 0 {
			continue
		}
		start(t, b.Kit)
		reply := await(t, b.Kernel, b.who, order.Token).Reply
		require.Equal(t, 1, reply.Redacted)
		require.Equal(t, "https://logs.test/?key=[redacted:aws_access_key]",
			must(b.Read(t.Context(), b.who, kernel.ReadRequest{ID: reply.Stored[0]})).Memory.Source)
		requireNowhere(t, b.Kit, madeUpKey)
	}
}

// TestAsyncClassifierFails: what cannot be classified is not kept.
func TestAsyncClassifierFails(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]scanner{
		"error": func(context.Context, string) ([]classify.Finding, error) { return nil, errors.New("no rules for kiln") },
		"panic": func(context.Context, string) ([]classify.Finding, error) { panic("no rules for kiln") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := kerneltest.Open(t, kernel.WithClassifier(fail))
			dana := k.Key("acme/eng", kernel.RoleMember)
			must(k.Stats(t.Context(), dana, kernel.StatsRequest{})) // the policies are known from here on
			k.RequireAudit(t, acl.OpWriteAsync, audit.ResultError, func() {
				err := second(k.WriteAsync(t.Context(), dana, kernel.WriteRequest{Text: "The kiln is lit."}))
				require.ErrorIs(t, err, kernel.ErrUnavailable)
				require.NotContains(t, err.Error(), "kiln")
			}, "reason=unavailable")
			requireNowhere(t, k, "kiln")
			require.Zero(t, jobCount(t, k))
		})
	}
}

// TestTicketClassifierFails: a classifier that fails a worker costs an attempt, and lets nothing
// through.
func TestTicketClassifierFails(t *testing.T) {
	t.Parallel()
	var down atomic.Bool
	flaky := scanner(func(context.Context, string) ([]classify.Finding, error) {
		if down.Load() {
			return nil, errors.New("no rules")
		}
		return nil, nil
	})
	k := kerneltest.Open(t, kernel.WithClassifier(flaky), kernel.WithLimits(kernel.Limits{WriteAttempts: 1}))
	dana := k.Key("acme/eng", kernel.RoleMember)
	order := must(k.WriteAsync(t.Context(), dana, kernel.WriteRequest{Text: "The kiln is lit."}))
	down.Store(true)
	start(t, k)
	require.Equal(t, &kernel.TicketReply{State: kernel.TicketFailed, Attempts: 1, Failure: kernel.FailureUnavailable},
		await(t, k.Kernel, dana, order.Token))
	require.Zero(t, sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM memkernel.memory_objects`))
}

// TestTicketBlockedWhenItRuns: a text that policy has come to block does not become a memory. The
// ticket is done and says so, and its raw input is as it was kept.
func TestTicketBlockedWhenItRuns(t *testing.T) {
	t.Parallel()
	log := &logBuffer{}
	k := kerneltest.Open(t, kernel.WithLogger(log.logger()))
	dana := k.Key("acme/eng", kernel.RoleMember)
	req := kernel.WriteRequest{Text: "The deploy key is " + madeUpKey + ".", IdempotencyKey: "once"}
	order := must(k.WriteAsync(t.Context(), dana, req))
	secretRules(t, k, "acme", mem.SecretsBlock)
	start(t, k)
	want := &kernel.WriteReply{Rejected: []kernel.Rejection{{Reason: mem.RejectSecret}}, Capture: order.Ticket, Token: order.Token}
	require.Equal(t, &kernel.TicketReply{State: kernel.TicketDone, Attempts: 1, Reply: want}, await(t, k.Kernel, dana, order.Token))
	require.Equal(t, []string{"memkernel.captures"}, tablesWith(t, k, madeUpKey))
	require.NotContains(t, log.String(), madeUpKey)
	require.Zero(t, sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM memkernel.memory_objects`))
	rows := writeRows(k)
	require.Len(t, rows, 1)
	require.Equal(t, audit.ResultOK, rows[0].Result)
	require.Contains(t, rows[0].Detail, "stored=0 rejected=1")
	require.Contains(t, rows[0].Detail, "reject_reason=secret_forbidden ticket="+order.Ticket.String())
	require.True(t, sqlValue[bool](t, k.Pool, `SELECT request IS NULL FROM memkernel.captures`))

	// What was decided of an idempotency key stays decided, also when policy is loosened.
	require.Equal(t, order.Ticket, must(k.WriteAsync(t.Context(), dana, req)).Ticket)
	must(k.Policies().Put(t.Context(), k.Key("acme", kernel.RoleAdmin), kernel.PutPolicyRequest{}))
	require.Equal(t, order.Ticket, must(k.WriteAsync(t.Context(), dana, req)).Ticket)
	want.Replayed = true
	require.Equal(t, want, must(k.Write(t.Context(), dana, req)))
	require.Zero(t, sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM memkernel.memory_objects`))
	requireSound(t, k.Pool)
}

// TestTicketRedactedWhenItRuns is the same for a text that policy has come to have redacted.
func TestTicketRedactedWhenItRuns(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	dana := k.Key("acme/eng", kernel.RoleMember)
	order := must(k.WriteAsync(t.Context(), dana, kernel.WriteRequest{Text: "The deploy key is " + madeUpKey + "."}))
	require.Zero(t, order.Redacted)
	secretRules(t, k, "acme", mem.SecretsRedact)
	start(t, k)
	reply := await(t, k.Kernel, dana, order.Token).Reply
	require.Equal(t, 1, reply.Redacted)
	m := must(k.Read(t.Context(), dana, kernel.ReadRequest{ID: reply.Stored[0]})).Memory
	require.Equal(t, "The deploy key is [redacted:aws_access_key].", m.Text)
	require.Equal(t, []string{"memkernel.captures"}, tablesWith(t, k, madeUpKey))
}

// TestBackfillKeepsTextHere: a text that may not be sent to the model is no gap, and a gap that
// is one for another model goes away without the model having seen it.
func TestBackfillKeepsTextHere(t *testing.T) {
	t.Parallel()
	sent := &texts{}
	remote := &kerneltest.Embedder{OnEmbed: sent.keep}
	k := kerneltest.Open(t, kernel.WithEmbedder(remote))
	dana := k.Key("acme/eng", kernel.RoleMember)
	gaps := func() int { return sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM memkernel.embedding_gaps`) }

	withheld := must(k.Write(t.Context(), dana, kernel.WriteRequest{Text: "The card is " + card + "."}))
	require.Equal(t, []kernel.Brownout{kernel.BrownoutWithheld}, withheld.Degraded)
	require.Zero(t, gaps(), "there is nothing to be done later")

	// Left out by a model in the process, which may see all, while it was down.
	local := &kerneltest.Embedder{InProcess: true}
	local.Fail(kerneltest.ErrFake)
	before := kerneltest.OpenOn(t, k.Pool, kernel.WithEmbedder(local))
	for range 2 {
		must(before.Write(t.Context(), dana, kernel.WriteRequest{Text: "The other card is " + card + "."}))
		must(before.Write(t.Context(), dana, kernel.WriteRequest{Text: "The kiln is lit."}))
		must(before.Write(t.Context(), dana, kernel.WriteRequest{Text: "Mail ada.quill@lovelace-mail.net."}))
	}
	require.Equal(t, 3, gaps())
	start(t, k)
	require.Eventually(t, func() bool { return gaps() == 0 }, 60*time.Second, 5*time.Millisecond)
	require.Equal(t, "The kiln is lit.", sent.all())
	require.Equal(t, 1, sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM memkernel.memory_vectors`))
}

// TestBackfillPassesHopelessGaps: more gaps than are looked at together that no model may close
// do not keep the others waiting for the next round.
func TestBackfillPassesHopelessGaps(t *testing.T) {
	t.Parallel()
	sent := &texts{}
	k := kerneltest.Open(t, kernel.WithEmbedder(&kerneltest.Embedder{OnEmbed: sent.keep}))
	dana := k.Key("acme/eng", kernel.RoleMember)
	local := &kerneltest.Embedder{InProcess: true}
	local.Fail(kerneltest.ErrFake)
	before := kerneltest.OpenOn(t, k.Pool, kernel.WithEmbedder(local))
	must(before.Write(t.Context(), dana, kernel.WriteRequest{Text: "The kiln is lit."}))
	sqlExec(t, k.Pool, `INSERT INTO memkernel.embedding_gaps (tenant, memory_id, due_at)
		SELECT 'acme', gen_random_uuid(), '-infinity' FROM generate_series(1, 100)`)
	start(t, k) // looks once, and again in a minute
	require.Eventually(t, func() bool {
		return sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM memkernel.embedding_gaps`) == 0
	}, 30*time.Second, 5*time.Millisecond)
	require.Equal(t, "The kiln is lit.", sent.all())
}

// TestAsyncErrorsNameNoInfrastructure: what callers are told of a database that is out of reach
// does not say which it is or where.
func TestAsyncErrorsNameNoInfrastructure(t *testing.T) {
	t.Parallel()
	whole := kerneltest.Open(t)
	wire, pool := pgtest.OpenWire(t, whole.Pool)
	k := kerneltest.OpenOn(t, pool)
	dana := whole.Key("acme/eng", kernel.RoleMember)
	order := must(k.WriteAsync(t.Context(), dana, kernel.WriteRequest{Text: "The well is dry."}))
	wire.SetDown(true)
	for op, call := range map[kernel.Op]func() error{
		"write_async": func() error {
			return second(k.WriteAsync(t.Context(), dana, kernel.WriteRequest{Text: "The kiln is lit."}))
		},
		"write_async with a key": func() error {
			return second(k.WriteAsync(t.Context(), dana, kernel.WriteRequest{Text: "The kiln is lit.", IdempotencyKey: "1"}))
		},
		"ticket": func() error { return second(k.Ticket(t.Context(), dana, kernel.TicketRequest{ID: order.Ticket})) },
		"wait_visible": func() error {
			return second(k.WaitVisible(t.Context(), dana, kernel.WaitVisibleRequest{Token: order.Token}))
		},
	} {
		for range 2 { // on a connection that breaks, and on none
			err := call()
			require.ErrorIs(t, err, kernel.ErrUnavailable, op)
			requireNamesNothing(t, err, op)
		}
	}
	require.ErrorIs(t, k.Start(t.Context()), kernel.ErrUnavailable)
}

// TestAsyncNamesEntities: what a memory of a ticket names is linked as it is by Write.
func TestAsyncNamesEntities(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	dana := k.Key("acme/eng", kernel.RoleMember)
	ada := name(t, k, dana, "I met Ada Lovelace.")
	start(t, k)
	order := must(k.WriteAsync(t.Context(), dana, kernel.WriteRequest{Text: "Then Ada Lovelace met Grace Hopper."}))
	id := await(t, k.Kernel, dana, order.Token).Reply.Stored[0]
	require.Equal(t, "Ada Lovelace, Grace Hopper", sqlValue[string](t, k.Pool,
		`SELECT string_agg(surface, ', ' ORDER BY surface) FROM memkernel.memory_entities WHERE memory_id = $1`, id.String()))
	require.Equal(t, 1, sqlValue[int](t, k.Pool,
		`SELECT count(*)::int FROM memkernel.memory_entities WHERE memory_id = $1 AND entity_id = $2`, id.String(), ada.String()))
	require.Equal(t, 2, sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM memkernel.entity_registry`))
}
