-- Posts with the values that SQLite and PostgreSQL compute by different functions: their
-- tags as JSON, and the month of their publication. So each query of the store has one text
-- for both.

-- +goose Up
CREATE VIEW shown AS
SELECT p.*,
    (SELECT json_group_array(json_object('slug', t.slug, 'name', t.name) ORDER BY t.slug)
     FROM post_tags x JOIN tags t ON t.id = x.tag_id WHERE x.post_id = p.id) AS tags,
    strftime('%Y-%m', p.published_at / 1000, 'unixepoch') AS month
FROM posts p;

-- +goose Down
DROP VIEW shown;
