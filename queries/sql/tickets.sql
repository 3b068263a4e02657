-- A ticket is a capture that waits for a worker, is being worked on, or is over. Its request
-- is there as long as there may be something left to do.

-- name: TicketInsert :exec
INSERT INTO memkernel.captures (tenant, id, namespace, principal, idempotency_key, request_digest, content, state, created_at,
    actor, agent_id, role, provenance, key_id, expires_at, request)
VALUES (@tenant, @id, @namespace, @principal, sqlc.narg('idempotency_key'), @request_digest, @content, 'pending', @created_at,
    @actor::text, @agent_id::text, @role::text, @provenance::text, sqlc.narg('key_id')::uuid, sqlc.narg('expires_at')::timestamptz,
    @request::jsonb);

-- TicketRenew makes a ticket of a capture that nobody works on: one that was given up, or one
-- of a write that did not get further. MK001 if it is neither.
-- name: TicketRenew :one
WITH renewed AS (
    UPDATE memkernel.captures
    SET state = 'pending', attempts = 0, failure = NULL, finished_at = NULL, actor = @actor::text, agent_id = @agent_id::text,
        role = @role::text, provenance = @provenance::text, key_id = sqlc.narg('key_id')::uuid,
        expires_at = sqlc.narg('expires_at')::timestamptz, request = @request::jsonb
    WHERE tenant = @tenant AND id = @id AND namespace = @namespace AND principal = @principal
        AND (state = 'failed' OR (state = 'pending' AND request IS NULL))
    RETURNING id
)
SELECT memkernel.expect(count(*), 1) FROM renewed;

-- TicketByKey finds what an idempotency key was used for before.
-- name: TicketByKey :one
SELECT c.id, c.request_digest, c.state, (c.request IS NOT NULL)::boolean AS waiting
FROM memkernel.captures AS c
WHERE c.tenant = @tenant AND c.namespace = @namespace AND c.principal = @principal AND c.idempotency_key = @idempotency_key::text;

-- TicketGet reads a ticket for its issuer or, with manages, for whoever manages the subtree
-- that it was issued in. own reports the issuer.
-- name: TicketGet :one
SELECT c.state, c.attempts, c.result, c.failure, (c.namespace = @namespace AND c.principal = @principal)::boolean AS own
FROM memkernel.captures AS c
WHERE c.tenant = @tenant AND c.id = @id
    AND ((c.namespace = @namespace AND c.principal = @principal)
        OR (@manages::boolean AND (c.namespace = @namespace OR (c.namespace >= @subtree_from AND c.namespace < @subtree_to))));

-- TicketHidden tells the audit log, and nobody else, whether a ticket that was not found is
-- somebody else's.
-- name: TicketHidden :one
SELECT EXISTS (SELECT 1 FROM memkernel.captures AS c
    WHERE c.tenant = @tenant AND c.id = @id
        AND NOT ((c.namespace = @namespace AND c.principal = @principal)
            OR (@manages::boolean AND (c.namespace = @namespace OR (c.namespace >= @subtree_from AND c.namespace < @subtree_to)))));

-- TicketClaim begins an attempt, whose number is its fence: an attempt after which another was
-- begun can no longer end the ticket. An attempt of the same job is over when that job runs
-- again; one of another job is when its lease, in seconds, has run out. No row: there is nothing
-- to do, or not yet.
-- name: TicketClaim :one
UPDATE memkernel.captures
SET state = 'running', attempts = attempts + 1, claimed_by = @job::bigint, claimed_at = clock_timestamp()
WHERE tenant = @tenant AND id = @id AND request IS NOT NULL
    AND (state = 'pending' OR (state = 'running'
        AND (claimed_by = @job::bigint OR claimed_at < clock_timestamp() - make_interval(secs => @lease::double precision))))
RETURNING namespace, principal, idempotency_key, request_digest, content, attempts, actor, agent_id, role, provenance, key_id,
    expires_at, request;

-- TicketState is what an attempt has to know about its ticket.
-- name: TicketState :one
SELECT c.state, c.attempts, c.result FROM memkernel.captures AS c WHERE c.tenant = @tenant AND c.id = @id;

-- name: TicketFinish :one
WITH done AS (
    UPDATE memkernel.captures SET state = 'done', result = @result, finished_at = @finished_at, request = NULL
    WHERE tenant = @tenant AND id = @id AND state = 'running' AND attempts = @attempts
    RETURNING id
)
SELECT memkernel.expect(count(*), 1) FROM done;

-- TicketFail gives a ticket up. What was asked for stays, so that it can be tried again.
-- name: TicketFail :one
WITH failed AS (
    UPDATE memkernel.captures SET state = 'failed', failure = @failure::text, finished_at = @finished_at
    WHERE tenant = @tenant AND id = @id AND state = 'running' AND attempts = @attempts
    RETURNING id
)
SELECT memkernel.expect(count(*), 1) FROM failed;

-- TicketRelease ends an attempt that decided nothing. One that was cut short by the worker
-- itself does not count.
-- name: TicketRelease :execrows
UPDATE memkernel.captures SET state = 'pending', attempts = attempts - (CASE WHEN @uncounted::boolean THEN 1 ELSE 0 END)
WHERE tenant = @tenant AND id = @id AND state = 'running' AND attempts = @attempts;

-- TicketStats counts what waits for a worker in the visible namespaces; oldest means nothing if
-- that is none.
-- name: TicketStats :one
SELECT count(*) AS waiting, coalesce(min(c.created_at), to_timestamp(0))::timestamptz AS oldest
FROM memkernel.captures AS c
WHERE c.tenant = @tenant AND c.namespace = ANY(@namespaces::text[]) AND c.request IS NOT NULL AND c.state IN ('pending', 'running');

-- TicketOverdue lists tickets that have waited for long, of all tenants: for a worker that makes
-- sure that each has a job. Ids only.
-- name: TicketOverdue :many
SELECT c.tenant, c.id FROM memkernel.captures AS c
WHERE c.request IS NOT NULL AND c.state IN ('pending', 'running') AND c.created_at < @before
ORDER BY c.tenant, c.namespace, c.created_at
LIMIT @max_rows;
