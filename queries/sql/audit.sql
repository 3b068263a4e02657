-- AuditRecord adds the row of one call to the transaction that does what the call asked for.
-- If the call has a row already it has given up on that transaction, which must not commit:
-- the statement fails.
-- name: AuditRecord :exec
INSERT INTO memkernel.audit_log (tenant, call_id, ts, namespace, actor, key_id, agent_id, op, memory_id, purpose, result, detail)
VALUES (@tenant, @call_id, @ts, @namespace, @actor, sqlc.narg('key_id')::uuid, @agent_id, @op, sqlc.narg('memory_id')::uuid,
    sqlc.narg('purpose')::text, @result, @detail);

-- AuditRecordMany is AuditRecord for many calls. Empty texts stand for NULL.
-- name: AuditRecordMany :exec
INSERT INTO memkernel.audit_log (tenant, call_id, ts, namespace, actor, key_id, agent_id, op, memory_id, purpose, result, detail)
SELECT r.tenant, r.call_id::uuid, r.ts, r.namespace, r.actor, nullif(r.key_id, '')::uuid, r.agent_id, r.op,
    nullif(r.memory_id, '')::uuid, nullif(r.purpose, ''), r.result, r.detail
FROM (
    SELECT unnest(@tenants::text[]) AS tenant, unnest(@call_ids::text[]) AS call_id, unnest(@times::timestamptz[]) AS ts,
        unnest(@namespaces::text[]) AS namespace, unnest(@actors::text[]) AS actor, unnest(@key_ids::text[]) AS key_id,
        unnest(@agent_ids::text[]) AS agent_id, unnest(@ops::text[]) AS op, unnest(@memory_ids::text[]) AS memory_id,
        unnest(@purposes::text[]) AS purpose, unnest(@results::text[]) AS result, unnest(@details::text[]) AS detail
) AS r;

-- AuditAppend adds the row of one call on its own. No row is added if the call has one already.
-- name: AuditAppend :execrows
INSERT INTO memkernel.audit_log (tenant, call_id, ts, namespace, actor, key_id, agent_id, op, memory_id, purpose, result, detail)
VALUES (@tenant, @call_id, @ts, @namespace, @actor, sqlc.narg('key_id')::uuid, @agent_id, @op, sqlc.narg('memory_id')::uuid,
    sqlc.narg('purpose')::text, @result, @detail)
ON CONFLICT DO NOTHING;

-- AuditAppendMany adds the rows of many calls in one commit and returns the calls that had
-- none yet. Empty texts stand for NULL.
-- name: AuditAppendMany :many
-- @sqlc-vet-disable many-needs-limit
INSERT INTO memkernel.audit_log (tenant, call_id, ts, namespace, actor, key_id, agent_id, op, memory_id, purpose, result, detail)
SELECT r.tenant, r.call_id::uuid, r.ts, r.namespace, r.actor, nullif(r.key_id, '')::uuid, r.agent_id, r.op,
    nullif(r.memory_id, '')::uuid, nullif(r.purpose, ''), r.result, r.detail
FROM (
    SELECT unnest(@tenants::text[]) AS tenant, unnest(@call_ids::text[]) AS call_id, unnest(@times::timestamptz[]) AS ts,
        unnest(@namespaces::text[]) AS namespace, unnest(@actors::text[]) AS actor, unnest(@key_ids::text[]) AS key_id,
        unnest(@agent_ids::text[]) AS agent_id, unnest(@ops::text[]) AS op, unnest(@memory_ids::text[]) AS memory_id,
        unnest(@purposes::text[]) AS purpose, unnest(@results::text[]) AS result, unnest(@details::text[]) AS detail
) AS r
ON CONFLICT DO NOTHING
RETURNING call_id;

-- AuditSearch pages backwards through the rows of a subtree.
-- name: AuditSearch :many
SELECT a.seq, a.call_id, a.ts, a.tenant, a.namespace, a.actor, a.key_id, a.agent_id, a.op, a.memory_id, a.purpose, a.result,
    a.detail
FROM memkernel.audit_log AS a
WHERE a.tenant = @tenant
    AND (a.namespace = @subtree OR (a.namespace >= @subtree_from AND a.namespace < @subtree_to))
    AND a.seq < @before_seq
    AND (sqlc.narg('ts_from')::timestamptz IS NULL OR a.ts >= sqlc.narg('ts_from'))
    AND (sqlc.narg('ts_to')::timestamptz IS NULL OR a.ts <= sqlc.narg('ts_to'))
    AND (cardinality(@ops::text[]) = 0 OR a.op = ANY(@ops::text[]))
    AND (cardinality(@results::text[]) = 0 OR a.result = ANY(@results::text[]))
    AND (@actor::text = '' OR a.actor = @actor::text)
    AND (sqlc.narg('memory_id')::uuid IS NULL OR a.memory_id = sqlc.narg('memory_id')::uuid)
ORDER BY a.seq DESC
LIMIT @max_rows;

-- AuditCount counts for everybody, so a target that was denied because it is invisible must
-- count like one that is missing.
-- name: AuditCount :one
SELECT count(*) AS total,
    count(*) FILTER (WHERE a.result = 'denied' AND right(a.detail, length('reason=not_found')) <> 'reason=not_found') AS denied,
    count(*) FILTER (WHERE a.result = 'error') AS failed
FROM memkernel.audit_log AS a
WHERE a.tenant = @tenant AND a.namespace = @namespace;

-- AccessBumpMany counts served rows for their reading namespaces, of calls that the transaction
-- has on record. A common order keeps concurrent bumps from deadlocking.
-- name: AccessBumpMany :exec
-- @sqlc-vet-disable namespace-predicate
INSERT INTO memkernel.memory_access AS a (tenant, reader, memory_id, hits, last_at)
SELECT r.tenant, l.namespace, r.memory_id::uuid, count(*), max(l.ts)
FROM (
    SELECT unnest((SELECT @tenants::text[])::text[]) AS tenant, unnest((SELECT @call_ids::text[])::text[]) AS call_id,
        unnest((SELECT @memory_ids::text[])::text[]) AS memory_id
) AS r
CROSS JOIN LATERAL (
    SELECT a.namespace, a.ts FROM memkernel.audit_log AS a WHERE a.tenant = r.tenant AND a.call_id = r.call_id::uuid LIMIT 1
) AS l
GROUP BY r.tenant, l.namespace, r.memory_id::uuid
ORDER BY r.tenant, l.namespace, r.memory_id::uuid
ON CONFLICT (tenant, reader, memory_id) DO UPDATE
SET hits = a.hits + excluded.hits, last_at = greatest(a.last_at, excluded.last_at);

-- AuditDump reads the whole log, of every tenant, oldest row first. It serves the test kit,
-- which must see the rows of callers that have no tenant.
-- name: AuditDump :many
-- @sqlc-vet-disable namespace-predicate
SELECT a.seq, a.call_id, a.ts, a.tenant, a.namespace, a.actor, a.key_id, a.agent_id, a.op, a.memory_id, a.purpose, a.result,
    a.detail
FROM memkernel.audit_log AS a
ORDER BY a.seq
LIMIT 1000000;
