-- The arms come in two shapes: over the narrow tables alone for the ordinary search, and
-- joined with the rows for one with conditions on time, kind or ended rows. Both take the
-- namespaces that the caller sees.
--
-- The narrow tables know of an end that is on record. What has expired since is looked for once
-- in a statement and left out; it is put in an array and taken out again because the planner,
-- which knows nothing of its length, then always makes a hash of it. With nothing in it that
-- costs nothing.

-- name: PostingList :many
SELECT t.id, t.term, t.tf, t.length, t.tokens
FROM memkernel.memory_terms AS t
WHERE t.tenant = (SELECT x.id FROM memkernel.tenants AS x WHERE x.tenant = @tenant)
    AND t.ns = ANY((SELECT array_agg(n.id) FROM memkernel.namespaces AS n
        WHERE n.tenant = @tenant AND n.path = ANY((SELECT @namespaces::text[])::text[]))::integer[])
    AND t.term = ANY(@terms::bigint[]) AND t.live
    AND t.id NOT IN (SELECT unnest(ARRAY(SELECT d.id FROM memkernel.memory_objects AS d
        WHERE d.tenant = @tenant AND d.namespace = ANY((SELECT @namespaces::text[])::text[])
            AND d.expires_at <= (SELECT @now::timestamptz) AND d.t_valid_to IS NULL)))
LIMIT @max_rows;

-- name: PostingListFiltered :many
SELECT t.id, t.term, t.tf, t.length, t.tokens
FROM memkernel.memory_terms AS t
JOIN memkernel.memory_objects AS m ON m.tenant = @tenant AND m.id = t.id
WHERE t.tenant = (SELECT x.id FROM memkernel.tenants AS x WHERE x.tenant = @tenant)
    AND t.ns = ANY((SELECT array_agg(n.id) FROM memkernel.namespaces AS n
        WHERE n.tenant = @tenant AND n.path = ANY((SELECT @namespaces::text[])::text[]))::integer[])
    AND t.term = ANY(@terms::bigint[])
    AND m.namespace = ANY(@namespaces::text[]) AND m.status = 'active'
    AND CASE
        WHEN sqlc.narg('as_of')::timestamptz IS NOT NULL
            THEN m.t_valid_from <= sqlc.narg('as_of') AND (m.t_valid_to IS NULL OR m.t_valid_to > sqlc.narg('as_of'))
                AND (m.expires_at IS NULL OR m.expires_at > sqlc.narg('as_of'))
        ELSE @ended::boolean OR (m.t_valid_to IS NULL AND (m.expires_at IS NULL OR m.expires_at > @now::timestamptz))
    END
    AND (cardinality(@kinds::text[]) = 0 OR m.kind = ANY(@kinds::text[]))
    AND (sqlc.narg('event_from')::timestamptz IS NULL
        OR coalesce(m.event_end, m.event_time, m.assertion_time) >= sqlc.narg('event_from'))
    AND (sqlc.narg('event_to')::timestamptz IS NULL OR coalesce(m.event_time, m.assertion_time) <= sqlc.narg('event_to'))
LIMIT @max_rows;

-- FilteredStats counts what PostingListFiltered ranks, for BM25.
-- name: FilteredStats :one
SELECT count(*) AS live_rows, coalesce(sum(m.terms_length), 0)::bigint AS live_length
FROM memkernel.memory_objects AS m
WHERE m.tenant = @tenant AND m.namespace = ANY(@namespaces::text[]) AND m.status = 'active'
    AND CASE
        WHEN sqlc.narg('as_of')::timestamptz IS NOT NULL
            THEN m.t_valid_from <= sqlc.narg('as_of') AND (m.t_valid_to IS NULL OR m.t_valid_to > sqlc.narg('as_of'))
                AND (m.expires_at IS NULL OR m.expires_at > sqlc.narg('as_of'))
        ELSE @ended::boolean OR (m.t_valid_to IS NULL AND (m.expires_at IS NULL OR m.expires_at > @now::timestamptz))
    END
    AND (cardinality(@kinds::text[]) = 0 OR m.kind = ANY(@kinds::text[]))
    AND (sqlc.narg('event_from')::timestamptz IS NULL
        OR coalesce(m.event_end, m.event_time, m.assertion_time) >= sqlc.narg('event_from'))
    AND (sqlc.narg('event_to')::timestamptz IS NULL OR coalesce(m.event_time, m.assertion_time) <= sqlc.narg('event_to'));

-- VectorNearest scans the covering index, which the predicate on dim names. One scan per
-- namespace, because over all of them at once the planner prefers to read the whole table as
-- soon as a good part of it is visible, which is slower. The namespace is a range of one,
-- because for an equality it expects the average of all namespaces and, next to a huge one,
-- reads the whole table for a few rows.
-- name: VectorNearest :many
SELECT near.id, near.tokens, near.distance::double precision AS distance
FROM memkernel.namespaces AS n
CROSS JOIN LATERAL (
    SELECT v.id, v.tokens, (v.embedding <#> (SELECT ((@embedding::real[])::vector))) AS distance
    FROM memkernel.memory_vectors AS v
    WHERE v.tenant = n.tenant_id AND v.ns >= n.id AND v.ns <= n.id AND v.model = @model AND v.live AND v.dim <= 500
        AND v.id NOT IN (SELECT unnest(ARRAY(SELECT d.id FROM memkernel.memory_objects AS d
            WHERE d.tenant = @tenant AND d.namespace = ANY((SELECT @namespaces::text[])::text[])
                AND d.expires_at <= (SELECT @now::timestamptz) AND d.t_valid_to IS NULL)))
    ORDER BY distance, v.id
    LIMIT @max_rows
) AS near
WHERE n.tenant = @tenant AND n.path = ANY((SELECT @namespaces::text[])::text[])
ORDER BY near.distance, near.id
LIMIT @max_rows;

-- VectorNearestWide is VectorNearest for vectors that an index tuple cannot hold.
-- name: VectorNearestWide :many
SELECT near.id, near.tokens, near.distance::double precision AS distance
FROM memkernel.namespaces AS n
CROSS JOIN LATERAL (
    SELECT v.id, v.tokens, (v.embedding <#> (SELECT ((@embedding::real[])::vector))) AS distance
    FROM memkernel.memory_vectors AS v
    WHERE v.tenant = n.tenant_id AND v.ns >= n.id AND v.ns <= n.id AND v.model = @model AND v.live AND v.dim > 500
        AND v.id NOT IN (SELECT unnest(ARRAY(SELECT d.id FROM memkernel.memory_objects AS d
            WHERE d.tenant = @tenant AND d.namespace = ANY((SELECT @namespaces::text[])::text[])
                AND d.expires_at <= (SELECT @now::timestamptz) AND d.t_valid_to IS NULL)))
    ORDER BY distance, v.id
    LIMIT @max_rows
) AS near
WHERE n.tenant = @tenant AND n.path = ANY((SELECT @namespaces::text[])::text[])
ORDER BY near.distance, near.id
LIMIT @max_rows;

-- name: VectorNearestFiltered :many
SELECT v.id, v.tokens, (v.embedding <#> (SELECT ((@embedding::real[])::vector)))::double precision AS distance
FROM memkernel.memory_vectors AS v
JOIN memkernel.memory_objects AS m ON m.tenant = @tenant AND m.id = v.id
WHERE v.tenant = (SELECT x.id FROM memkernel.tenants AS x WHERE x.tenant = @tenant) AND v.model = @model
    AND v.ns = ANY((SELECT array_agg(n.id) FROM memkernel.namespaces AS n
        WHERE n.tenant = @tenant AND n.path = ANY((SELECT @namespaces::text[])::text[]))::integer[])
    AND m.namespace = ANY(@namespaces::text[]) AND m.status = 'active'
    AND CASE
        WHEN sqlc.narg('as_of')::timestamptz IS NOT NULL
            THEN m.t_valid_from <= sqlc.narg('as_of') AND (m.t_valid_to IS NULL OR m.t_valid_to > sqlc.narg('as_of'))
                AND (m.expires_at IS NULL OR m.expires_at > sqlc.narg('as_of'))
        ELSE @ended::boolean OR (m.t_valid_to IS NULL AND (m.expires_at IS NULL OR m.expires_at > @now::timestamptz))
    END
    AND (cardinality(@kinds::text[]) = 0 OR m.kind = ANY(@kinds::text[]))
    AND (sqlc.narg('event_from')::timestamptz IS NULL
        OR coalesce(m.event_end, m.event_time, m.assertion_time) >= sqlc.narg('event_from'))
    AND (sqlc.narg('event_to')::timestamptz IS NULL OR coalesce(m.event_time, m.assertion_time) <= sqlc.narg('event_to'))
ORDER BY distance, v.id
LIMIT @max_rows;

-- RecentList returns the newest rows first: ids are ordered by time. One scan per namespace:
-- over all of them at once the planner may walk the tenant's whole key backwards.
-- name: RecentList :many
SELECT near.id, near.tokens
FROM memkernel.namespaces AS n
CROSS JOIN LATERAL (
    SELECT m.id, m.tokens
    FROM memkernel.memory_objects AS m
    WHERE m.tenant = @tenant AND m.namespace = n.path AND m.namespace = ANY(@namespaces::text[]) AND m.status = 'active'
        AND CASE
            WHEN sqlc.narg('as_of')::timestamptz IS NOT NULL
                THEN m.t_valid_from <= sqlc.narg('as_of') AND (m.t_valid_to IS NULL OR m.t_valid_to > sqlc.narg('as_of'))
                    AND (m.expires_at IS NULL OR m.expires_at > sqlc.narg('as_of'))
            ELSE @ended::boolean OR (m.t_valid_to IS NULL AND (m.expires_at IS NULL OR m.expires_at > @now::timestamptz))
        END
        AND (cardinality(@kinds::text[]) = 0 OR m.kind = ANY(@kinds::text[]))
        AND (sqlc.narg('event_from')::timestamptz IS NULL
            OR coalesce(m.event_end, m.event_time, m.assertion_time) >= sqlc.narg('event_from'))
        AND (sqlc.narg('event_to')::timestamptz IS NULL OR coalesce(m.event_time, m.assertion_time) <= sqlc.narg('event_to'))
    ORDER BY m.id DESC
    LIMIT @max_rows
) AS near
WHERE n.tenant = @tenant AND n.path = ANY((SELECT @namespaces::text[])::text[])
ORDER BY near.id DESC
LIMIT @max_rows;

-- name: TermInsertMany :exec
INSERT INTO memkernel.memory_terms (tenant, ns, term, live, id, tf, length, tokens)
SELECT @tenant_id, @ns, unnest(@terms::bigint[]), @live, @id, unnest(@tfs::smallint[]), @length, @tokens;

-- TermInsertAll is TermInsertMany for several memories of a namespace. rows says whose each term is.
-- name: TermInsertAll :exec
INSERT INTO memkernel.memory_terms (tenant, ns, term, live, id, tf, length, tokens)
SELECT @tenant_id, @ns, r.term, ((SELECT @lives::boolean[])::boolean[])[r.at], ((SELECT (@ids::text[])::uuid[])::uuid[])[r.at], r.tf,
    ((SELECT @lengths::integer[])::integer[])[r.at], ((SELECT @tokens::integer[])::integer[])[r.at]
FROM (
    SELECT unnest((SELECT @terms::bigint[])::bigint[]) AS term, unnest((SELECT @tfs::smallint[])::smallint[]) AS tf,
        unnest((SELECT @rows::integer[])::integer[]) AS at
) AS r;

-- TermCloseMany takes a row's postings out of the live set.
-- name: TermCloseMany :exec
SELECT memkernel.close_postings(@tenant_id, @ns, m.id, m.terms) FROM memkernel.memory_objects AS m
WHERE m.tenant = @tenant AND m.id = @id AND m.namespace = @namespace;

-- TermOpenMany puts them back.
-- name: TermOpenMany :exec
SELECT memkernel.open_postings(@tenant_id, @ns, m.id, m.terms) FROM memkernel.memory_objects AS m
WHERE m.tenant = @tenant AND m.id = @id AND m.namespace = @namespace;

-- name: VectorInsert :exec
INSERT INTO memkernel.memory_vectors (tenant, id, model, ns, live, tokens, dim, embedding)
VALUES (@tenant_id, @id, @model, @ns, @live, @tokens, @dim, ((@embedding::real[])::vector));

-- VectorInsertMany is VectorInsert for several memories of a namespace, whose vectors stand one behind
-- the other: froms and tos say which components are whose.
-- name: VectorInsertMany :exec
INSERT INTO memkernel.memory_vectors (tenant, id, model, ns, live, tokens, dim, embedding)
SELECT @tenant_id, r.id::uuid, @model, @ns, r.live, r.tokens, @dim,
    (((SELECT @embeddings::real[])::real[])[r.from_at:r.to_at])::vector
FROM (
    SELECT unnest((SELECT @ids::text[])::text[]) AS id, unnest((SELECT @tokens::integer[])::integer[]) AS tokens,
        unnest((SELECT @lives::boolean[])::boolean[]) AS live, unnest((SELECT @froms::integer[])::integer[]) AS from_at, unnest((SELECT @tos::integer[])::integer[]) AS to_at
) AS r;

-- name: VectorClose :exec
UPDATE memkernel.memory_vectors SET live = false WHERE tenant = @tenant_id AND id = @id AND live;

-- name: VectorOpen :exec
UPDATE memkernel.memory_vectors SET live = true WHERE tenant = @tenant_id AND id = @id AND NOT live;

-- name: EmbeddingModelEnsure :one
WITH made AS (
    INSERT INTO memkernel.embedding_models (name, revision, dim) VALUES (@name, @revision, @dim)
    ON CONFLICT DO NOTHING RETURNING id
)
SELECT made.id FROM made
UNION ALL
SELECT e.id FROM memkernel.embedding_models AS e WHERE e.name = @name AND e.revision = @revision AND e.dim = @dim
LIMIT 1;

-- name: EmbeddingModelID :one
SELECT e.id FROM memkernel.embedding_models AS e WHERE e.name = @name AND e.revision = @revision AND e.dim = @dim;

-- name: EmbeddingModelList :many
SELECT e.id, e.name, e.revision, e.dim FROM memkernel.embedding_models AS e ORDER BY e.id DESC LIMIT 100;
