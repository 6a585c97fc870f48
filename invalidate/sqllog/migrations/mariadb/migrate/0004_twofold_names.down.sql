ALTER TABLE twofold_log DROP COLUMN names;
