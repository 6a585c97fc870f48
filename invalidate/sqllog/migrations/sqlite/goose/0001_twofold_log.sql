-- +goose Up
CREATE TABLE twofold_outbox (
	id     INTEGER PRIMARY KEY AUTOINCREMENT,
	ns     TEXT NOT NULL DEFAULT 'default',
	scopes TEXT NOT NULL,
	at     INTEGER NOT NULL DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)),
	UNIQUE (ns, id)
);

CREATE TABLE twofold_log (
	ns      TEXT NOT NULL,
	seq     INTEGER NOT NULL,
	pos     INTEGER NOT NULL,
	prev    INTEGER NOT NULL,
	at      INTEGER NOT NULL,
	id      INTEGER NOT NULL,
	after   INTEGER NOT NULL,
	payload TEXT NOT NULL,
	PRIMARY KEY (ns, seq, pos)
);

CREATE TABLE twofold_meta (
	ns        TEXT PRIMARY KEY NOT NULL,
	version   INTEGER NOT NULL DEFAULT 3,
	identity  TEXT NOT NULL DEFAULT '',
	epoch     INTEGER NOT NULL DEFAULT 0,
	key_end   INTEGER NOT NULL DEFAULT 0,
	scope_end INTEGER NOT NULL DEFAULT 0,
	key_id    INTEGER NOT NULL DEFAULT 0,
	scope_id  INTEGER NOT NULL DEFAULT 0,
	bound     INTEGER NOT NULL DEFAULT 0,
	tier      TEXT
);

-- +goose Down
DROP TABLE twofold_outbox;
DROP TABLE twofold_log;
DROP TABLE twofold_meta;
