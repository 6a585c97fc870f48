-- The source document's names for tables, columns and indexes, for a SQLite shell.

-- +goose Up
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
DROP INDEX idx_url_lastseen;
DROP INDEX idx_url_state;
DROP VIEW url_states;
DROP VIEW site_states;
