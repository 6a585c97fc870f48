ALTER TABLE twofold_meta DROP COLUMN wit, ALTER COLUMN version SET DEFAULT 1;
UPDATE twofold_meta SET version = 1;
