package kernel_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/driver"
	"github.com/memkernel/memkernel/internal/pgtest"
	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
)

// TestLateCallsEarnNothing: calls that come in a moment late do not turn the bucket back.
func TestLateCallsEarnNothing(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	owner := k.Key("acme", kernel.RoleOwner)
	must(k.Policies().Put(t.Context(), owner, kernel.PutPolicyRequest{Policy: kernel.Policy{
		RateLimits: map[kernel.Op]kernel.RateLimit{"stats": {PerSecond: 1, Burst: 1}},
	}}))
	passed := 0
	for range 20 {
		for _, step := range []time.Duration{-time.Second, time.Second} {
			k.Clock.Advance(step)
			if second(k.Stats(t.Context(), owner, kernel.StatsRequest{})) == nil {
				passed++
			}
		}
	}
	require.LessOrEqual(t, passed, 2)
}

func TestRetryAfterIsNeverNegative(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	owner := k.Key("acme", kernel.RoleOwner)
	must(k.Policies().Put(t.Context(), owner, kernel.PutPolicyRequest{Policy: kernel.Policy{
		RateLimits: map[kernel.Op]kernel.RateLimit{"stats": {PerSecond: 1e-12, Burst: 1}},
	}}))
	require.NoError(t, second(k.Stats(t.Context(), owner, kernel.StatsRequest{})))
	var limited *kernel.RateLimitError
	require.ErrorAs(t, second(k.Stats(t.Context(), owner, kernel.StatsRequest{})), &limited)
	require.Positive(t, limited.RetryAfter)
}

func TestCredentialDoesNotPrint(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	_, cred := k.Credential("acme", kernel.RoleAgent)
	for _, text := range []string{fmt.Sprint(cred), fmt.Sprint(*cred), fmt.Sprintf("%+v %#v", *cred, *cred), fmt.Sprint(struct{ C kernel.Credential }{*cred})} {
		require.NotContains(t, text, cred.Secret)
	}
}

func TestReservedActors(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	owner := k.Key("acme", kernel.RoleOwner)
	for _, actor := range []string{"host", "anonymous", "user:dana\nuser:eve"} {
		var invalid *kernel.InvalidError
		_, err := k.Keys().Create(t.Context(), owner, kernel.KeyRequest{Actor: actor, Role: kernel.RoleAgent})
		require.ErrorAs(t, err, &invalid)
		require.Equal(t, "Actor", invalid.Field)
	}
}

// peeking is a driver that wants to see queries early.
type peeking struct {
	namedDriver
	seen chan string
}

func (p peeking) Prefetch(q driver.Query) driver.Prefetch {
	p.seen <- q.Text
	return driver.Prefetch{}
}

func TestForbiddenDriverSeesNothing(t *testing.T) {
	t.Parallel()
	spy := peeking{namedDriver{"spy", nil}, make(chan string, 8)}
	k := kerneltest.Open(t, kernel.WithDrivers(spy))
	owner := k.Key("acme", kernel.RoleOwner)
	must(k.Policies().Put(t.Context(), owner, kernel.PutPolicyRequest{Policy: kernel.Policy{AllowedDrivers: []string{"baseline"}}}))
	err := second(k.Search(t.Context(), owner, kernel.SearchRequest{Query: "confidential", Driver: "spy", Sensitive: true}))
	require.ErrorIs(t, err, kernel.ErrForbidden)
	require.Empty(t, spy.seen)
}

// TestOpenHostTransactionHoldsNobodyUp: a duplicate written in a transaction that stays open
// leaves readers of the memory, and everybody else, alone.
func TestOpenHostTransactionHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	pool := pgtest.Open(t, pgtest.WithMaxConns(4)) // the host's transaction holds one
	k := kerneltest.OpenOn(t, pool, kernel.WithLimits(kernel.Limits{AuditTimeout: 2 * time.Second}))
	who := k.Key("acme/eng", kernel.RoleMember)
	kept := must(k.Write(t.Context(), who, kernel.WriteRequest{Text: "The ferry leaves at noon."})).Stored[0]
	must(k.Read(t.Context(), who, kernel.ReadRequest{ID: kept}))
	tx, err := k.Pool.Begin(t.Context())
	require.NoError(t, err)
	must(k.WithTx(tx).Write(t.Context(), who, kernel.WriteRequest{Text: "The ferry leaves at noon."}))
	must(k.WithTx(tx).Read(t.Context(), who, kernel.ReadRequest{ID: kept}))
	must(k.Read(t.Context(), who, kernel.ReadRequest{ID: kept}))
	must(k.Search(t.Context(), who, kernel.SearchRequest{Query: "ferry"}))
	require.NoError(t, tx.Commit(t.Context()))
}

func TestManyPolicyVersionsAndKinds(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	owner := k.Key("acme", kernel.RoleOwner)
	many := make([]kernel.Kind, 65)
	for i := range many {
		many[i] = "fact"
	}
	_, err := k.Policies().Put(t.Context(), owner, kernel.PutPolicyRequest{Policy: kernel.Policy{Write: kernel.WritePolicy{Kinds: many}}})
	require.ErrorIs(t, err, kernel.ErrTooLarge)
	_, err = k.Search(t.Context(), owner, kernel.SearchRequest{Query: "x", Kinds: many})
	require.ErrorIs(t, err, kernel.ErrTooLarge)
}
