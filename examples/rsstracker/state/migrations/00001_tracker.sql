-- Times are milliseconds since 1970 in UTC. The program always binds them from its own
-- clock: a text in another format, or the database's own now, could not be compared with
-- them.

-- +goose Up
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

-- +goose Down
DROP TABLE runs;
DROP TABLE tombstones;
DROP TABLE items;
DROP TABLE urls;
DROP TABLE listed;
DROP TABLE files;
DROP TABLE sites;
