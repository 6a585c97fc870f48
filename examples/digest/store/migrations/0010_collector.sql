-- The collector's columns of a source, in addition to those of 0001. Times are milliseconds
-- since 1970 in UTC.

-- +goose Up
ALTER TABLE sources ADD COLUMN interval_ms INTEGER; -- the interval that next_fetch_at is based on; NULL: none yet
ALTER TABLE sources ADD COLUMN not_before  INTEGER; -- requested by the origin
ALTER TABLE sources ADD COLUMN listed_at   INTEGER; -- items seen then are still in the feed
ALTER TABLE sources ADD COLUMN seen_hash   TEXT;    -- of the answer whose items are stored

-- The index has the type first, so that a claim does not read sources of types without a
-- fetcher.
CREATE INDEX sources_due_type ON sources (type, coalesce(next_fetch_at, 0)) WHERE is_deleted = 0 AND gone = 0;
CREATE INDEX sources_claimed ON sources (claimed_until) WHERE claimed_until IS NOT NULL;
CREATE INDEX raw_items_seen ON raw_items (last_seen_at);

-- +goose Down
DROP INDEX raw_items_seen;
DROP INDEX sources_claimed;
DROP INDEX sources_due_type;
ALTER TABLE sources DROP COLUMN seen_hash;
ALTER TABLE sources DROP COLUMN listed_at;
ALTER TABLE sources DROP COLUMN not_before;
ALTER TABLE sources DROP COLUMN interval_ms;
