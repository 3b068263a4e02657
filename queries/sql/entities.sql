-- EntityInsert makes an entity unless the namespace has one of that name and type. Whoever
-- meets the same name at once waits for the first and then finds its entity.
-- name: EntityInsert :exec
INSERT INTO memkernel.entity_registry (tenant, id, namespace, canonical_key, name, type, created_at, actor, key_id)
VALUES (@tenant, @id, @namespace, @canonical_key, @name, @type, @created_at, @actor, sqlc.narg('key_id')::uuid)
ON CONFLICT (tenant, namespace, canonical_key, type) DO NOTHING;

-- EntityDeriveMany keeps the short forms of the name of an entity of the writer's namespace.
-- name: EntityDeriveMany :exec
INSERT INTO memkernel.entity_aliases (tenant, namespace, alias_key, entity_id, derived, name, created_at)
SELECT e.tenant, e.namespace, s.alias_key, e.id, true, s.alias_key, @created_at
FROM memkernel.entity_registry AS e
CROSS JOIN LATERAL (SELECT unnest((SELECT @alias_keys::text[])::text[]) AS alias_key) AS s
WHERE e.tenant = @tenant AND e.namespace = @namespace AND e.canonical_key = @canonical_key AND e.type = @type
ON CONFLICT DO NOTHING;

-- EntityMentionNew links a memory of the namespace to the namespace's entity of a name and type.
-- name: EntityMentionNew :one
WITH found AS (
    SELECT e.id, m.id AS memory_id FROM memkernel.entity_registry AS e
    JOIN memkernel.memory_objects AS m ON m.tenant = e.tenant AND m.id = @memory_id AND m.namespace = @namespace
    WHERE e.tenant = @tenant AND e.namespace = @namespace AND e.canonical_key = @canonical_key AND e.type = @type
), made AS (
    INSERT INTO memkernel.memory_entities (tenant, memory_id, entity_id, namespace, surface)
    SELECT @tenant, f.memory_id, f.id, @namespace, @surface FROM found AS f
    ON CONFLICT DO NOTHING
)
SELECT memkernel.expect(count(*), 1) FROM found;

-- EntityMention links a memory of the namespace to an entity that the namespace sees.
-- name: EntityMention :one
WITH found AS (
    SELECT e.id, m.id AS memory_id FROM memkernel.entity_registry AS e
    JOIN memkernel.memory_objects AS m ON m.tenant = e.tenant AND m.id = @memory_id AND m.namespace = @namespace
    WHERE e.tenant = @tenant AND e.id = @entity_id AND e.namespace = ANY(@namespaces::text[])
), made AS (
    INSERT INTO memkernel.memory_entities (tenant, memory_id, entity_id, namespace, surface)
    SELECT @tenant, f.memory_id, f.id, @namespace, @surface FROM found AS f
    ON CONFLICT DO NOTHING
)
SELECT memkernel.expect(count(*), 1) FROM found;

-- EntityLearn keeps a name that a memory of the namespace has for an entity that it sees, in
-- that namespace.
-- name: EntityLearn :exec
INSERT INTO memkernel.entity_aliases (tenant, namespace, alias_key, entity_id, derived, name, memory_id, created_at)
SELECT e.tenant, @namespace, @alias_key, e.id, false, @name, @memory_id::uuid, @created_at
FROM memkernel.entity_registry AS e
WHERE e.tenant = @tenant AND e.id = @entity_id AND e.namespace = ANY(@namespaces::text[])
ON CONFLICT DO NOTHING;

-- EntityList pages through the visible entities, by name.
-- name: EntityList :many
SELECT e.id, e.namespace, e.canonical_key, e.name, e.type, e.created_at, e.actor, e.merged_into
FROM memkernel.entity_registry AS e
WHERE e.tenant = @tenant AND e.namespace = ANY(@namespaces::text[])
    AND (@wanted::text = '' OR e.type = @wanted::text)
    AND (@merged::boolean OR e.merged_into IS NULL)
    AND (e.canonical_key > @after_key OR (e.canonical_key = @after_key AND e.id > @after_id))
ORDER BY e.canonical_key, e.id
LIMIT @max_rows;

-- EntityGet finds a visible entity and what it has been merged into.
-- name: EntityGet :many
WITH RECURSIVE chain AS (
    SELECT e.id, e.merged_into FROM memkernel.entity_registry AS e
    WHERE e.tenant = @tenant AND e.id = @id AND e.namespace = ANY(@namespaces::text[])
    UNION
    SELECT n.id, n.merged_into FROM chain AS c
    JOIN memkernel.entity_registry AS n ON n.tenant = @tenant AND n.id = c.merged_into AND n.namespace = ANY(@namespaces::text[])
)
SELECT e.id, e.namespace, e.canonical_key, e.name, e.type, e.created_at, e.actor, e.merged_into
FROM chain AS c
JOIN memkernel.entity_registry AS e ON e.tenant = @tenant AND e.id = c.id AND e.namespace = ANY(@namespaces::text[])
LIMIT @max_rows;

-- EntityNamed finds the visible entities that go by one of the names, or a short form of
-- theirs, and what they have been merged into.
-- name: EntityNamed :many
WITH RECURSIVE chain AS (
    SELECT e.id, e.merged_into FROM memkernel.entity_registry AS e
    WHERE e.tenant = @tenant AND e.namespace = ANY(@namespaces::text[]) AND (e.canonical_key = ANY(@keys::text[])
        OR e.id IN (SELECT a.entity_id FROM memkernel.entity_aliases AS a
            WHERE a.tenant = @tenant AND a.namespace = ANY(@namespaces::text[]) AND a.alias_key = ANY(@keys::text[])))
    UNION
    SELECT n.id, n.merged_into FROM chain AS c
    JOIN memkernel.entity_registry AS n ON n.tenant = @tenant AND n.id = c.merged_into AND n.namespace = ANY(@namespaces::text[])
)
SELECT e.id, e.namespace, e.canonical_key, e.name, e.type, e.created_at, e.actor, e.merged_into
FROM chain AS c
JOIN memkernel.entity_registry AS e ON e.tenant = @tenant AND e.id = c.id AND e.namespace = ANY(@namespaces::text[])
ORDER BY e.canonical_key, e.id
LIMIT @max_rows;

-- EntityAliasMany lists the visible names that entities have been called by.
-- name: EntityAliasMany :many
SELECT a.entity_id, a.namespace, a.alias_key, a.name
FROM memkernel.entity_aliases AS a
WHERE a.tenant = @tenant AND a.entity_id = ANY((@ids::text[])::uuid[]) AND a.namespace = ANY(@namespaces::text[]) AND NOT a.derived
ORDER BY a.entity_id, a.alias_key, a.namespace
LIMIT @max_rows;

-- EntityAliasNamed is EntityAliasMany for the names given, without their entities.
-- name: EntityAliasNamed :many
SELECT a.entity_id, a.namespace, a.alias_key, a.name
FROM memkernel.entity_aliases AS a
WHERE a.tenant = @tenant AND a.namespace = ANY(@namespaces::text[]) AND a.alias_key = ANY(@keys::text[]) AND NOT a.derived
ORDER BY a.alias_key, a.entity_id, a.namespace
LIMIT @max_rows;

-- EntityManage finds an entity that the caller sees or manages.
-- name: EntityManage :one
SELECT e.id, e.namespace, e.merged_into,
    (e.namespace = @subtree OR (e.namespace >= @subtree_from AND e.namespace < @subtree_to))::boolean AS managed
FROM memkernel.entity_registry AS e
WHERE e.tenant = @tenant AND e.id = @id
    AND (e.namespace = ANY(@namespaces::text[])
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
