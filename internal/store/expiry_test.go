package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/audit"
	"github.com/memkernel/memkernel/internal/store"
	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/kernel/model/hashing"
)

// TestServeExpired: what has expired is not served as current, whoever proposes it: the arms
// leave it out already, and this is the fence behind them.
func TestServeExpired(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	ctx := t.Context()
	who := k.Key("acme/eng", kernel.RoleMember)
	at := k.Clock.Now().Add(time.Hour)
	wrote, err := k.Write(ctx, who, kernel.WriteRequest{Text: "The beacon is lit.", ExpiresAt: at})
	require.NoError(t, err)
	s := store.New(k.Pool, hashing.New().Info(), store.AppendOptions{MaxGroup: 1, Timeout: time.Minute})
	gate, err := s.Gate(ctx, who, store.Ahead{})
	require.NoError(t, err)
	just := at.Add(-time.Microsecond)
	for i, tc := range []struct {
		filter store.Filter
		served bool
		end    mem.EndReason
	}{
		{store.Filter{Now: just}, true, ""},
		{store.Filter{Now: at}, false, ""},
		{store.Filter{Now: at, Ended: true}, true, mem.EndExpired},
		{store.Filter{Now: at, AsOf: just}, true, mem.EndExpired},
		{store.Filter{Now: at, AsOf: at}, false, ""},
		{store.Filter{Now: just, AsOf: at}, false, ""},
	} {
		found, err := s.Serve(ctx, who.Scope(), &tc.filter, wrote.Stored)
		require.NoError(t, err)
		m, ok := found[wrote.Stored[0]]
		require.Equal(t, tc.served, ok, "%+v", tc.filter)
		require.Equal(t, tc.end, m.EndReason, "%+v", tc.filter)

		event := audit.Event{
			Call: wrote.Stored[0], Time: tc.filter.Now, Tenant: "acme", Namespace: "acme/eng", Actor: "test", Op: acl.OpSearch, Result: audit.ResultOK,
		}
		event.Call[15] = byte(i)
		recorded, done, err := s.ServeRecorded(ctx, who, gate.Known, &tc.filter, wrote.Stored, &event)
		require.NoError(t, err)
		require.Equal(t, tc.served, done, "%+v", tc.filter)
		require.Equal(t, found, recorded, "%+v", tc.filter)
	}
}
