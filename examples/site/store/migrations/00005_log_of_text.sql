-- The log writes invalidations as text. Its tables of earlier versions go: Install makes new ones. Nothing is lost,
-- because the caches of a program that starts are empty.

-- +goose Up
DROP TABLE IF EXISTS twofold_outbox;
DROP TABLE IF EXISTS twofold_log;
DROP TABLE IF EXISTS twofold_meta;

-- +goose Down
SELECT 1;
