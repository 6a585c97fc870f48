PRAGMA foreign_keys = OFF;
BEGIN;
CREATE TABLE goose_db_version (
		id INTEGER PRIMARY KEY AUTOINCREMENT,
		version_id INTEGER NOT NULL,
		is_applied INTEGER NOT NULL,
		tstamp TIMESTAMP DEFAULT (datetime('now'))
	);
CREATE TABLE sites (
    id               INTEGER PRIMARY KEY,
    name             TEXT NOT NULL UNIQUE,
    sitemap_url      TEXT NOT NULL CHECK (sitemap_url <> ''),
    scope            TEXT NOT NULL,                -- fingerprint of what says which pages are tracked
    dirty            INTEGER NOT NULL DEFAULT 1,   -- listings hold what detection has not seen
    vanish_streak    INTEGER NOT NULL DEFAULT 0,   -- runs in a row in which too many pages were missing
    created_at       INTEGER NOT NULL,
    updated_at       INTEGER NOT NULL,
    last_run_at      INTEGER,
    last_success_at  INTEGER,
    last_complete_at INTEGER,
    last_cleanup_at  INTEGER,
    baseline_at      INTEGER,
    lease_owner      TEXT,
    lease_until      INTEGER,
    lease_run        INTEGER,
    CHECK ((lease_owner IS NULL) = (lease_until IS NULL))
) STRICT;
CREATE TABLE files (
    id          INTEGER PRIMARY KEY,
    site_id     INTEGER NOT NULL REFERENCES sites ON DELETE CASCADE,
    url         TEXT NOT NULL,
    hash        TEXT NOT NULL DEFAULT '',     -- of the body that the listing was read from; '': none
    kind        INTEGER NOT NULL DEFAULT 0,
    pages       INTEGER NOT NULL DEFAULT 0,
    lastmod     INTEGER,                      -- that the index gave when it was last read
    whole       INTEGER NOT NULL DEFAULT 0,   -- the listing is all there was
    silent      INTEGER NOT NULL,             -- what it lists that is not known yet is old
    readings    INTEGER NOT NULL DEFAULT 0,   -- how often it was read
    read_at     INTEGER,                      -- or found unchanged
    visited_run INTEGER NOT NULL DEFAULT 0,
    UNIQUE (site_id, url)
) STRICT;
CREATE TABLE links (
    parent_id INTEGER NOT NULL REFERENCES files ON DELETE CASCADE,
    child_id  INTEGER NOT NULL REFERENCES files ON DELETE CASCADE,
    lastmod   INTEGER,
    PRIMARY KEY (parent_id, child_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE listed (
    file_id   INTEGER NOT NULL REFERENCES files ON DELETE CASCADE,
    key       TEXT NOT NULL,                  -- the URL without its scheme
    url       TEXT NOT NULL,
    pos       INTEGER NOT NULL,
    lastmod   INTEGER,
    published INTEGER,
    title     TEXT NOT NULL,
    reading   INTEGER NOT NULL,               -- the number of the reading that saw it last
    PRIMARY KEY (file_id, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE urls (
    id            INTEGER PRIMARY KEY,
    site_id       INTEGER NOT NULL REFERENCES sites ON DELETE CASCADE,
    key           TEXT NOT NULL,
    url           TEXT NOT NULL,
    guid          TEXT NOT NULL,              -- the URL at first sight
    state         INTEGER NOT NULL CHECK (state BETWEEN 0 AND 3), -- 0 pending, 1 done, 2 failed, 3 ready
    changed       INTEGER NOT NULL DEFAULT 0, -- it was done before, and its lastmod has moved since
    lastmod       INTEGER,
    published     INTEGER,                    -- by the sitemap
    title         TEXT NOT NULL,              -- by the sitemap
    first_seen    INTEGER NOT NULL,
    last_seen     INTEGER NOT NULL,
    attempts      INTEGER NOT NULL DEFAULT 0,
    next_retry_at INTEGER,                    -- of failed ones; NULL: given up
    last_error    TEXT NOT NULL DEFAULT '',
    content_hash  TEXT NOT NULL DEFAULT '',   -- '': never fetched
    checked_at    INTEGER,
    false_stamps  INTEGER NOT NULL DEFAULT 0, -- times in a row that lastmod moved and the page had not changed
    gone_at       INTEGER,
    UNIQUE (site_id, key)
) STRICT;
CREATE TABLE pages (
    url_id       INTEGER PRIMARY KEY REFERENCES urls ON DELETE CASCADE,
    title        TEXT NOT NULL,
    description  TEXT NOT NULL,
    date         INTEGER NOT NULL,
    content_hash TEXT NOT NULL
) STRICT;
CREATE TABLE items (
    id           INTEGER PRIMARY KEY AUTOINCREMENT, -- in the order of publication
    site_id      INTEGER NOT NULL REFERENCES sites ON DELETE CASCADE,
    key          TEXT NOT NULL,
    guid         TEXT NOT NULL,
    url          TEXT NOT NULL,
    title        TEXT NOT NULL,
    description  TEXT NOT NULL,
    date         INTEGER NOT NULL,              -- of the page, never changed
    published_at INTEGER NOT NULL,              -- in the feed, never changed
    updated_at   INTEGER NOT NULL,
    UNIQUE (site_id, key),
    UNIQUE (site_id, guid)
) STRICT;
CREATE TABLE tombstones (
    site_id      INTEGER NOT NULL REFERENCES sites ON DELETE CASCADE,
    key          TEXT NOT NULL,
    buried_at    INTEGER NOT NULL,
    lastmod      INTEGER,                     -- when it was last looked at; 0: a move was not looked at yet
    content_hash TEXT NOT NULL,
    PRIMARY KEY (site_id, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE runs (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    site_id    INTEGER NOT NULL REFERENCES sites ON DELETE CASCADE,
    started_at INTEGER NOT NULL,
    ended_at   INTEGER,
    outcome    TEXT NOT NULL CHECK (outcome IN ('running', 'ok', 'partial', 'failed', 'died')),
    report     TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(report)),
    error      TEXT NOT NULL DEFAULT ''
) STRICT;
INSERT INTO goose_db_version (id, version_id, is_applied, tstamp) VALUES (1, 0, 1, '2026-11-24 03:07:18');
INSERT INTO goose_db_version (id, version_id, is_applied, tstamp) VALUES (2, 1, 1, '2026-11-24 03:07:18');
INSERT INTO sites (id, name, sitemap_url, scope, dirty, vanish_streak, created_at, updated_at, last_run_at, last_success_at, last_complete_at, last_cleanup_at, baseline_at, lease_owner, lease_until, lease_run) VALUES (1, 'one', 'http://127.0.0.1:18091/sitemap.xml', 'cbc31fa31b2e5f23cef4f33bbd653492', 0, 0, 1795489638902, 1795489638902, 1795489638902, 1795489638976, 1795489638976, 1795489638966, 1795489638917, NULL, NULL, NULL);
INSERT INTO files (id, site_id, url, hash, kind, pages, lastmod, whole, silent, readings, read_at, visited_run) VALUES (1, 1, 'http://127.0.0.1:18091/sitemap.xml', '5488f92609823deaf0041c202a8197fc1ceca06322ddfcf1da96fe71de783d89', 1, 4, NULL, 1, 0, 1, 1795489638915, 1);
INSERT INTO listed (file_id, key, url, pos, lastmod, published, title, reading) VALUES (1, '127.0.0.1:18091/p1.html', 'http://127.0.0.1:18091/p1.html', 1, 1793491200000, NULL, '', 1);
INSERT INTO listed (file_id, key, url, pos, lastmod, published, title, reading) VALUES (1, '127.0.0.1:18091/p2.html', 'http://127.0.0.1:18091/p2.html', 2, 1793577600000, NULL, '', 1);
INSERT INTO listed (file_id, key, url, pos, lastmod, published, title, reading) VALUES (1, '127.0.0.1:18091/p3.html', 'http://127.0.0.1:18091/p3.html', 3, 1793664000000, NULL, '', 1);
INSERT INTO listed (file_id, key, url, pos, lastmod, published, title, reading) VALUES (1, '127.0.0.1:18091/p4.html', 'http://127.0.0.1:18091/p4.html', 4, 1793750400000, NULL, '', 1);
INSERT INTO urls (id, site_id, key, url, guid, state, changed, lastmod, published, title, first_seen, last_seen, attempts, next_retry_at, last_error, content_hash, checked_at, false_stamps, gone_at) VALUES (1, 1, '127.0.0.1:18091/p1.html', 'http://127.0.0.1:18091/p1.html', 'http://127.0.0.1:18091/p1.html', 1, 0, 1793491200000, NULL, '', 1795489638917, 1795489638917, 0, NULL, '', '5be348ca2059799d540cf745704752b75c96c78a10a721db840c34159eff6e39', 1795489638934, 0, NULL);
INSERT INTO urls (id, site_id, key, url, guid, state, changed, lastmod, published, title, first_seen, last_seen, attempts, next_retry_at, last_error, content_hash, checked_at, false_stamps, gone_at) VALUES (2, 1, '127.0.0.1:18091/p2.html', 'http://127.0.0.1:18091/p2.html', 'http://127.0.0.1:18091/p2.html', 1, 0, 1793577600000, NULL, '', 1795489638917, 1795489638917, 0, NULL, '', '2c01a5aa444971de2faa55d828531c78cbdb8f492dbd4fcc9975eddcf9ae4382', 1795489638932, 0, NULL);
INSERT INTO urls (id, site_id, key, url, guid, state, changed, lastmod, published, title, first_seen, last_seen, attempts, next_retry_at, last_error, content_hash, checked_at, false_stamps, gone_at) VALUES (3, 1, '127.0.0.1:18091/p3.html', 'http://127.0.0.1:18091/p3.html', 'http://127.0.0.1:18091/p3.html', 1, 0, 1793664000000, NULL, '', 1795489638917, 1795489638917, 0, NULL, '', 'a5cfd4cd84483011863b227e037f6104b13982648040eff070267b20f5cf4778', 1795489638931, 0, NULL);
INSERT INTO urls (id, site_id, key, url, guid, state, changed, lastmod, published, title, first_seen, last_seen, attempts, next_retry_at, last_error, content_hash, checked_at, false_stamps, gone_at) VALUES (4, 1, '127.0.0.1:18091/p4.html', 'http://127.0.0.1:18091/p4.html', 'http://127.0.0.1:18091/p4.html', 2, 0, 1793750400000, NULL, '', 1795489638917, 1795489638917, 1, 1795490275842, 'status 404', '', 1795489638928, 0, NULL);
INSERT INTO items (id, site_id, key, guid, url, title, description, date, published_at, updated_at) VALUES (1, 1, '127.0.0.1:18091/p1.html', 'http://127.0.0.1:18091/p1.html', 'http://127.0.0.1:18091/p1.html', 'Page 1', 'About 1', 1793491200000, 1795489638944, 1795489638944);
INSERT INTO items (id, site_id, key, guid, url, title, description, date, published_at, updated_at) VALUES (2, 1, '127.0.0.1:18091/p2.html', 'http://127.0.0.1:18091/p2.html', 'http://127.0.0.1:18091/p2.html', 'Page 2', 'About 2', 1793577600000, 1795489638944, 1795489638944);
INSERT INTO items (id, site_id, key, guid, url, title, description, date, published_at, updated_at) VALUES (3, 1, '127.0.0.1:18091/p3.html', 'http://127.0.0.1:18091/p3.html', 'http://127.0.0.1:18091/p3.html', 'Page 3', 'About 3', 1793664000000, 1795489638944, 1795489638944);
INSERT INTO runs (id, site_id, started_at, ended_at, outcome, report, error) VALUES (1, 1, 1795489638902, 1795489638976, 'ok', '{"site":"one","started":"2026-11-24T03:07:18.902768796Z","outcome":"ok","New":4,"Silent":0,"Back":0,"Changed":0,"Churned":0,"Gone":0,"Guarded":0,"Listed":4,"pending":0,"skipped":0,"failed":1,"waiting":0,"published":3,"updated":0,"unchanged":0,"learned":0,"pruned":0,"sitemaps":1,"sitemap_fetches":1,"sitemaps_skipped":0,"not_modified":0,"page_fetches":4,"bytes":822,"saved":0,"feeds_written":3}', '');
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence (name, seq) VALUES ('goose_db_version', 2);
INSERT INTO sqlite_sequence (name, seq) VALUES ('runs', 1);
INSERT INTO sqlite_sequence (name, seq) VALUES ('items', 3);
CREATE INDEX links_child ON links (child_id);
CREATE INDEX urls_due ON urls (site_id, state) WHERE state <> 1;
CREATE INDEX urls_gone ON urls (site_id, gone_at) WHERE gone_at IS NOT NULL;
CREATE INDEX runs_site ON runs (site_id, id);
COMMIT;
