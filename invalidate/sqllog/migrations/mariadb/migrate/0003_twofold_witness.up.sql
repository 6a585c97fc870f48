-- The log recognizes a row that another tool has written by this column: a dump rounds its value. An
-- older program refuses the tables after this migration, so replace all programs.
ALTER TABLE twofold_meta ADD COLUMN wit FLOAT NOT NULL DEFAULT 0, ALTER COLUMN version SET DEFAULT 2;
UPDATE twofold_meta SET version = 2;
