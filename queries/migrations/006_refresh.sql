-- What is about one thing and replaces itself: the database, not the code, guarantees one current
-- row for what a key names.
CREATE UNIQUE INDEX memory_objects_refresh ON memkernel.memory_objects (tenant, namespace, content_key)
    WHERE content_key IS NOT NULL AND t_valid_to IS NULL AND status = 'active';

---- create above / drop below ----

DROP INDEX memkernel.memory_objects_refresh;
