PRAGMA foreign_keys = OFF;
BEGIN;
CREATE TABLE goose_db_version (
		id INTEGER PRIMARY KEY AUTOINCREMENT,
		version_id INTEGER NOT NULL,
		is_applied INTEGER NOT NULL,
		tstamp TIMESTAMP DEFAULT (datetime('now'))
	);
CREATE TABLE users (
    id           INTEGER PRIMARY KEY AUTOINCREMENT, -- never the id of a user who was deleted
    name         TEXT NOT NULL,
    email        TEXT NOT NULL UNIQUE,
    slug         TEXT NOT NULL UNIQUE,
    api_key_hash BLOB UNIQUE CHECK (length(api_key_hash) = 32),
    options      TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(options)), -- how the user's digests are to be written
    created_at   INTEGER NOT NULL
) STRICT;
CREATE TABLE sources (
    id                 INTEGER PRIMARY KEY AUTOINCREMENT, -- never an id that an old hash was made of
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
    claimed_until      INTEGER, -- a collector fetches it now
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
, interval_ms INTEGER, not_before  INTEGER, listed_at   INTEGER, seen_hash   TEXT) STRICT;
CREATE TABLE source_packs (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    slug          TEXT NOT NULL UNIQUE,
    name          TEXT NOT NULL,
    description   TEXT NOT NULL DEFAULT '',
    is_default    INTEGER NOT NULL DEFAULT 0 CHECK (is_default IN (0, 1)), -- what a new user starts with
    install_count INTEGER NOT NULL DEFAULT 0,
    created_at    INTEGER NOT NULL
) STRICT;
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
CREATE TABLE user_subscription_hashes (
    user_id           INTEGER PRIMARY KEY REFERENCES users ON DELETE CASCADE,
    subscription_hash TEXT NOT NULL CHECK (length(subscription_hash) = 64),
    source_count      INTEGER NOT NULL DEFAULT 0,
    updated_at        INTEGER NOT NULL
) STRICT;
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
    fetched_at   INTEGER NOT NULL, -- when this version was first seen: what decides its window
    last_seen_at INTEGER NOT NULL, -- when the source last listed it
    UNIQUE (source_id, item_key, version)
) STRICT;
CREATE TABLE digests (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id    INTEGER NOT NULL REFERENCES users ON DELETE CASCADE,
    type       TEXT NOT NULL,
    content    TEXT NOT NULL,
    metadata   TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(metadata)),
    created_at INTEGER NOT NULL
) STRICT;
CREATE TABLE digest_cache (
    id                INTEGER PRIMARY KEY AUTOINCREMENT,
    cell_key          TEXT NOT NULL UNIQUE,
    cell              BLOB NOT NULL,
    cell_until        INTEGER NOT NULL, -- from then on there is no cell; a claim's runs on the machine's clock
    subscription_hash TEXT NOT NULL,    -- of source ids and options
    sources_hash      TEXT NOT NULL DEFAULT '', -- of source ids alone: what users have
    digest_type       TEXT NOT NULL,
    period_start      INTEGER NOT NULL,
    period_end        INTEGER NOT NULL,
    state             TEXT NOT NULL DEFAULT 'claimed' CHECK (state IN ('claimed', 'ready', 'empty', 'failed')),
    content           TEXT CHECK ((state IN ('ready', 'empty')) = (content IS NOT NULL)),
    metadata          TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(metadata)),
    source_ids        TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(source_ids)),
    raw_item_count    INTEGER NOT NULL DEFAULT 0,
    llm_model         TEXT,
    llm_tokens        INTEGER,
    created_at        INTEGER NOT NULL DEFAULT 0,
    expires_at        INTEGER,          -- when a digest has served its time; NULL while there is none
    -- The look-up has all four columns, and so has the key: with fewer, a row of another
    -- period_end is never found and never replaced, and every request pays.
    UNIQUE (subscription_hash, digest_type, period_start, period_end)
) STRICT;
CREATE TABLE cells (
    cell_key   TEXT PRIMARY KEY,
    cell       BLOB NOT NULL,
    cell_until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE fetch_log (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    source_id  INTEGER NOT NULL REFERENCES sources ON DELETE CASCADE,
    at         INTEGER NOT NULL,
    ok         INTEGER NOT NULL CHECK (ok IN (0, 1)),
    status     INTEGER NOT NULL DEFAULT 0, -- of HTTP; 0: there was none
    items_new  INTEGER NOT NULL DEFAULT 0,
    ms         INTEGER NOT NULL DEFAULT 0,
    error_kind TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE TABLE counters (
    hour  INTEGER NOT NULL, -- when it began
    name  TEXT NOT NULL,
    label TEXT NOT NULL DEFAULT '',
    value INTEGER NOT NULL,
    PRIMARY KEY (hour, name, label)
) STRICT, WITHOUT ROWID;
CREATE TABLE invalidation_log (
    seq        INTEGER NOT NULL CHECK (seq IN (1, 2)), -- 1: keys, 2: prefixes and tags
    epoch      INTEGER NOT NULL,
    n          INTEGER NOT NULL, -- 0: the epoch's bump
    prev_epoch INTEGER NOT NULL, -- of a bump: where the sequence ended before
    prev_n     INTEGER NOT NULL,
    at         INTEGER NOT NULL, -- microseconds since 1970
    mark       BLOB NOT NULL,    -- random: tells it from another record in its place
    payload    BLOB NOT NULL,
    PRIMARY KEY (seq, epoch, n)
) STRICT, WITHOUT ROWID;
CREATE TABLE invalidation_meta (
    id      INTEGER PRIMARY KEY CHECK (id = 1),
    epoch   INTEGER NOT NULL,
    key_n   INTEGER NOT NULL,
    scope_n INTEGER NOT NULL,
    bound   INTEGER NOT NULL -- microseconds: the largest that anybody used
) STRICT;
INSERT INTO goose_db_version (id, version_id, is_applied, tstamp) VALUES (1, 0, 1, '2026-11-24 03:07:19');
INSERT INTO goose_db_version (id, version_id, is_applied, tstamp) VALUES (2, 1, 1, '2026-11-24 03:07:19');
INSERT INTO goose_db_version (id, version_id, is_applied, tstamp) VALUES (3, 2, 1, '2026-11-24 03:07:19');
INSERT INTO goose_db_version (id, version_id, is_applied, tstamp) VALUES (4, 10, 1, '2026-11-24 03:07:19');
INSERT INTO users (id, name, email, slug, api_key_hash, options, created_at) VALUES (1, 'Ann', 'ann@example.com', 'ann', X'4BDD04E665CC9089D3214C3C63A16176DE154C35B263DCE7CCC176C46377FF63', '{}', 1795489639071);
INSERT INTO sources (id, name, type, config, owner_id, created_by, is_public, is_active, is_deleted, created_at, updated_at, deleted_at, last_fetched_at, next_fetch_at, claimed_until, claimed_by, fetch_count, fetch_error_count, consecutive_errors, last_error, backoff_until, paused_at, moved_to, moved_seen, gone, interval_ms, not_before, listed_at, seen_hash) VALUES (1, 'News', 'rss', '{"url": "http://127.0.0.1:18091/feed.xml"}', NULL, NULL, 1, 1, 0, 1795489639071, 1795489639071, NULL, 1795489639161, 1795504039161, NULL, NULL, 1, 0, 0, NULL, NULL, NULL, NULL, 0, 0, 14400000, NULL, 1795489639163, '1:904d2c28e5ff64c6f46d1d0438a2a3f38ac396025142c5950a027eeb418594e4');
INSERT INTO sources (id, name, type, config, owner_id, created_by, is_public, is_active, is_deleted, created_at, updated_at, deleted_at, last_fetched_at, next_fetch_at, claimed_until, claimed_by, fetch_count, fetch_error_count, consecutive_errors, last_error, backoff_until, paused_at, moved_to, moved_seen, gone, interval_ms, not_before, listed_at, seen_hash) VALUES (2, 'HN', 'hackernews', '{}', NULL, NULL, 1, 1, 0, 1795489639071, 1795489639071, NULL, NULL, 1795490666664, NULL, NULL, 0, 1, 1, 'fetch: https://hn.algolia.com/api/v1/search: no connection: no such host', 1795490666664, NULL, NULL, 0, 0, 3600000, NULL, NULL, NULL);
INSERT INTO source_packs (id, slug, name, description, is_default, install_count, created_at) VALUES (1, 'start', 'Start', '', 1, 1, 1795489639071);
INSERT INTO source_pack_sources (pack_id, source_id) VALUES (1, 1);
INSERT INTO user_subscriptions (user_id, source_id, is_active, created_at) VALUES (1, 1, 1, 1795489639072);
INSERT INTO user_subscription_hashes (user_id, subscription_hash, source_count, updated_at) VALUES (1, '6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b', 1, 1795489639072);
INSERT INTO raw_items (id, source_id, item_key, version, guid, url, title, content, content_hash, author, published_at, fetched_at, last_seen_at) VALUES (1, 1, 'guid:n0', 1, 'n0', 'http://127.0.0.1:18091/n0', 'News 0', 'Body 0', '88308df228e7d42e42c6f2dbdb9c809bcebc044f2252ce4bb0a38490189e6eb1', '', NULL, 1795489639163, 1795489639163);
INSERT INTO raw_items (id, source_id, item_key, version, guid, url, title, content, content_hash, author, published_at, fetched_at, last_seen_at) VALUES (2, 1, 'guid:n1', 1, 'n1', 'http://127.0.0.1:18091/n1', 'News 1', 'Body 1', '290a32f0097a2982befabf6988883cfa54f1b9cd539d180b0968c576533dfce7', '', NULL, 1795489639163, 1795489639163);
INSERT INTO raw_items (id, source_id, item_key, version, guid, url, title, content, content_hash, author, published_at, fetched_at, last_seen_at) VALUES (3, 1, 'guid:n2', 1, 'n2', 'http://127.0.0.1:18091/n2', 'News 2', 'Body 2', 'e5669f9dd17766269491c9471a4e103fd24a01e9436d1f6b7984e31c3651cb38', '', NULL, 1795489639163, 1795489639163);
INSERT INTO digests (id, user_id, type, content, metadata, created_at) VALUES (1, 1, 'daily', '# Of 41b6d4d', '{"period_start":1795363200000,"period_end":1795449600000}', 1795449700000);
INSERT INTO digest_cache (id, cell_key, cell, cell_until, subscription_hash, sources_hash, digest_type, period_start, period_end, state, content, metadata, source_ids, raw_item_count, llm_model, llm_tokens, created_at, expires_at) VALUES (1, 'a', X'00', 1, 'h1', 's1', 'daily', 1795363200000, 1795449600000, 'ready', '# Of 41b6d4d', '{}', '[]', 0, 'm', 7, 1795449700000, 1995449700000);
INSERT INTO digest_cache (id, cell_key, cell, cell_until, subscription_hash, sources_hash, digest_type, period_start, period_end, state, content, metadata, source_ids, raw_item_count, llm_model, llm_tokens, created_at, expires_at) VALUES (2, 'b', X'00', 1, 'h2', 's2', 'daily', 1795363200000, 1795449600000, 'empty', '', '{}', '[]', 0, NULL, NULL, 1795449700000, 1995449700000);
INSERT INTO digest_cache (id, cell_key, cell, cell_until, subscription_hash, sources_hash, digest_type, period_start, period_end, state, content, metadata, source_ids, raw_item_count, llm_model, llm_tokens, created_at, expires_at) VALUES (3, 'c', X'00', 1, 'h3', 's3', 'daily', 1795363200000, 1795449600000, 'claimed', NULL, '{}', '[]', 0, NULL, NULL, 0, NULL);
INSERT INTO cells (cell_key, cell, cell_until) VALUES ('default:deadhost:v1:hn.algolia.com%3A443', X'56E3DE308CC6EA62A86B04FF67000000026B04FF6700000000000000000000000003000001A20B86955A0000000000000001A20B86955A000001A20B85AAFA2E1472B57AF294D10662A069F15F6E74046A736F6EE9B4D1E16E6F207375636820686F7374', 1795489699163);
INSERT INTO cells (cell_key, cell, cell_until) VALUES ('default:http:v1:33ef5edee1579caf1a3aa904d95a01610fa101083a6520ab5c3e0f3e2629b908', X'5661035023A8DB54AE6B04FF67000000026B04FF6700000000000000000000000002000001A20B85AAFC0000000100000001A234B88AFC000001A20B85AAF9543C96B56631CA92A57DA7F7AD8C368B0C63626F722B6465666C617465C36D63CE00A264426F64795901E43C7273732076657273696F6E3D22322E30223E3C6368616E6E656C3E3C7469746C653E463C2F7469746C653E3C6C696E6B3E687474703A2F2F3132372E302E302E313A31383039312F3C2F6C696E6B3E3C6465736372697074696F6E3E643C2F6465736372697074696F6E3E3C6974656D3E3C7469746C653E4E65777320303C2F7469746C653E3C6C696E6B3E687474703A2F2F3132372E302E302E313A31383039312F6E303C2F6C696E6B3E3C677569643E6E303C2F677569643E3C6465736372697074696F6E3E426F647920303C2F6465736372697074696F6E3E3C2F6974656D3E3C6974656D3E3C7469746C653E4E65777320313C2F7469746C653E3C6C696E6B3E687474703A2F2F3132372E302E302E313A31383039312F6E313C2F6C696E6B3E3C677569643E6E313C2F677569643E3C6465736372697074696F6E3E426F647920313C2F6465736372697074696F6E3E3C2F6974656D3E3C6974656D3E3C7469746C653E4E65777320323C2F7469746C653E3C6C696E6B3E687474703A2F2F3132372E302E302E313A31383039312F6E323C2F6C696E6B3E3C677569643E6E323C2F677569643E3C6465736372697074696F6E3E426F647920323C2F6465736372697074696F6E3E3C2F6974656D3E3C2F6368616E6E656C3E3C2F7273733E6448656164A96355524C781F687474703A2F2F3132372E302E302E313A31383039312F666565642E786D6C64455461676064486173687840393034643263323865356666363463366634366431643034333861326133663338616333393630323531343263353935306130323765656234313835393465346653746174757318C8674D6F766564546F60684672657368466F720069436F6E6669726D6564F46B436F6E74656E74547970656F6170706C69636174696F6E2F786D6C6C4C6173744D6F646966696564781D5475652C203234204E6F7620323032362030333A30353A343920474D54', 1796180839165);
INSERT INTO cells (cell_key, cell, cell_until) VALUES ('default:sources:v1:all', X'560DDF0498C9679ABC6B04FF67000000026B04FF6700000000000000000000000002000001A20B8695570000000001E7B566C88F4AD12C000001A20B869557000001A20B85AAF7AB0722ACCA4BCEEEA1FA2C8366BA164A046A736F6E4FC354CD5B7B226964223A312C2274797065223A22727373227D2C7B226964223A322C2274797065223A226861636B65726E657773227D5D', 1795489699161);
INSERT INTO fetch_log (id, source_id, at, ok, status, items_new, ms, error_kind) VALUES (1, 2, 1795489639162, 0, 0, 0, 1, 'connect');
INSERT INTO fetch_log (id, source_id, at, ok, status, items_new, ms, error_kind) VALUES (2, 1, 1795489639163, 1, 200, 3, 2, '');
INSERT INTO invalidation_log (seq, epoch, n, prev_epoch, prev_n, at, mark, payload) VALUES (1, 1795489639, 0, 0, 0, 1795489639070393, X'DE60AE4C525AA07D', X'');
INSERT INTO invalidation_log (seq, epoch, n, prev_epoch, prev_n, at, mark, payload) VALUES (2, 1795489639, 0, 0, 0, 1795489639070393, X'F6209C1C2C3C741F', X'');
INSERT INTO invalidation_log (seq, epoch, n, prev_epoch, prev_n, at, mark, payload) VALUES (2, 1795489639, 1, 0, 0, 1795489639072690, X'C63912777C04750A', X'036ECDCDC47511C3D5000000000000');
INSERT INTO invalidation_log (seq, epoch, n, prev_epoch, prev_n, at, mark, payload) VALUES (2, 1795489639, 2, 0, 0, 1795489639073193, X'CB4522F9866B677F', X'03E7B566C88F4AD12C000000000000');
INSERT INTO invalidation_meta (id, epoch, key_n, scope_n, bound) VALUES (1, 1795489639, 0, 2, 2000000);
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence (name, seq) VALUES ('goose_db_version', 4);
INSERT INTO sqlite_sequence (name, seq) VALUES ('sources', 2);
INSERT INTO sqlite_sequence (name, seq) VALUES ('source_packs', 1);
INSERT INTO sqlite_sequence (name, seq) VALUES ('users', 1);
INSERT INTO sqlite_sequence (name, seq) VALUES ('fetch_log', 2);
INSERT INTO sqlite_sequence (name, seq) VALUES ('raw_items', 3);
INSERT INTO sqlite_sequence (name, seq) VALUES ('digests', 1);
INSERT INTO sqlite_sequence (name, seq) VALUES ('digest_cache', 3);
CREATE UNIQUE INDEX source_packs_default ON source_packs (is_default) WHERE is_default = 1;
CREATE INDEX user_subscriptions_source ON user_subscriptions (source_id);
CREATE INDEX idx_ush_hash ON user_subscription_hashes (subscription_hash);
CREATE INDEX raw_items_window ON raw_items (source_id, fetched_at);
CREATE UNIQUE INDEX digests_period ON digests
    (user_id, type, (metadata ->> '$.period_start'), (metadata ->> '$.period_end'));
CREATE INDEX digests_newest ON digests (user_id, created_at DESC, id DESC);
CREATE INDEX idx_dc_hash_type ON digest_cache (subscription_hash, digest_type);
CREATE INDEX idx_dc_sources ON digest_cache (sources_hash);
CREATE INDEX idx_dc_period ON digest_cache (period_start, period_end);
CREATE INDEX idx_dc_expires ON digest_cache (expires_at);
CREATE INDEX cells_until ON cells (cell_until);
CREATE INDEX fetch_log_at ON fetch_log (at);
CREATE INDEX fetch_log_source ON fetch_log (source_id, at);
CREATE INDEX sources_due_type ON sources (type, coalesce(next_fetch_at, 0)) WHERE is_deleted = 0 AND gone = 0;
CREATE INDEX sources_claimed ON sources (claimed_until) WHERE claimed_until IS NOT NULL;
CREATE INDEX raw_items_seen ON raw_items (last_seen_at);
COMMIT;
