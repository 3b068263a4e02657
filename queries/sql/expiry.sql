-- Putting the end of what has expired on record. It has ended already: no query waits for this.

-- ExpiryNamespaceList finds the namespaces, of all tenants, with memories whose end is due and
-- not on record: for a worker that puts it there.
-- name: ExpiryNamespaceList :many
-- @sqlc-vet-disable namespace-predicate
SELECT n.tenant, n.path, n.id, n.tenant_id FROM memkernel.namespaces AS n
WHERE EXISTS (SELECT 1 FROM memkernel.memory_objects AS m
    WHERE m.tenant = n.tenant AND m.namespace = n.path AND m.expires_at <= @now::timestamptz AND m.t_valid_to IS NULL)
LIMIT @max_rows;

-- ExpiryList picks such memories of one namespace and holds them until the transaction ends.
-- What somebody else is at is left to them.
-- name: ExpiryList :many
SELECT m.id, (m.status = 'active')::boolean AS counted
FROM memkernel.memory_objects AS m
WHERE m.tenant = @tenant AND m.namespace = @namespace AND m.expires_at <= @now::timestamptz AND m.t_valid_to IS NULL
ORDER BY m.expires_at
LIMIT @max_rows
FOR NO KEY UPDATE SKIP LOCKED;

-- name: MemoryExpire :one
WITH closed AS (
    UPDATE memkernel.memory_objects AS v SET t_valid_to = greatest(v.expires_at, v.t_valid_from), end_reason = 'expired'
    WHERE v.tenant = @tenant AND v.id = @id AND v.namespace = @namespace AND v.t_valid_to IS NULL AND v.expires_at <= @now::timestamptz
    RETURNING v.id
)
SELECT memkernel.expect(count(*), 1) FROM closed;
