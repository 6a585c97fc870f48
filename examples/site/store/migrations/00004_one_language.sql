-- One language. What was Chinese stays, beside the rest: no two posts have one slug. A link to a
-- page below /zh/ leads to the page without it.

-- +goose Up
DROP VIEW shown;
DROP INDEX posts_public;
ALTER TABLE posts DROP COLUMN lang;
ALTER TABLE pages DROP COLUMN lang;
ALTER TABLE nav_items DROP COLUMN lang;
CREATE INDEX posts_public ON posts (published_at DESC, id DESC) WHERE status = 'published';
CREATE VIEW shown AS
SELECT p.*,
    (SELECT json_group_array(json_object('slug', slug, 'name', name))
     FROM (SELECT t.slug, t.name FROM post_tags x JOIN tags t ON t.id = x.tag_id WHERE x.post_id = p.id ORDER BY t.slug)) AS tags,
    strftime('%Y-%m', p.published_at / 1000, 'unixepoch') AS month
FROM posts p;
UPDATE nav_items SET url = substr(url, 4) WHERE url LIKE '/zh/%';
UPDATE settings SET value = json_remove(json_set(value, '$.title', value ->> '$.texts.en.title',
    '$.description', coalesce(value ->> '$.texts.en.description', '')), '$.texts');
