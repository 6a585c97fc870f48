-- A digest that cannot be generated is remembered only by the cache, for a moment.

-- +goose Up
DROP TABLE digest_failures;
