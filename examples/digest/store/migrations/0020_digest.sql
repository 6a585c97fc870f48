-- +goose Up

-- Digests that could not be generated. Each attempt may cost money, so the next one waits.
CREATE TABLE digest_failures (
    subscription_hash TEXT NOT NULL,
    sources_hash      TEXT NOT NULL,
    digest_type       TEXT NOT NULL,
    period_start      INTEGER NOT NULL,
    period_end        INTEGER NOT NULL,
    attempts          INTEGER NOT NULL,
    retry_at          INTEGER NOT NULL, -- the earliest next attempt
    reason            TEXT NOT NULL,    -- of the last attempt; it quotes neither key nor prompt
    PRIMARY KEY (subscription_hash, digest_type, period_start, period_end)
) STRICT, WITHOUT ROWID;
CREATE INDEX digest_failures_retry ON digest_failures (retry_at);

-- Settings that must be the same for all processes of the database.
CREATE TABLE settings (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE settings;
DROP TABLE digest_failures;
