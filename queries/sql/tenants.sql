-- name: TenantInsert :execrows
INSERT INTO memkernel.tenants (tenant, created_at) VALUES (@tenant, @created_at) ON CONFLICT DO NOTHING;

-- TenantLock serialises what may happen once per tenant, such as its first owner key.
-- name: TenantLock :one
SELECT t.tenant FROM memkernel.tenants AS t WHERE t.tenant = @tenant FOR UPDATE;

-- name: TenantSuspend :execrows
UPDATE memkernel.tenants SET suspended_at = coalesce(suspended_at, @suspended_at), suspended_reason = @reason
WHERE tenant = @tenant;

-- name: TenantResume :execrows
UPDATE memkernel.tenants SET suspended_at = NULL, suspended_reason = NULL WHERE tenant = @tenant;

-- NamespaceEnsure returns the path's integer, making it first if needed.
-- name: NamespaceEnsure :one
WITH made AS (
    INSERT INTO memkernel.namespaces (tenant, path) VALUES (@tenant, @path) ON CONFLICT DO NOTHING RETURNING id
)
SELECT made.id FROM made
UNION ALL
SELECT n.id FROM memkernel.namespaces AS n WHERE n.tenant = @tenant AND n.path = @path
LIMIT 1;

-- name: NamespaceID :one
SELECT n.id FROM memkernel.namespaces AS n WHERE n.tenant = @tenant AND n.path = @path;

-- NamespaceBump comes last in a write: writers of one namespace queue behind it.
-- name: NamespaceBump :exec
UPDATE memkernel.namespaces SET live_rows = live_rows + @rows_delta, live_length = live_length + @length_delta
WHERE tenant = @tenant AND path = @path;

-- NamespaceStats sums the counters of the visible namespaces for BM25.
-- name: NamespaceStats :one
SELECT coalesce(sum(n.live_rows), 0)::bigint AS live_rows, coalesce(sum(n.live_length), 0)::bigint AS live_length
FROM memkernel.namespaces AS n
WHERE n.tenant = @tenant AND n.path = ANY(@namespaces::text[]);
