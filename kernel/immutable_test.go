package kernel_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
)

// rowWorld has a memory of each state: open, the head of a chain, replaced, retracted.
type rowWorld struct {
	*kerneltest.Kit

	owner kernel.Identity
	rows  map[string]kernel.ID
}

func newRowWorld(t *testing.T, k *kerneltest.Kit) *rowWorld {
	t.Helper()
	ctx := t.Context()
	w := &rowWorld{Kit: k, owner: k.Key("acme", kernel.RoleOwner), rows: map[string]kernel.ID{}}
	write := func(text string, supersedes kernel.ID) kernel.ID {
		rep, err := k.Write(ctx, w.owner, kernel.WriteRequest{
			Text: text, Supersedes: supersedes, EventTime: january, EventEnd: february, Source: "chat",
		})
		require.NoError(t, err)
		return rep.Stored[0]
	}
	w.rows["open"] = write("Stands alone.", kernel.ID{})
	w.rows["replaced"] = write("First of two.", kernel.ID{})
	w.rows["head"] = write("Second of two.", w.rows["replaced"])
	w.rows["retracted"] = write("Was wrong.", kernel.ID{})
	_, err := k.Retract(ctx, w.owner, kernel.RetractRequest{ID: w.rows["retracted"], Reason: "typo"})
	require.NoError(t, err)
	return w
}

// where selects a row in SQL text.
func (w *rowWorld) where(row string) string { return " WHERE id = '" + w.rows[row].String() + "'" }

// attempt runs statements in one transaction and returns the SQLSTATE of the failure.
func (w *rowWorld) attempt(t *testing.T, sql ...string) string {
	t.Helper()
	err := attemptSQL(t.Context(), w.Pool, sql...)
	if err == nil {
		return ""
	}
	require.NotEmpty(t, sqlState(err), "%v", err)
	return sqlState(err)
}

// other is an SQL expression for another value of a column, COL, of a type.
var other = map[string]string{
	"text": "coalesce(COL, '') || 'x'", "bytea": "sha256(COL)", "uuid": "gen_random_uuid()",
	"timestamptz": "coalesce(COL, now()) + interval '1 hour'", "int2": "COL + 1", "int4": "COL + 1", "float4": "coalesce(COL, 0) + 1",
	"_text": "array_append(COL, 'x')", "_uuid": "array_append(COL, gen_random_uuid())", "_int8": "array_append(COL, 1)",
}

// columns returns the columns of memory_objects with an expression for another value.
func (w *rowWorld) columns(t *testing.T) map[string]string {
	t.Helper()
	rows, err := w.Pool.Query(t.Context(), `SELECT column_name::text, udt_name::text FROM information_schema.columns
		WHERE table_schema = 'memkernel' AND table_name = 'memory_objects'`)
	require.NoError(t, err)
	out := map[string]string{}
	var name, typ string
	_, err = pgx.ForEachRow(rows, []any{&name, &typ}, func() error {
		if other[typ] == "" {
			return fmt.Errorf("column %s has type %s, which this test does not know", name, typ)
		}
		out[name] = strings.ReplaceAll(other[typ], "COL", "t."+name)
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, len(out), 30)
	return out
}

var (
	// closing is what may change while a memory is open, derived what is computed from the text.
	closing = []string{"t_valid_to", "end_reason", "end_note", "status"}
	derived = []string{"terms", "terms_length", "terms_version"}
)

// Every column that is not known to be allowed refuses every change, on every row. A column
// that is added later is refused as well.
func TestMemoryColumnsAreImmutable(t *testing.T) {
	t.Parallel()
	w := newRowWorld(t, kerneltest.Open(t))
	before := digest(t, w.Pool, "memory_objects")
	for column, value := range w.columns(t) {
		for row := range w.rows {
			isOpen := row == "open" || row == "head"
			if slices.Contains(derived, column) || isOpen && slices.Contains(closing, column) {
				continue
			}
			for name, sql := range w.changes(row, column, value) {
				for mode, prefix := range map[string][]string{"origin": nil, "replica": {"SET LOCAL session_replication_role = replica"}} {
					state := w.attempt(t, append(slices.Clone(prefix), sql)...)
					if name == "clear" && state == "" {
						continue // was empty already
					}
					require.Contains(t, []string{stateGuard, statePrivilege}, state, "%s (%s) of %s of the %s row", name, mode, column, row)
				}
			}
		}
	}
	require.Equal(t, before, digest(t, w.Pool, "memory_objects"))
}

// changes returns the ways to change a column of a row.
func (w *rowWorld) changes(row, column, value string) map[string]string {
	const table = "memkernel.memory_objects"
	set, where := " SET "+column+" = ", w.where(row)
	return map[string]string{
		"update":                "UPDATE " + table + " AS t" + set + value + where,
		"update with new terms": "UPDATE " + table + " AS t" + set + value + ", terms_version = 2" + where,
		"clear":                 "UPDATE " + table + set + "NULL" + where + " AND " + column + " IS NOT NULL",
		"merge": "MERGE INTO " + table + " AS t USING (SELECT id AS src FROM " + table + where + ") AS s ON t.id = s.src" +
			" WHEN MATCHED THEN UPDATE" + set + value,
		"upsert": "INSERT INTO " + table + " AS t SELECT * FROM " + table + where + " ON CONFLICT (tenant, id) DO UPDATE" + set + value,
	}
}

// What has ended stays as it ended.
func TestClosedMemoriesStayClosed(t *testing.T) {
	t.Parallel()
	w := newRowWorld(t, kerneltest.Open(t))
	for _, row := range []string{"replaced", "retracted"} {
		for name, set := range map[string]string{
			"reopen":            "t_valid_to = NULL, end_reason = NULL, end_note = NULL",
			"reopen quietly":    "t_valid_to = NULL, end_reason = NULL",
			"another reason":    "end_reason = 'expired'",
			"later":             "t_valid_to = t_valid_to + interval '1 hour'",
			"never":             "t_valid_to = 'infinity'",
			"another note":      "end_note = 'approved'",
			"dispute":           "status = 'disputed'",
			"unlink":            "supersedes = NULL, chain = NULL, t_valid_from = now()",
			"all at once":       "t_valid_to = NULL, end_reason = NULL, text = 'forged'",
			"with new postings": "terms = '{}', terms_length = 0, t_valid_to = NULL, end_reason = NULL",
		} {
			require.Equal(t, stateGuard, w.attempt(t, "UPDATE memkernel.memory_objects SET "+set+w.where(row)), "%s: %s", row, name)
		}
	}
	// An open one can be closed, once.
	require.Equal(t, stateGuard, w.attempt(t,
		"UPDATE memkernel.memory_objects SET text = 'forged', t_valid_to = now(), end_reason = 'retracted'"+w.where("open")))
	retract := "UPDATE memkernel.memory_objects SET t_valid_to = t_valid_from, end_reason = 'retracted'" + w.where("open")
	require.Empty(t, w.attempt(t, retract))
	require.Empty(t, w.attempt(t, retract), "which is no change")
	require.Equal(t, stateGuard, w.attempt(t, "UPDATE memkernel.memory_objects SET end_reason = 'superseded'"+w.where("open")))
}

// What expires does so when it said it would, and nothing else does.
func TestExpiredEndsWhenItSaid(t *testing.T) {
	t.Parallel()
	w := newRowWorld(t, kerneltest.Open(t))
	w.rows["expiring"] = must(w.Write(t.Context(), w.owner, kernel.WriteRequest{
		Text: "Ends at one.", ExpiresAt: w.Clock.Now().Add(time.Hour),
	})).Stored[0]
	for _, to := range []string{"t_valid_from", "expires_at - interval '1 microsecond'", "expires_at + interval '1 microsecond'"} {
		require.Equal(t, "23514", w.attempt(t, "UPDATE memkernel.memory_objects SET end_reason = 'expired', t_valid_to = "+to+w.where("expiring")), to)
	}
	require.Equal(t, "23514", w.attempt(t, "UPDATE memkernel.memory_objects SET end_reason = 'expired', t_valid_to = now()"+w.where("open")))
	require.Equal(t, stateGuard, w.attempt(t, "UPDATE memkernel.memory_objects SET expires_at = now()"+w.where("open")))
	require.Empty(t, w.attempt(t, "UPDATE memkernel.memory_objects SET end_reason = 'expired', t_valid_to = expires_at"+w.where("expiring")))
}

// insertLike copies a row under another id, with some columns changed by a JSON object.
func (w *rowWorld) insertLike(row, change string) string {
	return `INSERT INTO memkernel.memory_objects SELECT (jsonb_populate_record(m,
		jsonb_build_object('id', gen_random_uuid()) || '` + change + `')).* FROM memkernel.memory_objects AS m` +
		strings.Replace(w.where(row), "WHERE id", "WHERE m.id", 1)
}

// One current copy of a text, one successor of a memory, one head of a chain: the database
// sees to it.
func TestDatabaseKeepsChainsLinear(t *testing.T) {
	t.Parallel()
	w := newRowWorld(t, kerneltest.Open(t))
	fresh := `"dedupe_key": "\\x00"`
	replaced := w.rows["replaced"].String()
	for name, c := range map[string]struct{ sql, state, index string }{
		"second copy":       {w.insertLike("open", `{}`), stateUnique, "memory_objects_dedupe"},
		"second successor":  {w.insertLike("open", `{`+fresh+`, "supersedes": "`+replaced+`", "chain": "`+w.rows["open"].String()+`"}`), stateUnique, "memory_objects_successor"},
		"second head":       {w.insertLike("head", `{`+fresh+`, "supersedes": null}`), stateUnique, "memory_objects_head"},
		"loop":              {w.insertLike("open", `{`+fresh+`, "id": "`+replaced[:35]+`0", "supersedes": "`+replaced[:35]+`0", "chain": "`+replaced+`"}`), "23514", ""},
		"unknown":           {w.insertLike("open", `{`+fresh+`, "supersedes": "`+replaced[:24]+`000000000000", "chain": "`+w.rows["open"].String()+`"}`), stateForeignKey, ""},
		"no chain":          {w.insertLike("open", `{`+fresh+`, "supersedes": "`+replaced+`"}`), "23514", ""},
		"ends before start": {w.insertLike("open", `{`+fresh+`, "t_valid_to": "2000-01-01", "end_reason": "expired"}`), "23514", ""},
		"foreign namespace": {w.insertLike("open", `{`+fresh+`, "namespace": "acmecorp"}`), "23514", ""},
	} {
		err := attemptSQL(t.Context(), w.Pool, c.sql)
		require.Equal(t, c.state, sqlState(err), "%s: %v", name, err)
		require.ErrorContains(t, err, c.index, name)
	}
	require.Empty(t, w.attempt(t, w.insertLike("open", `{`+fresh+`}`)), "another text is welcome")
	require.Empty(t, w.attempt(t, w.insertLike("open", `{"namespace": "acme/eng"}`)), "and so is another namespace")
}

const tombstone = `INSERT INTO memkernel.tombstones (tenant, memory_id, namespace, erased_at, erased_by) VALUES ('%s', '%s', 'acme', now(), 'test')`

// A memory goes only in a transaction that leaves a tombstone for it.
func TestMemoriesAreDeletedByErasureOnly(t *testing.T) {
	t.Parallel()
	w := newRowWorld(t, kerneltest.Open(t))
	require.Empty(t, w.attempt(t, `INSERT INTO memkernel.tenants (tenant, created_at) VALUES ('globex', now())`))
	const table = "memkernel.memory_objects"
	stone := func(tenant, row string) string { return fmt.Sprintf(tombstone, tenant, w.rows[row]) }
	before := digest(t, w.Pool, "memory_objects")
	refuse := func(name string, sql ...string) {
		t.Helper()
		for _, prefix := range [][]string{nil, {"SET LOCAL session_replication_role = replica"}} {
			require.Contains(t, []string{stateGuard, statePrivilege, stateReferenced}, w.attempt(t, append(slices.Clone(prefix), sql...)...), name)
			require.Equal(t, before, digest(t, w.Pool, "memory_objects"), name)
		}
	}
	for row := range w.rows {
		refuse("delete "+row, "DELETE FROM "+table+w.where(row))
	}
	refuse("delete all", "DELETE FROM "+table)
	refuse("truncate", "TRUNCATE "+table)
	refuse("truncate cascade", "TRUNCATE "+table+" CASCADE")
	refuse("truncate with", "TRUNCATE memkernel.memory_terms, "+table)
	refuse("truncate what it refers to", "TRUNCATE memkernel.captures CASCADE")
	refuse("another's tombstone", stone("acme", "head"), "DELETE FROM "+table+w.where("open"))
	refuse("another tenant's tombstone", stone("globex", "open"), "DELETE FROM "+table+w.where("open"))
	refuse("tombstone taken back", "SAVEPOINT s", stone("acme", "open"), "ROLLBACK TO s", "DELETE FROM "+table+w.where("open"))
	refuse("unlink without erasure", "UPDATE "+table+" SET supersedes = NULL"+w.where("head"))
	refuse("unlink for another erasure", stone("acme", "head"), "UPDATE "+table+" SET supersedes = NULL"+w.where("head"))
	refuse("relink", stone("acme", "replaced"), "UPDATE "+table+" SET supersedes = gen_random_uuid()"+w.where("head"))

	require.Empty(t, w.attempt(t, stone("acme", "retracted")))
	refuse("tombstone of an earlier transaction", "DELETE FROM "+table+w.where("retracted"))

	require.Equal(t, stateForeignKey, w.attempt(t, stone("acme", "replaced"), "DELETE FROM "+table+w.where("replaced")), "its successor points at it")
	require.Empty(t, w.attempt(t, stone("acme", "open"), "DELETE FROM "+table+w.where("open")))
	require.Empty(t, w.attempt(t, stone("acme", "replaced"), "UPDATE "+table+" SET supersedes = NULL"+w.where("head"), "DELETE FROM "+table+w.where("replaced")))
	got, err := w.Read(context.WithoutCancel(t.Context()), w.owner, kernel.ReadRequest{ID: w.rows["head"]})
	require.NoError(t, err)
	require.True(t, got.Memory.Current(), "what follows an erased memory stays")
	require.True(t, got.Memory.Supersedes.IsZero())
}
