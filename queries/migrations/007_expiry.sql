-- When a memory ends by itself; NULL for never. It is set once, like all but the end columns.
-- From that instant on the memory counts as ended by every query, whether its end is on record
-- or not: putting it there is tidying up, which a worker does in its own time. One that was not
-- to outlast the moment it was stored in was never believed: its interval is empty.
ALTER TABLE memkernel.memory_objects
    ADD COLUMN expires_at timestamptz,
    ADD CONSTRAINT memory_objects_expired CHECK (end_reason <> 'expired'
        OR (expires_at IS NOT NULL AND t_valid_to = greatest(expires_at, t_valid_from)));

-- What is to end by itself and has no end on record. Other memories cost nothing here.
CREATE INDEX memory_objects_expiry ON memkernel.memory_objects (tenant, namespace, expires_at)
    WHERE expires_at IS NOT NULL AND t_valid_to IS NULL;

---- create above / drop below ----

ALTER TABLE memkernel.memory_objects DROP COLUMN expires_at;
