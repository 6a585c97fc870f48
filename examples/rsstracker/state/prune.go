package state

import (
	"context"
	"time"

	"github.com/twofold-go/twofold/examples/internal/sqlite"
)

// Keep says what Prune keeps of a site.
type Keep struct {
	Now  time.Time
	Gone time.Duration // for how long gone pages are kept
	Feed int           // the number of items in the feed
}

// What Prune keeps of every site.
const (
	maxGone    = 1_000                    // gone pages, by the source document
	tombstones = 3 * 365 * 24 * time.Hour // they are small, and a page whose tombstone is deleted too early is published twice
	keptItems  = 200                      // at least so many items, and at least four times the feed's
	keptRuns   = 200                      // for the statistics
)

// Pruned counts the deleted rows.
type Pruned struct{ URLs, Tombstones int }

// Prune deletes gone pages and leaves tombstones. A listed page without a row would be new (S-E3).
func (s *Store) Prune(ctx context.Context, l Lease, k Keep) (p Pruned, err error) {
	err = s.step(ctx, l, k.Now, func(t tx) error {
		if p.URLs, err = bury(t, l.Site.ID, k); err != nil {
			return err
		}
		if p.Tombstones, err = t.run(`DELETE FROM tombstones WHERE site_id = ? AND buried_at < ?`, l.Site.ID, k.Now.Add(-tombstones)); err != nil {
			return err
		}
		// Keep items of pages with a row or a tombstone: a change would become a new item.
		if err := t.do(`DELETE FROM items AS i WHERE site_id = ?1 AND id <= (SELECT id FROM items WHERE site_id = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)
			AND NOT EXISTS (SELECT 1 FROM urls u WHERE u.site_id = ?1 AND u.key = i.key)
			AND NOT EXISTS (SELECT 1 FROM tombstones b WHERE b.site_id = ?1 AND b.key = i.key)`, l.Site.ID, max(4*k.Feed, keptItems)); err != nil {
			return err
		}
		return t.do(`DELETE FROM runs WHERE site_id = ?1
			AND id <= (SELECT id FROM runs WHERE site_id = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)`, l.Site.ID, keptRuns)
	})
	return p, err
}

func bury(t tx, site int64, k Keep) (int, error) {
	const which = `SELECT id FROM urls WHERE site_id = ?1 AND gone_at < ?2
		UNION SELECT id FROM (SELECT id FROM urls WHERE site_id = ?1 AND gone_at IS NOT NULL ORDER BY state = 1, gone_at DESC, id LIMIT -1 OFFSET ?3)`
	args := []any{site, k.Now.Add(-k.Gone), maxGone}
	if err := t.do(`INSERT OR REPLACE INTO tombstones (site_id, key, buried_at, lastmod, content_hash)
		SELECT ?1, key, ?4, CASE changed WHEN 0 THEN lastmod ELSE 0 END, content_hash FROM urls
		WHERE (state = 1 OR changed = 1) AND id IN (`+which+`)`, append(args, k.Now)...); err != nil {
		return 0, err
	}
	return t.run(`DELETE FROM urls WHERE id IN (`+which+`)`, args...)
}

// Clean checks the whole database. A fault is [sqlite.ErrCorrupt].
func (s *Store) Clean(ctx context.Context, l Lease, now time.Time) error {
	return s.step(ctx, l, now, func(t tx) error {
		verdict, err := sqlite.One[string](t.ctx, t.Conn, `PRAGMA integrity_check(1)`)
		if err != nil {
			return err
		}
		if verdict != "ok" {
			return sqlite.ErrCorrupt
		}
		if err := t.do(`PRAGMA optimize`); err != nil {
			return err
		}
		return t.do(`UPDATE sites SET last_cleanup_at = ? WHERE id = ?`, now, l.Site.ID)
	})
}
