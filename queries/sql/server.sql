-- VectorExtension returns the installed version of pgvector, or an empty text, and whether
-- its type is found under this connection's search path.
-- name: VectorExtension :one
SELECT coalesce((SELECT e.extversion FROM pg_catalog.pg_extension AS e WHERE e.extname = 'vector'), '')::text AS version,
    (to_regtype('vector') IS NOT NULL)::boolean AS visible;

-- WriteLock serialises the writers of one namespace that have collided before.
-- name: WriteLock :one
SELECT pg_advisory_xact_lock(hashtextextended('memkernel write ' || @namespace::text, 0))::text;
