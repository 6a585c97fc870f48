-- +goose Up

-- The deletion of a user used to leave the private sources: nobody saw them, but they were fetched.
UPDATE sources SET is_deleted = 1, deleted_at = updated_at WHERE is_public = 0 AND owner_id IS NULL AND is_deleted = 0;

-- +goose Down
SELECT 1; -- the sources stay deleted
