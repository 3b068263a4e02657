package kernel_test

import (
	"encoding/hex"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
)

// TestGuardRows: what a call that succeeds leaves on record.
func TestGuardRows(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	ctx := t.Context()
	who := k.Key("acme/eng", kernel.RoleAdmin)
	var id, next kernel.ID
	var key *kernel.Credential
	write := func(req kernel.WriteRequest) *kernel.WriteReply {
		r, err := k.Write(ctx, who, req)
		require.NoError(t, err)
		return r
	}
	for _, tc := range []struct {
		name   string
		op     kernel.Op
		call   func() kernel.ID // returns the memory that must be on record
		detail func() string
	}{
		{"write", "write", func() kernel.ID {
			id = write(kernel.WriteRequest{Text: "The sky is grey.", IdempotencyKey: "1"}).Stored[0]
			return id
		}, func() string { return "stored=1 rejected=0 superseded=0 deduplicated=0" }},
		{"the same again", "write", func() kernel.ID {
			return write(kernel.WriteRequest{Text: "the sky  is grey."}).Deduplicated[0]
		}, func() string { return "stored=0 rejected=0 superseded=0 deduplicated=1" }},
		{"a replay", "write", func() kernel.ID {
			require.True(t, write(kernel.WriteRequest{Text: "The sky is grey.", IdempotencyKey: "1"}).Replayed)
			return id
		}, func() string { return "replay=true" }},
		{"a successor", "write", func() kernel.ID {
			next = write(kernel.WriteRequest{Text: "The sky is blue.", Supersedes: id}).Stored[0]
			return next
		}, func() string { return "stored=1 rejected=0 superseded=1 deduplicated=0" }},
		{"read", "read", func() kernel.ID { return must(k.Read(ctx, who, kernel.ReadRequest{ID: id})).Memory.ID }, func() string { return "tokens=4" }},
		{"search", "search", func() kernel.ID {
			require.Len(t, must(k.Search(ctx, who, kernel.SearchRequest{Query: "sky"})).Items, 1)
			return kernel.ID{}
		}, func() string { return "returned=1 tokens=4 driver=fusion" }},
		{"history", "history", func() kernel.ID {
			must(k.History(ctx, who, kernel.HistoryRequest{ID: id}))
			return id
		}, func() string { return "returned=2" }},
		{"retract", "retract", func() kernel.ID {
			must(k.Retract(ctx, who, kernel.RetractRequest{ID: next, Reason: "looked wrongly"}))
			return next
		}, func() string { return "retracted=1" }},
		{"retract again", "retract", func() kernel.ID {
			require.True(t, must(k.Retract(ctx, who, kernel.RetractRequest{ID: next})).Already)
			return next
		}, func() string { return "" }},
		{"stats", "stats", func() kernel.ID {
			must(k.Stats(ctx, who, kernel.StatsRequest{}))
			return kernel.ID{}
		}, func() string { return "live=0" }},
		{"audit", "audit_search", func() kernel.ID {
			require.NoError(t, firstError(k.AuditSearch(ctx, who, kernel.AuditSearchRequest{})))
			return kernel.ID{}
		}, func() string { return "target=acme/eng" }},
		{"key", "key_create", func() kernel.ID {
			key = must(k.Keys().Create(ctx, who, kernel.KeyRequest{Actor: "user:sam smith", Role: kernel.RoleAgent}))
			return kernel.ID{}
		}, func() string {
			return "key=" + key.Key.ID.String() + ` role=agent target=acme/eng holder="user:sam smith"`
		}},
		{"rotation", "key_rotate", func() kernel.ID {
			key = must(k.Keys().Rotate(ctx, who, kernel.RotateKeyRequest{ID: key.Key.ID}))
			return kernel.ID{}
		}, func() string {
			return "key=" + key.Key.ID.String() + ` role=agent target=acme/eng holder="user:sam smith" rotated_from=` + key.Key.RotatedFrom.String()
		}},
		{"revocation", "key_revoke", func() kernel.ID {
			must(k.Keys().Revoke(ctx, who, kernel.RevokeKeyRequest{ID: key.Key.ID}))
			return kernel.ID{}
		}, func() string {
			return "key=" + key.Key.ID.String() + ` role=agent target=acme/eng holder="user:sam smith"`
		}},
		{"keys", "key_list", func() kernel.ID {
			require.NoError(t, firstError(k.Keys().List(ctx, who, kernel.ListKeysRequest{})))
			return kernel.ID{}
		}, func() string { return "" }},
		{"policy", "policy_put", func() kernel.ID {
			must(k.Policies().Put(ctx, who, kernel.PutPolicyRequest{Namespace: kerneltest.Namespace(t, "acme/eng/db")}))
			return kernel.ID{}
		}, func() string { return "target=acme/eng/db version=1" }},
		{"policy back", "policy_get", func() kernel.ID {
			must(k.Policies().Get(ctx, who, kernel.GetPolicyRequest{Namespace: kerneltest.Namespace(t, "acme/eng/db")}))
			return kernel.ID{}
		}, func() string { return "target=acme/eng/db" }},
	} {
		var memory kernel.ID
		row := k.RequireAudit(t, tc.op, "ok", func() { memory = tc.call() })
		require.Equal(t, tc.detail(), row.Detail, tc.name)
		require.Equal(t, memory, row.MemoryID, tc.name)
		require.Equal(t, "acme/eng", row.Namespace, tc.name)
		require.Equal(t, "acme", row.Tenant, tc.name)
		require.Equal(t, who.Actor(), row.Actor, tc.name)
		require.Equal(t, who.KeyID(), row.KeyID, tc.name)
	}
	seen := map[kernel.ID]bool{}
	for _, e := range k.Audit() {
		require.False(t, seen[e.Call], "one call, two rows")
		seen[e.Call] = true
	}
	requireSound(t, k.Pool)
}

// TestGuardNamesWhatWasAskedFor: a refused change has on record which memory was meant.
func TestGuardNamesWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	ctx := t.Context()
	parent, child := k.Key("acme", kernel.RoleMember), k.Key("acme/eng", kernel.RoleMember)
	theirs := must(k.Write(ctx, parent, kernel.WriteRequest{Text: "The sky is grey."})).Stored[0]
	hidden := must(k.Write(ctx, k.Key("acme/sales", kernel.RoleMember), kernel.WriteRequest{Text: "The sky is red."})).Stored[0]
	for _, tc := range []struct {
		id     kernel.ID
		target error
		result kernel.AuditResult
	}{
		{theirs, kernel.ErrForbidden, "denied"},
		{hidden, kernel.ErrNotFound, "denied"},
		{someID(), kernel.ErrNotFound, "miss"},
	} {
		row := k.RequireAudit(t, "write", tc.result, func() {
			_, err := k.Write(ctx, child, kernel.WriteRequest{Text: "The sky is blue.", Supersedes: tc.id})
			require.ErrorIs(t, err, tc.target)
		})
		require.Equal(t, tc.id, row.MemoryID)
		row = k.RequireAudit(t, "retract", tc.result, func() {
			_, err := k.Retract(ctx, child, kernel.RetractRequest{ID: tc.id})
			require.ErrorIs(t, err, tc.target)
		})
		require.Equal(t, tc.id, row.MemoryID)
	}
}

// TestGuardPurpose: the query is on record, cut to 200 characters, unless the caller or a
// policy above it says that it is sensitive; and then it is nowhere.
func TestGuardPurpose(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t)
	ctx := t.Context()
	owner, dana := k.Key("acme", kernel.RoleOwner), k.Key("acme/eng", kernel.RoleMember)
	must(k.Policies().Put(ctx, owner, kernel.PutPolicyRequest{Policy: kernel.Policy{AllowedDrivers: []string{"baseline"}}}))
	search := func(req kernel.SearchRequest) string {
		return k.RequireAudit(t, "search", "miss", func() {
			_, err := k.Search(ctx, dana, req)
			require.NoError(t, err)
		}).Purpose
	}
	require.Equal(t, "who has the key?", search(kernel.SearchRequest{Query: "who has the key?"}))
	for _, r := range []string{"x", "é", "界", "👩‍🚀"} {
		long := strings.Repeat(r, 300)
		got := search(kernel.SearchRequest{Query: long})
		require.Equal(t, 200, utf8.RuneCountInString(got))
		require.True(t, strings.HasPrefix(long, got))
	}
	require.Equal(t, "a\uFFFDb\uFFFD", search(kernel.SearchRequest{Query: "a\x00b\xff"}))
	// A search that is refused after the policy was read has it on record, too.
	require.Equal(t, "who has the key?", k.RequireAudit(t, "search", "denied", func() {
		_, err := k.Search(ctx, dana, kernel.SearchRequest{Query: "who has the key?", Driver: "forbidden"})
		require.ErrorIs(t, err, kernel.ErrForbidden)
	}).Purpose)

	const secret = "does Sam have an illness?"
	require.Empty(t, search(kernel.SearchRequest{Query: secret, Sensitive: true}))
	must(k.Policies().Put(ctx, owner, kernel.PutPolicyRequest{Policy: kernel.Policy{Sensitive: true}}))
	must(k.Policies().Put(ctx, owner, kernel.PutPolicyRequest{Namespace: dana.Namespace()}))
	require.Empty(t, search(kernel.SearchRequest{Query: secret}))
	requireNowhere(t, k, "illness")
	require.Equal(t, []string{"memkernel.audit_log"}, tablesWith(t, k, "who has"), "the scan finds what is there")
}

// requireNowhere looks for a text in every column of every table, and for its bytes.
func requireNowhere(t *testing.T, k *kerneltest.Kit, text string) {
	t.Helper()
	require.Empty(t, tablesWith(t, k, text))
}

// tablesWith returns the tables that have a row which, written out, contains the text.
func tablesWith(t *testing.T, k *kerneltest.Kit, text string) []string {
	t.Helper()
	rows, err := k.Pool.Query(t.Context(), `SELECT format('%I.%I', n.nspname, c.relname) FROM pg_class AS c
		JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE c.relkind = 'r' AND n.nspname NOT IN ('pg_catalog', 'information_schema')`)
	require.NoError(t, err)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Greater(t, len(tables), 10)
	var found []string
	for _, table := range tables {
		n := sqlValue[int](t, k.Pool, `SELECT count(*)::int FROM `+table+` AS r WHERE strpos(r::text, $1) > 0 OR strpos(r::text, $2) > 0`,
			text, hex.EncodeToString([]byte(text)))
		if n > 0 {
			found = append(found, table)
		}
	}
	return found
}
