DROP TABLE twofold_outbox;
DROP TABLE twofold_log;
DROP TABLE twofold_meta;
