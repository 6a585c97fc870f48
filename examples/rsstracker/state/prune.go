package state

import (
	"context"
	"time"
)

// Keep says what is kept how long.
type Keep struct {
	Now        time.Time
	Gone       time.Duration // pages that are gone, by the document 30 days
	MaxGone    int           // of them, by the document 1,000 for each site
	Tombstones time.Duration
	Items      int // the newest ones at least
	Runs       int // the newest ones
}

// Pruned counts what was forgotten.
type Pruned struct{ URLs, Tombstones, Items, Runs int }

// Prune forgets what is not needed any more. Only pages that are gone are forgotten:
// one that is still listed would be new at the next run, however long ago it was
// done (S-E3). What is forgotten leaves a tombstone, unless it never was published:
// then it is new if it comes back. The document's cap of 1,000 rows counts gone pages
// alone, for a sitemap may list 50,000; done ones go first.
func (s *Store) Prune(ctx context.Context, l Lease, k Keep) (p Pruned, err error) {
	err = s.step(ctx, l, k.Now, func(t tx) error {
		if p.URLs, err = bury(t, l.Site.ID, k); err != nil {
			return err
		}
		if p.Tombstones, err = t.run(`DELETE FROM tombstones WHERE site_id = ? AND buried_at < ?`, l.Site.ID, ms(k.Now.Add(-k.Tombstones))); err != nil {
			return err
		}
		// An item stays for as long as its page is known, at least as a tombstone:
		// without it, the page's next change would be published as a new item.
		if p.Items, err = t.run(`DELETE FROM items AS i WHERE site_id = ?1 AND id <= (SELECT id FROM items WHERE site_id = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)
			AND NOT EXISTS (SELECT 1 FROM urls u WHERE u.site_id = ?1 AND u.key = i.key)
			AND NOT EXISTS (SELECT 1 FROM tombstones b WHERE b.site_id = ?1 AND b.key = i.key)`, l.Site.ID, k.Items); err != nil {
			return err
		}
		p.Runs, err = t.run(`DELETE FROM runs WHERE site_id = ?1 AND id <= (SELECT id FROM runs WHERE site_id = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)`, l.Site.ID, k.Runs)
		return err
	})
	return p, err
}

// bury forgets pages that have been gone for long, or that are too many.
func bury(t tx, site int64, k Keep) (int, error) {
	const which = `SELECT id FROM urls WHERE site_id = ?1 AND gone_at < ?2
		UNION SELECT id FROM (SELECT id FROM urls WHERE site_id = ?1 AND gone_at IS NOT NULL ORDER BY state = 1, gone_at DESC, id LIMIT -1 OFFSET ?3)`
	args := []any{site, ms(k.Now.Add(-k.Gone)), k.MaxGone}
	if err := t.do(`INSERT OR REPLACE INTO tombstones (site_id, key, buried_at, lastmod, content_hash)
		SELECT ?1, key, ?4, CASE changed WHEN 0 THEN lastmod ELSE 0 END, content_hash FROM urls
		WHERE (state = 1 OR changed = 1) AND id IN (`+which+`)`, append(args, ms(k.Now))...); err != nil {
		return 0, err
	}
	return t.run(`DELETE FROM urls WHERE id IN (`+which+`)`, args...)
}

// Clean checks the whole database and gives free pages back. It is slower than what
// a run does each time, and is done every few days; a fault is [ErrCorrupt].
func (s *Store) Clean(ctx context.Context, l Lease, now time.Time) error {
	return s.step(ctx, l, now, func(t tx) error {
		verdict, err := one(t, value[string], `PRAGMA integrity_check(1)`)
		if err != nil {
			return err
		}
		if verdict != "ok" {
			return ErrCorrupt
		}
		if err := t.do(`PRAGMA optimize`); err != nil {
			return err
		}
		return t.do(`UPDATE sites SET last_cleanup_at = ? WHERE id = ?`, ms(now), l.Site.ID)
	})
}
