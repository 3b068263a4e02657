-- name: CaptureInsert :exec
INSERT INTO memkernel.captures (tenant, id, namespace, principal, idempotency_key, request_digest, content, state,
    attempts, result, created_at, finished_at)
VALUES (@tenant, @id, @namespace, @principal, sqlc.narg('idempotency_key'), @request_digest, @content, @state,
    @attempts, sqlc.narg('result')::jsonb, @created_at, sqlc.narg('finished_at')::timestamptz);

-- name: CaptureFinish :one
WITH done AS (
    UPDATE memkernel.captures SET state = 'done', result = @result, finished_at = @finished_at, attempts = attempts + 1,
        failure = NULL, request = NULL
    WHERE tenant = @tenant AND id = @id AND state <> 'done'
    RETURNING id
)
SELECT memkernel.expect(count(*), 1) FROM done;

-- CaptureByKey finds what an idempotency key was used for before.
-- name: CaptureByKey :one
SELECT c.id, c.request_digest, c.state, c.result FROM memkernel.captures AS c
WHERE c.tenant = @tenant AND c.namespace = @namespace AND c.principal = @principal AND c.idempotency_key = @idempotency_key::text;
