-- +goose Up
CREATE TABLE twofold_cells (
	key   BLOB    NOT NULL PRIMARY KEY, -- the key in the cache: tenant, namespace, version and id
	cell  BLOB    NOT NULL,             -- one frame of the cache
	until INTEGER NOT NULL              -- when it expires, unix ms
);
CREATE INDEX twofold_cells_until ON twofold_cells (until);

-- +goose Down
DROP TABLE twofold_cells;
