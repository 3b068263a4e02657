package store_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/audit"
	"github.com/memkernel/memkernel/internal/store"
	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
	"github.com/memkernel/memkernel/writepath"
)

// TestPlaceHoldsWhatWasDecidedOn: an order that was allowed by policies of before is not placed,
// whatever the store has learnt of newer ones since, and whichever way it takes.
func TestPlaceHoldsWhatWasDecidedOn(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	ctx := t.Context()
	who, s := k.Key("acme/eng", kernel.RoleMember), openStore(k)
	know := func() *store.Known {
		gate, err := s.Gate(ctx, who, store.Ahead{})
		require.NoError(t, err)
		return gate.Known
	}
	before := know()
	_, err := k.Policies().Put(ctx, k.Key("acme", kernel.RoleAdmin), kernel.PutPolicyRequest{
		Policy: kernel.Policy{Write: kernel.WritePolicy{Denied: true}},
	})
	require.NoError(t, err)
	now := know()
	require.NotSame(t, before, now)
	for _, brief := range []bool{true, false} {
		place := func(known *store.Known) error {
			o := &store.Order{Who: who, ID: freshID(), Text: "x", Request: []byte(`{}`), Now: k.Clock.Now(), Hold: known}
			event := &audit.Event{
				Call: freshID(), Time: k.Clock.Now(), Tenant: "acme", Namespace: "acme/eng", Actor: who.Actor(), Op: "write_async", Result: audit.ResultOK,
			}
			return s.Place(ctx, o, event, brief, func(ctx context.Context, tx pgx.Tx) error {
				_, err := tx.Exec(ctx, "SELECT 1")
				return err
			})
		}
		require.ErrorIs(t, place(before), writepath.ErrStale)
		require.Zero(t, count(t, k, `SELECT count(*) FROM memkernel.captures`))
		require.Zero(t, count(t, k, `SELECT count(*) FROM memkernel.audit_log WHERE op = 'write_async'`))
		require.NoError(t, place(now))
		require.Equal(t, 1, count(t, k, `SELECT count(*) FROM memkernel.captures`))
		_, err := k.Pool.Exec(ctx, `ALTER TABLE memkernel.audit_log DISABLE TRIGGER USER; DELETE FROM memkernel.audit_log WHERE op = 'write_async';
			ALTER TABLE memkernel.captures DISABLE TRIGGER USER; DELETE FROM memkernel.captures`)
		require.NoError(t, err)
	}
}
