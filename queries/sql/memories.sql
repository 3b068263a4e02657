-- MemoryInsert stores a new memory and, with unchecked, notes that it is to be compared with its
-- neighbours.
-- name: MemoryInsert :exec
-- @sqlc-vet-disable namespace-predicate
WITH noted AS (
    INSERT INTO memkernel.conflict_checks (tenant, memory_id, namespace, replaces, marked_at, due_at)
    SELECT @tenant, @id, @namespace, sqlc.narg('replaces')::uuid, @assertion_time, @assertion_time WHERE @unchecked::boolean
)
INSERT INTO memkernel.memory_objects (tenant, id, namespace, kind, text, dedupe_key, event_time, event_end,
    assertion_time, t_valid_from, status, provenance, source, actor, key_id, agent_id, tokens, capture_id,
    terms, terms_length, terms_version, sensitivity, pii_subjects, secret_kinds, destinations, labels)
VALUES (@tenant, @id, @namespace, @kind, @text, @dedupe_key, sqlc.narg('event_time')::timestamptz,
    sqlc.narg('event_end')::timestamptz, @assertion_time, @t_valid_from, @status, @provenance, @source, @actor,
    sqlc.narg('key_id')::uuid, @agent_id, @tokens, @capture_id, @terms, @terms_length, @terms_version,
    @sensitivity::text, @pii_subjects::text[], @secret_kinds::text[], @destinations::text[], @labels::text[]);

-- MemorySupersede closes the victim and inserts its successor in one statement. The guard
-- is the victim being current and in the writer's own namespace. If it is not, the
-- transaction aborts with MK001 and nothing has happened. The victim was believed for a
-- microsecond at least, so that every version of a chain can be asked for by time. It may be held
-- or disputed. With unchecked, the successor is noted for the comparison with its neighbours.
-- name: MemorySupersede :one
WITH closed AS (
    UPDATE memkernel.memory_objects AS v
    SET t_valid_to = greatest(@t_valid_from::timestamptz, v.t_valid_from + interval '1 microsecond'), end_reason = 'superseded'
    WHERE v.tenant = @tenant AND v.id = @victim AND v.namespace = @namespace AND v.t_valid_to IS NULL
    RETURNING v.id, coalesce(v.chain, v.id) AS chain, v.chain_pos, v.t_valid_to
), noted AS (
    INSERT INTO memkernel.conflict_checks (tenant, memory_id, namespace, marked_at, due_at)
    SELECT @tenant, @id, @namespace, @assertion_time, @assertion_time WHERE @unchecked::boolean
), made AS (
    INSERT INTO memkernel.memory_objects (tenant, id, namespace, kind, text, dedupe_key, event_time, event_end,
        assertion_time, t_valid_from, provenance, source, actor, key_id, agent_id, tokens, capture_id,
        terms, terms_length, terms_version, sensitivity, pii_subjects, secret_kinds, destinations, labels,
        supersedes, chain, chain_pos)
    SELECT @tenant, @id, @namespace, @kind, @text, @dedupe_key, sqlc.narg('event_time')::timestamptz,
        sqlc.narg('event_end')::timestamptz, @assertion_time, c.t_valid_to, @provenance, @source, @actor,
        sqlc.narg('key_id')::uuid, @agent_id, @tokens, @capture_id, @terms, @terms_length, @terms_version,
        @sensitivity::text, @pii_subjects::text[], @secret_kinds::text[], @destinations::text[], @labels::text[], c.id, c.chain,
        c.chain_pos + 1
    FROM closed AS c
    RETURNING id
)
SELECT memkernel.expect(count(*), 1) FROM made;

-- name: MemoryRetract :one
WITH closed AS (
    UPDATE memkernel.memory_objects AS v
    SET t_valid_to = greatest(@t_valid_to::timestamptz, v.t_valid_from), end_reason = 'retracted', end_note = @note::text
    WHERE v.tenant = @tenant AND v.id = @id AND v.namespace = @namespace AND v.t_valid_to IS NULL
    RETURNING v.id
)
SELECT memkernel.expect(count(*), 1) FROM closed;

-- MemoryDuplicate finds the one current copy of a text in the writer's own namespace.
-- name: MemoryDuplicate :one
SELECT m.id FROM memkernel.memory_objects AS m
WHERE m.tenant = @tenant AND m.namespace = @namespace AND m.dedupe_key = @dedupe_key
    AND m.t_valid_to IS NULL AND m.status = 'active';

-- MemoryHold locks the current copy against being closed until the transaction ends, so
-- that a duplicate is counted only while what it duplicates is believed.
-- name: MemoryHold :one
WITH held AS (
    SELECT m.id FROM memkernel.memory_objects AS m
    WHERE m.tenant = @tenant AND m.id = @id AND m.namespace = @namespace AND m.t_valid_to IS NULL AND m.status = 'active'
    FOR SHARE
)
SELECT memkernel.expect(count(*), 1) FROM held;

-- MemoryTarget describes a visible memory and what is current of what it has become, be it held
-- or disputed, for a write that wants to change it.
-- name: MemoryTarget :one
SELECT m.namespace, m.status, m.end_reason, h.id AS head_id, h.status AS head_status, h.dedupe_key AS head_dedupe_key, h.kind AS head_kind,
    h.event_time AS head_event_time, h.event_end AS head_event_end, h.source AS head_source
FROM memkernel.memory_objects AS m
LEFT JOIN memkernel.memory_objects AS h ON h.tenant = m.tenant AND h.namespace = m.namespace
    AND h.id = memkernel.current_head(m.tenant, m.namespace, m.id)
WHERE m.tenant = @tenant AND m.id = @id AND m.namespace = ANY(@namespaces::text[]);

-- MemoryHidden tells the audit log, and nobody else, whether an id that was not found exists
-- in the tenant, where the caller does not see it.
-- name: MemoryHidden :one
SELECT EXISTS (SELECT 1 FROM memkernel.memory_objects AS m
    WHERE m.tenant = @tenant AND m.id = @id AND NOT m.namespace = ANY(@namespaces::text[]));

-- MemoryGet reads one visible memory, ended or not. With as_of, the version of its chain
-- that was believed at that time.
-- name: MemoryGet :many
SELECT m.id, m.namespace, m.kind, m.text, m.event_time, m.event_end, m.assertion_time, m.t_valid_from, m.t_valid_to,
    m.end_reason, m.end_note, m.supersedes, m.superseded_by, m.status, m.provenance, m.source, m.actor, m.agent_id, m.tokens,
    m.sensitivity, m.pii_subjects, m.secret_kinds, m.destinations, m.labels
FROM memkernel.memory_objects AS m
WHERE m.tenant = @tenant AND m.namespace = ANY(@namespaces::text[]) AND m.status = 'active'
    AND m.id = @id
LIMIT 1;

-- MemoryGetAsOf goes on to another chain where the memory's was closed in its favour, from then on.
-- name: MemoryGetAsOf :many
WITH RECURSIVE chains AS (
    SELECT coalesce(o.chain, o.id) AS chain, '-infinity'::timestamptz AS since FROM memkernel.memory_objects AS o
    WHERE o.tenant = @tenant AND o.namespace = ANY(@namespaces::text[]) AND o.id = @id
    UNION
    SELECT coalesce(s.chain, s.id), e.t_valid_to FROM chains AS l
    JOIN memkernel.memory_objects AS e ON e.tenant = @tenant AND e.namespace = ANY(@namespaces::text[])
        AND (e.id = l.chain OR e.chain = l.chain) AND e.superseded_by IS NOT NULL AND e.t_valid_to <= @as_of::timestamptz
    JOIN memkernel.memory_objects AS s ON s.tenant = e.tenant AND s.namespace = e.namespace AND s.id = e.superseded_by
)
SELECT m.id, m.namespace, m.kind, m.text, m.event_time, m.event_end, m.assertion_time, m.t_valid_from, m.t_valid_to,
    m.end_reason, m.end_note, m.supersedes, m.superseded_by, m.status, m.provenance, m.source, m.actor, m.agent_id, m.tokens,
    m.sensitivity, m.pii_subjects, m.secret_kinds, m.destinations, m.labels
FROM chains AS l
JOIN memkernel.memory_objects AS m ON m.tenant = @tenant AND m.namespace = ANY(@namespaces::text[])
    AND (m.id = l.chain OR m.chain = l.chain)
WHERE m.status = 'active' AND l.since <= @as_of::timestamptz AND m.t_valid_from <= @as_of::timestamptz
    AND (m.t_valid_to IS NULL OR m.t_valid_to > @as_of::timestamptz)
LIMIT 1;

-- MemoryHistory lists a visible memory's whole chain, newest first, or what of it is older
-- than one of its rows. It does not go on to other chains: of several that were closed in favour
-- of one memory there is no order.
-- name: MemoryHistory :many
SELECT m.id, m.namespace, m.kind, m.text, m.event_time, m.event_end, m.assertion_time, m.t_valid_from, m.t_valid_to,
    m.end_reason, m.end_note, m.supersedes, m.superseded_by, m.status, m.provenance, m.source, m.actor, m.agent_id, m.tokens,
    m.sensitivity, m.pii_subjects, m.secret_kinds, m.destinations, m.labels
FROM memkernel.memory_objects AS o
JOIN memkernel.memory_objects AS m ON m.tenant = o.tenant AND m.namespace = o.namespace
    AND (m.id = coalesce(o.chain, o.id) OR m.chain = coalesce(o.chain, o.id))
WHERE o.tenant = @tenant AND o.namespace = ANY(@namespaces::text[]) AND o.id = @id AND m.status = 'active'
    AND (sqlc.narg('after')::uuid IS NULL OR m.chain_pos < (
        SELECT a.chain_pos FROM memkernel.memory_objects AS a
        WHERE a.tenant = o.tenant AND a.id = sqlc.narg('after')::uuid AND coalesce(a.chain, a.id) = coalesce(o.chain, o.id)))
ORDER BY m.chain_pos DESC
LIMIT @max_rows;

-- MemoryServe re-reads what a driver proposed, under the same conditions that the view
-- served it.
-- name: MemoryServe :many
SELECT m.id, m.namespace, m.kind, m.text, m.event_time, m.event_end, m.assertion_time, m.t_valid_from, m.t_valid_to,
    m.end_reason, m.end_note, m.supersedes, m.superseded_by, m.status, m.provenance, m.source, m.actor, m.agent_id, m.tokens,
    m.sensitivity, m.pii_subjects, m.secret_kinds, m.destinations, m.labels
FROM memkernel.memory_objects AS m
WHERE m.tenant = @tenant AND m.id = ANY((@ids::text[])::uuid[]) AND m.namespace = ANY(@namespaces::text[]) AND m.status = 'active'
    AND CASE
        WHEN sqlc.narg('as_of')::timestamptz IS NOT NULL
            THEN m.t_valid_from <= sqlc.narg('as_of') AND (m.t_valid_to IS NULL OR m.t_valid_to > sqlc.narg('as_of'))
        ELSE @ended::boolean OR m.t_valid_to IS NULL
    END
LIMIT @max_rows;

-- name: MemoryStats :many
SELECT m.kind, count(*) FILTER (WHERE m.t_valid_to IS NULL AND m.status = 'active') AS live,
    count(*) FILTER (WHERE m.end_reason = 'superseded') AS superseded,
    count(*) FILTER (WHERE m.end_reason = 'retracted') AS retracted,
    count(*) FILTER (WHERE m.end_reason = 'expired') AS expired,
    coalesce(sum(m.tokens) FILTER (WHERE m.t_valid_to IS NULL AND m.status = 'active'), 0)::bigint AS live_tokens,
    count(*) FILTER (WHERE m.t_valid_to IS NULL AND m.status = 'held') AS held,
    count(*) FILTER (WHERE m.t_valid_to IS NULL AND m.status = 'disputed') AS disputed
FROM memkernel.memory_objects AS m
WHERE m.tenant = @tenant AND m.namespace = ANY(@namespaces::text[])
GROUP BY m.kind
LIMIT 100;
