-- name: CaptureInsert :exec
INSERT INTO memkernel.captures (tenant, id, namespace, principal, idempotency_key, request_digest, content, state,
    attempts, result, created_at, finished_at)
VALUES (@tenant, @id, @namespace, @principal, sqlc.narg('idempotency_key'), @request_digest, @content, @state,
    @attempts, sqlc.narg('result')::jsonb, @created_at, sqlc.narg('finished_at')::timestamptz);

-- CaptureInsertMany is CaptureInsert for writes of one caller. An empty key or result stands for NULL.
-- name: CaptureInsertMany :exec
INSERT INTO memkernel.captures (tenant, id, namespace, principal, idempotency_key, request_digest, content, state,
    attempts, result, created_at, finished_at)
SELECT @tenant, r.id::uuid, @namespace, @principal, nullif(r.idempotency_key, ''), r.request_digest, r.content, @state, @attempts,
    nullif(r.result, '')::jsonb, r.created_at, CASE WHEN (SELECT @state::text) = 'done' THEN r.created_at END
FROM (
    SELECT unnest((SELECT @ids::text[])::text[]) AS id, unnest((SELECT @idempotency_keys::text[])::text[]) AS idempotency_key,
        unnest((SELECT @request_digests::bytea[])::bytea[]) AS request_digest, unnest((SELECT @contents::text[])::text[]) AS content,
        unnest((SELECT @results::text[])::text[]) AS result, unnest((SELECT @times::timestamptz[])::timestamptz[]) AS created_at
) AS r;

-- name: CaptureFinish :one
WITH done AS (
    UPDATE memkernel.captures SET state = 'done', result = @result, finished_at = @finished_at, attempts = attempts + 1,
        failure = NULL, request = NULL
    WHERE tenant = @tenant AND id = @id AND state <> 'done'
    RETURNING id
)
SELECT memkernel.expect(count(*), 1) FROM done;

-- CaptureFinishMany is CaptureFinish for writes of one caller.
-- name: CaptureFinishMany :one
WITH done AS (
    UPDATE memkernel.captures AS c SET state = 'done', result = r.result::jsonb, finished_at = r.finished_at, attempts = c.attempts + 1,
        failure = NULL, request = NULL
    FROM (
        SELECT unnest((SELECT @ids::text[])::text[])::uuid AS id, unnest((SELECT @results::text[])::text[]) AS result,
            unnest((SELECT @times::timestamptz[])::timestamptz[]) AS finished_at
    ) AS r
    WHERE c.tenant = @tenant AND c.id = r.id AND c.state <> 'done'
    RETURNING c.id
)
SELECT memkernel.expect(count(*), cardinality((SELECT @ids::text[])::text[])) FROM done;

-- CaptureByKeyMany finds what idempotency keys were used for before.
-- name: CaptureByKeyMany :many
SELECT c.id, c.idempotency_key, c.request_digest, c.state, c.result FROM memkernel.captures AS c
WHERE c.tenant = @tenant AND c.namespace = @namespace AND c.principal = @principal
    AND c.idempotency_key = ANY((SELECT @idempotency_keys::text[])::text[])
LIMIT 10000;
