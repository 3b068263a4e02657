-- Raw input, and the receipt that a retry with the same idempotency key gets back.
CREATE TABLE memkernel.captures (
    tenant text COLLATE "C" NOT NULL REFERENCES memkernel.tenants (tenant),
    id uuid NOT NULL,
    namespace text COLLATE "C" NOT NULL,
    principal text NOT NULL,
    idempotency_key text COLLATE "C",
    request_digest bytea NOT NULL,
    content text NOT NULL,
    state text NOT NULL CHECK (state IN ('pending', 'done', 'failed')),
    attempts integer NOT NULL DEFAULT 0,
    result jsonb,
    created_at timestamptz NOT NULL,
    finished_at timestamptz,
    PRIMARY KEY (tenant, id)
);
CREATE UNIQUE INDEX captures_idempotency ON memkernel.captures (tenant, namespace, principal, idempotency_key)
    WHERE idempotency_key IS NOT NULL;
CREATE INDEX captures_unfinished ON memkernel.captures (tenant, namespace, created_at) WHERE state <> 'done';

-- A reference table, the same for all tenants.
CREATE TABLE memkernel.embedding_models (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL,
    revision text NOT NULL,
    dim integer NOT NULL CHECK (dim > 0),
    created_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (name, revision, dim)
);

CREATE TABLE memkernel.tombstones (
    tenant text COLLATE "C" NOT NULL REFERENCES memkernel.tenants (tenant),
    memory_id uuid NOT NULL,
    namespace text COLLATE "C" NOT NULL,
    erased_at timestamptz NOT NULL,
    erased_by text NOT NULL,
    certificate_id uuid,
    digest bytea,
    -- The erasure that made it; the guards below let only that transaction delete.
    xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
    PRIMARY KEY (tenant, memory_id)
);

CREATE TABLE memkernel.memory_objects (
    tenant text COLLATE "C" NOT NULL REFERENCES memkernel.tenants (tenant),
    id uuid NOT NULL,
    namespace text COLLATE "C" NOT NULL,
    kind text NOT NULL CHECK (kind IN ('fact', 'preference', 'skill', 'goal', 'opinion', 'experience',
        'achievement', 'action', 'episode', 'entity', 'pointer', 'raw')),
    text text NOT NULL,
    dedupe_key bytea NOT NULL,
    -- What a pointer or a refresh is about; such writes replace each other by it.
    content_key text,
    event_time timestamptz,
    event_end timestamptz,
    assertion_time timestamptz NOT NULL,
    t_valid_from timestamptz NOT NULL,
    t_valid_to timestamptz,
    end_reason text CHECK (end_reason IN ('superseded', 'retracted', 'expired')),
    end_note text,
    supersedes uuid,
    -- The first row of a supersede chain, on every row but that first one, and how many rows
    -- were replaced before this one: times cannot order them, since two may be equal.
    chain uuid,
    chain_pos integer NOT NULL DEFAULT 0,
    status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'disputed', 'held')),
    provenance text NOT NULL CHECK (provenance IN
        ('manual', 'document', 'live-fetch', 'consolidation', 'swap-import', 'conversation')),
    source text NOT NULL DEFAULT '',
    actor text NOT NULL,
    key_id uuid,
    agent_id text NOT NULL DEFAULT '',
    -- NULL until a classifier has run.
    sensitivity text CHECK (sensitivity IN ('public', 'internal', 'confidential', 'restricted')),
    pii_subjects text[],
    secret_kinds text[],
    destinations text[],
    labels text[],
    certainty real,
    importance real,
    tokens integer NOT NULL,
    capture_id uuid,
    derived_from uuid[],
    -- The row's postings in memory_terms: closing and erasing reach them by key, without
    -- a second index over every posting. Derived from text by the given tokenizer version.
    terms bigint[] NOT NULL,
    terms_length integer NOT NULL,
    terms_version smallint NOT NULL,
    PRIMARY KEY (tenant, id),
    FOREIGN KEY (tenant, capture_id) REFERENCES memkernel.captures (tenant, id),
    FOREIGN KEY (tenant, supersedes) REFERENCES memkernel.memory_objects (tenant, id),
    CHECK (t_valid_to >= t_valid_from),
    CHECK ((t_valid_to IS NULL) = (end_reason IS NULL)),
    CHECK (end_note IS NULL OR end_reason IS NOT NULL),
    CHECK (event_end IS NULL OR event_end >= event_time),
    CHECK (supersedes <> id),
    CHECK ((supersedes IS NULL) OR (chain IS NOT NULL)),
    CHECK (namespace = tenant OR starts_with(namespace, tenant || '/'))
);
-- The database, not the code, guarantees one current copy, one successor and one head.
CREATE UNIQUE INDEX memory_objects_dedupe ON memkernel.memory_objects (tenant, namespace, dedupe_key)
    WHERE t_valid_to IS NULL AND status = 'active';
CREATE UNIQUE INDEX memory_objects_successor ON memkernel.memory_objects (tenant, supersedes)
    WHERE supersedes IS NOT NULL;
CREATE UNIQUE INDEX memory_objects_head ON memkernel.memory_objects (tenant, chain)
    WHERE chain IS NOT NULL AND t_valid_to IS NULL;
CREATE INDEX memory_objects_chain ON memkernel.memory_objects (tenant, chain, t_valid_from)
    WHERE chain IS NOT NULL;
CREATE INDEX memory_objects_namespace ON memkernel.memory_objects (tenant, namespace, id);

-- The narrow retrieval tables: index-only scans over the visible set. live is false once
-- the row has ended or is not active. No foreign keys: they are written and erased with
-- their row, and a check per posting would cost more than the posting. Vacuum keeps the scans
-- index-only, and early statistics keep a young database's plans good.
CREATE TABLE memkernel.memory_terms (
    tenant integer NOT NULL,
    ns integer NOT NULL,
    term bigint NOT NULL,
    live boolean NOT NULL,
    id uuid NOT NULL,
    tf smallint NOT NULL,
    length integer NOT NULL,
    tokens integer NOT NULL
) WITH (autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_vacuum_insert_threshold = 2000,
    autovacuum_analyze_scale_factor = 0.05, autovacuum_analyze_threshold = 500);
CREATE UNIQUE INDEX memory_terms_posting ON memkernel.memory_terms (tenant, ns, term, live, id)
    INCLUDE (tf, length, tokens);

CREATE TABLE memkernel.memory_vectors (
    tenant integer NOT NULL,
    id uuid NOT NULL,
    model integer NOT NULL REFERENCES memkernel.embedding_models (id),
    ns integer NOT NULL,
    live boolean NOT NULL,
    tokens integer NOT NULL,
    dim integer NOT NULL,
    embedding vector NOT NULL CHECK (vector_dims(embedding) = dim),
    PRIMARY KEY (tenant, id, model)
) WITH (autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_vacuum_insert_threshold = 1000,
    autovacuum_analyze_scale_factor = 0.05, autovacuum_analyze_threshold = 100);
-- Uncompressed and in the row: a TOASTed vector makes exact search three times slower.
ALTER TABLE memkernel.memory_vectors ALTER COLUMN embedding SET STORAGE PLAIN;
-- An index tuple must stay under a third of a page; larger vectors are read from the heap.
CREATE INDEX memory_vectors_covering ON memkernel.memory_vectors (tenant, ns, model, live)
    INCLUDE (id, tokens, embedding) WHERE dim <= 500;
CREATE INDEX memory_vectors_wide ON memkernel.memory_vectors (tenant, ns, model, live) WHERE dim > 500;

-- Counters per reading namespace: a child cannot raise a parent's ranking, and a hot
-- counter never rewrites a row with text in it.
CREATE TABLE memkernel.memory_access (
    tenant text COLLATE "C" NOT NULL,
    reader text COLLATE "C" NOT NULL,
    memory_id uuid NOT NULL,
    hits bigint NOT NULL,
    last_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, reader, memory_id)
) WITH (fillfactor = 70);

-- expect aborts the surrounding transaction when a guarded statement touched another
-- number of rows than it had to, so that a whole write can travel as one batch.
CREATE FUNCTION memkernel.expect(got bigint, want bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    IF got IS DISTINCT FROM want THEN
        RAISE EXCEPTION 'expected % rows, touched %', want, got USING ERRCODE = 'MK001';
    END IF;
    RETURN true;
END $$;

-- close_postings takes the postings of a row out of the live set and returns how many it found.
-- A megabyte of text has 150,000 of them, and a plan that compares them all with all terms
-- takes hours: here each is found by its whole key (OFFSET 0 keeps the sub-select apart) and
-- changed where it was found, whatever the statistics say.
CREATE FUNCTION memkernel.close_postings(tenant_id integer, ns_id integer, row_id uuid, row_terms bigint[]) RETURNS bigint
LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
    closed bigint;
BEGIN
    UPDATE memkernel.memory_terms AS t SET live = false
    FROM unnest(row_terms) AS own (term)
    CROSS JOIN LATERAL (
        SELECT p.ctid AS place FROM memkernel.memory_terms AS p
        WHERE p.tenant = tenant_id AND p.ns = ns_id AND p.term = own.term AND p.live AND p.id = row_id OFFSET 0
    ) AS posting
    WHERE t.ctid = posting.place;
    GET DIAGNOSTICS closed = ROW_COUNT;
    RETURN closed;
END $$;

-- Raw input never changes: only how far it has come does.
CREATE FUNCTION memkernel.guard_capture_update() RETURNS trigger LANGUAGE plpgsql AS $$
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

CREATE TRIGGER captures_update BEFORE UPDATE ON memkernel.captures
    FOR EACH ROW EXECUTE FUNCTION memkernel.guard_capture_update();
ALTER TABLE memkernel.captures ENABLE ALWAYS TRIGGER captures_update;

CREATE FUNCTION memkernel.guard_memory_update() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    same memkernel.memory_objects := NEW;
BEGIN
    -- Whatever is not copied back from OLD here may not differ, future columns included.
    IF OLD.t_valid_to IS NULL THEN
        same.t_valid_to := OLD.t_valid_to;
        same.end_reason := OLD.end_reason;
        same.end_note := OLD.end_note;
        same.status := OLD.status;
    END IF;
    same.terms := OLD.terms;
    same.terms_length := OLD.terms_length;
    same.terms_version := OLD.terms_version;
    IF NEW.supersedes IS NULL AND OLD.supersedes IS NOT NULL AND EXISTS (
        SELECT 1 FROM memkernel.tombstones t
        WHERE t.tenant = OLD.tenant AND t.memory_id = OLD.supersedes AND t.xid = pg_current_xact_id()) THEN
        same.supersedes := OLD.supersedes;
    END IF;
    IF same IS DISTINCT FROM OLD THEN
        RAISE EXCEPTION 'UPDATE of memory % is refused: a memory may only be closed', OLD.id
            USING ERRCODE = 'MK002';
    END IF;
    RETURN NEW;
END $$;

CREATE FUNCTION memkernel.guard_memory_delete() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (
        SELECT 1 FROM memkernel.tombstones t
        WHERE t.tenant = OLD.tenant AND t.memory_id = OLD.id AND t.xid = pg_current_xact_id()) THEN
        RAISE EXCEPTION 'DELETE of memory % is refused: only an erasure deletes', OLD.id
            USING ERRCODE = 'MK002';
    END IF;
    RETURN OLD;
END $$;

CREATE TRIGGER memory_objects_update BEFORE UPDATE ON memkernel.memory_objects
    FOR EACH ROW EXECUTE FUNCTION memkernel.guard_memory_update();
CREATE TRIGGER memory_objects_delete BEFORE DELETE ON memkernel.memory_objects
    FOR EACH ROW EXECUTE FUNCTION memkernel.guard_memory_delete();
CREATE TRIGGER memory_objects_truncate BEFORE TRUNCATE ON memkernel.memory_objects
    FOR EACH STATEMENT EXECUTE FUNCTION memkernel.refuse_change();
CREATE TRIGGER tombstones_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON memkernel.tombstones
    FOR EACH STATEMENT EXECUTE FUNCTION memkernel.refuse_change();
ALTER TABLE memkernel.memory_objects ENABLE ALWAYS TRIGGER memory_objects_update;
ALTER TABLE memkernel.memory_objects ENABLE ALWAYS TRIGGER memory_objects_delete;
ALTER TABLE memkernel.memory_objects ENABLE ALWAYS TRIGGER memory_objects_truncate;
ALTER TABLE memkernel.tombstones ENABLE ALWAYS TRIGGER tombstones_append_only;

---- create above / drop below ----

DROP TABLE memkernel.memory_access;
DROP TABLE memkernel.memory_vectors;
DROP TABLE memkernel.memory_terms;
DROP TABLE memkernel.memory_objects;
DROP FUNCTION memkernel.guard_memory_delete();
DROP FUNCTION memkernel.guard_memory_update();
DROP FUNCTION memkernel.close_postings(integer, integer, uuid, bigint[]);
DROP FUNCTION memkernel.expect(bigint, bigint);
DROP TABLE memkernel.tombstones;
DROP TABLE memkernel.embedding_models;
DROP TABLE memkernel.captures;
DROP FUNCTION memkernel.guard_capture_update();
