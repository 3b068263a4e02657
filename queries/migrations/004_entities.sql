-- What names stand for. An entity is at home in a namespace and is seen from there and from
-- below. Two namespaces that do not see each other never share one, whatever its name.
CREATE TABLE memkernel.entity_registry (
    tenant text COLLATE "C" NOT NULL REFERENCES memkernel.tenants (tenant),
    id uuid NOT NULL,
    namespace text COLLATE "C" NOT NULL,
    canonical_key text COLLATE "C" NOT NULL CHECK (canonical_key <> ''),
    name text NOT NULL,
    type text NOT NULL CHECK (type IN ('person', 'organization', 'place', 'product', 'event', 'email', 'url', 'handle',
        'identifier', 'other')),
    created_at timestamptz NOT NULL,
    actor text NOT NULL,
    key_id uuid,
    -- What the entity turned out to be, by the merge in force. Only a row of entity_merges sets it.
    merged_into uuid,
    PRIMARY KEY (tenant, id),
    FOREIGN KEY (tenant, merged_into) REFERENCES memkernel.entity_registry (tenant, id),
    CHECK (merged_into <> id),
    CHECK (namespace = tenant OR starts_with(namespace, tenant || '/'))
);
-- The database, not the code, guarantees that writers who meet a name at once make one entity.
CREATE UNIQUE INDEX entity_registry_name ON memkernel.entity_registry (tenant, namespace, canonical_key, type);
CREATE INDEX entity_registry_merged ON memkernel.entity_registry (tenant, merged_into) WHERE merged_into IS NOT NULL;

-- Other names of an entity, in the namespace that uses them, which is the entity's own or one
-- that sees it: what a child learns of its parent's entity stays in the child. derived are the
-- short forms of the name, by which alone nothing is linked.
CREATE TABLE memkernel.entity_aliases (
    tenant text COLLATE "C" NOT NULL,
    namespace text COLLATE "C" NOT NULL,
    alias_key text COLLATE "C" NOT NULL CHECK (alias_key <> ''),
    entity_id uuid NOT NULL,
    derived boolean NOT NULL,
    name text NOT NULL,
    -- The memory whose text taught it, NULL for a derived one.
    memory_id uuid,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, namespace, alias_key, entity_id, derived),
    FOREIGN KEY (tenant, entity_id) REFERENCES memkernel.entity_registry (tenant, id) ON DELETE CASCADE,
    CHECK (derived = (memory_id IS NULL)),
    CHECK (namespace = tenant OR starts_with(namespace, tenant || '/'))
);
CREATE INDEX entity_aliases_entity ON memkernel.entity_aliases (tenant, entity_id, namespace);
CREATE INDEX entity_aliases_memory ON memkernel.entity_aliases (tenant, memory_id) WHERE memory_id IS NOT NULL;

-- Which memory names which entity, and how. entity_id is the entity whose name the text has,
-- not what that has been merged into: a split needs nothing moved back. The rows are as
-- immutable as their memory and go with it, in an erasure.
CREATE TABLE memkernel.memory_entities (
    tenant text COLLATE "C" NOT NULL,
    memory_id uuid NOT NULL,
    entity_id uuid NOT NULL,
    -- The memory's.
    namespace text COLLATE "C" NOT NULL,
    surface text NOT NULL,
    PRIMARY KEY (tenant, memory_id, entity_id),
    FOREIGN KEY (tenant, memory_id) REFERENCES memkernel.memory_objects (tenant, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant, entity_id) REFERENCES memkernel.entity_registry (tenant, id)
);
CREATE INDEX memory_entities_entity ON memkernel.memory_entities (tenant, entity_id, namespace, memory_id);

-- The log of merges; a row that reverses another is a split. No foreign keys and no names: it
-- outlives what it is about.
CREATE TABLE memkernel.entity_merges (
    tenant text COLLATE "C" NOT NULL REFERENCES memkernel.tenants (tenant),
    id uuid NOT NULL,
    entity_id uuid NOT NULL,
    -- The home of the entity that is merged away.
    namespace text COLLATE "C" NOT NULL,
    into_id uuid NOT NULL,
    reverses uuid,
    created_at timestamptz NOT NULL,
    actor text NOT NULL,
    key_id uuid,
    xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
    PRIMARY KEY (tenant, id),
    CHECK (entity_id <> into_id),
    CHECK (reverses <> id)
);
CREATE UNIQUE INDEX entity_merges_reversed ON memkernel.entity_merges (tenant, reverses) WHERE reverses IS NOT NULL;
CREATE INDEX entity_merges_entity ON memkernel.entity_merges (tenant, entity_id, id);

-- apply_entity_merge makes the log and the registry one: a merge that does not fit what is in
-- force aborts the transaction with MK001, and nothing has happened. One merge of a tenant at a
-- time: two at once could close a circle that neither sees.
CREATE FUNCTION memkernel.apply_entity_merge() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    at uuid := NEW.into_id;
    changed bigint;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('memkernel entity merge ' || NEW.tenant, 0));
    IF NEW.reverses IS NOT NULL THEN
        PERFORM memkernel.expect(count(*), 1) FROM memkernel.entity_merges AS m
        WHERE m.tenant = NEW.tenant AND m.id = NEW.reverses AND m.entity_id = NEW.entity_id AND m.into_id = NEW.into_id AND m.reverses IS NULL;
        UPDATE memkernel.entity_registry AS e SET merged_into = NULL
        WHERE e.tenant = NEW.tenant AND e.id = NEW.entity_id AND e.namespace = NEW.namespace AND e.merged_into = NEW.into_id;
    ELSE
        WHILE at IS NOT NULL LOOP
            IF at = NEW.entity_id THEN
                RAISE EXCEPTION 'merge of entity % is refused: it would be merged into itself', NEW.entity_id USING ERRCODE = 'MK001';
            END IF;
            SELECT e.merged_into INTO at FROM memkernel.entity_registry AS e WHERE e.tenant = NEW.tenant AND e.id = at;
        END LOOP;
        -- Whoever sees the one must see the other.
        UPDATE memkernel.entity_registry AS e SET merged_into = NEW.into_id
        FROM memkernel.entity_registry AS a
        WHERE e.tenant = NEW.tenant AND e.id = NEW.entity_id AND e.namespace = NEW.namespace AND e.merged_into IS NULL
            AND a.tenant = NEW.tenant AND a.id = NEW.into_id
            AND (e.namespace = a.namespace OR starts_with(e.namespace, a.namespace || '/'));
    END IF;
    GET DIAGNOSTICS changed = ROW_COUNT;
    PERFORM memkernel.expect(changed, 1);
    RETURN NEW;
END $$;

CREATE FUNCTION memkernel.guard_entity_update() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    same memkernel.entity_registry := NEW;
BEGIN
    IF EXISTS (
        SELECT 1 FROM memkernel.entity_merges AS m
        WHERE m.tenant = OLD.tenant AND m.entity_id = OLD.id AND m.xid = pg_current_xact_id()
            AND CASE WHEN m.reverses IS NULL THEN OLD.merged_into IS NULL AND NEW.merged_into = m.into_id
                ELSE OLD.merged_into = m.into_id AND NEW.merged_into IS NULL END) THEN
        same.merged_into := OLD.merged_into;
    END IF;
    IF same IS DISTINCT FROM OLD THEN
        RAISE EXCEPTION 'UPDATE of entity % is refused: an entity may only be merged or split', OLD.id USING ERRCODE = 'MK002';
    END IF;
    RETURN NEW;
END $$;

-- An entity goes when an erasure has taken the last memory that names it.
CREATE FUNCTION memkernel.guard_entity_delete() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM memkernel.tombstones AS t WHERE t.tenant = OLD.tenant AND t.xid = pg_current_xact_id()) THEN
        RAISE EXCEPTION 'DELETE of entity % is refused: only an erasure deletes', OLD.id USING ERRCODE = 'MK002';
    END IF;
    RETURN OLD;
END $$;

CREATE FUNCTION memkernel.guard_mention_delete() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (
        SELECT 1 FROM memkernel.tombstones AS t
        WHERE t.tenant = OLD.tenant AND t.memory_id = OLD.memory_id AND t.xid = pg_current_xact_id()) THEN
        RAISE EXCEPTION 'DELETE of a mention of memory % is refused: only an erasure deletes', OLD.memory_id USING ERRCODE = 'MK002';
    END IF;
    RETURN OLD;
END $$;

CREATE FUNCTION memkernel.guard_alias_delete() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (
        SELECT 1 FROM memkernel.tombstones AS t
        WHERE t.tenant = OLD.tenant AND t.xid = pg_current_xact_id()
            AND (t.memory_id = OLD.memory_id OR NOT EXISTS (
                SELECT 1 FROM memkernel.entity_registry AS e WHERE e.tenant = OLD.tenant AND e.id = OLD.entity_id))) THEN
        RAISE EXCEPTION 'DELETE of an alias of entity % is refused: only an erasure deletes', OLD.entity_id USING ERRCODE = 'MK002';
    END IF;
    RETURN OLD;
END $$;

CREATE TRIGGER entity_merges_apply AFTER INSERT ON memkernel.entity_merges
    FOR EACH ROW EXECUTE FUNCTION memkernel.apply_entity_merge();
CREATE TRIGGER entity_merges_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON memkernel.entity_merges
    FOR EACH STATEMENT EXECUTE FUNCTION memkernel.refuse_change();
CREATE TRIGGER entity_registry_update BEFORE UPDATE ON memkernel.entity_registry
    FOR EACH ROW EXECUTE FUNCTION memkernel.guard_entity_update();
CREATE TRIGGER entity_registry_delete BEFORE DELETE ON memkernel.entity_registry
    FOR EACH ROW EXECUTE FUNCTION memkernel.guard_entity_delete();
CREATE TRIGGER entity_registry_truncate BEFORE TRUNCATE ON memkernel.entity_registry
    FOR EACH STATEMENT EXECUTE FUNCTION memkernel.refuse_change();
CREATE TRIGGER entity_aliases_update BEFORE UPDATE OR TRUNCATE ON memkernel.entity_aliases
    FOR EACH STATEMENT EXECUTE FUNCTION memkernel.refuse_change();
CREATE TRIGGER entity_aliases_delete BEFORE DELETE ON memkernel.entity_aliases
    FOR EACH ROW EXECUTE FUNCTION memkernel.guard_alias_delete();
CREATE TRIGGER memory_entities_update BEFORE UPDATE OR TRUNCATE ON memkernel.memory_entities
    FOR EACH STATEMENT EXECUTE FUNCTION memkernel.refuse_change();
CREATE TRIGGER memory_entities_delete BEFORE DELETE ON memkernel.memory_entities
    FOR EACH ROW EXECUTE FUNCTION memkernel.guard_mention_delete();
ALTER TABLE memkernel.entity_merges ENABLE ALWAYS TRIGGER entity_merges_apply;
ALTER TABLE memkernel.entity_merges ENABLE ALWAYS TRIGGER entity_merges_append_only;
ALTER TABLE memkernel.entity_registry ENABLE ALWAYS TRIGGER entity_registry_update;
ALTER TABLE memkernel.entity_registry ENABLE ALWAYS TRIGGER entity_registry_delete;
ALTER TABLE memkernel.entity_registry ENABLE ALWAYS TRIGGER entity_registry_truncate;
ALTER TABLE memkernel.entity_aliases ENABLE ALWAYS TRIGGER entity_aliases_update;
ALTER TABLE memkernel.entity_aliases ENABLE ALWAYS TRIGGER entity_aliases_delete;
ALTER TABLE memkernel.memory_entities ENABLE ALWAYS TRIGGER memory_entities_update;
ALTER TABLE memkernel.memory_entities ENABLE ALWAYS TRIGGER memory_entities_delete;

---- create above / drop below ----

DROP TABLE memkernel.entity_merges;
DROP FUNCTION memkernel.apply_entity_merge();
DROP TABLE memkernel.memory_entities;
DROP FUNCTION memkernel.guard_mention_delete();
DROP TABLE memkernel.entity_aliases;
DROP FUNCTION memkernel.guard_alias_delete();
DROP TABLE memkernel.entity_registry;
DROP FUNCTION memkernel.guard_entity_delete();
DROP FUNCTION memkernel.guard_entity_update();
