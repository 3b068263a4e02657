-- EntityInsertMany makes entities, those left out of which the namespace has one of that name and
-- type. Whoever meets the same names at once waits for the first and then finds its entities; a
-- common order keeps them from waiting for each other.
-- name: EntityInsertMany :exec
INSERT INTO memkernel.entity_registry (tenant, id, namespace, canonical_key, name, type, created_at, actor, key_id)
SELECT @tenant, r.id::uuid, @namespace, r.canonical_key, r.name, r.type, r.created_at, @actor, sqlc.narg('key_id')::uuid
FROM (
    SELECT unnest((SELECT @ids::text[])::text[]) AS id, unnest((SELECT @canonical_keys::text[])::text[]) AS canonical_key,
        unnest((SELECT @names::text[])::text[]) AS name, unnest((SELECT @types::text[])::text[]) AS type,
        unnest((SELECT @times::timestamptz[])::timestamptz[]) AS created_at
) AS r
ORDER BY r.canonical_key COLLATE "C", r.type
ON CONFLICT (tenant, namespace, canonical_key, type) DO NOTHING;

-- EntityDeriveMany keeps short forms of the names of entities of the writer's namespace. Each entity
-- is found by its whole key, here and below (OFFSET 0 keeps the sub-select apart): without statistics
-- the planner compares all names with all entities.
-- name: EntityDeriveMany :exec
INSERT INTO memkernel.entity_aliases (tenant, namespace, alias_key, entity_id, derived, name, created_at)
SELECT e.tenant, e.namespace, r.alias_key, e.id, true, r.alias_key, r.created_at
FROM (
    SELECT unnest((SELECT @alias_keys::text[])::text[]) AS alias_key, unnest((SELECT @canonical_keys::text[])::text[]) AS canonical_key,
        unnest((SELECT @types::text[])::text[]) AS type, unnest((SELECT @times::timestamptz[])::timestamptz[]) AS created_at
) AS r
CROSS JOIN LATERAL (
    SELECT x.id, x.tenant, x.namespace FROM memkernel.entity_registry AS x
    WHERE x.tenant = @tenant AND x.namespace = @namespace AND x.canonical_key = r.canonical_key AND x.type = r.type OFFSET 0
) AS e
ORDER BY r.alias_key COLLATE "C", e.id
ON CONFLICT DO NOTHING;

-- EntityMentionNewMany links memories of the namespace to the namespace's entities of a name and type.
-- name: EntityMentionNewMany :one
WITH found AS (
    SELECT e.id, m.id AS memory_id, r.surface
    FROM (
        SELECT unnest((SELECT @memory_ids::text[])::text[])::uuid AS memory_id, unnest((SELECT @canonical_keys::text[])::text[]) AS canonical_key,
            unnest((SELECT @types::text[])::text[]) AS type, unnest((SELECT @surfaces::text[])::text[]) AS surface
    ) AS r
    CROSS JOIN LATERAL (
        SELECT x.id FROM memkernel.entity_registry AS x
        WHERE x.tenant = @tenant AND x.namespace = @namespace AND x.canonical_key = r.canonical_key AND x.type = r.type OFFSET 0
    ) AS e
    CROSS JOIN LATERAL (
        SELECT x.id FROM memkernel.memory_objects AS x
        WHERE x.tenant = @tenant AND x.id = r.memory_id AND x.namespace = @namespace OFFSET 0
    ) AS m
), made AS (
    INSERT INTO memkernel.memory_entities (tenant, memory_id, entity_id, namespace, surface)
    SELECT @tenant, f.memory_id, f.id, @namespace, f.surface FROM found AS f
    ON CONFLICT DO NOTHING
)
SELECT memkernel.expect(count(*), cardinality((SELECT @memory_ids::text[])::text[])) FROM found;

-- EntityMentionMany links memories of the namespace to entities that the namespace sees.
-- name: EntityMentionMany :one
WITH found AS (
    SELECT e.id, m.id AS memory_id, r.surface
    FROM (
        SELECT unnest((SELECT @memory_ids::text[])::text[])::uuid AS memory_id, unnest((SELECT @entity_ids::text[])::text[])::uuid AS entity_id,
            unnest((SELECT @surfaces::text[])::text[]) AS surface
    ) AS r
    CROSS JOIN LATERAL (
        SELECT x.id FROM memkernel.entity_registry AS x
        WHERE x.tenant = @tenant AND x.id = r.entity_id AND x.namespace = ANY((SELECT @namespaces::text[])::text[]) OFFSET 0
    ) AS e
    CROSS JOIN LATERAL (
        SELECT x.id FROM memkernel.memory_objects AS x
        WHERE x.tenant = @tenant AND x.id = r.memory_id AND x.namespace = @namespace OFFSET 0
    ) AS m
), made AS (
    INSERT INTO memkernel.memory_entities (tenant, memory_id, entity_id, namespace, surface)
    SELECT @tenant, f.memory_id, f.id, @namespace, f.surface FROM found AS f
    ON CONFLICT DO NOTHING
)
SELECT memkernel.expect(count(*), cardinality((SELECT @memory_ids::text[])::text[])) FROM found;

-- EntityLearnMany keeps names that memories of the namespace have for entities that it sees, in
-- that namespace; of equal ones the first.
-- name: EntityLearnMany :exec
INSERT INTO memkernel.entity_aliases (tenant, namespace, alias_key, entity_id, derived, name, memory_id, created_at)
SELECT e.tenant, @namespace, r.alias_key, e.id, false, r.name, r.memory_id::uuid, r.created_at
FROM (
    SELECT unnest((SELECT @alias_keys::text[])::text[]) AS alias_key, unnest((SELECT @names::text[])::text[]) AS name,
        unnest((SELECT @memory_ids::text[])::text[]) AS memory_id, unnest((SELECT @entity_ids::text[])::text[]) AS entity_id,
        unnest((SELECT @times::timestamptz[])::timestamptz[]) AS created_at
) AS r
JOIN memkernel.entity_registry AS e ON e.tenant = @tenant AND e.id = r.entity_id::uuid AND e.namespace = ANY((SELECT @namespaces::text[])::text[])
ORDER BY r.alias_key COLLATE "C", e.id, r.memory_id
ON CONFLICT DO NOTHING;

-- EntityList pages through the visible entities, by name. A name is not told before a memory that
-- has it is in the caller's sight, here and below: of what is held or disputed nobody hears. That is
-- asked of one entity at a time (LIMIT 1), which stops at the first such memory.
-- name: EntityList :many
SELECT e.id, e.namespace, e.canonical_key, e.name, e.type, e.created_at, e.actor, e.merged_into
FROM memkernel.entity_registry AS e
WHERE e.tenant = @tenant AND e.namespace = ANY(@namespaces::text[])
    AND (@wanted::text = '' OR e.type = @wanted::text)
    AND coalesce((SELECT true FROM memkernel.memory_entities AS l CROSS JOIN LATERAL (
        SELECT 1 FROM memkernel.memory_objects AS m WHERE m.tenant = l.tenant AND m.id = l.memory_id AND m.status = 'active' OFFSET 0) AS m
        WHERE l.tenant = e.tenant AND l.entity_id = e.id AND l.namespace = ANY((SELECT @namespaces::text[])::text[]) LIMIT 1), false)
    AND (@merged::boolean OR e.merged_into IS NULL)
    AND (e.canonical_key > @after_key OR (e.canonical_key = @after_key AND e.id > @after_id))
ORDER BY e.canonical_key, e.id
LIMIT @max_rows;

-- EntityGet finds a visible entity and what it has been merged into.
-- name: EntityGet :many
WITH RECURSIVE chain AS (
    SELECT e.id, e.merged_into FROM memkernel.entity_registry AS e
    WHERE e.tenant = @tenant AND e.id = @id AND e.namespace = ANY(@namespaces::text[])
        AND coalesce((SELECT true FROM memkernel.memory_entities AS l CROSS JOIN LATERAL (
            SELECT 1 FROM memkernel.memory_objects AS m WHERE m.tenant = l.tenant AND m.id = l.memory_id AND m.status = 'active' OFFSET 0) AS m
            WHERE l.tenant = e.tenant AND l.entity_id = e.id AND l.namespace = ANY((SELECT @namespaces::text[])::text[]) LIMIT 1), false)
    UNION
    SELECT n.id, n.merged_into FROM chain AS c
    JOIN memkernel.entity_registry AS n ON n.tenant = @tenant AND n.id = c.merged_into AND n.namespace = ANY(@namespaces::text[])
)
SELECT e.id, e.namespace, e.canonical_key, e.name, e.type, e.created_at, e.actor, e.merged_into
FROM chain AS c
JOIN memkernel.entity_registry AS e ON e.tenant = @tenant AND e.id = c.id AND e.namespace = ANY(@namespaces::text[])
WHERE coalesce((SELECT true FROM memkernel.memory_entities AS l CROSS JOIN LATERAL (
    SELECT 1 FROM memkernel.memory_objects AS m WHERE m.tenant = l.tenant AND m.id = l.memory_id AND m.status = 'active' OFFSET 0) AS m
    WHERE l.tenant = e.tenant AND l.entity_id = e.id AND l.namespace = ANY((SELECT @namespaces::text[])::text[]) LIMIT 1), false)
LIMIT @max_rows;

-- EntityNamed finds the visible entities that go by one of the names, or a short form of
-- theirs, and what they have been merged into.
-- name: EntityNamed :many
WITH RECURSIVE found AS (
    (
        SELECT e.id, e.namespace, e.canonical_key, e.name, e.type, e.created_at, e.actor, e.merged_into
        FROM memkernel.entity_registry AS e
        WHERE e.tenant = @tenant AND e.namespace = ANY((SELECT @namespaces::text[])::text[])
            AND e.canonical_key = ANY((SELECT @keys::text[])::text[])
        UNION
        SELECT e.id, e.namespace, e.canonical_key, e.name, e.type, e.created_at, e.actor, e.merged_into
        FROM memkernel.entity_aliases AS a
        JOIN memkernel.entity_registry AS e ON e.tenant = a.tenant AND e.id = a.entity_id AND e.namespace = ANY((SELECT @namespaces::text[])::text[])
        WHERE a.tenant = @tenant AND a.namespace = ANY((SELECT @namespaces::text[])::text[])
            AND a.alias_key = ANY((SELECT @keys::text[])::text[])
            AND (a.derived OR (coalesce((SELECT m.status = 'active' FROM memkernel.memory_objects AS m WHERE m.tenant = a.tenant AND m.id = a.memory_id), false)
                OR coalesce((SELECT true FROM memkernel.memory_entities AS l CROSS JOIN LATERAL (
                    SELECT 1 FROM memkernel.memory_objects AS m WHERE m.tenant = l.tenant AND m.id = l.memory_id AND m.status = 'active' OFFSET 0) AS m
                    WHERE l.tenant = a.tenant AND l.entity_id = a.entity_id AND l.namespace = a.namespace AND l.surface = a.name LIMIT 1), false)))
    )
    UNION
    SELECT n.id, n.namespace, n.canonical_key, n.name, n.type, n.created_at, n.actor, n.merged_into
    FROM found AS f
    JOIN memkernel.entity_registry AS n ON n.tenant = @tenant AND n.id = f.merged_into AND n.namespace = ANY((SELECT @namespaces::text[])::text[])
    WHERE f.merged_into IS NOT NULL
)
SELECT f.id, f.namespace, f.canonical_key, f.name, f.type, f.created_at, f.actor, f.merged_into
FROM found AS f
WHERE coalesce((SELECT true FROM memkernel.memory_entities AS l CROSS JOIN LATERAL (
    SELECT 1 FROM memkernel.memory_objects AS m WHERE m.tenant = l.tenant AND m.id = l.memory_id AND m.status = 'active' OFFSET 0) AS m
    WHERE l.tenant = @tenant AND l.entity_id = f.id AND l.namespace = ANY((SELECT @namespaces::text[])::text[]) LIMIT 1), false)
ORDER BY f.canonical_key, f.id
LIMIT @max_rows;

-- EntityAliasMany lists the visible names that entities have been called by: those that a memory in
-- the caller's sight has, the one that taught the name or another.
-- name: EntityAliasMany :many
SELECT a.entity_id, a.namespace, a.alias_key, a.name
FROM memkernel.entity_aliases AS a
WHERE a.tenant = @tenant AND a.entity_id = ANY((@ids::text[])::uuid[]) AND a.namespace = ANY(@namespaces::text[]) AND NOT a.derived
    AND (coalesce((SELECT m.status = 'active' FROM memkernel.memory_objects AS m WHERE m.tenant = a.tenant AND m.id = a.memory_id), false)
        OR coalesce((SELECT true FROM memkernel.memory_entities AS l CROSS JOIN LATERAL (
            SELECT 1 FROM memkernel.memory_objects AS m WHERE m.tenant = l.tenant AND m.id = l.memory_id AND m.status = 'active' OFFSET 0) AS m
            WHERE l.tenant = a.tenant AND l.entity_id = a.entity_id AND l.namespace = a.namespace AND l.surface = a.name LIMIT 1), false))
ORDER BY a.entity_id, a.alias_key, a.namespace
LIMIT @max_rows;

-- EntityAliasNamed is EntityAliasMany for the names given, without their entities.
-- name: EntityAliasNamed :many
SELECT a.entity_id, a.namespace, a.alias_key, a.name
FROM memkernel.entity_aliases AS a
WHERE a.tenant = @tenant AND a.namespace = ANY((SELECT @namespaces::text[])::text[])
    AND a.alias_key = ANY((SELECT @keys::text[])::text[]) AND NOT a.derived
    AND (coalesce((SELECT m.status = 'active' FROM memkernel.memory_objects AS m WHERE m.tenant = a.tenant AND m.id = a.memory_id), false)
        OR coalesce((SELECT true FROM memkernel.memory_entities AS l CROSS JOIN LATERAL (
            SELECT 1 FROM memkernel.memory_objects AS m WHERE m.tenant = l.tenant AND m.id = l.memory_id AND m.status = 'active' OFFSET 0) AS m
            WHERE l.tenant = a.tenant AND l.entity_id = a.entity_id AND l.namespace = a.namespace AND l.surface = a.name LIMIT 1), false))
ORDER BY a.alias_key, a.entity_id, a.namespace
LIMIT @max_rows;

-- EntityManage finds an entity that the caller sees or manages.
-- name: EntityManage :one
SELECT e.id, e.namespace, e.merged_into,
    (e.namespace = @subtree OR (e.namespace >= @subtree_from AND e.namespace < @subtree_to))::boolean AS managed
FROM memkernel.entity_registry AS e
WHERE e.tenant = @tenant AND e.id = @id
    AND (e.namespace = ANY(@namespaces::text[]) AND coalesce((SELECT true FROM memkernel.memory_entities AS l CROSS JOIN LATERAL (
            SELECT 1 FROM memkernel.memory_objects AS m WHERE m.tenant = l.tenant AND m.id = l.memory_id AND m.status = 'active' OFFSET 0) AS m
            WHERE l.tenant = e.tenant AND l.entity_id = e.id AND l.namespace = ANY((SELECT @namespaces::text[])::text[]) LIMIT 1), false)
        OR e.namespace = @subtree OR (e.namespace >= @subtree_from AND e.namespace < @subtree_to));

-- EntityMergeInForce finds the merge by which an entity of a namespace is another.
-- name: EntityMergeInForce :one
SELECT m.id, m.into_id FROM memkernel.entity_merges AS m
WHERE m.tenant = @tenant AND m.entity_id = @entity_id AND m.namespace = @namespace AND m.reverses IS NULL
    AND NOT EXISTS (SELECT 1 FROM memkernel.entity_merges AS r WHERE r.tenant = m.tenant AND r.reverses = m.id)
LIMIT 1;

-- EntityMergeInsert merges or, with reverses, splits. What does not fit what is in force aborts
-- the transaction.
-- name: EntityMergeInsert :exec
INSERT INTO memkernel.entity_merges (tenant, id, entity_id, namespace, into_id, reverses, created_at, actor, key_id)
VALUES (@tenant, @id, @entity_id, @namespace, @into_id, sqlc.narg('reverses')::uuid, @created_at, @actor, sqlc.narg('key_id')::uuid);
