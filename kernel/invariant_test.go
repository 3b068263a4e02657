package kernel_test

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
)

// invariants are what must hold between the tables whenever no call is under way, however the
// calls before ended. Each query counts what breaks one.
var invariants = []struct{ name, sql string }{
	{"two current copies of a text", `
		SELECT count(*) FROM (SELECT FROM memkernel.memory_objects WHERE t_valid_to IS NULL AND status = 'active'
			GROUP BY tenant, namespace, dedupe_key HAVING count(*) > 1) AS x`},
	{"chain with two heads", `
		SELECT count(*) FROM (SELECT FROM memkernel.memory_objects
			GROUP BY tenant, coalesce(chain, id) HAVING count(*) FILTER (WHERE t_valid_to IS NULL) > 1) AS x`},
	{"successor whose interval does not begin where its predecessor's ends", `
		SELECT count(*) FROM memkernel.memory_objects AS s
		LEFT JOIN memkernel.memory_objects AS p ON p.tenant = s.tenant AND p.id = s.supersedes
		WHERE s.supersedes IS NOT NULL AND (p.t_valid_to IS DISTINCT FROM s.t_valid_from OR p.end_reason <> 'superseded'
			OR p.namespace <> s.namespace OR s.chain <> coalesce(p.chain, p.id))`},
	{"superseded row without a successor", `
		SELECT count(*) FROM memkernel.memory_objects AS p WHERE p.end_reason = 'superseded' AND p.superseded_by IS NULL AND NOT EXISTS (
			SELECT FROM memkernel.memory_objects AS s WHERE s.tenant = p.tenant AND s.supersedes = p.id)`},
	{"row replaced twice", `
		SELECT count(*) FROM memkernel.memory_objects AS p JOIN memkernel.memory_objects AS s ON s.tenant = p.tenant AND s.supersedes = p.id
		WHERE p.superseded_by IS NOT NULL`},
	{"row replaced by what is elsewhere or was not there yet", `
		SELECT count(*) FROM memkernel.memory_objects AS p
		JOIN memkernel.memory_objects AS s ON s.tenant = p.tenant AND s.id = p.superseded_by
		WHERE s.namespace <> p.namespace OR s.t_valid_from > p.t_valid_to`},
	{"row replaced by what was there without exactly one audit row", `
		SELECT count(*) FROM memkernel.memory_objects AS p WHERE p.superseded_by IS NOT NULL AND 1 <> (
			SELECT count(*) FROM memkernel.audit_log AS a WHERE a.tenant = p.tenant AND a.result = 'ok'
				AND ((a.op = 'conflict_check' AND a.memory_id = p.id AND a.detail LIKE '%effect=close by=' || p.superseded_by || ' %')
					OR (a.op = 'conflict_resolve' AND a.detail LIKE '%close=' || p.id || ' by=' || p.superseded_by || '%')))`},
	{"disputed row that no case is about", `
		SELECT count(*) FROM memkernel.memory_objects AS m WHERE m.status = 'disputed' AND NOT EXISTS (
			SELECT FROM memkernel.conflict_cases AS c WHERE c.tenant = m.tenant AND c.from_id = m.id AND c.action = 'dispute')`},
	{"held row that nobody will look at", `
		SELECT count(*) FROM memkernel.memory_objects AS m WHERE m.status = 'held' AND m.t_valid_to IS NULL
			AND NOT EXISTS (SELECT FROM memkernel.conflict_checks AS q WHERE q.tenant = m.tenant AND q.memory_id = m.id)
			AND NOT EXISTS (SELECT FROM memkernel.conflict_cases AS c WHERE c.tenant = m.tenant AND c.from_id = m.id AND c.state = 'open')`},
	{"case that not exactly one audit row says was opened, or the other way round", `
		SELECT count(*) FROM (SELECT FROM (
			SELECT c.tenant, c.from_id, c.to_id::text AS to_id, 1 AS n FROM memkernel.conflict_cases AS c
			UNION ALL
			SELECT a.tenant, a.memory_id, substr(a.detail, 6, 36), -1 FROM memkernel.audit_log AS a
			WHERE a.op = 'conflict_check' AND a.detail LIKE 'case=%') AS x GROUP BY tenant, from_id, to_id HAVING sum(n) <> 0) AS y`},
	{"case resolved without exactly one audit row", `
		SELECT count(*) FROM memkernel.conflict_cases AS c WHERE c.state IN ('confirmed', 'retracted', 'coexist') AND 1 <> (
			SELECT count(*) FROM memkernel.audit_log AS a WHERE a.tenant = c.tenant AND a.op = 'conflict_resolve' AND a.result = 'ok'
				AND a.memory_id = c.from_id AND a.detail LIKE 'case=' || c.to_id || ' state=' || c.state || '%' AND a.detail NOT LIKE '%already=%')`},
	{"case of memories of another namespace", `
		SELECT count(*) FROM memkernel.conflict_cases AS c JOIN memkernel.memory_objects AS m
			ON m.tenant = c.tenant AND m.id IN (c.from_id, c.to_id) WHERE m.namespace <> c.namespace`},
	{"vector without a row", `
		SELECT count(*) FROM memkernel.memory_vectors AS v WHERE NOT EXISTS (
			SELECT FROM memkernel.memory_objects AS m WHERE m.id = v.id)`},
	{"posting without a row", `
		SELECT count(*) FROM memkernel.memory_terms AS t WHERE NOT EXISTS (
			SELECT FROM memkernel.memory_objects AS m WHERE m.id = t.id AND t.term = ANY(m.terms))`},
	{"row without some of its postings", `
		SELECT count(*) FROM memkernel.memory_objects AS m WHERE cardinality(m.terms) <> (
			SELECT count(*) FROM memkernel.memory_terms AS t WHERE t.id = m.id)`},
	{"vector live without its row, or the other way round", `
		SELECT count(*) FROM memkernel.memory_vectors AS v JOIN memkernel.memory_objects AS m ON m.id = v.id
		WHERE v.live <> (m.t_valid_to IS NULL AND m.status = 'active')`},
	{"posting live without its row, or the other way round", `
		SELECT count(*) FROM memkernel.memory_terms AS t JOIN memkernel.memory_objects AS m ON m.id = t.id
		WHERE t.live <> (m.t_valid_to IS NULL AND m.status = 'active')`},
	{"row in a namespace without counters", `
		SELECT count(*) FROM memkernel.memory_objects AS m WHERE NOT EXISTS (
			SELECT FROM memkernel.namespaces AS n WHERE n.tenant = m.tenant AND n.path = m.namespace)`},
	{"counters that do not count", `
		SELECT count(*) FROM memkernel.namespaces AS n WHERE (n.live_rows, n.live_length) IS DISTINCT FROM (
			SELECT (count(*), coalesce(sum(m.terms_length), 0)) FROM memkernel.memory_objects AS m
			WHERE m.tenant = n.tenant AND m.namespace = n.path AND m.t_valid_to IS NULL AND m.status = 'active')`},
	{"capture whose rows not exactly one audit row says were stored", `
		SELECT count(*) FROM (SELECT m.tenant, m.capture_id, array_agg(m.id) AS ids, count(*) AS n FROM memkernel.memory_objects AS m GROUP BY 1, 2) AS c
		WHERE 1 <> (SELECT count(*) FROM memkernel.audit_log AS a WHERE a.tenant = c.tenant AND a.memory_id = ANY(c.ids)
			AND a.op = 'write' AND a.result = 'ok' AND a.detail LIKE 'stored=' || c.n || ' %')`},
	{"audit row of a write that stored nothing it says", `
		SELECT count(*) FROM memkernel.audit_log AS a
		WHERE a.op = 'write' AND a.result = 'ok' AND a.detail LIKE 'stored=%' AND a.detail NOT LIKE 'stored=0 %' AND NOT EXISTS (
			SELECT FROM memkernel.memory_objects AS m WHERE m.tenant = a.tenant AND m.id = a.memory_id)`},
	{"row retracted without exactly one audit row, or the other way round", `
		SELECT count(*) FROM memkernel.memory_objects AS m WHERE (m.end_reason IS NOT DISTINCT FROM 'retracted')::int <> (
			SELECT count(*) FROM memkernel.audit_log AS a WHERE a.tenant = m.tenant AND a.memory_id = m.id AND a.result = 'ok'
				AND (a.op = 'retract' AND a.detail LIKE 'retracted=1%' OR a.op = 'conflict_resolve' AND a.detail LIKE '%withdraw=%'))`},
	{"row whose capture is not done", `
		SELECT count(*) FROM memkernel.memory_objects AS m WHERE NOT EXISTS (
			SELECT FROM memkernel.captures AS c WHERE c.tenant = m.tenant AND c.id = m.capture_id AND c.state = 'done')`},
	{"done capture whose receipt names nothing, or a row that is not there", `
		SELECT count(*) FROM memkernel.captures AS c
		CROSS JOIN LATERAL (SELECT array_agg(x) AS ids FROM jsonb_array_elements_text(coalesce(nullif(c.result -> 'Stored', 'null'), '[]')
			|| coalesce(nullif(c.result -> 'Deduplicated', 'null'), '[]') || coalesce(c.result -> 'Echoed', '[]')) AS x) AS named
		WHERE c.state = 'done' AND CASE WHEN named.ids IS NULL THEN jsonb_array_length(coalesce(c.result -> 'Rejected', '[]')) = 0
			ELSE cardinality(named.ids) <> (SELECT count(*) FROM memkernel.memory_objects AS m
				WHERE m.tenant = c.tenant AND m.id::text = ANY(named.ids)) END`},
	{"key that not exactly one audit row says was made", `
		SELECT count(*) FROM memkernel.api_keys AS k WHERE 1 <> (
			SELECT count(*) FROM memkernel.audit_log AS a WHERE a.tenant = k.tenant AND a.result = 'ok'
				AND a.op IN ('bootstrap', 'key_create', 'key_rotate') AND a.detail LIKE 'key=' || k.id || ' %')`},
}

// requireSound checks the invariants on a database that nobody else uses at the moment.
func requireSound(tb testing.TB, db *pgxpool.Pool) {
	tb.Helper()
	parts := make([]string, len(invariants))
	names := make([]string, len(invariants))
	for i, inv := range invariants {
		parts[i], names[i] = "("+inv.sql+")", inv.name
	}
	rows, err := db.Query(context.WithoutCancel(tb.Context()), "SELECT unnest($1::text[]), unnest(ARRAY["+strings.Join(parts, ",")+"]::bigint[])", names)
	require.NoError(tb, err)
	var name string
	var broken int64
	_, err = pgx.ForEachRow(rows, []any{&name, &broken}, func() error {
		require.Zero(tb, broken, name)
		return nil
	})
	require.NoError(tb, err)
}

// sqlValue reads one value behind the kernel's back.
func sqlValue[T any](tb testing.TB, db *pgxpool.Pool, sql string, args ...any) T {
	tb.Helper()
	var v T
	require.NoError(tb, db.QueryRow(context.WithoutCancel(tb.Context()), sql, args...).Scan(&v))
	return v
}

// sqlExec changes something behind the kernel's back.
func sqlExec(tb testing.TB, db *pgxpool.Pool, sql string, args ...any) {
	tb.Helper()
	_, err := db.Exec(context.WithoutCancel(tb.Context()), sql, args...)
	require.NoError(tb, err)
}
