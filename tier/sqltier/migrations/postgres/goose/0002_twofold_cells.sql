-- +goose Up
-- Unlogged: a crash or a promotion empties the table, and its writes are not in the WAL.
CREATE UNLOGGED TABLE twofold_cells (
	key   bytea  NOT NULL PRIMARY KEY, -- the key in the cache: tenant, namespace, version and id
	cell  bytea  NOT NULL,             -- one frame of the cache
	until bigint NOT NULL              -- when it expires, unix ms
);
-- The cache compresses. Compressing again here would cost more than the write.
ALTER TABLE twofold_cells ALTER COLUMN cell SET STORAGE EXTERNAL;
CREATE INDEX twofold_cells_until ON twofold_cells (until);

-- +goose Down
DROP TABLE twofold_cells;
