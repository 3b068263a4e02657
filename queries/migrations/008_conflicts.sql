-- Contradictions: what has not been compared with its neighbours yet, what waits for a person,
-- and how a settlement changes memories that are there already.
ALTER TABLE memkernel.memory_objects
    -- What took the place of this one though it had been there before: supersedes, the other
    -- way to be replaced, is fixed when a successor is inserted. Set when the row is closed.
    ADD COLUMN superseded_by uuid,
    ADD CONSTRAINT memory_objects_superseded_by FOREIGN KEY (tenant, superseded_by)
        REFERENCES memkernel.memory_objects (tenant, id),
    ADD CONSTRAINT memory_objects_superseded_how CHECK (superseded_by IS NULL OR coalesce(end_reason = 'superseded', false)),
    ADD CONSTRAINT memory_objects_superseded_self CHECK (superseded_by <> id);
CREATE INDEX memory_objects_settled_by ON memkernel.memory_objects (tenant, superseded_by) WHERE superseded_by IS NOT NULL;
CREATE INDEX memory_objects_settled_chain ON memkernel.memory_objects (tenant, chain) WHERE superseded_by IS NOT NULL;

-- Memories that have not been checked. A row is work to be done, and goes when it is; no
-- foreign key, so that it stands in nobody's way until then. What was there before this table
-- is not checked by itself, but what comes is compared with it.
CREATE TABLE memkernel.conflict_checks (
    tenant text COLLATE "C" NOT NULL,
    memory_id uuid NOT NULL,
    namespace text COLLATE "C" NOT NULL,
    -- Which came first, whatever the clocks of the writers say.
    seq bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
    -- What a held memory is to replace once it is released.
    replaces uuid,
    marked_at timestamptz NOT NULL,
    -- When it may be claimed, by anybody, again.
    due_at timestamptz NOT NULL,
    -- How often it was claimed, which is the fence: a claim after which another was made decides
    -- nothing any more.
    attempts integer NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant, memory_id)
);
CREATE INDEX conflict_checks_due ON memkernel.conflict_checks (due_at, seq);

-- Contradictions that wait for a person, and what became of them. No foreign keys and no text:
-- a case outlives its memories. from_id came later, to_id was there.
CREATE TABLE memkernel.conflict_cases (
    tenant text COLLATE "C" NOT NULL REFERENCES memkernel.tenants (tenant),
    from_id uuid NOT NULL,
    to_id uuid NOT NULL,
    -- That of both memories.
    namespace text COLLATE "C" NOT NULL,
    state text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'confirmed', 'retracted', 'coexist', 'overturned')),
    action text NOT NULL CHECK (action IN ('open_case', 'dispute')),
    reason text NOT NULL CHECK (reason <> ''),
    relation text NOT NULL,
    confidence smallint NOT NULL CHECK (confidence BETWEEN 0 AND 100),
    basis text NOT NULL,
    opened_at timestamptz NOT NULL,
    resolved_at timestamptz,
    resolved_by text,
    PRIMARY KEY (tenant, from_id, to_id),
    CHECK (from_id <> to_id),
    CHECK ((state = 'open') = (resolved_at IS NULL)),
    CHECK ((resolved_at IS NULL) = (resolved_by IS NULL)),
    CHECK (namespace = tenant OR starts_with(namespace, tenant || '/'))
);
-- One case for a pair, whichever came first.
CREATE UNIQUE INDEX conflict_cases_pair ON memkernel.conflict_cases (tenant, least(from_id, to_id), greatest(from_id, to_id));
CREATE INDEX conflict_cases_to ON memkernel.conflict_cases (tenant, to_id);
CREATE INDEX conflict_cases_listed ON memkernel.conflict_cases (tenant, state, namespace, from_id, to_id);

-- A case begins open, moves once, and nothing else of it ever changes.
CREATE FUNCTION memkernel.guard_case_change() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    same memkernel.conflict_cases := NEW;
BEGIN
    IF TG_OP = 'INSERT' THEN
        same.state := 'open';
        IF same IS DISTINCT FROM NEW THEN
            RAISE EXCEPTION 'INSERT of a case of memory % is refused: a case begins open', NEW.from_id USING ERRCODE = 'MK002';
        END IF;
        RETURN NEW;
    END IF;
    IF OLD.state = 'open' AND NEW.state <> 'open' THEN
        same.state := OLD.state;
        same.resolved_at := OLD.resolved_at;
        same.resolved_by := OLD.resolved_by;
    END IF;
    IF same IS DISTINCT FROM OLD THEN
        RAISE EXCEPTION 'UPDATE of a case of memory % is refused: a case may only be decided, once', OLD.from_id
            USING ERRCODE = 'MK002';
    END IF;
    RETURN NEW;
END $$;

CREATE FUNCTION memkernel.guard_case_delete() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (
        SELECT 1 FROM memkernel.tombstones AS t
        WHERE t.tenant = OLD.tenant AND t.memory_id IN (OLD.from_id, OLD.to_id) AND t.xid = pg_current_xact_id()) THEN
        RAISE EXCEPTION 'DELETE of a case of memory % is refused: only an erasure deletes', OLD.from_id USING ERRCODE = 'MK002';
    END IF;
    RETURN OLD;
END $$;

CREATE TRIGGER conflict_cases_change BEFORE INSERT OR UPDATE ON memkernel.conflict_cases
    FOR EACH ROW EXECUTE FUNCTION memkernel.guard_case_change();
CREATE TRIGGER conflict_cases_delete BEFORE DELETE ON memkernel.conflict_cases
    FOR EACH ROW EXECUTE FUNCTION memkernel.guard_case_delete();
CREATE TRIGGER conflict_cases_truncate BEFORE TRUNCATE ON memkernel.conflict_cases
    FOR EACH STATEMENT EXECUTE FUNCTION memkernel.refuse_change();
ALTER TABLE memkernel.conflict_cases ENABLE ALWAYS TRIGGER conflict_cases_change;
ALTER TABLE memkernel.conflict_cases ENABLE ALWAYS TRIGGER conflict_cases_delete;
ALTER TABLE memkernel.conflict_cases ENABLE ALWAYS TRIGGER conflict_cases_truncate;

-- open_postings is the inverse of close_postings.
CREATE FUNCTION memkernel.open_postings(tenant_id integer, ns_id integer, row_id uuid, row_terms bigint[]) RETURNS bigint
LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
    opened bigint;
BEGIN
    UPDATE memkernel.memory_terms AS t SET live = true
    FROM unnest(row_terms) AS own (term)
    CROSS JOIN LATERAL (
        SELECT p.ctid AS place FROM memkernel.memory_terms AS p
        WHERE p.tenant = tenant_id AND p.ns = ns_id AND p.term = own.term AND NOT p.live AND p.id = row_id OFFSET 0
    ) AS posting
    WHERE t.ctid = posting.place;
    GET DIAGNOSTICS opened = ROW_COUNT;
    RETURN opened;
END $$;

-- current_head finds what is current of what a memory has become: the end of its chain or, if
-- that was closed in favour of a memory of another chain, the end of that one, and so on. NULL
-- if nothing is. A memory is closed in favour of a current one only, so this comes to an end.
CREATE FUNCTION memkernel.current_head(of_tenant text, of_namespace text, of_id uuid) RETURNS uuid
LANGUAGE plpgsql STABLE AS $$
DECLARE
    at uuid := of_id;
    line uuid;
    head uuid;
BEGIN
    WHILE at IS NOT NULL LOOP
        SELECT coalesce(m.chain, m.id) INTO line FROM memkernel.memory_objects AS m
        WHERE m.tenant = of_tenant AND m.namespace = of_namespace AND m.id = at;
        SELECT m.id INTO head FROM memkernel.memory_objects AS m
        WHERE m.tenant = of_tenant AND m.namespace = of_namespace AND (m.id = line OR m.chain = line) AND m.t_valid_to IS NULL;
        EXIT WHEN FOUND;
        SELECT m.superseded_by INTO at FROM memkernel.memory_objects AS m
        WHERE m.tenant = of_tenant AND m.namespace = of_namespace AND (m.id = line OR m.chain = line)
            AND m.superseded_by IS NOT NULL;
    END LOOP;
    RETURN head;
END $$;

-- What may change while a memory is current is whether it is believed, and that it ends, not
-- both at once; by what it was replaced is said when it ends.
CREATE OR REPLACE FUNCTION memkernel.guard_memory_update() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    same memkernel.memory_objects := NEW;
BEGIN
    -- Whatever is not copied back from OLD here may not differ, future columns included.
    IF OLD.t_valid_to IS NULL AND NEW.t_valid_to IS NOT NULL THEN
        same.t_valid_to := OLD.t_valid_to;
        same.end_reason := OLD.end_reason;
        same.end_note := OLD.end_note;
        same.superseded_by := OLD.superseded_by;
        IF NEW.superseded_by IS NOT NULL THEN
            -- Held until the end: two that replaced each other would be gone both.
            PERFORM 1 FROM memkernel.memory_objects AS s
            WHERE s.tenant = NEW.tenant AND s.id = NEW.superseded_by AND s.namespace = NEW.namespace AND s.t_valid_to IS NULL
            FOR SHARE;
            IF NOT FOUND THEN
                RAISE EXCEPTION 'memory % cannot be replaced by %, which is not current in its namespace', OLD.id, NEW.superseded_by
                    USING ERRCODE = 'MK001';
            END IF;
        END IF;
    ELSIF OLD.t_valid_to IS NULL AND (OLD.status, NEW.status) IN
        (('held', 'active'), ('held', 'disputed'), ('active', 'disputed'), ('disputed', 'active')) THEN
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
    IF NEW.superseded_by IS NULL AND OLD.superseded_by IS NOT NULL AND EXISTS (
        SELECT 1 FROM memkernel.tombstones t
        WHERE t.tenant = OLD.tenant AND t.memory_id = OLD.superseded_by AND t.xid = pg_current_xact_id()) THEN
        same.superseded_by := OLD.superseded_by;
    END IF;
    IF same IS DISTINCT FROM OLD THEN
        RAISE EXCEPTION 'UPDATE of memory % is refused: a memory may only be closed', OLD.id
            USING ERRCODE = 'MK002';
    END IF;
    RETURN NEW;
END $$;

---- create above / drop below ----

CREATE OR REPLACE FUNCTION memkernel.guard_memory_update() RETURNS trigger LANGUAGE plpgsql AS $$
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
DROP FUNCTION memkernel.current_head(text, text, uuid);
DROP FUNCTION memkernel.open_postings(integer, integer, uuid, bigint[]);
DROP TABLE memkernel.conflict_cases;
DROP FUNCTION memkernel.guard_case_change();
DROP FUNCTION memkernel.guard_case_delete();
DROP TABLE memkernel.conflict_checks;
ALTER TABLE memkernel.memory_objects DROP COLUMN superseded_by;
