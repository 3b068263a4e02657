-- Asynchronous writes. A capture becomes a ticket: it also holds on whose behalf it is to be
-- written, and what else was asked for, until a worker is through with it.
---- river 8 ----
ALTER TABLE memkernel.captures
    ADD COLUMN actor text,
    ADD COLUMN agent_id text,
    ADD COLUMN role text CHECK (role IN ('agent', 'member', 'admin', 'owner')),
    ADD COLUMN provenance text CHECK (provenance IN
        ('manual', 'document', 'live-fetch', 'consolidation', 'swap-import', 'conversation')),
    ADD COLUMN key_id uuid,
    ADD COLUMN expires_at timestamptz,
    -- Which job works on it, and since when.
    ADD COLUMN claimed_by bigint,
    ADD COLUMN claimed_at timestamptz,
    -- The request without its text, which is content. It goes when the ticket is done.
    ADD COLUMN request jsonb,
    ADD COLUMN failure text CHECK (failure IN ('unauthenticated', 'forbidden', 'tenant_suspended', 'not_found', 'invalid',
        'too_large', 'conflict', 'unavailable', 'internal', 'abandoned')),
    DROP CONSTRAINT captures_state_check,
    ADD CONSTRAINT captures_state_check CHECK (state IN ('pending', 'running', 'done', 'failed')),
    ADD CHECK ((failure IS NULL) = (state <> 'failed')),
    ADD CHECK (request IS NULL OR role IS NOT NULL),
    ADD CHECK (request IS NULL OR state <> 'done');
-- What waits for a worker, and nothing else.
CREATE INDEX captures_waiting ON memkernel.captures (tenant, namespace, created_at)
    WHERE request IS NOT NULL AND state IN ('pending', 'running');

-- Raw input never changes: only how far it has come does. Whose it is and what was asked for
-- beside the text is set once, or anew after a failure, and what was asked for is dropped when
-- it is done.
CREATE OR REPLACE FUNCTION memkernel.guard_capture_update() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    same memkernel.captures := NEW;
BEGIN
    same.state := OLD.state;
    same.attempts := OLD.attempts;
    same.result := OLD.result;
    same.finished_at := OLD.finished_at;
    same.failure := OLD.failure;
    same.claimed_by := OLD.claimed_by;
    same.claimed_at := OLD.claimed_at;
    IF OLD.role IS NULL OR OLD.state = 'failed' THEN
        same.actor := OLD.actor;
        same.agent_id := OLD.agent_id;
        same.role := OLD.role;
        same.provenance := OLD.provenance;
        same.key_id := OLD.key_id;
        same.expires_at := OLD.expires_at;
        same.request := OLD.request;
    ELSIF NEW.state = 'done' AND NEW.request IS NULL THEN
        same.request := OLD.request;
    END IF;
    IF same IS DISTINCT FROM OLD OR OLD.state = 'done' THEN
        RAISE EXCEPTION 'UPDATE of capture % is refused: raw input never changes', OLD.id USING ERRCODE = 'MK002';
    END IF;
    RETURN NEW;
END $$;

-- Memories that were stored without a vector because the model was down. A row is work to be
-- done, and goes when it is; no foreign key, so that it stands in nobody's way until then.
CREATE TABLE memkernel.embedding_gaps (
    tenant text COLLATE "C" NOT NULL,
    memory_id uuid NOT NULL,
    due_at timestamptz NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant, memory_id)
);
CREATE INDEX embedding_gaps_due ON memkernel.embedding_gaps (due_at);
INSERT INTO memkernel.embedding_gaps (tenant, memory_id, due_at)
SELECT m.tenant, m.id, now() FROM memkernel.memory_objects AS m
JOIN memkernel.tenants AS t ON t.tenant = m.tenant
WHERE NOT EXISTS (SELECT FROM memkernel.memory_vectors AS v WHERE v.tenant = t.id AND v.id = m.id);

---- create above / drop below ----

DROP TABLE memkernel.embedding_gaps;
-- A ticket that nobody will work on any more is a capture that was not finished.
UPDATE memkernel.captures SET state = 'pending', failure = NULL WHERE state IN ('running', 'failed');
DROP INDEX memkernel.captures_waiting;
ALTER TABLE memkernel.captures
    DROP COLUMN actor, DROP COLUMN agent_id, DROP COLUMN role, DROP COLUMN provenance, DROP COLUMN key_id,
    DROP COLUMN expires_at, DROP COLUMN claimed_by, DROP COLUMN claimed_at, DROP COLUMN request, DROP COLUMN failure,
    DROP CONSTRAINT captures_state_check,
    ADD CONSTRAINT captures_state_check CHECK (state IN ('pending', 'done', 'failed'));
CREATE OR REPLACE FUNCTION memkernel.guard_capture_update() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    same memkernel.captures := NEW;
BEGIN
    same.state := OLD.state;
    same.attempts := OLD.attempts;
    same.result := OLD.result;
    same.finished_at := OLD.finished_at;
    IF same IS DISTINCT FROM OLD OR OLD.state = 'done' THEN
        RAISE EXCEPTION 'UPDATE of capture % is refused: raw input never changes', OLD.id USING ERRCODE = 'MK002';
    END IF;
    RETURN NEW;
END $$;
---- river 0 ----
