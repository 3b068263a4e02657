CREATE SCHEMA IF NOT EXISTS memkernel;
-- Named, because a role called memkernel would otherwise get the extension in its own schema,
-- where no other role finds the type.
CREATE EXTENSION IF NOT EXISTS vector SCHEMA public;

-- Names compare byte by byte: collation "C" keeps two different paths from being
-- equal and lets a subtree be a half-open range.
CREATE TABLE memkernel.tenants (
    tenant text COLLATE "C" PRIMARY KEY,
    id integer GENERATED ALWAYS AS IDENTITY NOT NULL UNIQUE,
    created_at timestamptz NOT NULL,
    suspended_at timestamptz,
    suspended_reason text
);

-- One row per path that holds or may hold memories. Its integer and its tenant's stand for
-- them in the narrow retrieval tables, where names would double the work of a scan; the counters feed BM25 and are bumped last in a write,
-- because writers of one namespace queue behind this row until they commit.
CREATE TABLE memkernel.namespaces (
    tenant text COLLATE "C" NOT NULL REFERENCES memkernel.tenants (tenant),
    path text COLLATE "C" NOT NULL,
    id integer GENERATED ALWAYS AS IDENTITY NOT NULL,
    tenant_id integer NOT NULL REFERENCES memkernel.tenants (id),
    live_rows bigint NOT NULL DEFAULT 0 CHECK (live_rows >= 0),
    live_length bigint NOT NULL DEFAULT 0 CHECK (live_length >= 0),
    PRIMARY KEY (tenant, path),
    CHECK (path = tenant OR starts_with(path, tenant || '/'))
) WITH (fillfactor = 50);

CREATE TABLE memkernel.api_keys (
    tenant text COLLATE "C" NOT NULL REFERENCES memkernel.tenants (tenant),
    id uuid NOT NULL,
    namespace text COLLATE "C" NOT NULL,
    actor text NOT NULL,
    agent_id text NOT NULL,
    role text NOT NULL CHECK (role IN ('agent', 'member', 'auditor', 'admin', 'owner')),
    provenance text NOT NULL CHECK (provenance IN
        ('manual', 'document', 'live-fetch', 'consolidation', 'swap-import', 'conversation')),
    label text NOT NULL DEFAULT '',
    prefix text COLLATE "C" NOT NULL,
    secret_hash bytea NOT NULL CHECK (octet_length(secret_hash) = 32),
    created_at timestamptz NOT NULL,
    created_by uuid,
    rotated_from uuid,
    expires_at timestamptz,
    revoked_at timestamptz,
    PRIMARY KEY (tenant, id),
    CHECK (namespace = tenant OR starts_with(namespace, tenant || '/'))
);
-- A credential does not name its tenant, so this lookup cannot lead with it. Not unique:
-- a colliding prefix is told apart by the secret.
CREATE INDEX api_keys_prefix ON memkernel.api_keys (prefix);
CREATE INDEX api_keys_namespace ON memkernel.api_keys (tenant, namespace, id);

CREATE TABLE memkernel.policies (
    tenant text COLLATE "C" NOT NULL REFERENCES memkernel.tenants (tenant),
    namespace text COLLATE "C" NOT NULL,
    version integer NOT NULL CHECK (version > 0),
    document jsonb NOT NULL,
    created_at timestamptz NOT NULL,
    actor text NOT NULL,
    key_id uuid,
    PRIMARY KEY (tenant, namespace, version),
    CHECK (namespace = tenant OR starts_with(namespace, tenant || '/'))
);

-- A key can only be ended, and once ended only earlier: it never gets more than it had.
CREATE FUNCTION memkernel.guard_key_update() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    same memkernel.api_keys := NEW;
BEGIN
    same.revoked_at := OLD.revoked_at;
    IF same IS DISTINCT FROM OLD OR NEW.revoked_at IS NULL OR NEW.revoked_at > OLD.revoked_at THEN
        RAISE EXCEPTION 'UPDATE of key % is refused: a key may only be revoked', OLD.id USING ERRCODE = 'MK002';
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER api_keys_update BEFORE UPDATE ON memkernel.api_keys
    FOR EACH ROW EXECUTE FUNCTION memkernel.guard_key_update();
ALTER TABLE memkernel.api_keys ENABLE ALWAYS TRIGGER api_keys_update;

-- Statement triggers, so that a change that matches no row is refused as well.
CREATE FUNCTION memkernel.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% of %.% is refused: the table is append-only', TG_OP, TG_TABLE_SCHEMA, TG_TABLE_NAME
        USING ERRCODE = 'MK002';
END $$;

CREATE TRIGGER policies_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON memkernel.policies
    FOR EACH STATEMENT EXECUTE FUNCTION memkernel.refuse_change();
-- ALWAYS: also under session_replication_role = replica.
ALTER TABLE memkernel.policies ENABLE ALWAYS TRIGGER policies_append_only;

---- create above / drop below ----

DROP TABLE memkernel.policies;
DROP FUNCTION memkernel.refuse_change();
DROP TABLE memkernel.api_keys;
DROP FUNCTION memkernel.guard_key_update();
DROP TABLE memkernel.namespaces;
DROP TABLE memkernel.tenants;
