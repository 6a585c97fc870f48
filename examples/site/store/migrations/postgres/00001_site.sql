-- The tables of the SQLite migrations. Times are milliseconds since 1970 in UTC. Texts that
-- queries sort by are compared byte by byte, as in SQLite.

-- +goose Up
CREATE TABLE posts (
    id           BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    slug         TEXT COLLATE "C" NOT NULL UNIQUE,
    title        TEXT NOT NULL,
    summary      TEXT NOT NULL,
    body         TEXT NOT NULL,
    lang         TEXT NOT NULL CHECK (lang IN ('en', 'zh')),
    status       TEXT NOT NULL CHECK (status IN ('draft', 'scheduled', 'published')),
    published_at BIGINT CHECK ((published_at IS NULL) = (status = 'draft')),
    updated_at   BIGINT NOT NULL
);
CREATE INDEX posts_public ON posts (lang, published_at DESC, id DESC) WHERE status = 'published';
CREATE INDEX posts_due ON posts (published_at) WHERE status = 'scheduled';

CREATE TABLE tags (
    id   BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    slug TEXT COLLATE "C" NOT NULL UNIQUE,
    name TEXT NOT NULL
);

CREATE TABLE post_tags (
    post_id BIGINT NOT NULL REFERENCES posts ON DELETE CASCADE,
    tag_id  BIGINT NOT NULL REFERENCES tags ON DELETE CASCADE,
    PRIMARY KEY (post_id, tag_id)
);
CREATE INDEX post_tags_tag ON post_tags (tag_id);

CREATE VIEW shown AS
SELECT p.*,
    (SELECT coalesce(json_agg(json_build_object('slug', t.slug, 'name', t.name) ORDER BY t.slug), '[]')::TEXT
     FROM post_tags x JOIN tags t ON t.id = x.tag_id WHERE x.post_id = p.id) AS tags,
    to_char(to_timestamp(p.published_at / 1000) AT TIME ZONE 'UTC', 'YYYY-MM') AS month
FROM posts p;

CREATE TABLE pages (
    id         BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    slug       TEXT COLLATE "C" NOT NULL UNIQUE,
    title      TEXT NOT NULL,
    body       TEXT NOT NULL,
    lang       TEXT NOT NULL CHECK (lang IN ('en', 'zh')),
    updated_at BIGINT NOT NULL
);

CREATE TABLE nav_items (
    position BIGINT PRIMARY KEY,
    lang     TEXT NOT NULL CHECK (lang IN ('en', 'zh')),
    label    TEXT NOT NULL,
    url      TEXT NOT NULL
);

CREATE TABLE settings (
    id    BIGINT PRIMARY KEY CHECK (id = 1),
    value TEXT NOT NULL
);

CREATE TABLE api_keys (
    prefix     TEXT COLLATE "C" PRIMARY KEY,
    label      TEXT NOT NULL,
    hash       BYTEA NOT NULL CHECK (length(hash) = 32),
    scopes     TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    revoked_at BIGINT
);

-- One row. Each write changes it first, so writes run one after the other, as in SQLite:
-- what a write has read is still true when it commits.
CREATE TABLE revision (
    id BIGINT PRIMARY KEY CHECK (id = 1),
    n  BIGINT NOT NULL
);
INSERT INTO revision (id, n) VALUES (1, 0);

-- +goose Down
DROP TABLE revision;
DROP TABLE api_keys;
DROP TABLE settings;
DROP TABLE nav_items;
DROP TABLE pages;
DROP VIEW shown;
DROP TABLE post_tags;
DROP TABLE tags;
DROP TABLE posts;
