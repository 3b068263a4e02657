package kernel_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/driver"
	"github.com/memkernel/memkernel/internal/pgtest"
	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/writepath/classify"
)

// TestRedactingLeavesNoTraceInTheArms: a secret that is redacted because of a policy that the kernel had not heard of is in no
// vector and among no words either.
func TestRedactingLeavesNoTraceInTheArms(t *testing.T) {
	t.Parallel()
	model := &kerneltest.Embedder{InProcess: true}
	b := newWarmBench(t, kernel.WithEmbedder(model))
	const pass = "zanzibarquokka77"
	text := "The password: " + pass + " opens the kiln house."
	b.put(t, "acme/eng", kernel.Policy{Write: kernel.WritePolicy{Secrets: mem.SecretsRedact}})
	reply := must(b.Write(t.Context(), b.who, kernel.WriteRequest{Text: text}))
	require.Equal(t, 1, reply.Redacted)
	m := must(b.Read(t.Context(), b.who, kernel.ReadRequest{ID: reply.Stored[0]})).Memory
	require.NotContains(t, m.Text, pass)
	termsHot := sqlValue[[]int64](t, b.Pool, `SELECT (SELECT array_agg(x ORDER BY x) FROM unnest(terms) x) FROM memkernel.memory_objects WHERE id = $1`, m.ID.String())
	vecHot := sqlValue[string](t, b.Pool, `SELECT embedding::text FROM memkernel.memory_vectors WHERE id = $1`, m.ID.String())
	other := b.other.Key("acme/cold", kernel.RoleMember)
	k2 := kerneltest.OpenOn(t, b.Pool, kernel.WithEmbedder(&kerneltest.Embedder{InProcess: true}), kernel.WithClock(b.other.Clock.Now))
	secretRules(t, b.other, "acme/cold", mem.SecretsRedact)
	id := must(k2.Write(t.Context(), other, kernel.WriteRequest{Text: text})).Stored[0]
	termsCold := sqlValue[[]int64](t, b.Pool, `SELECT (SELECT array_agg(x ORDER BY x) FROM unnest(terms) x) FROM memkernel.memory_objects WHERE id = $1`, id.String())
	vecCold := sqlValue[string](t, b.Pool, `SELECT embedding::text FROM memkernel.memory_vectors WHERE id = $1`, id.String())
	found := must(b.Search(t.Context(), b.who, kernel.SearchRequest{Query: pass, Kinds: []kernel.Kind{"fact"}}))
	if len(termsHot) != len(termsCold) {
		t.Errorf("terms hot %d cold %d", len(termsHot), len(termsCold))
	}
	if vecHot != vecCold {
		t.Errorf("vector is of the raw text")
	}
	require.Zero(t, found.Lexical.Rows, "the secret's word finds the memory")
}

// TestScannerMidRune: findings that meet inside a character are one, and none is dropped.
func TestScannerMidRune(t *testing.T) {
	t.Parallel()
	text := "say schlüsselwort now"
	at := strings.Index(text, "ü")
	require.False(t, utf8.RuneStart(text[at+1]))
	find := scanner(func(_ context.Context, s string) ([]classify.Finding, error) {
		if s != text {
			return nil, nil
		}
		return []classify.Finding{
			{Kind: classify.SaaSToken, Start: 4, End: at + 1},
			{Kind: classify.SaaSToken, Start: at + 1, End: len("say schlüsselwort")},
		}, nil
	})
	k := kerneltest.Open(t, kernel.WithClassifier(find))
	dana := k.Key("acme/eng", kernel.RoleMember)
	secretRules(t, k, "acme", mem.SecretsRedact)
	id := must(k.Write(t.Context(), dana, kernel.WriteRequest{Text: text})).Stored[0]
	got := must(k.Read(t.Context(), dana, kernel.ReadRequest{ID: id})).Memory.Text
	require.NotContains(t, got, "sselwort", got)
}

// TestScannerMidRuneBlock: the same, where one of them is no secret.
func TestScannerMidRuneBlock(t *testing.T) {
	t.Parallel()
	text := "say schlüsselwort now"
	at := strings.Index(text, "ü")
	find := scanner(func(_ context.Context, _ string) ([]classify.Finding, error) {
		return []classify.Finding{
			{Kind: classify.Email, Start: 4, End: at + 1},
			{Kind: classify.SaaSToken, Start: at + 1, End: len("say schlüsselwort")},
		}, nil
	})
	k := kerneltest.Open(t, kernel.WithClassifier(find))
	dana := k.Key("acme/eng", kernel.RoleMember)
	secretRules(t, k, "acme", mem.SecretsBlock)
	reply := must(k.Write(t.Context(), dana, kernel.WriteRequest{Text: text}))
	require.Len(t, reply.Rejected, 1, "the secret was dropped: %+v", reply)
}

// TestRedactingGoesOn: a scanner that reports one secret at a time is asked until there is none.
func TestRedactingGoesOn(t *testing.T) {
	t.Parallel()
	find := scanner(func(_ context.Context, text string) ([]classify.Finding, error) {
		at := strings.Index(text, "swordfish") // like the scanner of TestHostsClassifier
		if at < 0 {
			return nil, nil
		}
		return []classify.Finding{{Kind: classify.SaaSToken, Start: at, End: at + len("swordfish")}}, nil
	})
	k := kerneltest.Open(t, kernel.WithClassifier(find))
	dana := k.Key("acme/eng", kernel.RoleMember)
	secretRules(t, k, "acme", mem.SecretsRedact)
	reply := must(k.Write(t.Context(), dana, kernel.WriteRequest{Text: "Say swordfish, I repeat swordfish, at the gate."}))
	for _, id := range reply.Stored {
		m := must(k.Read(t.Context(), dana, kernel.ReadRequest{ID: id})).Memory
		require.NotContains(t, m.Text, "swordfish", "%q %v", m.Text, m.Classification)
	}
}

// TestRedactingGoesOnByItself: what looks like a secret once another is gone is redacted too.
func TestRedactingGoesOnByItself(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	dana := k.Key("acme/eng", kernel.RoleMember)
	secretRules(t, k, "acme", mem.SecretsRedact)
	aws := "7305"
	text := "The garage code changed, the PIN is now " + aws + ",key-" + "2bc9028f21ae6b233d2e9ef817dd3451"
	reply := must(k.Write(t.Context(), dana, kernel.WriteRequest{Text: text}))
	for _, id := range reply.Stored {
		m := must(k.Read(t.Context(), dana, kernel.ReadRequest{ID: id})).Memory
		require.NotContains(t, m.Text, aws, "%q %+v", m.Text, m.Classification)
	}
}

// TestSecretsBesideTheText: a rule on secrets holds for what stands beside memories and for what is
// asked.
func TestSecretsBesideTheText(t *testing.T) {
	t.Parallel()
	for _, rule := range []kernel.SecretRule{mem.SecretsRedact, mem.SecretsBlock} {
		t.Run(string(rule), func(t *testing.T) {
			t.Parallel()
			k := kerneltest.Open(t)
			secretRules(t, k, "acme", rule)
			dana := k.Key("acme/eng", kernel.RoleMember)
			ctx := t.Context()
			key := func(end string) string { return madeUpKey[:len(madeUpKey)-1] + end }
			id := must(k.Write(ctx, dana, kernel.WriteRequest{Text: "Fine."})).Stored[0]
			withSource := must(k.Write(ctx, dana, kernel.WriteRequest{Text: "Fine too.", Source: "https://x.example/?key=" + key("A")}))
			if rule == mem.SecretsBlock {
				require.Equal(t, []kernel.Rejection{{Reason: mem.RejectSecret}}, withSource.Rejected)
			} else {
				m := must(k.Read(ctx, dana, kernel.ReadRequest{ID: withSource.Stored[0]})).Memory
				require.Equal(t, 1, withSource.Redacted)
				require.Contains(t, m.Source, "[redacted:")
			}
			must(k.Search(ctx, dana, kernel.SearchRequest{Query: "what opens " + key("C")}))
			require.Contains(t, lastAudit(k).Purpose, "what opens [redacted:")
			must(k.Retract(ctx, dana, kernel.RetractRequest{ID: id, Reason: "leaked " + key("D")}))
			for _, end := range []string{"A", "C", "D"} {
				requireNowhere(t, k, key(end))
			}
		})
	}
}

// TestRedactedTextKeepsToTheLimits: the marks that replace secrets can be longer than they were.
func TestRedactedTextKeepsToTheLimits(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	must(k.Policies().Put(t.Context(), k.Key("acme", kernel.RoleAdmin),
		kernel.PutPolicyRequest{Policy: kernel.Policy{Write: kernel.WritePolicy{Secrets: mem.SecretsRedact, MaxBytes: 700}}}))
	dana := k.Key("acme/eng", kernel.RoleMember)
	var b strings.Builder
	for i := range 30 {
		fmt.Fprintf(&b, "pwd: x%dQz!7\n", i)
	}
	require.Less(t, b.Len(), 700)
	require.ErrorIs(t, second(k.Write(t.Context(), dana, kernel.WriteRequest{Text: b.String()})), kernel.ErrTooLarge)
}

// TestSearchKeepsToTheHostsSnapshot: a search in a host's transaction sees what the transaction sees.
func TestSearchKeepsToTheHostsSnapshot(t *testing.T) {
	t.Parallel()
	k := kerneltest.OpenOn(t, pgtest.Open(t, pgtest.WithMaxConns(4)))
	dana := k.Key("acme/eng", kernel.RoleMember)
	id := must(k.Write(t.Context(), dana, kernel.WriteRequest{Text: "The kiln is lit."})).Stored[0]
	conn, err := k.Pool.Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	tx, err := conn.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), `SET TRANSACTION ISOLATION LEVEL REPEATABLE READ`)
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), `SELECT count(*) FROM memkernel.tenants`)
	require.NoError(t, err)
	must(k.Retract(t.Context(), dana, kernel.RetractRequest{ID: id}))
	reply := must(k.WithTx(tx).Search(t.Context(), dana, kernel.SearchRequest{Query: "kiln", IncludeSuperseded: true}))
	require.Len(t, reply.Items, 1)
	require.True(t, reply.Items[0].Memory.ValidTo.IsZero(), "the row was read outside of the host's snapshot: %v", reply.Items[0].Memory)
	require.NoError(t, tx.Rollback(t.Context()))
}

// TestQuestionsAreRedactedWhole: a question is redacted before it is cut to what the log keeps, and
// one that is too long for that is not kept; neither costs the call its row.
func TestQuestionsAreRedactedWhole(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	secretRules(t, k, "acme", mem.SecretsRedact)
	dana := k.Key("acme/eng", kernel.RoleMember)
	must(k.Write(t.Context(), dana, kernel.WriteRequest{Text: "The kiln is lit."}))
	for _, query := range []string{
		"kiln " + strings.Repeat("x", 185) + " " + madeUpKey,
		strings.Repeat(madeUpKey+" ", 190) + "kiln " + madeUpKey,
		strings.Repeat(madeUpKey+" ", 195)[:4095] + "ß kiln",
		strings.Repeat("ß", 3000) + " kiln " + madeUpKey,
	} {
		must(k.Search(t.Context(), dana, kernel.SearchRequest{Query: query}))
		require.Equal(t, kernel.Op("search"), lastAudit(k).Op)
		requireNowhere(t, k, madeUpKey[:12])
	}
}

// TestPublicWithASource: what a writer declares holds whatever the memory comes from.
func TestPublicWithASource(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	dana := k.Key("acme/eng", kernel.RoleMember)
	id := must(k.Write(t.Context(), dana, kernel.WriteRequest{
		Text: "The gate opens at nine.", Source: "manual.pdf", Sensitivity: mem.SensitivityPublic,
	})).Stored[0]
	require.Equal(t, mem.SensitivityPublic, must(k.Read(t.Context(), dana, kernel.ReadRequest{ID: id})).Memory.Classification.Sensitivity)
}

// TestReplayOutlivesTheRule: what was written before a rule was made is still the answer to a retry.
func TestReplayOutlivesTheRule(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	dana := k.Key("acme/eng", kernel.RoleMember)
	req := kernel.WriteRequest{Text: "The deploy key is " + madeUpKey + ".", IdempotencyKey: "once"}
	first := must(k.Write(t.Context(), dana, req))
	secretRules(t, k, "acme", mem.SecretsBlock)
	again := must(k.Write(t.Context(), dana, req))
	require.True(t, again.Replayed)
	require.Equal(t, first.Stored, again.Stored)
}

// TestNothingConfirmsGuesses: what is kept of a request does not tell whether a guess at its secret is right.
func TestNothingConfirmsGuesses(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	secretRules(t, k, "acme", mem.SecretsRedact)
	dana := k.Key("acme/eng", kernel.RoleMember)
	req := kernel.WriteRequest{Text: "The gate's PIN code: 4711, password: tiger4711", Kind: mem.KindFact}
	r := must(k.Write(t.Context(), dana, req))
	require.Positive(t, r.Redacted)
	guess := req
	guess.EventTime, guess.EventEnd = guess.EventTime.UTC(), guess.EventEnd.UTC()
	b, err := json.Marshal(&guess)
	require.NoError(t, err)
	sum := sha256.Sum256(b)
	require.Zero(t, sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM memkernel.captures WHERE request_digest = $1`, sum[:]), "a guess is confirmed")
}

// feedback embeds what it was shown, as pseudo-relevance feedback does.
type feedback struct{}

func (feedback) Name() string { return "feedback" }
func (feedback) Plan(ctx context.Context, view driver.ScopedView, q driver.Query) (driver.Plan, error) {
	rows, err := view.Candidates(ctx, driver.CandidateQuery{Text: q.Text, Limit: 5, Detail: true})
	if err != nil {
		return driver.Plan{}, err
	}
	var plan driver.Plan
	for _, r := range rows {
		if _, err := view.Embed(ctx, r.Text); err != nil {
			continue
		}
		plan.Items = append(plan.Items, driver.Ranked{Ref: r.Ref, Score: 1})
	}
	return plan, nil
}

// pieces embeds the query word by word.
type pieces struct{}

func (pieces) Name() string { return "pieces" }
func (pieces) Plan(ctx context.Context, view driver.ScopedView, q driver.Query) (driver.Plan, error) {
	for _, w := range strings.Fields(q.Text) {
		_, _ = view.Embed(ctx, w)
	}
	rows, err := view.Candidates(ctx, driver.CandidateQuery{Text: q.Text, Limit: 5})
	var plan driver.Plan
	for _, r := range rows {
		plan.Items = append(plan.Items, driver.Ranked{Ref: r.Ref, Score: 1})
	}
	return plan, err
}

// TestDriversSendNothingThatMayNotGo: what a driver makes of a memory, or of a question, that may
// not go to the model does not go there either.
func TestDriversSendNothingThatMayNotGo(t *testing.T) {
	t.Parallel()
	sent := &texts{}
	k := kerneltest.Open(t, kernel.WithEmbedder(&kerneltest.Embedder{OnEmbed: sent.keep}), kernel.WithDrivers(feedback{}, pieces{}))
	dana := k.Key("acme/eng", kernel.RoleMember)
	const text = "The merger with Umbrella closes in May."
	must(k.Write(t.Context(), dana, kernel.WriteRequest{Text: text, Sensitivity: mem.SensitivityRestricted}))
	must(k.Search(t.Context(), dana, kernel.SearchRequest{Query: "merger", Driver: "feedback"}))
	require.NotContains(t, sent.all(), text)
	must(k.Search(t.Context(), dana, kernel.SearchRequest{Query: "merger password: zanzibarquokka77", Driver: "pieces"}))
	require.NotContains(t, sent.all(), "zanzibarquokka77")
}

// TestCutSearchTheLongWay: also a search that asked the gate first is answered if and only if the log
// says so.
func TestCutSearchTheLongWay(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]kernel.Option{
		"remote model": {kernel.WithEmbedder(&kerneltest.Embedder{})},
		"a rate limit": {kernel.WithEmbedder(&kerneltest.Embedder{InProcess: true})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newCutBench(t, opts...)
			id := b.write(t, kernel.WriteRequest{Text: "The kiln is lit."})
			if name == "a rate limit" {
				must(b.whole.Policies().Put(t.Context(), b.who, kernel.PutPolicyRequest{Policy: kernel.Policy{
					RateLimits: map[kernel.Op]kernel.RateLimit{"search": {PerSecond: 1000, Burst: 1000}},
				}}))
			}
			b.cutEverywhere(t, func(int) attempt {
				before := b.hits(t, id)
				return attempt{op: "search", call: func(ctx context.Context) error {
					reply, err := b.Search(ctx, b.who, kernel.SearchRequest{Query: "kiln"})
					if err == nil && len(reply.Items) == 0 {
						t.Errorf("an empty answer and no error: %+v; row %+v", reply, lastAudit(b.whole))
					}
					return err
				}, done: func() int { return b.hits(t, id) - before }}
			})
		})
	}
}

// exit is a hook that ends the goroutine of the call that it is told of.
type exit struct {
	kernel.HookDefaults
	on bool
}

func (e *exit) ModelCall(context.Context, kernel.ModelInfo) {
	if e.on {
		runtime.Goexit()
	}
}

// TestGoroutineEndsInTheCall: a host's part that ends the goroutine instead of returning, as a
// failing test does in a hook, leaves the call's row too.
func TestGoroutineEndsInTheCall(t *testing.T) {
	t.Parallel()
	hook := &exit{}
	b := newWarmBench(t, kernel.WithEmbedder(&kerneltest.Embedder{InProcess: true}), kernel.WithHooks(hook))
	calls := b.calls(b.who)
	delete(calls, "read") // it asks no model
	delete(calls, "write_async")
	hook.on = true
	for op, call := range calls {
		before := len(b.Audit())
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = call(context.WithoutCancel(t.Context()))
		}()
		<-done
		rows := b.Audit()[before:]
		require.Len(t, rows, 1, op)
		require.Equal(t, kernel.AuditResult("error"), rows[0].Result, op)
	}
}
