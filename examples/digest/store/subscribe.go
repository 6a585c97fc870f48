package store

import (
	"context"
	"fmt"
	"slices"
)

// visible are the sources that the user ?1 may subscribe to.
const visible = `s.is_deleted = 0 AND (s.is_public = 1 OR s.owner_id = ?1)`

// Subscribe subscribes a user to sources, all or none. One that does not exist, is
// deleted, or belongs to somebody else and is private is [ErrNotFound]: which of these
// it is, is none of the user's business. A source that is subscribed to stays so.
func (tx *Tx) Subscribe(ctx context.Context, user int64, sources ...int64) error {
	sources = slices.Compact(slices.Sorted(slices.Values(sources)))
	ids, err := toJSON(sources)
	if err != nil {
		return err
	}
	seen, err := one(ctx, tx.conn, scanValue[int], `SELECT count(*) FROM sources s
		WHERE `+visible+` AND s.id IN (SELECT value FROM json_each(?2))`, user, ids)
	if err != nil {
		return err
	}
	if seen != len(sources) {
		return fmt.Errorf("%w: %d of %d sources", ErrNotFound, len(sources)-seen, len(sources))
	}
	_, err = tx.subscribe(ctx, user, ids)
	return err
}

// subscribe adds those of the ids, a JSON array, that the user may see, and returns how
// many of them are new to the user.
func (tx *Tx) subscribe(ctx context.Context, user int64, ids string) (int64, error) {
	tx.touch(user)
	return tx.run(ctx, `INSERT INTO user_subscriptions (user_id, source_id, is_active, created_at)
		SELECT ?1, s.id, 1, ?3 FROM sources s WHERE `+visible+` AND s.id IN (SELECT value FROM json_each(?2))
		ON CONFLICT (user_id, source_id) DO UPDATE SET is_active = 1 WHERE is_active = 0`, user, ids, toMillis(tx.now()))
}

// Unsubscribe ends subscriptions of a user. Those that are not there have ended.
func (tx *Tx) Unsubscribe(ctx context.Context, user int64, sources ...int64) error {
	ids, err := toJSON(slices.Concat([]int64{}, sources))
	if err != nil {
		return err
	}
	tx.touch(user)
	_, err = tx.run(ctx, `UPDATE user_subscriptions SET is_active = 0
		WHERE user_id = ? AND source_id IN (SELECT value FROM json_each(?))`, user, ids)
	return err
}

// InstallPack subscribes a user to those sources of a pack that the user may see. That
// counts as an installation if any of them is new to the user: to install it again and again
// makes a pack no more popular. It returns how many sources the pack offers the user.
func (tx *Tx) InstallPack(ctx context.Context, user int64, slug string) (int, error) {
	if _, err := tx.PackBySlug(ctx, slug); err != nil {
		return 0, err
	}
	ids, err := list(ctx, tx.conn, scanValue[int64], `SELECT s.id
		FROM source_packs p JOIN source_pack_sources x ON x.pack_id = p.id JOIN sources s ON s.id = x.source_id
		WHERE `+visible+` AND p.slug = ?2`, user, slug)
	if err != nil {
		return 0, err
	}
	in, err := toJSON(slices.Concat([]int64{}, ids))
	if err != nil {
		return 0, err
	}
	added, err := tx.subscribe(ctx, user, in)
	if err != nil || added == 0 {
		return len(ids), err
	}
	return len(ids), tx.exec(ctx, `UPDATE source_packs SET install_count = install_count + 1 WHERE slug = ?`, slug)
}
