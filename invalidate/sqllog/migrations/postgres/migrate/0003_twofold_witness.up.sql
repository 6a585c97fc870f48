-- The log recognizes a row that another tool has written by this column. An older program refuses
-- the tables after this migration, so replace all programs.
ALTER TABLE twofold_meta ADD COLUMN born xid8 NOT NULL DEFAULT pg_current_xact_id(), ALTER COLUMN version SET DEFAULT 2;
UPDATE twofold_meta SET version = 2, born = pg_current_xact_id();
