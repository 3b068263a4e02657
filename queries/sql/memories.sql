-- MemoryInsert stores a new memory and, with unchecked, notes that it is to be compared with its
-- neighbours, and what it is to replace then. What that is about, if it says so, stays.
-- name: MemoryInsert :exec
-- @sqlc-vet-disable namespace-predicate
WITH noted AS (
    INSERT INTO memkernel.conflict_checks (tenant, memory_id, namespace, replaces, marked_at, due_at)
    SELECT @tenant, @id, @namespace, sqlc.narg('replaces')::uuid, @assertion_time, @assertion_time WHERE @unchecked::boolean
)
INSERT INTO memkernel.memory_objects (tenant, id, namespace, kind, text, dedupe_key, event_time, event_end,
    assertion_time, t_valid_from, status, provenance, source, actor, key_id, agent_id, tokens, capture_id,
    terms, terms_length, terms_version, sensitivity, pii_subjects, secret_kinds, destinations, labels, content_key, certainty, expires_at)
VALUES (@tenant, @id, @namespace, @kind, @text, @dedupe_key, sqlc.narg('event_time')::timestamptz,
    sqlc.narg('event_end')::timestamptz, @assertion_time, @t_valid_from, @status, @provenance, @source, @actor,
    sqlc.narg('key_id')::uuid, @agent_id, @tokens, @capture_id, @terms, @terms_length, @terms_version,
    @sensitivity::text, @pii_subjects::text[], @secret_kinds::text[], @destinations::text[], @labels::text[],
    coalesce(sqlc.narg('content_key')::text, (SELECT v.content_key FROM memkernel.memory_objects AS v
        WHERE v.tenant = @tenant AND v.id = sqlc.narg('replaces')::uuid AND v.namespace = @namespace)),
    sqlc.narg('certainty')::real, sqlc.narg('expires_at')::timestamptz);

-- MemoryInsertMany is MemoryInsert for memories of one writer. The arrays within a row come as the
-- text of an array, but for the terms, which stand one row's behind the other's: term_froms and
-- term_tos say which are whose. The year 1, an empty key or id and a negative certainty stand for
-- NULL.
-- name: MemoryInsertMany :exec
-- @sqlc-vet-disable namespace-predicate
WITH noted AS (
    INSERT INTO memkernel.conflict_checks (tenant, memory_id, namespace, replaces, marked_at, due_at)
    SELECT @tenant, u.id::uuid, @namespace, nullif(u.replaces, '')::uuid, u.valid_from, u.valid_from
    FROM (
        SELECT unnest((SELECT @ids::text[])::text[]) AS id, unnest((SELECT @replaces::text[])::text[]) AS replaces,
            unnest((SELECT @valid_froms::timestamptz[])::timestamptz[]) AS valid_from,
            unnest((SELECT @uncheckeds::boolean[])::boolean[]) AS unchecked
    ) AS u
    WHERE u.unchecked
    ORDER BY u.valid_from, u.id
)
INSERT INTO memkernel.memory_objects (tenant, id, namespace, kind, text, dedupe_key, event_time, event_end,
    assertion_time, t_valid_from, status, provenance, source, actor, key_id, agent_id, tokens, capture_id,
    terms, terms_length, terms_version, sensitivity, pii_subjects, secret_kinds, destinations, labels, content_key, certainty, expires_at)
SELECT @tenant, r.id::uuid, @namespace, r.kind, r.text, r.dedupe_key, nullif(r.event_time, '0001-01-01 00:00:00+00'::timestamptz),
    nullif(r.event_end, '0001-01-01 00:00:00+00'::timestamptz), r.valid_from, r.valid_from, r.status, r.provenance, r.source, @actor,
    sqlc.narg('key_id')::uuid, @agent_id, r.tokens, r.capture_id::uuid,
    ((SELECT @terms::bigint[])::bigint[])[r.term_from:r.term_to], r.terms_length, @terms_version,
    r.sensitivity, r.pii_subjects::text[], r.secret_kinds::text[], r.destinations::text[], r.labels::text[],
    coalesce(nullif(r.content_key, ''), (SELECT v.content_key FROM memkernel.memory_objects AS v
        WHERE v.tenant = @tenant AND v.id = nullif(r.replaces, '')::uuid AND v.namespace = @namespace)), CASE WHEN r.certainty >= 0 THEN r.certainty END,
    nullif(r.expires_at, '0001-01-01 00:00:00+00'::timestamptz)
FROM (
    SELECT unnest((SELECT @ids::text[])::text[]) AS id, unnest((SELECT @kinds::text[])::text[]) AS kind,
        unnest((SELECT @texts::text[])::text[]) AS text, unnest((SELECT @dedupe_keys::bytea[])::bytea[]) AS dedupe_key,
        unnest((SELECT @event_times::timestamptz[])::timestamptz[]) AS event_time,
        unnest((SELECT @event_ends::timestamptz[])::timestamptz[]) AS event_end,
        unnest((SELECT @valid_froms::timestamptz[])::timestamptz[]) AS valid_from,
        unnest((SELECT @provenances::text[])::text[]) AS provenance, unnest((SELECT @sources::text[])::text[]) AS source,
        unnest((SELECT @tokens::integer[])::integer[]) AS tokens, unnest((SELECT @capture_ids::text[])::text[]) AS capture_id,
        unnest((SELECT @term_froms::integer[])::integer[]) AS term_from, unnest((SELECT @term_tos::integer[])::integer[]) AS term_to,
        unnest((SELECT @terms_lengths::integer[])::integer[]) AS terms_length,
        unnest((SELECT @sensitivities::text[])::text[]) AS sensitivity, unnest((SELECT @pii_subjects::text[])::text[]) AS pii_subjects,
        unnest((SELECT @secret_kinds::text[])::text[]) AS secret_kinds, unnest((SELECT @destinations::text[])::text[]) AS destinations,
        unnest((SELECT @labels::text[])::text[]) AS labels, unnest((SELECT @content_keys::text[])::text[]) AS content_key,
        unnest((SELECT @certainties::real[])::real[]) AS certainty,
        unnest((SELECT @expiries::timestamptz[])::timestamptz[]) AS expires_at, unnest((SELECT @statuses::text[])::text[]) AS status,
        unnest((SELECT @replaces::text[])::text[]) AS replaces
) AS r;

-- MemorySupersede closes the victim and inserts its successor in one statement. The guard
-- is the victim being current and in the writer's own namespace. If it is not, the
-- transaction aborts with MK001 and nothing has happened. The victim was believed for a
-- microsecond at least, so that every version of a chain can be asked for by time. It may be held
-- or disputed. What the chain is about, if it says so, stays. With unchecked, the successor is noted
-- for the comparison with its neighbours.
-- name: MemorySupersede :one
WITH closed AS (
    UPDATE memkernel.memory_objects AS v
    SET t_valid_to = greatest(@t_valid_from::timestamptz, v.t_valid_from + interval '1 microsecond'), end_reason = 'superseded'
    WHERE v.tenant = @tenant AND v.id = @victim AND v.namespace = @namespace AND v.t_valid_to IS NULL
        AND (v.expires_at IS NULL OR v.expires_at > @t_valid_from::timestamptz)
    RETURNING v.id, coalesce(v.chain, v.id) AS chain, v.chain_pos, v.t_valid_to, v.content_key
), noted AS (
    INSERT INTO memkernel.conflict_checks (tenant, memory_id, namespace, marked_at, due_at)
    SELECT @tenant, @id, @namespace, @assertion_time, @assertion_time WHERE @unchecked::boolean
), made AS (
    INSERT INTO memkernel.memory_objects (tenant, id, namespace, kind, text, dedupe_key, event_time, event_end,
        assertion_time, t_valid_from, provenance, source, actor, key_id, agent_id, tokens, capture_id,
        terms, terms_length, terms_version, sensitivity, pii_subjects, secret_kinds, destinations, labels,
        supersedes, chain, chain_pos, content_key, certainty, expires_at)
    SELECT @tenant, @id, @namespace, @kind, @text, @dedupe_key, sqlc.narg('event_time')::timestamptz,
        sqlc.narg('event_end')::timestamptz, @assertion_time, c.t_valid_to, @provenance, @source, @actor,
        sqlc.narg('key_id')::uuid, @agent_id, @tokens, @capture_id, @terms, @terms_length, @terms_version,
        @sensitivity::text, @pii_subjects::text[], @secret_kinds::text[], @destinations::text[], @labels::text[], c.id, c.chain,
        c.chain_pos + 1, coalesce(sqlc.narg('content_key')::text, c.content_key), sqlc.narg('certainty')::real,
        sqlc.narg('expires_at')::timestamptz
    FROM closed AS c
    RETURNING id
)
SELECT memkernel.expect(count(*), 1) FROM made;

-- name: MemoryRetract :one
WITH closed AS (
    UPDATE memkernel.memory_objects AS v
    SET t_valid_to = greatest(@t_valid_to::timestamptz, v.t_valid_from), end_reason = 'retracted', end_note = @note::text
    WHERE v.tenant = @tenant AND v.id = @id AND v.namespace = @namespace AND v.t_valid_to IS NULL
        AND (v.expires_at IS NULL OR v.expires_at > @t_valid_to::timestamptz)
    RETURNING v.id
)
SELECT memkernel.expect(count(*), 1) FROM closed;

-- MemoryDuplicateMany finds the one copy of each text in the writer's own namespace that has no end
-- on record: the current one, or one that has expired; and, if asked to, how many open cases are about
-- it.
-- name: MemoryDuplicateMany :many
SELECT m.id, m.dedupe_key, m.expires_at, m.provenance,
    (CASE WHEN @cases::boolean THEN (
        SELECT count(*) FROM memkernel.conflict_cases AS c
        WHERE c.tenant = m.tenant AND c.namespace = m.namespace AND c.state = 'open' AND (c.from_id = m.id OR c.to_id = m.id))
    ELSE 0 END)::bigint AS open_cases
FROM memkernel.memory_objects AS m
WHERE m.tenant = @tenant AND m.namespace = @namespace AND m.dedupe_key = ANY((SELECT @dedupe_keys::bytea[])::bytea[])
    AND m.t_valid_to IS NULL AND m.status = 'active'
LIMIT 100000;

-- MemoryRefreshed finds the current memory of the writer's own namespace that is about the same
-- thing, and says whether it has expired.
-- name: MemoryRefreshed :one
SELECT m.id, m.dedupe_key, m.kind, m.event_time, m.event_end, m.source, m.expires_at, m.provenance,
    coalesce(m.expires_at <= @now::timestamptz, false)::boolean AS expired
FROM memkernel.memory_objects AS m
WHERE m.tenant = @tenant AND m.namespace = @namespace AND m.content_key = @content_key::text
    AND m.t_valid_to IS NULL AND m.status = 'active';

-- MemoryEchoed finds the visible current memories that say one of some texts and that were handed
-- out to the reader, the newest last.
-- name: MemoryEchoed :many
SELECT m.id, m.dedupe_key
FROM memkernel.memory_objects AS m
JOIN memkernel.memory_access AS a ON a.tenant = m.tenant AND a.reader = @reader AND a.memory_id = m.id
WHERE m.tenant = @tenant AND m.namespace = ANY((SELECT @namespaces::text[])::text[])
    AND m.dedupe_key = ANY((SELECT @dedupe_keys::bytea[])::bytea[]) AND m.t_valid_to IS NULL AND m.status = 'active'
    AND (m.expires_at IS NULL OR m.expires_at > @now::timestamptz)
ORDER BY m.id
LIMIT 100000;

-- MemoryHoldMany locks current copies against being closed until the transaction ends, so
-- that a duplicate is counted only while what it duplicates is believed.
-- name: MemoryHoldMany :one
WITH held AS (
    SELECT m.id FROM memkernel.memory_objects AS m
    WHERE m.tenant = @tenant AND m.id = ANY((SELECT (@ids::text[])::uuid[])::uuid[]) AND m.namespace = @namespace
        AND m.t_valid_to IS NULL AND m.status = 'active' AND (m.expires_at IS NULL OR m.expires_at > @now::timestamptz)
    ORDER BY m.id
    FOR SHARE
)
SELECT memkernel.expect(count(*), cardinality((SELECT @ids::text[])::text[])) FROM held;

-- MemoryTarget describes a visible memory and what is current of what it has become, be it held
-- or disputed, for a write that wants to change it. One that is held or disputed itself is there in
-- the writer's own namespace only.
-- name: MemoryTarget :one
SELECT m.namespace, coalesce(m.end_reason, CASE WHEN m.expires_at <= @now::timestamptz THEN 'expired' ELSE '' END)::text AS end_reason,
    h.id AS head_id, h.status AS head_status, h.dedupe_key AS head_dedupe_key, h.kind AS head_kind,
    h.event_time AS head_event_time, h.event_end AS head_event_end, h.source AS head_source, h.expires_at AS head_expires_at,
    h.provenance AS head_provenance
FROM memkernel.memory_objects AS m
LEFT JOIN memkernel.memory_objects AS h ON h.tenant = m.tenant AND h.namespace = m.namespace
    AND h.id = memkernel.current_head(m.tenant, m.namespace, m.id) AND (h.expires_at IS NULL OR h.expires_at > @now::timestamptz)
WHERE m.tenant = @tenant AND m.id = @id AND m.namespace = ANY(@namespaces::text[]) AND (m.status = 'active' OR m.namespace = @own);

-- MemoryHidden tells the audit log, and nobody else, whether an id that was not found exists
-- in the tenant, where the caller does not see it. That its own is held or disputed is no secret.
-- name: MemoryHidden :one
SELECT EXISTS (SELECT 1 FROM memkernel.memory_objects AS m
    WHERE m.tenant = @tenant AND m.id = @id
        AND NOT (m.namespace = ANY(@namespaces::text[]) AND (m.status = 'active' OR m.namespace = @own)));

-- MemoryGet reads one visible memory, ended or not. With as_of, the version of its chain
-- that was believed at that time.
-- name: MemoryGet :many
SELECT m.id, m.namespace, m.kind, m.text, m.event_time, m.event_end, m.assertion_time, m.t_valid_from, m.t_valid_to, m.expires_at,
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
SELECT m.id, m.namespace, m.kind, m.text, m.event_time, m.event_end, m.assertion_time, m.t_valid_from, m.t_valid_to, m.expires_at,
    m.end_reason, m.end_note, m.supersedes, m.superseded_by, m.status, m.provenance, m.source, m.actor, m.agent_id, m.tokens,
    m.sensitivity, m.pii_subjects, m.secret_kinds, m.destinations, m.labels
FROM chains AS l
JOIN memkernel.memory_objects AS m ON m.tenant = @tenant AND m.namespace = ANY(@namespaces::text[])
    AND (m.id = l.chain OR m.chain = l.chain)
WHERE m.status = 'active' AND l.since <= @as_of::timestamptz AND m.t_valid_from <= @as_of::timestamptz
    AND (m.t_valid_to IS NULL OR m.t_valid_to > @as_of::timestamptz) AND (m.expires_at IS NULL OR m.expires_at > @as_of::timestamptz)
LIMIT 1;

-- MemoryHistory lists a visible memory's whole chain, newest first, or what of it is older
-- than one of its rows. It does not go on to other chains: of several that were closed in favour
-- of one memory there is no order.
-- name: MemoryHistory :many
SELECT m.id, m.namespace, m.kind, m.text, m.event_time, m.event_end, m.assertion_time, m.t_valid_from, m.t_valid_to, m.expires_at,
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
SELECT m.id, m.namespace, m.kind, m.text, m.event_time, m.event_end, m.assertion_time, m.t_valid_from, m.t_valid_to, m.expires_at,
    m.end_reason, m.end_note, m.supersedes, m.superseded_by, m.status, m.provenance, m.source, m.actor, m.agent_id, m.tokens,
    m.sensitivity, m.pii_subjects, m.secret_kinds, m.destinations, m.labels
FROM memkernel.memory_objects AS m
WHERE m.tenant = @tenant AND m.id = ANY((@ids::text[])::uuid[]) AND m.namespace = ANY(@namespaces::text[]) AND m.status = 'active'
    AND CASE
        WHEN sqlc.narg('as_of')::timestamptz IS NOT NULL
            THEN m.t_valid_from <= sqlc.narg('as_of') AND (m.t_valid_to IS NULL OR m.t_valid_to > sqlc.narg('as_of'))
                AND (m.expires_at IS NULL OR m.expires_at > sqlc.narg('as_of'))
        ELSE @ended::boolean OR (m.t_valid_to IS NULL AND (m.expires_at IS NULL OR m.expires_at > @now::timestamptz))
    END
LIMIT @max_rows;

-- MemoryStats counts what has expired as that, whether its end is on record or not.
-- name: MemoryStats :many
SELECT m.kind,
    count(*) FILTER (WHERE m.t_valid_to IS NULL AND m.status = 'active' AND (m.expires_at IS NULL OR m.expires_at > @now::timestamptz)) AS live,
    count(*) FILTER (WHERE m.end_reason = 'superseded') AS superseded,
    count(*) FILTER (WHERE m.end_reason = 'retracted') AS retracted,
    count(*) FILTER (WHERE m.end_reason = 'expired' OR (m.t_valid_to IS NULL AND m.expires_at <= @now::timestamptz)) AS expired,
    coalesce(sum(m.tokens) FILTER (WHERE m.t_valid_to IS NULL AND m.status = 'active'
        AND (m.expires_at IS NULL OR m.expires_at > @now::timestamptz)), 0)::bigint AS live_tokens,
    count(*) FILTER (WHERE m.t_valid_to IS NULL AND m.status = 'held' AND (m.expires_at IS NULL OR m.expires_at > @now::timestamptz)) AS held,
    count(*) FILTER (WHERE m.t_valid_to IS NULL AND m.status = 'disputed'
        AND (m.expires_at IS NULL OR m.expires_at > @now::timestamptz)) AS disputed
FROM memkernel.memory_objects AS m
WHERE m.tenant = @tenant AND m.namespace = ANY(@namespaces::text[])
GROUP BY m.kind
LIMIT 100;
