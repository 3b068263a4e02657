-- GateRead is the one statement that decides whether a caller may go on: the tenant's
-- state, the caller's key as it is now, and the policies of the visible namespaces, root
-- first ("C" collation sorts a path before what lies below it). No row: unknown tenant.
-- name: GateRead :one
SELECT
    t.suspended_at,
    current_setting('transaction_isolation')::text AS isolation,
    k.id AS key_id,
    k.expires_at AS key_expires_at,
    k.revoked_at AS key_revoked_at,
    coalesce((
        SELECT jsonb_agg(q.document ORDER BY q.namespace)
        FROM (SELECT unnest((SELECT @namespaces::text[])::text[]) AS path) AS visible
        CROSS JOIN LATERAL (
            SELECT p.namespace, p.document FROM memkernel.policies AS p
            WHERE p.tenant = t.tenant AND p.namespace = visible.path
            ORDER BY p.version DESC LIMIT 1
        ) AS q
    ), '[]')::jsonb AS policies
FROM memkernel.tenants AS t
LEFT JOIN memkernel.api_keys AS k ON k.tenant = t.tenant AND k.id = (SELECT sqlc.narg('key_id')::uuid)
WHERE t.tenant = @tenant;
