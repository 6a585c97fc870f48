-- Times are milliseconds since 1970 in UTC.

-- +goose Up
CREATE TABLE posts (
    id           INTEGER PRIMARY KEY AUTOINCREMENT, -- never the id of a deleted post
    slug         TEXT NOT NULL UNIQUE,
    title        TEXT NOT NULL,
    summary      TEXT NOT NULL,
    body         TEXT NOT NULL,
    lang         TEXT NOT NULL CHECK (lang IN ('en', 'zh')),
    status       TEXT NOT NULL CHECK (status IN ('draft', 'scheduled', 'published')),
    published_at INTEGER CHECK ((published_at IS NULL) = (status = 'draft')),
    updated_at   INTEGER NOT NULL
) STRICT;
CREATE INDEX posts_public ON posts (lang, published_at DESC, id DESC) WHERE status = 'published';
CREATE INDEX posts_due ON posts (published_at) WHERE status = 'scheduled';

CREATE TABLE tags (
    id   INTEGER PRIMARY KEY,
    slug TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL
) STRICT;

CREATE TABLE post_tags (
    post_id INTEGER NOT NULL REFERENCES posts ON DELETE CASCADE,
    tag_id  INTEGER NOT NULL REFERENCES tags ON DELETE CASCADE,
    PRIMARY KEY (post_id, tag_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX post_tags_tag ON post_tags (tag_id);

CREATE TABLE pages (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    slug       TEXT NOT NULL UNIQUE,
    title      TEXT NOT NULL,
    body       TEXT NOT NULL,
    lang       TEXT NOT NULL CHECK (lang IN ('en', 'zh')),
    updated_at INTEGER NOT NULL
) STRICT;

CREATE TABLE nav_items (
    position INTEGER PRIMARY KEY,
    lang     TEXT NOT NULL CHECK (lang IN ('en', 'zh')),
    label    TEXT NOT NULL,
    url      TEXT NOT NULL
) STRICT;

-- One row, because settings are read and written as a whole and never searched.
CREATE TABLE settings (
    id    INTEGER PRIMARY KEY CHECK (id = 1),
    value TEXT NOT NULL CHECK (json_valid(value))
) STRICT;

CREATE TABLE api_keys (
    prefix     TEXT PRIMARY KEY,
    label      TEXT NOT NULL,
    hash       BLOB NOT NULL CHECK (length(hash) = 32),
    scopes     TEXT NOT NULL CHECK (json_valid(scopes)),
    created_at INTEGER NOT NULL,
    revoked_at INTEGER
) STRICT, WITHOUT ROWID;

-- One row, the number of writes. Each write takes the next number in its own transaction,
-- so the numbers have the order of the commits.
CREATE TABLE revision (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    n  INTEGER NOT NULL
) STRICT;
INSERT INTO revision (id, n) VALUES (1, 0);

-- +goose Down
DROP TABLE revision;
DROP TABLE api_keys;
DROP TABLE settings;
DROP TABLE nav_items;
DROP TABLE pages;
DROP TABLE post_tags;
DROP TABLE tags;
DROP TABLE posts;
