-- Before migrations were append-only, 0001 had another digest_cache, and 0002 the tables of
-- cells and invalidations, which the library now keeps in its own tables. This one makes all databases
-- equal. It keeps the digests; claims and failures of then are dropped.

-- +goose Up
DROP TABLE IF EXISTS cells;
DROP TABLE IF EXISTS invalidation_log;
DROP TABLE IF EXISTS invalidation_meta;
DROP INDEX IF EXISTS idx_dc_hash_type;
DROP INDEX IF EXISTS idx_dc_sources;
DROP INDEX IF EXISTS idx_dc_period;
DROP INDEX IF EXISTS idx_dc_expires;
ALTER TABLE digest_cache RENAME TO old_digest_cache;

-- One row per combination and period. The cells of the cache are restored from it without a
-- call.
CREATE TABLE digest_cache (
    id                INTEGER PRIMARY KEY AUTOINCREMENT,
    subscription_hash TEXT NOT NULL,    -- of source ids and options
    sources_hash      TEXT NOT NULL DEFAULT '', -- of source ids without options, as users have it
    digest_type       TEXT NOT NULL,
    period_start      INTEGER NOT NULL,
    period_end        INTEGER NOT NULL,
    state             TEXT NOT NULL CHECK (state IN ('ready', 'empty')),
    content           TEXT NOT NULL,
    metadata          TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(metadata)),
    source_ids        TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(source_ids)),
    raw_item_count    INTEGER NOT NULL DEFAULT 0,
    llm_model         TEXT NOT NULL DEFAULT '',
    llm_tokens        INTEGER NOT NULL DEFAULT 0,
    created_at        INTEGER NOT NULL,
    expires_at        INTEGER NOT NULL, -- when the row expires
    -- The look-up and the key have the same four columns. With fewer, a row of another
    -- period_end would never be found and never be replaced, and every request would cost a
    -- call.
    UNIQUE (subscription_hash, digest_type, period_start, period_end)
) STRICT;
CREATE INDEX idx_dc_hash_type ON digest_cache (subscription_hash, digest_type);
CREATE INDEX idx_dc_sources ON digest_cache (sources_hash);
CREATE INDEX idx_dc_period ON digest_cache (period_start, period_end);
CREATE INDEX idx_dc_expires ON digest_cache (expires_at);

INSERT INTO digest_cache (id, subscription_hash, sources_hash, digest_type, period_start, period_end, state, content, metadata, source_ids, raw_item_count, llm_model, llm_tokens, created_at, expires_at)
SELECT id, subscription_hash, sources_hash, digest_type, period_start, period_end, state, content, metadata, source_ids, raw_item_count, coalesce(llm_model, ''), coalesce(llm_tokens, 0), created_at, expires_at
FROM old_digest_cache WHERE state IN ('ready', 'empty') AND content IS NOT NULL AND expires_at IS NOT NULL;
DROP TABLE old_digest_cache;

-- The deletions from digest_cache. A digest whose generation began before a deletion must
-- not be stored after it.
CREATE TABLE IF NOT EXISTS digest_cache_deletions (
    id     INTEGER PRIMARY KEY AUTOINCREMENT,
    at     INTEGER NOT NULL,
    hash   TEXT    NOT NULL, -- of a combination, with or without its options
    before INTEGER NOT NULL, -- periods that ended at or before this time
    every  INTEGER NOT NULL CHECK (every IN (0, 1))
) STRICT;

-- +goose Down
SELECT 1; -- the tables are those of 0020
