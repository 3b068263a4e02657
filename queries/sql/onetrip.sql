-- What needs no second round trip: a call whose caller is let in, whose policies are the ones
-- the kernel knows and whose answer is there is answered and recorded by one statement, in
-- one snapshot. When any of that is not so, nothing is recorded, and the call takes the long
-- way, which finds out what was wrong. A call that shares its transaction with others has its
-- accesses counted with theirs, in one order.

-- MemoryReadRecorded reads one visible memory for a caller that GateRead would let in, with
-- its audit row.
-- name: MemoryReadRecorded :many
WITH found AS (
    SELECT m.id, m.namespace, m.kind, m.text, m.event_time, m.event_end, m.assertion_time, m.t_valid_from, m.t_valid_to, m.expires_at,
        m.end_reason, m.end_note, m.supersedes, m.superseded_by, m.status, m.provenance, m.source, m.actor, m.agent_id, m.tokens,
    m.sensitivity, m.pii_subjects, m.secret_kinds, m.destinations, m.labels
    FROM memkernel.tenants AS t
    JOIN memkernel.memory_objects AS m ON m.tenant = t.tenant
    LEFT JOIN memkernel.api_keys AS k ON k.tenant = t.tenant AND k.id = sqlc.narg('key_id')::uuid
    WHERE t.tenant = @tenant AND t.suspended_at IS NULL
        AND (sqlc.narg('key_id')::uuid IS NULL OR (k.id IS NOT NULL
            AND (k.expires_at IS NULL OR k.expires_at > @ts::timestamptz) AND (k.revoked_at IS NULL OR k.revoked_at > @ts::timestamptz)))
        AND m.namespace = ANY(@namespaces::text[]) AND m.status = 'active' AND m.id = @id
        AND @policies::jsonb = coalesce((
            SELECT jsonb_agg(q.document ORDER BY q.namespace)
            FROM (SELECT unnest(@namespaces::text[]) AS path) AS visible
            CROSS JOIN LATERAL (
                SELECT p.namespace, p.document FROM memkernel.policies AS p
                WHERE p.tenant = t.tenant AND p.namespace = visible.path
                ORDER BY p.version DESC LIMIT 1
            ) AS q
        ), '[]')::jsonb
    LIMIT 1
), recorded AS (
    INSERT INTO memkernel.audit_log (tenant, call_id, ts, namespace, actor, key_id, agent_id, op, memory_id, result, detail)
    SELECT @tenant, @call_id, @ts::timestamptz, @reader, @actor, sqlc.narg('key_id')::uuid, @agent_id, @op, f.id, 'ok', 'tokens=' || f.tokens
    FROM found AS f
), counted AS (
    INSERT INTO memkernel.memory_access AS a (tenant, reader, memory_id, hits, last_at)
    SELECT @tenant, @reader, f.id, 1, @ts::timestamptz FROM found AS f WHERE @counts::boolean
    ON CONFLICT (tenant, reader, memory_id) DO UPDATE
    SET hits = a.hits + 1, last_at = greatest(a.last_at, excluded.last_at)
)
SELECT f.id, f.namespace, f.kind, f.text, f.event_time, f.event_end, f.assertion_time, f.t_valid_from, f.t_valid_to, f.expires_at,
    f.end_reason, f.end_note, f.supersedes, f.superseded_by, f.status, f.provenance, f.source, f.actor, f.agent_id, f.tokens,
    f.sensitivity, f.pii_subjects, f.secret_kinds, f.destinations, f.labels
FROM found AS f
LIMIT 1;

-- MemoryReadRecordedMany is MemoryReadRecorded for many reads of one caller at once. What is
-- found comes with the call that asked for it.
-- name: MemoryReadRecordedMany :many
WITH asked AS (
    SELECT unnest((SELECT @call_ids::text[])::text[])::uuid AS call_id, unnest((SELECT @ids::text[])::text[])::uuid AS id,
        unnest((SELECT @times::timestamptz[])::timestamptz[]) AS ts
), found AS (
    SELECT a.call_id, a.ts, m.id, m.namespace, m.kind, m.text, m.event_time, m.event_end, m.assertion_time, m.t_valid_from, m.t_valid_to, m.expires_at,
        m.end_reason, m.end_note, m.supersedes, m.superseded_by, m.status, m.provenance, m.source, m.actor, m.agent_id, m.tokens,
        m.sensitivity, m.pii_subjects, m.secret_kinds, m.destinations, m.labels
    FROM memkernel.tenants AS t
    LEFT JOIN memkernel.api_keys AS k ON k.tenant = t.tenant AND k.id = sqlc.narg('key_id')::uuid
    CROSS JOIN asked AS a
    JOIN memkernel.memory_objects AS m ON m.tenant = @tenant AND m.id = a.id
    WHERE t.tenant = @tenant AND t.suspended_at IS NULL
        AND (sqlc.narg('key_id')::uuid IS NULL OR (k.id IS NOT NULL
            AND (k.expires_at IS NULL OR k.expires_at > a.ts) AND (k.revoked_at IS NULL OR k.revoked_at > a.ts)))
        AND m.namespace = ANY(@namespaces::text[]) AND m.status = 'active'
        AND @policies::jsonb = coalesce((
            SELECT jsonb_agg(q.document ORDER BY q.namespace)
            FROM (SELECT unnest(@namespaces::text[]) AS path) AS visible
            CROSS JOIN LATERAL (
                SELECT p.namespace, p.document FROM memkernel.policies AS p
                WHERE p.tenant = @tenant AND p.namespace = visible.path
                ORDER BY p.version DESC LIMIT 1
            ) AS q
        ), '[]')::jsonb
), recorded AS (
    INSERT INTO memkernel.audit_log (tenant, call_id, ts, namespace, actor, key_id, agent_id, op, memory_id, result, detail)
    SELECT @tenant, f.call_id, f.ts, @reader, @actor, sqlc.narg('key_id')::uuid, @agent_id, @op, f.id, 'ok', 'tokens=' || f.tokens
    FROM found AS f
)
SELECT f.call_id, f.id, f.namespace, f.kind, f.text, f.event_time, f.event_end, f.assertion_time, f.t_valid_from, f.t_valid_to, f.expires_at,
    f.end_reason, f.end_note, f.supersedes, f.superseded_by, f.status, f.provenance, f.source, f.actor, f.agent_id, f.tokens,
    f.sensitivity, f.pii_subjects, f.secret_kinds, f.destinations, f.labels
FROM found AS f
LIMIT 10000;

-- MemoryServeRecorded is MemoryServe with the audit row of a search that serves exactly these
-- memories to a caller that GateRead would let in. If not all of them can be served any more,
-- nothing is recorded, and what is returned is no answer; a caller that is not let in gets none.
-- name: MemoryServeRecorded :many
WITH served AS (
    SELECT m.id, m.namespace, m.kind, m.text, m.event_time, m.event_end, m.assertion_time, m.t_valid_from, m.t_valid_to, m.expires_at,
        m.end_reason, m.end_note, m.supersedes, m.superseded_by, m.status, m.provenance, m.source, m.actor, m.agent_id, m.tokens,
    m.sensitivity, m.pii_subjects, m.secret_kinds, m.destinations, m.labels
    FROM memkernel.memory_objects AS m
    WHERE EXISTS (
            SELECT 1 FROM memkernel.tenants AS t
            LEFT JOIN memkernel.api_keys AS k ON k.tenant = t.tenant AND k.id = sqlc.narg('key_id')::uuid
            WHERE t.tenant = @tenant AND t.suspended_at IS NULL
                AND (sqlc.narg('key_id')::uuid IS NULL OR (k.id IS NOT NULL
                    AND (k.expires_at IS NULL OR k.expires_at > @ts::timestamptz) AND (k.revoked_at IS NULL OR k.revoked_at > @ts::timestamptz)))
                AND @policies::jsonb = coalesce((
                    SELECT jsonb_agg(q.document ORDER BY q.namespace)
                    FROM (SELECT unnest(@namespaces::text[]) AS path) AS visible
                    CROSS JOIN LATERAL (
                        SELECT p.namespace, p.document FROM memkernel.policies AS p
                        WHERE p.tenant = t.tenant AND p.namespace = visible.path
                        ORDER BY p.version DESC LIMIT 1
                    ) AS q
                ), '[]')::jsonb)
        AND m.tenant = @tenant AND m.id = ANY((@ids::text[])::uuid[]) AND m.namespace = ANY(@namespaces::text[]) AND m.status = 'active'
        AND CASE
            WHEN sqlc.narg('as_of')::timestamptz IS NOT NULL
                THEN m.t_valid_from <= sqlc.narg('as_of') AND (m.t_valid_to IS NULL OR m.t_valid_to > sqlc.narg('as_of'))
                    AND (m.expires_at IS NULL OR m.expires_at > sqlc.narg('as_of'))
            ELSE @ended::boolean OR (m.t_valid_to IS NULL AND (m.expires_at IS NULL OR m.expires_at > @ts::timestamptz))
        END
), recorded AS (
    INSERT INTO memkernel.audit_log (tenant, call_id, ts, namespace, actor, key_id, agent_id, op, purpose, result, detail)
    SELECT @tenant, @call_id, @ts::timestamptz, @reader, @actor, sqlc.narg('key_id')::uuid, @agent_id, @op, sqlc.narg('purpose')::text, 'ok', @detail
    WHERE (SELECT count(*) FROM served) = cardinality(@ids::text[])
    RETURNING call_id
), counted AS (
    INSERT INTO memkernel.memory_access AS a (tenant, reader, memory_id, hits, last_at)
    SELECT @tenant, @reader, s.id, 1, @ts::timestamptz FROM served AS s CROSS JOIN recorded AS r WHERE @counts::boolean ORDER BY s.id
    ON CONFLICT (tenant, reader, memory_id) DO UPDATE
    SET hits = a.hits + 1, last_at = greatest(a.last_at, excluded.last_at)
)
SELECT s.id, s.namespace, s.kind, s.text, s.event_time, s.event_end, s.assertion_time, s.t_valid_from, s.t_valid_to, s.expires_at,
    s.end_reason, s.end_note, s.supersedes, s.superseded_by, s.status, s.provenance, s.source, s.actor, s.agent_id, s.tokens,
    s.sensitivity, s.pii_subjects, s.secret_kinds, s.destinations, s.labels
FROM served AS s
LIMIT cardinality(@ids::text[]);

-- GateHold aborts the transaction of a write unless GateRead would let its caller in with the
-- policies that the kernel knows, unless the namespace's integers are the ones it knows, and
-- unless nothing says the text already, nor any of the texts in it that was handed out to the writer.
-- name: GateHold :one
SELECT memkernel.expect(count(*), 1)
FROM memkernel.tenants AS t
JOIN memkernel.namespaces AS n ON n.tenant = t.tenant AND n.path = @namespace AND n.id = (SELECT @ns::integer) AND n.tenant_id = (SELECT @tenant_id::integer)
LEFT JOIN memkernel.api_keys AS k ON k.tenant = t.tenant AND k.id = (SELECT sqlc.narg('key_id')::uuid)
WHERE t.tenant = @tenant AND t.suspended_at IS NULL
    AND ((SELECT sqlc.narg('key_id')::uuid) IS NULL OR (k.id IS NOT NULL
        AND (k.expires_at IS NULL OR k.expires_at > @ts::timestamptz) AND (k.revoked_at IS NULL OR k.revoked_at > @ts::timestamptz)))
    AND (SELECT @policies::jsonb) = coalesce((
        SELECT jsonb_agg(q.document ORDER BY q.namespace)
        FROM (SELECT unnest((SELECT @namespaces::text[])::text[]) AS path) AS visible
        CROSS JOIN LATERAL (
            SELECT p.namespace, p.document FROM memkernel.policies AS p
            WHERE p.tenant = t.tenant AND p.namespace = visible.path
            ORDER BY p.version DESC LIMIT 1
        ) AS q
    ), '[]')::jsonb
    AND NOT EXISTS (
        SELECT 1 FROM memkernel.memory_objects AS m
        WHERE m.tenant = @tenant AND m.namespace = @namespace AND m.dedupe_key = @dedupe_key
            AND m.t_valid_to IS NULL AND m.status = 'active')
    AND NOT EXISTS (
        SELECT 1 FROM memkernel.memory_objects AS m
        JOIN memkernel.memory_access AS a ON a.tenant = m.tenant AND a.reader = @namespace AND a.memory_id = m.id
        WHERE m.tenant = @tenant AND m.namespace = ANY((SELECT @namespaces::text[])::text[])
            AND m.dedupe_key = ANY((SELECT @echo_keys::bytea[])::bytea[]) AND m.t_valid_to IS NULL AND m.status = 'active');

-- GateStill aborts the transaction unless GateRead would let the caller in with the policies
-- that the kernel knows: GateHold for what does not depend on other memories.
-- name: GateStill :one
SELECT memkernel.expect(count(*), 1)
FROM memkernel.tenants AS t
LEFT JOIN memkernel.api_keys AS k ON k.tenant = t.tenant AND k.id = (SELECT sqlc.narg('key_id')::uuid)
WHERE t.tenant = @tenant AND t.suspended_at IS NULL
    AND ((SELECT sqlc.narg('key_id')::uuid) IS NULL OR (k.id IS NOT NULL
        AND (k.expires_at IS NULL OR k.expires_at > @ts::timestamptz) AND (k.revoked_at IS NULL OR k.revoked_at > @ts::timestamptz)))
    AND (SELECT @policies::jsonb) = coalesce((
        SELECT jsonb_agg(q.document ORDER BY q.namespace)
        FROM (SELECT unnest((SELECT @namespaces::text[])::text[]) AS path) AS visible
        CROSS JOIN LATERAL (
            SELECT p.namespace, p.document FROM memkernel.policies AS p
            WHERE p.tenant = t.tenant AND p.namespace = visible.path
            ORDER BY p.version DESC LIMIT 1
        ) AS q
    ), '[]')::jsonb;
