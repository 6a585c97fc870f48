-- The texts of what records invalidate, for Config.Names. Programs without Names, and older ones, work
-- before and after this migration.
ALTER TABLE twofold_log ADD COLUMN names MEDIUMBLOB;
