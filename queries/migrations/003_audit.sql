CREATE TABLE memkernel.audit_log (
    -- Not a foreign key: a refused call may name a tenant that does not exist.
    tenant text COLLATE "C" NOT NULL,
    seq bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
    -- One call, one row: a call that cannot know whether its commit went through appends
    -- again under the same id, waits for the other transaction, and learns it.
    call_id uuid NOT NULL,
    ts timestamptz NOT NULL,
    namespace text COLLATE "C" NOT NULL,
    actor text NOT NULL,
    key_id uuid,
    agent_id text NOT NULL,
    op text NOT NULL,
    memory_id uuid,
    purpose text,
    result text NOT NULL CHECK (result IN ('ok', 'denied', 'miss', 'error')),
    detail text NOT NULL,
    -- Numbers are drawn before their transactions commit; the transaction id lets a reader
    -- find the point below which no open transaction can still add a row.
    xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
    PRIMARY KEY (tenant, seq)
) WITH (autovacuum_vacuum_insert_scale_factor = 0.05);
CREATE UNIQUE INDEX audit_log_call ON memkernel.audit_log (tenant, call_id);
CREATE INDEX audit_log_namespace ON memkernel.audit_log (tenant, namespace, seq);

CREATE TRIGGER audit_log_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON memkernel.audit_log
    FOR EACH STATEMENT EXECUTE FUNCTION memkernel.refuse_change();
ALTER TABLE memkernel.audit_log ENABLE ALWAYS TRIGGER audit_log_append_only;
REVOKE UPDATE, DELETE, TRUNCATE ON memkernel.audit_log FROM PUBLIC, CURRENT_USER;

---- create above / drop below ----

DROP TABLE memkernel.audit_log;
