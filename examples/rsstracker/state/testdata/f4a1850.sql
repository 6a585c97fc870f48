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
    scope            TEXT NOT NULL,                -- fingerprint of the fields that select the tracked pages
    vanish_streak    INTEGER NOT NULL DEFAULT 0,   -- runs in a row in which too many pages were missing
    created_at       INTEGER NOT NULL,
    updated_at       INTEGER NOT NULL,
    last_run_at      INTEGER,
    last_success_at  INTEGER,
    last_complete_at INTEGER,
    last_cleanup_at  INTEGER,
    baseline_at      INTEGER,
    lease_until      INTEGER,
    lease_run        INTEGER,
    CHECK ((lease_run IS NULL) = (lease_until IS NULL))
) STRICT;
CREATE TABLE files (
    id          INTEGER PRIMARY KEY,
    site_id     INTEGER NOT NULL REFERENCES sites ON DELETE CASCADE,
    url         TEXT NOT NULL,
    silent      INTEGER NOT NULL,             -- pages that it lists for the first time are old
    whole       INTEGER NOT NULL DEFAULT 0,   -- the last run read all of it
    visited_run INTEGER NOT NULL,
    UNIQUE (site_id, url)
) STRICT;
CREATE TABLE listed (
    file_id   INTEGER NOT NULL REFERENCES files ON DELETE CASCADE,
    key       TEXT NOT NULL,                  -- the URL without its scheme
    url       TEXT NOT NULL,
    pos       INTEGER NOT NULL,
    lastmod   INTEGER,
    published INTEGER,
    title     TEXT NOT NULL,
    PRIMARY KEY (file_id, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE urls (
    id            INTEGER PRIMARY KEY,
    site_id       INTEGER NOT NULL REFERENCES sites ON DELETE CASCADE,
    key           TEXT NOT NULL,
    url           TEXT NOT NULL,
    guid          TEXT NOT NULL,              -- the URL when it was first seen
    state         INTEGER NOT NULL CHECK (state BETWEEN 0 AND 2), -- 0 pending, 1 done, 2 failed
    changed       INTEGER NOT NULL DEFAULT 0, -- it was done before, and its lastmod has increased since
    lastmod       INTEGER,
    published     INTEGER,                    -- from the sitemap
    title         TEXT NOT NULL,              -- from the sitemap
    first_seen    INTEGER NOT NULL,
    last_seen     INTEGER NOT NULL,
    attempts      INTEGER NOT NULL DEFAULT 0,
    next_retry_at INTEGER,                    -- of failed ones; NULL: given up
    last_error    TEXT NOT NULL DEFAULT '',
    content_hash  TEXT NOT NULL DEFAULT '',   -- '': never fetched
    checked_at    INTEGER,
    false_stamps  INTEGER NOT NULL DEFAULT 0, -- times in a row that lastmod increased and the page had not changed
    gone_at       INTEGER,
    UNIQUE (site_id, key)
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
    lastmod      INTEGER,                     -- at the last look; 0: an increase is not checked yet
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
INSERT INTO goose_db_version (id, version_id, is_applied, tstamp) VALUES (1, 0, 1, '2026-11-24 03:07:23');
INSERT INTO goose_db_version (id, version_id, is_applied, tstamp) VALUES (2, 1, 1, '2026-11-24 03:07:23');
INSERT INTO goose_db_version (id, version_id, is_applied, tstamp) VALUES (3, 2, 1, '2026-11-24 03:07:23');
INSERT INTO sites (id, name, sitemap_url, scope, vanish_streak, created_at, updated_at, last_run_at, last_success_at, last_complete_at, last_cleanup_at, baseline_at, lease_until, lease_run) VALUES (1, 'one', 'http://127.0.0.1:18091/sitemap.xml', '2900511405b065211dd6ab3e0dc2446b', 0, 1795489643363, 1795489643363, 1795489643363, 1795489643415, 1795489643415, 1795489643414, 1795489643373, NULL, NULL);
INSERT INTO files (id, site_id, url, silent, whole, visited_run) VALUES (1, 1, 'http://127.0.0.1:18091/sitemap.xml', 0, 1, 1);
INSERT INTO urls (id, site_id, key, url, guid, state, changed, lastmod, published, title, first_seen, last_seen, attempts, next_retry_at, last_error, content_hash, checked_at, false_stamps, gone_at) VALUES (1, 1, '127.0.0.1:18091/p1.html', 'http://127.0.0.1:18091/p1.html', 'http://127.0.0.1:18091/p1.html', 1, 0, 1793491200000, NULL, '', 1795489643373, 1795489643373, 0, NULL, '', '5be348ca2059799d540cf745704752b75c96c78a10a721db840c34159eff6e39', 1795489643399, 0, NULL);
INSERT INTO urls (id, site_id, key, url, guid, state, changed, lastmod, published, title, first_seen, last_seen, attempts, next_retry_at, last_error, content_hash, checked_at, false_stamps, gone_at) VALUES (2, 1, '127.0.0.1:18091/p2.html', 'http://127.0.0.1:18091/p2.html', 'http://127.0.0.1:18091/p2.html', 1, 0, 1793577600000, NULL, '', 1795489643373, 1795489643373, 0, NULL, '', '2c01a5aa444971de2faa55d828531c78cbdb8f492dbd4fcc9975eddcf9ae4382', 1795489643402, 0, NULL);
INSERT INTO urls (id, site_id, key, url, guid, state, changed, lastmod, published, title, first_seen, last_seen, attempts, next_retry_at, last_error, content_hash, checked_at, false_stamps, gone_at) VALUES (3, 1, '127.0.0.1:18091/p3.html', 'http://127.0.0.1:18091/p3.html', 'http://127.0.0.1:18091/p3.html', 1, 0, 1793664000000, NULL, '', 1795489643373, 1795489643373, 0, NULL, '', 'a5cfd4cd84483011863b227e037f6104b13982648040eff070267b20f5cf4778', 1795489643404, 0, NULL);
INSERT INTO urls (id, site_id, key, url, guid, state, changed, lastmod, published, title, first_seen, last_seen, attempts, next_retry_at, last_error, content_hash, checked_at, false_stamps, gone_at) VALUES (4, 1, '127.0.0.1:18091/p4.html', 'http://127.0.0.1:18091/p4.html', 'http://127.0.0.1:18091/p4.html', 2, 0, 1793750400000, NULL, '', 1795489643373, 1795489643373, 1, 1795490280320, 'status 404', '', 1795489643406, 0, NULL);
INSERT INTO items (id, site_id, key, guid, url, title, description, date, published_at, updated_at) VALUES (1, 1, '127.0.0.1:18091/p1.html', 'http://127.0.0.1:18091/p1.html', 'http://127.0.0.1:18091/p1.html', 'Page 1', 'About 1', 1793491200000, 1795489643399, 1795489643399);
INSERT INTO items (id, site_id, key, guid, url, title, description, date, published_at, updated_at) VALUES (2, 1, '127.0.0.1:18091/p2.html', 'http://127.0.0.1:18091/p2.html', 'http://127.0.0.1:18091/p2.html', 'Page 2', 'About 2', 1793577600000, 1795489643402, 1795489643402);
INSERT INTO items (id, site_id, key, guid, url, title, description, date, published_at, updated_at) VALUES (3, 1, '127.0.0.1:18091/p3.html', 'http://127.0.0.1:18091/p3.html', 'http://127.0.0.1:18091/p3.html', 'Page 3', 'About 3', 1793664000000, 1795489643404, 1795489643404);
INSERT INTO runs (id, site_id, started_at, ended_at, outcome, report, error) VALUES (1, 1, 1795489643363, 1795489643415, 'ok', '{"site":"one","started":"2026-11-24T03:07:23.36373785Z","outcome":"ok","New":4,"Silent":0,"Back":0,"Changed":0,"Churned":0,"Gone":0,"Guarded":0,"Listed":4,"pending":0,"skipped":0,"failed":1,"waiting":0,"published":3,"updated":0,"unchanged":0,"learned":0,"pruned":0,"sitemaps":1,"sitemap_fetches":1,"not_modified":0,"page_fetches":4,"saved":0,"feeds_written":3}', '');
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence (name, seq) VALUES ('goose_db_version', 3);
INSERT INTO sqlite_sequence (name, seq) VALUES ('runs', 1);
INSERT INTO sqlite_sequence (name, seq) VALUES ('items', 3);
CREATE INDEX urls_due ON urls (site_id, state) WHERE state <> 1;
CREATE INDEX urls_gone ON urls (site_id, gone_at) WHERE gone_at IS NOT NULL;
CREATE INDEX runs_site ON runs (site_id, id);
CREATE INDEX idx_url_state ON urls (state);
CREATE INDEX idx_url_lastseen ON urls (last_seen);
CREATE VIEW site_states AS
SELECT name AS site_name, sitemap_url, datetime(last_run_at / 1000, 'unixepoch') AS last_run,
       datetime(created_at / 1000, 'unixepoch') AS created_at, datetime(updated_at / 1000, 'unixepoch') AS updated_at
FROM sites;
CREATE VIEW url_states AS
SELECT s.name AS site_name, u.url, u.state,
       datetime(u.first_seen / 1000, 'unixepoch') AS first_seen, datetime(u.last_seen / 1000, 'unixepoch') AS last_seen
FROM urls u JOIN sites s ON s.id = u.site_id;
COMMIT;
