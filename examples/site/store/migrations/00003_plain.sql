-- SQLite before 3.44 cannot open a database with an ORDER BY inside an aggregate.

-- +goose Up
DROP VIEW shown;
CREATE VIEW shown AS
SELECT p.*,
    (SELECT json_group_array(json_object('slug', slug, 'name', name))
     FROM (SELECT t.slug, t.name FROM post_tags x JOIN tags t ON t.id = x.tag_id WHERE x.post_id = p.id ORDER BY t.slug)) AS tags,
    strftime('%Y-%m', p.published_at / 1000, 'unixepoch') AS month
FROM posts p;

-- +goose Down
DROP VIEW shown;
CREATE VIEW shown AS
SELECT p.*,
    (SELECT json_group_array(json_object('slug', t.slug, 'name', t.name) ORDER BY t.slug)
     FROM post_tags x JOIN tags t ON t.id = x.tag_id WHERE x.post_id = p.id) AS tags,
    strftime('%Y-%m', p.published_at / 1000, 'unixepoch') AS month
FROM posts p;
