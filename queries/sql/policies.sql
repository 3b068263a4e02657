-- PolicyInsert appends the version after prior, or no row when another writer was first.
-- name: PolicyInsert :execrows
INSERT INTO memkernel.policies (tenant, namespace, version, document, created_at, actor, key_id)
SELECT @tenant, @namespace, (@prior::integer) + 1, @document, @created_at, @actor, sqlc.narg('key_id')::uuid
WHERE (@prior::integer) = (
    SELECT coalesce(max(p.version), 0) FROM memkernel.policies AS p WHERE p.tenant = @tenant AND p.namespace = @namespace)
ON CONFLICT DO NOTHING;

-- PolicyLatest finds nothing unless the namespace is one of those given or in the subtree.
-- name: PolicyLatest :one
SELECT p.tenant, p.namespace, p.version, p.document, p.created_at, p.actor, p.key_id
FROM memkernel.policies AS p
WHERE p.tenant = @tenant AND p.namespace = @namespace
    AND (p.namespace = ANY(@namespaces::text[])
        OR p.namespace = @subtree OR (p.namespace >= @subtree_from AND p.namespace < @subtree_to))
ORDER BY p.version DESC
LIMIT 1;
