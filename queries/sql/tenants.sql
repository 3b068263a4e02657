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

-- NamespaceEnsure returns the integers of a path and its tenant, making the path first if
-- needed.
-- name: NamespaceEnsure :one
WITH made AS (
    INSERT INTO memkernel.namespaces (tenant, path, tenant_id)
    SELECT t.tenant, @path, t.id FROM memkernel.tenants AS t WHERE t.tenant = @tenant
    ON CONFLICT DO NOTHING RETURNING id, tenant_id
)
SELECT made.id, made.tenant_id FROM made
UNION ALL
SELECT n.id, n.tenant_id FROM memkernel.namespaces AS n WHERE n.tenant = @tenant AND n.path = @path
LIMIT 1;

-- name: NamespaceID :one
SELECT n.id, n.tenant_id FROM memkernel.namespaces AS n WHERE n.tenant = @tenant AND n.path = @path;

-- NamespaceBump comes last in a write: writers of one namespace queue behind it. It counts
-- what was added and what the rows that were closed took away, which is nothing for one that was
-- held or disputed. Like others here it hides a
-- parameter in a sub-select: a plan for any value is then as good as one for this value, and
-- the server stops planning at every call.
-- name: NamespaceBump :one
WITH bumped AS (
UPDATE memkernel.namespaces AS n
SET live_rows = n.live_rows + (@added_rows::bigint) - (
        SELECT count(*) FROM memkernel.memory_objects AS m
        WHERE m.tenant = @tenant AND m.id = ANY((SELECT (@closed::text[])::uuid[])::uuid[]) AND m.namespace = @path AND m.status = 'active'),
    live_length = n.live_length + (@added_length::bigint) - coalesce((
        SELECT sum(m.terms_length) FROM memkernel.memory_objects AS m
        WHERE m.tenant = @tenant AND m.id = ANY((SELECT (@closed::text[])::uuid[])::uuid[]) AND m.namespace = @path AND m.status = 'active'), 0)
WHERE n.tenant = @tenant AND n.path = @path
RETURNING n.id
)
SELECT memkernel.expect(count(*), 1) FROM bumped;

-- NamespaceStats returns the counters of the visible namespaces, for BM25 and for sharing out
-- the vector arm, without what has expired and is still counted. The status is no condition of
-- the rows, for which the planner might take the index of current copies.
-- name: NamespaceStats :many
SELECT n.path, (n.live_rows - due.gone)::bigint AS live_rows, (n.live_length - due.length)::bigint AS live_length
FROM memkernel.namespaces AS n
CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE m.status = 'active') AS gone,
        coalesce(sum(m.terms_length) FILTER (WHERE m.status = 'active'), 0) AS length
    FROM memkernel.memory_objects AS m
    WHERE m.tenant = @tenant AND m.namespace = n.path AND m.namespace = ANY((SELECT @namespaces::text[])::text[])
        AND m.expires_at <= (SELECT @now::timestamptz) AND m.t_valid_to IS NULL
) AS due
WHERE n.tenant = @tenant AND n.path = ANY((SELECT @namespaces::text[])::text[])
LIMIT 10000;
