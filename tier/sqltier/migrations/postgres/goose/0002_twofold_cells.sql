-- +goose Up
-- Unlogged: a crash or a promotion empties it, and no write of it is in the WAL.
CREATE UNLOGGED TABLE twofold_cells (
	key   bytea  NOT NULL PRIMARY KEY, -- of the cache: tenant, namespace, version and id
	cell  bytea  NOT NULL,             -- one frame of the cache
	until bigint NOT NULL              -- when it expires, unix ms
);
-- The cache compresses. A second try here would cost more than the write.
ALTER TABLE twofold_cells ALTER COLUMN cell SET STORAGE EXTERNAL;
CREATE INDEX twofold_cells_until ON twofold_cells (until);

-- +goose Down
DROP TABLE twofold_cells;
