-- +goose Up
CREATE TABLE twofold_outbox (
	id     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	ns     text NOT NULL DEFAULT 'default',
	scopes text NOT NULL,
	xid    xid8 NOT NULL DEFAULT pg_current_xact_id(),
	at     timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0);

CREATE INDEX twofold_outbox_pending ON twofold_outbox (ns, xid);

CREATE TABLE twofold_log (
	ns      text NOT NULL,
	seq     smallint NOT NULL,
	pos     bigint NOT NULL,
	prev    bigint NOT NULL,
	at      bigint NOT NULL,
	id      bigint NOT NULL,
	after   bigint NOT NULL,
	payload text NOT NULL,
	PRIMARY KEY (ns, seq, pos)
);

CREATE TABLE twofold_meta (
	ns        text PRIMARY KEY,
	version   integer NOT NULL DEFAULT 3,
	identity  text NOT NULL DEFAULT '',
	epoch     bigint NOT NULL DEFAULT 0,
	key_end   bigint NOT NULL DEFAULT 0,
	scope_end bigint NOT NULL DEFAULT 0,
	key_id    bigint NOT NULL DEFAULT 0,
	scope_id  bigint NOT NULL DEFAULT 0,
	bound     bigint NOT NULL DEFAULT 0,
	tier      text,
	low       xid8 NOT NULL DEFAULT '0',
	born      xid8 NOT NULL DEFAULT pg_current_xact_id() -- tells a row that another tool has written
) WITH (fillfactor = 50);

-- +goose Down
DROP TABLE twofold_outbox;
DROP TABLE twofold_log;
DROP TABLE twofold_meta;
