-- Times are milliseconds since 1970 in UTC. They come from the program's clock: SQL creates
-- none, and none is text. (Text in two formats compares wrongly: 'T' > ' '.)

-- +goose Up
CREATE TABLE users (
    id           INTEGER PRIMARY KEY AUTOINCREMENT, -- never the id of a deleted user
    name         TEXT NOT NULL,
    email        TEXT NOT NULL UNIQUE,
    slug         TEXT NOT NULL UNIQUE,
    api_key_hash BLOB UNIQUE CHECK (length(api_key_hash) = 32),
    options      TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(options)), -- language and style of the user's digests
    created_at   INTEGER NOT NULL
) STRICT;

CREATE TABLE sources (
    id                 INTEGER PRIMARY KEY AUTOINCREMENT, -- never an id that is part of an old hash
    name               TEXT NOT NULL,
    type               TEXT NOT NULL,
    config             TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(config)), -- may hold keys: never shown
    owner_id           INTEGER REFERENCES users ON DELETE SET NULL,
    created_by         INTEGER REFERENCES users ON DELETE SET NULL,
    is_public          INTEGER NOT NULL DEFAULT 1 CHECK (is_public IN (0, 1)),
    is_active          INTEGER NOT NULL DEFAULT 1 CHECK (is_active IN (0, 1)),
    is_deleted         INTEGER NOT NULL DEFAULT 0 CHECK (is_deleted IN (0, 1)),
    created_at         INTEGER NOT NULL,
    updated_at         INTEGER NOT NULL,
    deleted_at         INTEGER,

    last_fetched_at    INTEGER, -- NULL: never
    next_fetch_at      INTEGER, -- NULL: at once
    claimed_until      INTEGER, -- the end of a collector's lease
    claimed_by         TEXT,
    fetch_count        INTEGER NOT NULL DEFAULT 0,
    fetch_error_count  INTEGER NOT NULL DEFAULT 0,
    consecutive_errors INTEGER NOT NULL DEFAULT 0,
    last_error         TEXT,
    backoff_until      INTEGER,
    paused_at          INTEGER,
    moved_to           TEXT,
    moved_seen         INTEGER NOT NULL DEFAULT 0,
    gone               INTEGER NOT NULL DEFAULT 0 CHECK (gone IN (0, 1))
) STRICT;

CREATE TABLE source_packs (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    slug          TEXT NOT NULL UNIQUE,
    name          TEXT NOT NULL,
    description   TEXT NOT NULL DEFAULT '',
    is_default    INTEGER NOT NULL DEFAULT 0 CHECK (is_default IN (0, 1)), -- new users start with it
    install_count INTEGER NOT NULL DEFAULT 0,
    created_at    INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX source_packs_default ON source_packs (is_default) WHERE is_default = 1;

CREATE TABLE source_pack_sources (
    pack_id   INTEGER NOT NULL REFERENCES source_packs ON DELETE CASCADE,
    source_id INTEGER NOT NULL REFERENCES sources ON DELETE CASCADE,
    PRIMARY KEY (pack_id, source_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE user_subscriptions (
    user_id    INTEGER NOT NULL REFERENCES users ON DELETE CASCADE,
    source_id  INTEGER NOT NULL REFERENCES sources ON DELETE CASCADE,
    is_active  INTEGER NOT NULL DEFAULT 1 CHECK (is_active IN (0, 1)),
    created_at INTEGER NOT NULL,
    UNIQUE (user_id, source_id)
) STRICT;
CREATE INDEX user_subscriptions_source ON user_subscriptions (source_id);

-- The hashes of the users' subscriptions. Only transactions that change subscriptions write
-- them.
CREATE TABLE user_subscription_hashes (
    user_id           INTEGER PRIMARY KEY REFERENCES users ON DELETE CASCADE,
    subscription_hash TEXT NOT NULL CHECK (length(subscription_hash) = 64),
    source_count      INTEGER NOT NULL DEFAULT 0,
    updated_at        INTEGER NOT NULL
) STRICT;
CREATE INDEX idx_ush_hash ON user_subscription_hashes (subscription_hash);

-- One row per version of an item. item_key identifies the item: its guid, else its
-- normalised URL, else the hash of its content.
CREATE TABLE raw_items (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    source_id    INTEGER NOT NULL REFERENCES sources ON DELETE CASCADE,
    item_key     TEXT NOT NULL,
    version      INTEGER NOT NULL DEFAULT 1,
    guid         TEXT NOT NULL DEFAULT '',
    url          TEXT NOT NULL DEFAULT '',
    title        TEXT NOT NULL DEFAULT '',
    content      TEXT NOT NULL DEFAULT '',
    content_hash TEXT NOT NULL,
    author       TEXT NOT NULL DEFAULT '',
    published_at INTEGER,
    fetched_at   INTEGER NOT NULL, -- when this version was first seen; decides its period
    last_seen_at INTEGER NOT NULL, -- when the source last listed it
    UNIQUE (source_id, item_key, version)
) STRICT;
CREATE INDEX raw_items_window ON raw_items (source_id, fetched_at);

-- The digests that users read. The cache does not change this table: the period is in
-- metadata. Rows that an operator wrote have no period.
CREATE TABLE digests (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id    INTEGER NOT NULL REFERENCES users ON DELETE CASCADE,
    type       TEXT NOT NULL,
    content    TEXT NOT NULL,
    metadata   TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(metadata)),
    created_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX digests_period ON digests
    (user_id, type, (metadata ->> '$.period_start'), (metadata ->> '$.period_end'));
CREATE INDEX digests_newest ON digests (user_id, created_at DESC, id DESC);

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

-- The deletions from digest_cache. A digest whose generation began before a deletion must
-- not be stored after it.
CREATE TABLE digest_cache_deletions (
    id     INTEGER PRIMARY KEY AUTOINCREMENT,
    at     INTEGER NOT NULL,
    hash   TEXT    NOT NULL, -- of a combination, with or without its options
    before INTEGER NOT NULL, -- periods that ended at or before this time
    every  INTEGER NOT NULL CHECK (every IN (0, 1))
) STRICT;

CREATE TABLE fetch_log (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    source_id  INTEGER NOT NULL REFERENCES sources ON DELETE CASCADE,
    at         INTEGER NOT NULL,
    ok         INTEGER NOT NULL CHECK (ok IN (0, 1)),
    status     INTEGER NOT NULL DEFAULT 0, -- HTTP status; 0: none
    items_new  INTEGER NOT NULL DEFAULT 0,
    ms         INTEGER NOT NULL DEFAULT 0,
    error_kind TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX fetch_log_at ON fetch_log (at);
CREATE INDEX fetch_log_source ON fetch_log (source_id, at);

-- The counters of each hour, so that a restart loses nothing.
CREATE TABLE counters (
    hour  INTEGER NOT NULL, -- start of the hour
    name  TEXT NOT NULL,
    label TEXT NOT NULL DEFAULT '',
    value INTEGER NOT NULL,
    PRIMARY KEY (hour, name, label)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE counters;
DROP TABLE fetch_log;
DROP TABLE digest_cache_deletions;
DROP TABLE digest_cache;
DROP TABLE digests;
DROP TABLE raw_items;
DROP TABLE user_subscription_hashes;
DROP TABLE user_subscriptions;
DROP TABLE source_pack_sources;
DROP TABLE source_packs;
DROP TABLE sources;
DROP TABLE users;
