-- Before migrations were append-only, the first one had other tables: databases of then have
-- more columns and other checks. This one makes all databases equal, and keeps what they
-- share. A run in progress loses its lease. A page that was read and not yet published
-- (state 3) is read again.

-- +goose Up
DROP VIEW IF EXISTS url_states;
DROP VIEW IF EXISTS site_states;
DROP INDEX IF EXISTS urls_due;
DROP INDEX IF EXISTS urls_gone;
DROP INDEX IF EXISTS runs_site;
DROP INDEX IF EXISTS idx_url_state;
DROP INDEX IF EXISTS idx_url_lastseen;
DROP TABLE IF EXISTS pages;
DROP TABLE IF EXISTS links;
DROP TABLE listed; -- each run fills it anew
ALTER TABLE sites RENAME TO old_sites;
ALTER TABLE files RENAME TO old_files;
ALTER TABLE urls RENAME TO old_urls;
ALTER TABLE items RENAME TO old_items;
ALTER TABLE tombstones RENAME TO old_tombstones;
ALTER TABLE runs RENAME TO old_runs;

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

-- The sitemaps of a site.
CREATE TABLE files (
    id          INTEGER PRIMARY KEY,
    site_id     INTEGER NOT NULL REFERENCES sites ON DELETE CASCADE,
    url         TEXT NOT NULL,
    silent      INTEGER NOT NULL,             -- pages that it lists for the first time are old
    whole       INTEGER NOT NULL DEFAULT 0,   -- the last run read all of it
    visited_run INTEGER NOT NULL,
    UNIQUE (site_id, url)
) STRICT;

-- The pages that a sitemap lists, from its reading to the detection of the same run.
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
CREATE INDEX urls_due ON urls (site_id, state) WHERE state <> 1;
CREATE INDEX urls_gone ON urls (site_id, gone_at) WHERE gone_at IS NOT NULL;

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

-- Pages whose rows were deleted. If such a page comes back, it is not new, and a change is
-- still detected.
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
CREATE INDEX runs_site ON runs (site_id, id);

INSERT INTO sites (id, name, sitemap_url, scope, vanish_streak, created_at, updated_at, last_run_at, last_success_at, last_complete_at, last_cleanup_at, baseline_at)
SELECT id, name, sitemap_url, scope, vanish_streak, created_at, updated_at, last_run_at, last_success_at, last_complete_at, last_cleanup_at, baseline_at FROM old_sites;
INSERT INTO files (id, site_id, url, silent, whole, visited_run)
SELECT id, site_id, url, silent, whole, visited_run FROM old_files;
INSERT INTO urls (id, site_id, key, url, guid, state, changed, lastmod, published, title, first_seen, last_seen, attempts, next_retry_at, last_error, content_hash, checked_at, false_stamps, gone_at)
SELECT id, site_id, key, url, guid, CASE state WHEN 3 THEN 0 ELSE state END, changed, lastmod, published, title, first_seen, last_seen, attempts, next_retry_at, last_error, content_hash, checked_at, false_stamps, gone_at FROM old_urls;
INSERT INTO items (id, site_id, key, guid, url, title, description, date, published_at, updated_at)
SELECT id, site_id, key, guid, url, title, description, date, published_at, updated_at FROM old_items;
INSERT INTO tombstones (site_id, key, buried_at, lastmod, content_hash)
SELECT site_id, key, buried_at, lastmod, content_hash FROM old_tombstones;
INSERT INTO runs (id, site_id, started_at, ended_at, outcome, report, error)
SELECT id, site_id, started_at, ended_at, outcome, report, error FROM old_runs;
DROP TABLE old_runs;
DROP TABLE old_tombstones;
DROP TABLE old_items;
DROP TABLE old_urls;
DROP TABLE old_files;
DROP TABLE old_sites;

CREATE VIEW site_states AS
SELECT name AS site_name, sitemap_url, datetime(last_run_at / 1000, 'unixepoch') AS last_run,
       datetime(created_at / 1000, 'unixepoch') AS created_at, datetime(updated_at / 1000, 'unixepoch') AS updated_at
FROM sites;

CREATE VIEW url_states AS
SELECT s.name AS site_name, u.url, u.state,
       datetime(u.first_seen / 1000, 'unixepoch') AS first_seen, datetime(u.last_seen / 1000, 'unixepoch') AS last_seen
FROM urls u JOIN sites s ON s.id = u.site_id;

CREATE INDEX idx_url_state ON urls (state);
CREATE INDEX idx_url_lastseen ON urls (last_seen);

-- +goose Down
SELECT 1; -- the tables are those of 00002
