-- name: KeyInsert :exec
INSERT INTO memkernel.api_keys (tenant, id, namespace, actor, agent_id, role, provenance, label, prefix, secret_hash,
    created_at, created_by, rotated_from, expires_at)
VALUES (@tenant, @id, @namespace, @actor, @agent_id, @role, @provenance, @label, @prefix, @secret_hash,
    @created_at, @created_by, @rotated_from, @expires_at);

-- KeysByPrefix finds the candidates of a credential. Prefixes are random, so more than one
-- is a coincidence.
-- name: KeysByPrefix :many
SELECT k.tenant, k.id, k.namespace, k.actor, k.agent_id, k.role, k.provenance, k.label, k.prefix, k.secret_hash,
    k.created_at, k.created_by, k.rotated_from, k.expires_at, k.revoked_at
FROM memkernel.api_keys AS k WHERE k.prefix = @prefix ORDER BY k.id LIMIT 8;

-- name: KeyGet :one
SELECT k.tenant, k.id, k.namespace, k.actor, k.agent_id, k.role, k.provenance, k.label, k.prefix, k.secret_hash,
    k.created_at, k.created_by, k.rotated_from, k.expires_at, k.revoked_at
FROM memkernel.api_keys AS k
WHERE k.tenant = @tenant AND k.id = @id
    AND (k.namespace = @subtree OR (k.namespace >= @subtree_from AND k.namespace < @subtree_to))
FOR UPDATE;

-- KeyRevoke closes a key at a time, now or in the future, and never reopens one.
-- name: KeyRevoke :execrows
UPDATE memkernel.api_keys SET revoked_at = @revoked_at
WHERE tenant = @tenant AND id = @id AND (revoked_at IS NULL OR revoked_at > @revoked_at);

-- name: KeyList :many
SELECT k.tenant, k.id, k.namespace, k.actor, k.agent_id, k.role, k.provenance, k.label, k.prefix, k.secret_hash,
    k.created_at, k.created_by, k.rotated_from, k.expires_at, k.revoked_at
FROM memkernel.api_keys AS k
WHERE k.tenant = @tenant
    AND (k.namespace = @subtree OR (k.namespace >= @subtree_from AND k.namespace < @subtree_to))
    AND (k.namespace > @after_namespace OR (k.namespace = @after_namespace AND k.id > @after_id))
ORDER BY k.namespace, k.id
LIMIT @max_rows;

-- KeyCountOwners counts the usable owner keys at the tenant's root.
-- name: KeyCountOwners :one
SELECT count(*) FROM memkernel.api_keys AS k
WHERE k.tenant = @tenant AND k.namespace = @tenant AND k.role = 'owner'
    AND (k.revoked_at IS NULL OR k.revoked_at > @now) AND (k.expires_at IS NULL OR k.expires_at > @now);
