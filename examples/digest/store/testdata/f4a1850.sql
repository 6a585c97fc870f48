PRAGMA foreign_keys = OFF;
BEGIN;
CREATE TABLE goose_db_version (
		id INTEGER PRIMARY KEY AUTOINCREMENT,
		version_id INTEGER NOT NULL,
		is_applied INTEGER NOT NULL,
		tstamp TIMESTAMP DEFAULT (datetime('now'))
	);
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
, interval_ms INTEGER, not_before  INTEGER, listed_at   INTEGER, seen_hash   TEXT) STRICT;
CREATE TABLE source_packs (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    slug          TEXT NOT NULL UNIQUE,
    name          TEXT NOT NULL,
    description   TEXT NOT NULL DEFAULT '',
    is_default    INTEGER NOT NULL DEFAULT 0 CHECK (is_default IN (0, 1)), -- new users start with it
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
    fetched_at   INTEGER NOT NULL, -- when this version was first seen; decides its period
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
CREATE TABLE counters (
    hour  INTEGER NOT NULL, -- start of the hour
    name  TEXT NOT NULL,
    label TEXT NOT NULL DEFAULT '',
    value INTEGER NOT NULL,
    PRIMARY KEY (hour, name, label)
) STRICT, WITHOUT ROWID;
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
CREATE TABLE settings (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE twofold_outbox (
	id     INTEGER PRIMARY KEY AUTOINCREMENT,
	ns     TEXT NOT NULL DEFAULT 'default',
	scopes TEXT NOT NULL,
	at     INTEGER NOT NULL DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)),
	UNIQUE (ns, id)
);
CREATE TABLE twofold_log (
	ns      TEXT NOT NULL,
	seq     INTEGER NOT NULL,
	pos     INTEGER NOT NULL,
	prev    INTEGER NOT NULL,
	at      INTEGER NOT NULL,
	id      INTEGER NOT NULL,
	after   INTEGER NOT NULL,
	payload BLOB NOT NULL,
	PRIMARY KEY (ns, seq, pos)
);
CREATE TABLE twofold_meta (
	ns        TEXT PRIMARY KEY NOT NULL,
	version   INTEGER NOT NULL DEFAULT 1,
	identity  TEXT NOT NULL DEFAULT '',
	epoch     INTEGER NOT NULL DEFAULT 0,
	key_end   INTEGER NOT NULL DEFAULT 0,
	scope_end INTEGER NOT NULL DEFAULT 0,
	key_id    INTEGER NOT NULL DEFAULT 0,
	scope_id  INTEGER NOT NULL DEFAULT 0,
	bound     INTEGER NOT NULL DEFAULT 0,
	tier      TEXT,
	proofs    INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE twofold_cells (
	key   BLOB    NOT NULL PRIMARY KEY, -- the key in the cache: tenant, namespace, version and id
	cell  BLOB    NOT NULL,             -- one frame of the cache
	until INTEGER NOT NULL              -- when it expires, unix ms
);
INSERT INTO goose_db_version (id, version_id, is_applied, tstamp) VALUES (1, 0, 1, '2026-11-24 03:07:23');
INSERT INTO goose_db_version (id, version_id, is_applied, tstamp) VALUES (2, 1, 1, '2026-11-24 03:07:23');
INSERT INTO goose_db_version (id, version_id, is_applied, tstamp) VALUES (3, 10, 1, '2026-11-24 03:07:23');
INSERT INTO goose_db_version (id, version_id, is_applied, tstamp) VALUES (4, 20, 1, '2026-11-24 03:07:23');
INSERT INTO users (id, name, email, slug, api_key_hash, options, created_at) VALUES (1, 'Ann', 'ann@example.com', 'ann', X'481F3BE634AA3EDD28DD11845BAA83DF3EBD69DDF80B33E7E8ED2A467B794ABE', '{}', 1795489643518);
INSERT INTO sources (id, name, type, config, owner_id, created_by, is_public, is_active, is_deleted, created_at, updated_at, deleted_at, last_fetched_at, next_fetch_at, claimed_until, claimed_by, fetch_count, fetch_error_count, consecutive_errors, last_error, backoff_until, paused_at, moved_to, moved_seen, gone, interval_ms, not_before, listed_at, seen_hash) VALUES (1, 'News', 'rss', '{"url": "http://127.0.0.1:18091/feed.xml"}', NULL, NULL, 1, 1, 0, 1795489643519, 1795489643519, NULL, 1795489643577, 1795504043577, NULL, NULL, 1, 0, 0, NULL, NULL, NULL, NULL, 0, 0, 14400000, NULL, 1795489643581, '2:904d2c28e5ff64c6f46d1d0438a2a3f38ac396025142c5950a027eeb418594e4');
INSERT INTO sources (id, name, type, config, owner_id, created_by, is_public, is_active, is_deleted, created_at, updated_at, deleted_at, last_fetched_at, next_fetch_at, claimed_until, claimed_by, fetch_count, fetch_error_count, consecutive_errors, last_error, backoff_until, paused_at, moved_to, moved_seen, gone, interval_ms, not_before, listed_at, seen_hash) VALUES (2, 'HN', 'hackernews', '{}', NULL, NULL, 1, 1, 0, 1795489643519, 1795489643519, NULL, NULL, 1795490509692, NULL, NULL, 0, 1, 1, 'fetch: https://hn.algolia.com/api/v1/search: no connection: no such host', 1795490509692, NULL, NULL, 0, 0, 3600000, NULL, NULL, NULL);
INSERT INTO source_packs (id, slug, name, description, is_default, install_count, created_at) VALUES (1, 'start', 'Start', '', 1, 1, 1795489643519);
INSERT INTO source_pack_sources (pack_id, source_id) VALUES (1, 1);
INSERT INTO user_subscriptions (user_id, source_id, is_active, created_at) VALUES (1, 1, 1, 1795489643519);
INSERT INTO user_subscription_hashes (user_id, subscription_hash, source_count, updated_at) VALUES (1, '6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b', 1, 1795489643519);
INSERT INTO raw_items (id, source_id, item_key, version, guid, url, title, content, content_hash, author, published_at, fetched_at, last_seen_at) VALUES (1, 1, 'guid:n0', 1, 'n0', 'http://127.0.0.1:18091/n0', 'News 0', 'Body 0', '88308df228e7d42e42c6f2dbdb9c809bcebc044f2252ce4bb0a38490189e6eb1', '', NULL, 1795489643581, 1795489643581);
INSERT INTO raw_items (id, source_id, item_key, version, guid, url, title, content, content_hash, author, published_at, fetched_at, last_seen_at) VALUES (2, 1, 'guid:n1', 1, 'n1', 'http://127.0.0.1:18091/n1', 'News 1', 'Body 1', '290a32f0097a2982befabf6988883cfa54f1b9cd539d180b0968c576533dfce7', '', NULL, 1795489643581, 1795489643581);
INSERT INTO raw_items (id, source_id, item_key, version, guid, url, title, content, content_hash, author, published_at, fetched_at, last_seen_at) VALUES (3, 1, 'guid:n2', 1, 'n2', 'http://127.0.0.1:18091/n2', 'News 2', 'Body 2', 'e5669f9dd17766269491c9471a4e103fd24a01e9436d1f6b7984e31c3651cb38', '', NULL, 1795489643581, 1795489643581);
INSERT INTO digests (id, user_id, type, content, metadata, created_at) VALUES (1, 1, 'daily', '# Of f4a1850', '{"period_start":1795363200000,"period_end":1795449600000}', 1795449700000);
INSERT INTO fetch_log (id, source_id, at, ok, status, items_new, ms, error_kind) VALUES (1, 2, 1795489643579, 0, 0, 0, 3, 'no connection');
INSERT INTO fetch_log (id, source_id, at, ok, status, items_new, ms, error_kind) VALUES (2, 1, 1795489643581, 1, 200, 3, 3, '');
INSERT INTO settings (name, value) VALUES ('zone', 'Asia/Singapore');
INSERT INTO twofold_log (ns, seq, pos, prev, at, id, after, payload) VALUES ('default', 1, 4294967296, 0, 1795489643517007, 3025354751628110839, 0, X'');
INSERT INTO twofold_log (ns, seq, pos, prev, at, id, after, payload) VALUES ('default', 2, 4294967296, 0, 1795489643517007, 3025354751628110839, 0, X'');
INSERT INTO twofold_log (ns, seq, pos, prev, at, id, after, payload) VALUES ('default', 2, 4294967297, 0, 1795489643519018, -8833415246753984126, 3025354751628110839, X'03E7B566C88F4AD12C000000000000');
INSERT INTO twofold_meta (ns, version, identity, epoch, key_end, scope_end, key_id, scope_id, bound, tier, proofs) VALUES ('default', 1, 'sqlite', 3025354751628110839, 4294967296, 4294967297, 3025354751628110839, -8833415246753984126, 2000, 'sqlite twofold_cells', 0);
INSERT INTO twofold_cells (key, cell, until) VALUES (X'64656661756C743A687474703A76313A794B66674A564C685A64655475636867464D52794444684977306B6F764F72537A31746E34796E65696C637C687474702F2F3132372E302E302E3125334131383039312F666565642E786D6C', X'56665230CCB42251C300000001000000010000000100000000000000000000000002000001A20B85C02100000002FF000100000000000000000000000000000000000000002932E0002A73D8B299F9B0B3000001A20B85C021000001A20B85BC3903E8C161AE9E6820667610AEBA7D7A7929FC381E1A556BF70C63626F722B6465666C6174656329279300AE6441736B73F464426F647958C11F8B08000000000004FF8CCFC16AC3300C80E157097900CBF2655BD074D861C7BD4388CD62EA2AC1765BFAF6253181BA34908B9130FC1FA29852737531F949BE5BA374CB348CBD880B4CD9E7E0F897A00C14BC9C78CC79EE00D07C28ADB4C20E3FF51702C1FA4BD6A521FA39FB49D8123CAFE4B33B6FD53F774B8D3E9416BDC5FF2FDEF2B2AE4365FD4CF6BEF42A108A58DE72C4EAE231176B1769CFC59743F75C73CC35B56B765DF3DE8561EC455C608298123F020000FFFFAB9C4E80E4010000644D6164651B000001A20B85BC396456617279F66546726573681903E8655374616C650066466F726D617463786D6C6648656164657286A2644E616D656D43616368652D436F6E74726F6C6656616C75657381696D61782D6167653D31A2644E616D656C436F6E74656E742D547970656656616C756573816F6170706C69636174696F6E2F786D6CA2644E616D6564446174656656616C75657381781D5475652C203234204E6F7620323032362030333A30373A323320474D54A2644E616D656B46657463682D46726573686656616C756573816130A2644E616D656A46657463682D486173686656616C75657381784039303464326332386535666636346336663436643164303433386132613366333861633339363032353134326335393530613032376565623431383539346534A2644E616D656D4C6173742D4D6F6469666965646656616C75657381781D5475652C203234204E6F7620323032362030333A30353A343920474D546653746174757318C866537472696374F467436865636B65641B000001A20B85BC3C67456E636F646573F46749664572726F720069496D6D757461626C65F4', 1796180844577);
INSERT INTO twofold_cells (key, cell, until) VALUES (X'64656661756C743A64656164686F73743A76313A686E2E616C676F6C69612E636F6D253341343433', X'56947993DABAF261D000000001000000010000000100000000000000000000000001000001A20B86A69B0000000000000001A20B86A69B000001A20B85BC3B2E1472B57AF294D10662A069F15F6E7429FC381E1A556BF7046A736F6EC77F400C6E6F207375636820686F7374', 1795489703579);
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence (name, seq) VALUES ('goose_db_version', 4);
INSERT INTO sqlite_sequence (name, seq) VALUES ('users', 1);
INSERT INTO sqlite_sequence (name, seq) VALUES ('sources', 2);
INSERT INTO sqlite_sequence (name, seq) VALUES ('source_packs', 1);
INSERT INTO sqlite_sequence (name, seq) VALUES ('fetch_log', 2);
INSERT INTO sqlite_sequence (name, seq) VALUES ('raw_items', 3);
INSERT INTO sqlite_sequence (name, seq) VALUES ('digests', 1);
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
CREATE INDEX fetch_log_at ON fetch_log (at);
CREATE INDEX fetch_log_source ON fetch_log (source_id, at);
CREATE INDEX sources_due_type ON sources (type, coalesce(next_fetch_at, 0)) WHERE is_deleted = 0 AND gone = 0;
CREATE INDEX sources_claimed ON sources (claimed_until) WHERE claimed_until IS NOT NULL;
CREATE INDEX raw_items_seen ON raw_items (last_seen_at);
CREATE INDEX digest_failures_retry ON digest_failures (retry_at);
CREATE INDEX twofold_cells_until ON twofold_cells (until);
COMMIT;
