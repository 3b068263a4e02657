-- Memories that were stored without a vector because the model was down.

-- GapInsertMany comes with the memories that it is about.
-- name: GapInsertMany :exec
INSERT INTO memkernel.embedding_gaps (tenant, memory_id, due_at)
SELECT @tenant, unnest((SELECT @memory_ids::text[])::text[])::uuid, unnest((SELECT @times::timestamptz[])::timestamptz[]);

-- GapList returns texts to embed, of all tenants that are served: for a worker, which shows
-- them to the model and to nobody else. What was erased has a gap, and no text.
-- name: GapList :many
-- @sqlc-vet-disable namespace-predicate
SELECT g.tenant, g.memory_id, coalesce(m.namespace, '') AS namespace, coalesce(m.text, '') AS text, coalesce(m.kind, '') AS kind,
    coalesce(m.destinations, '{}')::text[] AS destinations, g.attempts
FROM memkernel.embedding_gaps AS g
JOIN memkernel.tenants AS t ON t.tenant = g.tenant AND t.suspended_at IS NULL
LEFT JOIN memkernel.memory_objects AS m ON m.tenant = g.tenant AND m.id = g.memory_id
WHERE g.due_at <= @now
ORDER BY g.due_at, g.tenant, g.memory_id
LIMIT @max_rows;

-- GapFill adds the vector of a memory as the memory is now: what has ended meanwhile stays
-- ended, and what was erased gets none. The row is held against being closed until then.
-- name: GapFill :exec
WITH held AS (
    SELECT m.id, m.tokens, (m.t_valid_to IS NULL AND m.status = 'active') AS live, n.id AS ns, n.tenant_id
    FROM memkernel.memory_objects AS m
    JOIN memkernel.namespaces AS n ON n.tenant = m.tenant AND n.path = m.namespace
    WHERE m.tenant = @tenant AND m.id = @memory_id AND m.namespace = @namespace
    FOR SHARE OF m
)
INSERT INTO memkernel.memory_vectors (tenant, id, model, ns, live, tokens, dim, embedding)
SELECT h.tenant_id, h.id, @model, h.ns, h.live, h.tokens, @dim, ((@embedding::real[])::vector)
FROM held AS h
ON CONFLICT DO NOTHING;

-- GapClose forgets what has been done; it is a worker's note, not a memory.
-- name: GapClose :exec
-- @sqlc-vet-disable delete-only-erasure
DELETE FROM memkernel.embedding_gaps WHERE tenant = @tenant AND memory_id = @memory_id;

-- name: GapDefer :exec
UPDATE memkernel.embedding_gaps SET attempts = attempts + 1, due_at = @due_at WHERE tenant = @tenant AND memory_id = @memory_id;
