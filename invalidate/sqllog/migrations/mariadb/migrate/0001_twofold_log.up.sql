CREATE TABLE twofold_outbox (
	id     BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
	ns     VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'default',
	scopes MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	at     BIGINT NOT NULL DEFAULT (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))),
	KEY twofold_outbox_pending (ns, id)
) ENGINE = InnoDB;

CREATE TABLE twofold_log (
	ns      VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	seq     SMALLINT NOT NULL,
	pos     BIGINT NOT NULL,
	prev    BIGINT NOT NULL,
	at      BIGINT NOT NULL,
	id      BIGINT NOT NULL,
	after   BIGINT NOT NULL,
	payload MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	PRIMARY KEY (ns, seq, pos)
) ENGINE = InnoDB;

CREATE TABLE twofold_meta (
	ns        VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
	version   INT NOT NULL DEFAULT 3,
	identity  VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT '',
	epoch     BIGINT NOT NULL DEFAULT 0,
	key_end   BIGINT NOT NULL DEFAULT 0,
	scope_end BIGINT NOT NULL DEFAULT 0,
	key_id    BIGINT NOT NULL DEFAULT 0,
	scope_id  BIGINT NOT NULL DEFAULT 0,
	bound     BIGINT NOT NULL DEFAULT 0,
	tier      VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
	wit       FLOAT NOT NULL DEFAULT 0 -- tells a row that another tool has written: a dump rounds the value
) ENGINE = InnoDB;
