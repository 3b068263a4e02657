-- The comparison of memories with their neighbours, and what comes of it. A check is the work to
-- be done on one memory; a case is a contradiction that waits for a person.

-- CheckClaimMany begins attempts at checks that are due, of all tenants that are served, and
-- keeps others off them until a time. The mark's number and the attempt's are its fence. A clock
-- that is ahead of the database's is not believed. What has only been marked is due at once,
-- whatever the clock of whoever marked it says; a claim makes the time of the mark one of its own
-- past, so that this is so once. embedded reports that the memory has a vector of the model.
-- name: CheckClaimMany :many
-- @sqlc-vet-disable namespace-predicate
UPDATE memkernel.conflict_checks AS q
SET attempts = q.attempts + 1, marked_at = least(q.marked_at, @now::timestamptz, now()),
    due_at = (least(@now::timestamptz, now())) + ((@until::timestamptz) - (@now::timestamptz))
FROM (
    SELECT c.tenant, c.memory_id, t.id AS tenant_id, n.id AS ns FROM memkernel.conflict_checks AS c
    JOIN memkernel.tenants AS t ON t.tenant = c.tenant AND t.suspended_at IS NULL
    JOIN memkernel.namespaces AS n ON n.tenant = c.tenant AND n.path = c.namespace
    WHERE c.due_at <= least(@now::timestamptz, now()) OR c.due_at <= c.marked_at
    ORDER BY c.due_at, c.seq
    LIMIT @max_rows
    FOR UPDATE OF c SKIP LOCKED
) AS due
WHERE q.tenant = due.tenant AND q.memory_id = due.memory_id
RETURNING q.tenant, q.memory_id, q.namespace, q.seq, q.replaces, q.attempts,
    extract(epoch FROM (least(@now::timestamptz, now())) - q.marked_at)::double precision AS waited, due.tenant_id, due.ns, (EXISTS (
    SELECT 1 FROM memkernel.memory_vectors AS v WHERE v.tenant = due.tenant_id AND v.id = q.memory_id AND v.model = @model))::boolean AS embedded,
    (EXISTS (SELECT 1 FROM memkernel.memory_objects AS m
        WHERE m.tenant = q.tenant AND m.id = q.memory_id AND m.status = 'held'))::boolean AS held;

-- CheckClaim is CheckClaimMany for some memories.
-- name: CheckClaim :many
-- @sqlc-vet-disable namespace-predicate
UPDATE memkernel.conflict_checks AS q
SET attempts = q.attempts + 1, marked_at = least(q.marked_at, @now::timestamptz, now()),
    due_at = (least(@now::timestamptz, now())) + ((@until::timestamptz) - (@now::timestamptz))
FROM (
    SELECT c.tenant, c.memory_id, t.id AS tenant_id, n.id AS ns FROM memkernel.conflict_checks AS c
    JOIN memkernel.tenants AS t ON t.tenant = c.tenant AND t.suspended_at IS NULL
    JOIN memkernel.namespaces AS n ON n.tenant = c.tenant AND n.path = c.namespace
    WHERE c.tenant = @tenant AND c.memory_id = ANY((@ids::text[])::uuid[])
        AND (c.due_at <= least(@now::timestamptz, now()) OR c.due_at <= c.marked_at)
    LIMIT @max_rows
    FOR UPDATE OF c SKIP LOCKED
) AS due
WHERE q.tenant = due.tenant AND q.memory_id = due.memory_id
RETURNING q.tenant, q.memory_id, q.namespace, q.seq, q.replaces, q.attempts,
    extract(epoch FROM (least(@now::timestamptz, now())) - q.marked_at)::double precision AS waited, due.tenant_id, due.ns, (EXISTS (
    SELECT 1 FROM memkernel.memory_vectors AS v WHERE v.tenant = due.tenant_id AND v.id = q.memory_id AND v.model = @model))::boolean AS embedded,
    (EXISTS (SELECT 1 FROM memkernel.memory_objects AS m
        WHERE m.tenant = q.tenant AND m.id = q.memory_id AND m.status = 'held'))::boolean AS held;

-- CheckNearest ranks what a memory is to be compared with by its own vector: what is believed of
-- its namespace, of the given classes, short enough, not raw and not together with it in a case. Of
-- two that are both still to be checked only the later one sees the other, so that a pair is
-- compared once. It scans like VectorNearest, and looks the nearest ones up, in order, until it has
-- enough or the pool is exhausted; the look-ups are so written that they go by whole keys,
-- whatever the statistics say.
-- name: CheckNearest :many
SELECT near.id, near.distance::double precision AS distance
FROM (
    SELECT v.id, (v.embedding <#> (
        SELECT own.embedding FROM memkernel.memory_vectors AS own
        WHERE own.tenant = @tenant_id AND own.id = @memory_id AND own.model = @model)) AS distance
    FROM memkernel.memory_vectors AS v
    WHERE v.tenant = @tenant_id AND v.ns >= @ns AND v.ns <= @ns AND v.model = @model AND v.live AND v.dim <= 500
        AND v.id <> @memory_id
    ORDER BY distance, v.id
    LIMIT @pool
) AS near
CROSS JOIN LATERAL (
    SELECT m.namespace, m.t_valid_to, m.expires_at, m.status, m.kind, octet_length(m.text) AS bytes,
        coalesce((SELECT q.seq FROM memkernel.conflict_checks AS q WHERE q.tenant = @tenant AND q.memory_id = near.id), 0) AS queued,
        (EXISTS (SELECT 1 FROM memkernel.conflict_cases AS c
            WHERE c.tenant = @tenant AND c.from_id = @memory_id AND c.to_id = near.id)
        OR EXISTS (SELECT 1 FROM memkernel.conflict_cases AS c
            WHERE c.tenant = @tenant AND c.from_id = near.id AND c.to_id = @memory_id))::boolean AS in_case
    FROM memkernel.memory_objects AS m
    WHERE m.tenant = @tenant AND m.id = near.id AND m.provenance = ANY((SELECT @classes::text[])::text[])
    OFFSET 0
) AS m
WHERE near.distance IS NOT NULL AND m.namespace = @namespace AND m.t_valid_to IS NULL AND (m.expires_at IS NULL OR m.expires_at > @now::timestamptz)
    AND m.status = 'active' AND m.kind <> 'raw' AND m.bytes <= @max_bytes::integer AND m.queued < @seq::bigint AND NOT m.in_case
ORDER BY near.distance, near.id
LIMIT @max_rows;

-- CheckNearestWide is CheckNearest for vectors that an index tuple cannot hold.
-- name: CheckNearestWide :many
SELECT near.id, near.distance::double precision AS distance
FROM (
    SELECT v.id, (v.embedding <#> (
        SELECT own.embedding FROM memkernel.memory_vectors AS own
        WHERE own.tenant = @tenant_id AND own.id = @memory_id AND own.model = @model)) AS distance
    FROM memkernel.memory_vectors AS v
    WHERE v.tenant = @tenant_id AND v.ns >= @ns AND v.ns <= @ns AND v.model = @model AND v.live AND v.dim > 500
        AND v.id <> @memory_id
    ORDER BY distance, v.id
    LIMIT @pool
) AS near
CROSS JOIN LATERAL (
    SELECT m.namespace, m.t_valid_to, m.expires_at, m.status, m.kind, octet_length(m.text) AS bytes,
        coalesce((SELECT q.seq FROM memkernel.conflict_checks AS q WHERE q.tenant = @tenant AND q.memory_id = near.id), 0) AS queued,
        (EXISTS (SELECT 1 FROM memkernel.conflict_cases AS c
            WHERE c.tenant = @tenant AND c.from_id = @memory_id AND c.to_id = near.id)
        OR EXISTS (SELECT 1 FROM memkernel.conflict_cases AS c
            WHERE c.tenant = @tenant AND c.from_id = near.id AND c.to_id = @memory_id))::boolean AS in_case
    FROM memkernel.memory_objects AS m
    WHERE m.tenant = @tenant AND m.id = near.id AND m.provenance = ANY((SELECT @classes::text[])::text[])
    OFFSET 0
) AS m
WHERE near.distance IS NOT NULL AND m.namespace = @namespace AND m.t_valid_to IS NULL AND (m.expires_at IS NULL OR m.expires_at > @now::timestamptz)
    AND m.status = 'active' AND m.kind <> 'raw' AND m.bytes <= @max_bytes::integer AND m.queued < @seq::bigint AND NOT m.in_case
ORDER BY near.distance, near.id
LIMIT @max_rows;

-- CheckBare reports that something current of a namespace has no vector of the model.
-- name: CheckBare :one
SELECT (coalesce((SELECT n.live_rows FROM memkernel.namespaces AS n WHERE n.tenant = @tenant AND n.path = @namespace), 0) > (
    SELECT count(*) FROM memkernel.memory_vectors AS v
    WHERE v.tenant = @tenant_id AND v.ns = @ns AND v.model = @model AND v.live AND v.dim <= 500
) + (
    SELECT count(*) FROM memkernel.memory_vectors AS v
    WHERE v.tenant = @tenant_id AND v.ns = @ns AND v.model = @model AND v.live AND v.dim > 500
))::boolean;

-- CheckRanked keeps of ranked memories what CheckNearest would or, with bare, of those that have no
-- vector of the model.
-- name: CheckRanked :many
SELECT near.id
FROM (SELECT unnest(@ids::text[])::uuid AS id, generate_series(1, cardinality(@ids::text[])) AS pos) AS near
CROSS JOIN LATERAL (
    SELECT m.namespace, m.t_valid_to, m.expires_at, m.status, m.kind, octet_length(m.text) AS bytes,
        coalesce((SELECT q.seq FROM memkernel.conflict_checks AS q WHERE q.tenant = @tenant AND q.memory_id = near.id), 0) AS queued,
        (EXISTS (SELECT 1 FROM memkernel.conflict_cases AS c
            WHERE c.tenant = @tenant AND c.from_id = @memory_id AND c.to_id = near.id)
        OR EXISTS (SELECT 1 FROM memkernel.conflict_cases AS c
            WHERE c.tenant = @tenant AND c.from_id = near.id AND c.to_id = @memory_id))::boolean AS in_case
    FROM memkernel.memory_objects AS m
    WHERE m.tenant = @tenant AND m.id = near.id AND m.provenance = ANY((SELECT @classes::text[])::text[])
    OFFSET 0
) AS m
WHERE near.id <> @memory_id AND m.namespace = @namespace AND m.t_valid_to IS NULL AND (m.expires_at IS NULL OR m.expires_at > @now::timestamptz)
    AND (NOT @bare::boolean OR NOT EXISTS (
        SELECT 1 FROM memkernel.memory_vectors AS v WHERE v.tenant = @tenant_id AND v.id = near.id AND v.model = @model))
    AND m.status = 'active' AND m.kind <> 'raw' AND m.bytes <= @max_bytes::integer AND m.queued < @seq::bigint AND NOT m.in_case
ORDER BY near.pos
LIMIT @max_rows;

-- CheckHead finds what a held memory is to replace by now: what is current of what its writer
-- named, be it held or disputed; but of what is about something and in sight, the memory that is about
-- the same, if it is not the newer one.
-- name: CheckHead :many
SELECT w.id FROM (
    SELECT h.id, 1 AS pos FROM memkernel.memory_objects AS m
    JOIN memkernel.memory_objects AS h ON h.tenant = m.tenant AND h.namespace = m.namespace
        AND h.id = memkernel.current_head(@tenant, @namespace, sqlc.narg('replaces')::uuid)
        AND (h.status <> 'active' OR m.content_key IS NULL) AND (h.expires_at IS NULL OR h.expires_at > @now::timestamptz)
    WHERE m.tenant = @tenant AND m.namespace = @namespace AND m.id = @memory_id AND h.id <> m.id
    UNION ALL
    SELECT h.id, 2 AS pos FROM memkernel.memory_objects AS m
    JOIN memkernel.memory_objects AS h ON h.tenant = m.tenant AND h.namespace = m.namespace AND h.content_key = m.content_key
        AND h.t_valid_to IS NULL AND h.status = 'active' AND (h.expires_at IS NULL OR h.expires_at > @now::timestamptz)
        AND (h.t_valid_from, h.id) < (m.t_valid_from, m.id)
    WHERE m.tenant = @tenant AND m.namespace = @namespace AND m.id = @memory_id
) AS w
ORDER BY w.pos
LIMIT 1;

-- CheckMemoryMany reads memories for a worker, held, disputed and ended ones too, which shows
-- them to the model that may see them and to nobody else. A text that is too long to be compared
-- is left out.
-- name: CheckMemoryMany :many
-- @sqlc-vet-disable namespace-predicate
SELECT m.id, m.namespace, m.kind, (CASE WHEN octet_length(m.text) <= @max_bytes::integer THEN m.text ELSE '' END)::text AS text,
    m.event_time, m.event_end, m.assertion_time, m.t_valid_from, m.t_valid_to, m.expires_at,
    m.end_reason, m.end_note, m.supersedes, m.superseded_by, m.status, m.provenance, m.source, m.actor, m.agent_id, m.tokens,
    m.sensitivity, m.pii_subjects, m.secret_kinds, m.destinations, m.labels
FROM (
    SELECT unnest(@tenants::text[]) AS tenant, unnest(@namespaces::text[]) AS namespace, unnest(@ids::text[])::uuid AS id
) AS w
JOIN memkernel.memory_objects AS m ON m.tenant = w.tenant AND m.namespace = w.namespace AND m.id = w.id
LIMIT @max_rows;

-- CheckHold finds out whether an attempt may still decide anything, and keeps it so: nothing, if
-- another was made, its tenant was suspended or the memory is being marked anew. It waits for nobody,
-- since its caller has locked memories that a host's transaction may want next.
-- name: CheckHold :many
SELECT q.memory_id FROM memkernel.conflict_checks AS q
JOIN memkernel.tenants AS t ON t.tenant = q.tenant AND t.suspended_at IS NULL
WHERE q.tenant = @tenant AND q.memory_id = @memory_id AND q.seq = @seq AND q.attempts = @attempts
LIMIT 1
FOR UPDATE OF q SKIP LOCKED;

-- CheckDone ends an attempt with all that it decided; MK001 if that is not its to do any more.
-- name: CheckDone :one
-- @sqlc-vet-disable delete-only-erasure
WITH gone AS (
    DELETE FROM memkernel.conflict_checks WHERE tenant = @tenant AND memory_id = @memory_id AND seq = @seq AND attempts = @attempts
    RETURNING memory_id
)
SELECT memkernel.expect(count(*), 1) FROM gone;

-- CheckDoneMany ends attempts that decided to leave everything as it is. What is being marked anew
-- stays, here and below.
-- name: CheckDoneMany :exec
-- @sqlc-vet-disable delete-only-erasure
DELETE FROM memkernel.conflict_checks AS q
USING (
    SELECT c.tenant, c.memory_id FROM memkernel.conflict_checks AS c
    JOIN (
        SELECT unnest(@tenants::text[]) AS tenant, unnest(@ids::text[])::uuid AS memory_id, unnest(@seqs::bigint[]) AS seq,
            unnest(@attempts::integer[]) AS attempts
    ) AS a ON c.tenant = a.tenant AND c.memory_id = a.memory_id AND c.seq = a.seq AND c.attempts = a.attempts
    FOR UPDATE OF c SKIP LOCKED
) AS d
WHERE q.tenant = d.tenant AND q.memory_id = d.memory_id;

-- CheckDeferMany ends attempts that decided nothing. One of which nothing is to be learnt, because
-- it was cut short or the model was not asked, does not count.
-- name: CheckDeferMany :exec
UPDATE memkernel.conflict_checks AS q
SET due_at = (least(@now::timestamptz, now())) + ((@until::timestamptz) - (@now::timestamptz)),
    attempts = q.attempts - (CASE WHEN @uncounted::boolean THEN 1 ELSE 0 END)
FROM (
    SELECT c.tenant, c.memory_id FROM memkernel.conflict_checks AS c
    JOIN (
        SELECT unnest(@tenants::text[]) AS tenant, unnest(@ids::text[])::uuid AS memory_id, unnest(@seqs::bigint[]) AS seq,
            unnest(@attempts::integer[]) AS attempts
    ) AS a ON c.tenant = a.tenant AND c.memory_id = a.memory_id AND c.seq = a.seq AND c.attempts = a.attempts
    FOR UPDATE OF c SKIP LOCKED
) AS d
WHERE q.tenant = d.tenant AND q.memory_id = d.memory_id;

-- CheckMark has a memory checked anew. A check that is under way does not know why, and ends
-- nothing any more: the mark has a number of its own, and its attempts are counted from the
-- beginning.
-- name: CheckMark :exec
INSERT INTO memkernel.conflict_checks AS q (tenant, memory_id, namespace, marked_at, due_at)
VALUES (@tenant, @memory_id, @namespace, @marked_at, @marked_at)
ON CONFLICT (tenant, memory_id) DO UPDATE
SET seq = DEFAULT, attempts = 0, marked_at = least(q.marked_at, excluded.marked_at), due_at = least(q.marked_at, excluded.marked_at);

-- CheckStats counts what is to be checked in the visible namespaces; oldest means nothing if that
-- is none.
-- name: CheckStats :one
SELECT count(*) AS waiting, coalesce(min(q.marked_at), to_timestamp(0))::timestamptz AS oldest
FROM memkernel.conflict_checks AS q
WHERE q.tenant = @tenant AND q.namespace = ANY(@namespaces::text[]);

-- SettleSerialize has those that bring memories of a namespace into sight do so one after the
-- other: each then sees what those before it have brought.
-- name: SettleSerialize :one
SELECT pg_advisory_xact_lock(hashtextextended('memkernel settle ' || @namespace::text, 0))::text;

-- SettleLock holds memories of a namespace as they are until the transaction ends. Everybody who
-- settles anything locks them in this order, before anything else.
-- name: SettleLock :many
SELECT m.id, m.status, m.terms_length,
    (m.t_valid_to IS NULL AND (m.expires_at IS NULL OR m.expires_at > @now::timestamptz))::boolean AS current
FROM memkernel.memory_objects AS m
WHERE m.tenant = @tenant AND m.namespace = @namespace AND m.id = ANY((@ids::text[])::uuid[])
ORDER BY m.id
LIMIT @max_rows
FOR UPDATE;

-- SettleTwins finds what stands in the place of a memory that is out of sight, because it was held
-- or disputed: the copy of its text and what is about the same, and whether it is older. It holds them
-- as they are, those too that have expired and have no end on record.
-- name: SettleTwins :many
SELECT d.id, d.terms_length, coalesce(d.expires_at <= @now::timestamptz, false)::boolean AS expired,
    (d.dedupe_key = m.dedupe_key)::boolean AS same_text,
    ((d.t_valid_from, d.id) < (m.t_valid_from, m.id))::boolean AS older,
    d.provenance, m.provenance AS own_provenance
FROM memkernel.memory_objects AS m
JOIN memkernel.memory_objects AS d ON d.tenant = m.tenant AND d.namespace = m.namespace
    AND (d.dedupe_key = m.dedupe_key OR d.content_key = m.content_key)
    AND d.t_valid_to IS NULL AND d.status = 'active' AND d.id <> m.id
WHERE m.tenant = @tenant AND m.namespace = @namespace AND m.id = @id
ORDER BY d.id
LIMIT 2
FOR UPDATE OF d;

-- SettleStatus makes a current memory believed or not.
-- name: SettleStatus :one
WITH changed AS (
    UPDATE memkernel.memory_objects AS m SET status = @status
    WHERE m.tenant = @tenant AND m.id = @id AND m.namespace = @namespace AND m.t_valid_to IS NULL AND m.status = @was
        AND (m.expires_at IS NULL OR m.expires_at > @now::timestamptz)
    RETURNING m.id
)
SELECT memkernel.expect(count(*), 1) FROM changed;

-- SettleClose ends a memory in favour of one that was there before, not before that one was
-- believed, so that there is no gap between them.
-- name: SettleClose :one
WITH closed AS (
    UPDATE memkernel.memory_objects AS v
    SET t_valid_to = greatest(@t_valid_to::timestamptz, v.t_valid_from + interval '1 microsecond', s.t_valid_from),
        end_reason = 'superseded', superseded_by = s.id
    FROM memkernel.memory_objects AS s
    WHERE v.tenant = @tenant AND v.id = @id AND v.namespace = @namespace AND v.t_valid_to IS NULL
        AND (v.expires_at IS NULL OR v.expires_at > @t_valid_to::timestamptz)
        AND s.tenant = v.tenant AND s.id = @by AND s.namespace = v.namespace AND s.t_valid_to IS NULL
        AND (s.expires_at IS NULL OR s.expires_at > @t_valid_to::timestamptz)
    RETURNING v.id
)
SELECT memkernel.expect(count(*), 1) FROM closed;

-- CaseOpen adds a case with its audit row, unless the pair has one.
-- name: CaseOpen :exec
-- @sqlc-vet-disable namespace-predicate
WITH made AS (
    INSERT INTO memkernel.conflict_cases (tenant, from_id, to_id, namespace, action, reason, relation, confidence, basis, opened_at)
    VALUES (@tenant, @from_id, @to_id, @namespace, @action, @reason, @relation, @confidence, @basis, @ts)
    ON CONFLICT DO NOTHING
    RETURNING from_id
)
INSERT INTO memkernel.audit_log (tenant, call_id, ts, namespace, actor, agent_id, op, memory_id, result, detail)
SELECT @tenant, @call_id, @ts, @namespace, @actor, @agent_id, @op, m.from_id, 'ok', @detail FROM made AS m;

-- CaseList pages through the cases of a subtree in one state, the oldest memories first.
-- name: CaseList :many
SELECT c.from_id, c.to_id, c.namespace, c.state, c.action, c.reason, c.relation, c.confidence, c.basis, c.opened_at, c.resolved_at,
    c.resolved_by
FROM memkernel.conflict_cases AS c
WHERE c.tenant = @tenant AND c.state = @state
    AND (c.namespace = @subtree OR (c.namespace >= @subtree_from AND c.namespace < @subtree_to))
    AND (c.from_id > @after_from OR (c.from_id = @after_from AND c.to_id > @after_to))
ORDER BY c.from_id, c.to_id
LIMIT @max_rows;

-- CaseMemoryMany reads the memories of cases of a subtree, whatever their status.
-- name: CaseMemoryMany :many
SELECT m.id, m.namespace, m.kind, m.text, m.event_time, m.event_end, m.assertion_time, m.t_valid_from, m.t_valid_to, m.expires_at,
    m.end_reason, m.end_note, m.supersedes, m.superseded_by, m.status, m.provenance, m.source, m.actor, m.agent_id, m.tokens,
    m.sensitivity, m.pii_subjects, m.secret_kinds, m.destinations, m.labels
FROM memkernel.memory_objects AS m
WHERE m.tenant = @tenant AND m.id = ANY((@ids::text[])::uuid[])
    AND (m.namespace = @subtree OR (m.namespace >= @subtree_from AND m.namespace < @subtree_to))
LIMIT @max_rows;

-- CaseFind finds a case in a subtree.
-- name: CaseFind :one
SELECT c.namespace FROM memkernel.conflict_cases AS c
WHERE c.tenant = @tenant AND c.from_id = @from_id AND c.to_id = @to_id
    AND (c.namespace = @subtree OR (c.namespace >= @subtree_from AND c.namespace < @subtree_to));

-- CaseHidden tells the audit log, and nobody else, whether a case that was not found is one of
-- the tenant's.
-- name: CaseHidden :one
SELECT EXISTS (SELECT 1 FROM memkernel.conflict_cases AS c
    WHERE c.tenant = @tenant AND c.from_id = @from_id AND c.to_id = @to_id
        AND NOT (c.namespace = @subtree OR (c.namespace >= @subtree_from AND c.namespace < @subtree_to)));

-- CaseLock reads a case that is about to be decided. Its memories are locked before.
-- name: CaseLock :one
SELECT c.state, c.action, c.reason FROM memkernel.conflict_cases AS c
WHERE c.tenant = @tenant AND c.from_id = @from_id AND c.to_id = @to_id AND c.namespace = @namespace
FOR UPDATE;

-- CaseOthers counts the open cases that a memory is the incoming one of, but for the one with
-- another, if that is given.
-- name: CaseOthers :one
SELECT count(*) FROM memkernel.conflict_cases AS c
WHERE c.tenant = @tenant AND c.namespace = @namespace AND c.from_id = @from_id AND c.state = 'open'
    AND (sqlc.narg('but')::uuid IS NULL OR c.to_id <> sqlc.narg('but')::uuid);

-- CaseDecide moves an open case on, once.
-- name: CaseDecide :one
WITH moved AS (
    UPDATE memkernel.conflict_cases AS c SET state = @state, resolved_at = @resolved_at, resolved_by = @resolved_by::text
    WHERE c.tenant = @tenant AND c.from_id = @from_id AND c.to_id = @to_id AND c.namespace = @namespace AND c.state = 'open'
    RETURNING c.from_id
)
SELECT memkernel.expect(count(*), 1) FROM moved;

-- CaseOfTarget counts the open cases about what a write is to replace, which is what is current of
-- a memory that it names, or about the same thing.
-- name: CaseOfTarget :many
SELECT h.id, (
    SELECT count(*) FROM memkernel.conflict_cases AS c
    WHERE c.tenant = @tenant AND c.namespace = @namespace AND c.state = 'open' AND (c.from_id = h.id OR c.to_id = h.id)) AS open_cases
FROM (SELECT coalesce(memkernel.current_head(@tenant, @namespace, sqlc.narg('target')::uuid), (
    SELECT m.id FROM memkernel.memory_objects AS m
    WHERE m.tenant = @tenant AND m.namespace = @namespace AND m.content_key = sqlc.narg('content_key')::text
        AND m.t_valid_to IS NULL AND m.status = 'active'))::uuid AS id) AS h
WHERE h.id IS NOT NULL
LIMIT 1;

-- CaseOverturn moves the open cases about a memory that a person has replaced on: as many as were
-- counted, if that is given, or MK001. What was held or set aside because of it is checked anew.
-- name: CaseOverturn :one
WITH moved AS (
    UPDATE memkernel.conflict_cases AS c SET state = 'overturned', resolved_at = @resolved_at, resolved_by = @resolved_by::text
    WHERE c.tenant = @tenant AND c.namespace = @namespace AND c.state = 'open' AND (c.from_id = @id OR c.to_id = @id)
    RETURNING c.from_id
), marked AS (
    INSERT INTO memkernel.conflict_checks AS q (tenant, memory_id, namespace, marked_at, due_at)
    SELECT @tenant, f.id, @namespace, @resolved_at, @resolved_at
    FROM (SELECT DISTINCT m.from_id FROM moved AS m) AS o
    JOIN memkernel.memory_objects AS f ON f.tenant = @tenant AND f.namespace = @namespace AND f.id = o.from_id
        AND f.t_valid_to IS NULL AND f.status <> 'active' AND f.id <> @id
    ORDER BY f.id
    ON CONFLICT (tenant, memory_id) DO UPDATE
    SET seq = DEFAULT, attempts = 0, marked_at = least(q.marked_at, excluded.marked_at), due_at = least(q.marked_at, excluded.marked_at)
)
SELECT memkernel.expect(count(*), coalesce(sqlc.narg('cases')::bigint, count(*))) FROM moved;

-- CaseStats counts the open cases of a subtree.
-- name: CaseStats :one
SELECT count(*) FROM memkernel.conflict_cases AS c
WHERE c.tenant = @tenant AND c.state = 'open'
    AND (c.namespace = @subtree OR (c.namespace >= @subtree_from AND c.namespace < @subtree_to));
