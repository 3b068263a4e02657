package kernel_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/driver"
	"github.com/memkernel/memkernel/internal/pgtest"
	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
)

// TestDatabaseLostMidSearch: the database goes away under a driver, for good or for one
// connection, at each of the steps that a search still has before it. None of it comes out as
// an empty answer, also if the driver takes it for one.
func TestDatabaseLostMidSearch(t *testing.T) {
	t.Parallel()
	whole := kerneltest.Open(t)
	wire, pool := pgtest.OpenWire(t, whole.Pool)
	var how func(ctx context.Context, view driver.ScopedView) []driver.Ranked
	flaky := namedDriver{"flaky", func(ctx context.Context, view driver.ScopedView) []driver.Ranked { return how(ctx, view) }}
	model := &kerneltest.Embedder{}
	k := kerneltest.OpenOn(t, pool, kernel.WithDrivers(flaky), kernel.WithEmbedder(model))
	dana := whole.Key("acme/eng", kernel.RoleMember)
	must(k.Write(t.Context(), dana, kernel.WriteRequest{Text: "The well is dry."}))
	search := func(driver string) (*kernel.SearchReply, []kernel.AuditEvent, error) {
		before := len(whole.Audit())
		reply, err := k.Search(t.Context(), dana, kernel.SearchRequest{Query: "well", Driver: driver})
		wire.Disarm()
		pool.Reset()
		return reply, whole.Audit()[before:], err
	}
	for name, lose := range map[string]func(){
		"for good": func() { wire.SetDown(true) },
		"once":     func() { wire.Arm(1, pgtest.CutBefore) },
	} {
		rows := map[string]int{"for good": 0, "once": 1}[name]
		for moment, plan := range map[string]func(ctx context.Context, view driver.ScopedView) []driver.Ranked{
			"before the driver asks": func(ctx context.Context, view driver.ScopedView) []driver.Ranked {
				lose()
				return shown(ctx, view)
			},
			"before what it proposed is read": func(ctx context.Context, view driver.ScopedView) []driver.Ranked {
				items := shown(ctx, view)
				lose()
				return items
			},
		} {
			how = plan
			reply, audit, err := search("flaky")
			require.ErrorIs(t, err, kernel.ErrUnavailable, "%s, %s", name, moment)
			require.Nil(t, reply)
			require.Len(t, audit, rows, "%s, %s", name, moment)
			for _, row := range audit {
				require.Equal(t, kernel.AuditResult("error"), row.Result)
				require.Contains(t, row.Detail, "reason=unavailable")
			}
		}
		// The default driver, while it waits for the model.
		model.OnEmbed = func(context.Context, []string) error {
			lose()
			return nil
		}
		_, audit, err := search("")
		require.ErrorIs(t, err, kernel.ErrUnavailable, name)
		require.Len(t, audit, rows, name)
		model.OnEmbed = nil
	}
	reply, _, err := search("")
	require.NoError(t, err)
	require.Len(t, reply.Items, 1)
}

// TestDatabaseLostMidWrite: the raw input was durable before the model was asked, and it is
// all that is left of the write.
func TestDatabaseLostMidWrite(t *testing.T) {
	t.Parallel()
	whole := kerneltest.Open(t)
	wire, pool := pgtest.OpenWire(t, whole.Pool)
	k := kerneltest.OpenOn(t, pool, kernel.WithEmbedder(&kerneltest.Embedder{OnEmbed: func(context.Context, []string) error {
		wire.SetDown(true)
		return nil
	}}))
	dana := whole.Key("acme/eng", kernel.RoleMember)
	before := tableCounts(t, whole)
	require.ErrorIs(t, second(k.Write(t.Context(), dana, kernel.WriteRequest{Text: "The well is dry."})), kernel.ErrUnavailable)
	before["captures"]++
	require.Equal(t, before, tableCounts(t, whole))
	require.Equal(t, "The well is dry.", sqlValue[string](t, whole.Pool, `SELECT content FROM memkernel.captures WHERE state = 'pending'`))
}

// TestDatabaseLostMidList: a listing that cannot be read to its end says so.
func TestDatabaseLostMidList(t *testing.T) {
	t.Parallel()
	whole := kerneltest.Open(t)
	wire, pool := pgtest.OpenWire(t, whole.Pool)
	k := kerneltest.OpenOn(t, pool)
	owner := whole.Key("acme", kernel.RoleOwner)
	sqlExec(t, whole.Pool, `INSERT INTO memkernel.audit_log (tenant, call_id, ts, namespace, actor, agent_id, op, result, detail)
		SELECT 'acme', gen_random_uuid(), now(), 'acme', 'bulk', '', 'read', 'ok', '' FROM generate_series(1, 700)`)
	sqlExec(t, whole.Pool, `INSERT INTO memkernel.api_keys (tenant, id, namespace, actor, agent_id, role, provenance, prefix, secret_hash, created_at)
		SELECT 'acme', gen_random_uuid(), 'acme', 'bulk', '', 'agent', 'conversation', n::text, sha256(n::text::bytea), now()
		FROM generate_series(1, 700) AS n`)
	lists := map[kernel.Op]func(func() bool) error{
		"audit_search": func(next func() bool) error {
			for _, err := range k.AuditSearch(t.Context(), owner, kernel.AuditSearchRequest{}) {
				if err != nil || !next() {
					return err
				}
			}
			return nil
		},
		"key_list": func(next func() bool) error {
			for _, err := range k.Keys().List(t.Context(), owner, kernel.ListKeysRequest{}) {
				if err != nil || !next() {
					return err
				}
			}
			return nil
		},
	}
	for op, list := range lists {
		n := 0
		require.NoError(t, list(func() bool { n++; return true }))
		require.GreaterOrEqual(t, n, 700)
		n = 0
		err := list(func() bool {
			if n++; n == 1 {
				wire.SetDown(true)
			}
			return true
		})
		wire.SetDown(false)
		require.ErrorIs(t, err, kernel.ErrUnavailable, op)
		var opErr *kernel.OpError
		require.ErrorAs(t, err, &opErr)
		require.Equal(t, op, opErr.Op)
		require.Less(t, n, 700, fmt.Sprint(op))
	}
}
