package state

import (
	"context"
	"errors"
	"math"
	"time"
)

// If more than these shares of the pages change or vanish in one run, Detect assumes a
// fault of the site. It accepts the loss when vanishLimit complete runs in a row found it.
const (
	churnShare, churnMin   = 0.2, 20
	vanishShare, vanishMin = 0.5, 10
	vanishLimit            = 3
	recheck                = time.Hour // pause between two fetches of a page whose lastmod changes without its content; doubled each time
)

// Rules configure [Store.Detect].
type Rules struct {
	Now      time.Time
	Whole    bool // the whole site was read, so a page that is not listed is missing
	Baseline int  // how many pages a site's first run publishes, the newest
	Updates  bool // fetches pages again whose lastmod increases. Otherwise lastmod is only recorded
}

// Detected are the results of one detection, in pages.
type Detected struct {
	New     int `json:"new"`     // never seen before, to be published
	Silent  int `json:"silent"`  // never seen before, and recorded as old
	Back    int `json:"back"`    // listed again after they were gone
	Changed int `json:"changed"` // lastmod increased, to be fetched again
	Churned int `json:"churned"` // lastmod increased on so many pages that it is ignored
	Gone    int `json:"gone"`    // no longer listed
	Guarded int `json:"guarded"` // no longer listed, but so many that they are not marked gone yet
	Listed  int `json:"listed"`  // listed by the sitemaps
}

// Detect records in one transaction how the sitemaps differ from the database. It marks
// pages as gone only if the whole site was read (S-E5). Gone pages keep their state (S-E4);
// when they are deleted they leave a tombstone (S-E3).
func (s *Store) Detect(ctx context.Context, l Lease, r Rules) (d Detected, err error) {
	err = s.step(ctx, l, r.Now, func(t tx) error {
		dt := detection{tx: t, Rules: r, run: l.Run}
		if dt.site, err = siteByName(t, l.Site.Name); err != nil {
			return err
		}
		for _, step := range []func() error{dt.dropUnnamed, dt.listing, dt.add, dt.back, dt.baseline, dt.changed, dt.gone, dt.close} {
			if err := step(); err != nil {
				return err
			}
		}
		d = dt.found
		return nil
	})
	return d, err
}

type detection struct {
	tx
	Rules
	site  Site
	run   int64
	live  int // pages known and not gone, before this detection
	found Detected
}

func (d *detection) dropUnnamed() error {
	if !d.Whole {
		return nil
	}
	return d.do(`DELETE FROM files WHERE site_id = ? AND visited_run <> ?`, d.site.ID, d.run)
}

// listing gathers the pages of all sitemaps. A page is old if a silent sitemap lists it.
func (d *detection) listing() (err error) {
	if err := d.do(`CREATE TEMP TABLE IF NOT EXISTS cur (key TEXT PRIMARY KEY, url TEXT, pos INTEGER, lastmod INTEGER, published INTEGER,
		title TEXT, silent INTEGER) WITHOUT ROWID`); err != nil {
		return err
	}
	if d.found.Listed, err = d.tx.run(`INSERT INTO temp.cur SELECT l.key, max(l.url), min(l.file_id * 1000000 + l.pos), max(l.lastmod), max(l.published),
		max(l.title), max(f.silent) FROM files f JOIN listed l ON l.file_id = f.id
		WHERE f.site_id = ? AND f.visited_run = ? GROUP BY l.key`, d.site.ID, d.run); err != nil {
		return err
	}
	d.live, err = d.number(`SELECT count(*) FROM urls WHERE site_id = ? AND gone_at IS NULL`, d.site.ID)
	return err
}

// add records pages that were never seen (S-E2). A page with a tombstone continues from it.
func (d *detection) add() (err error) {
	insert := func(state int, which string) (int, error) {
		return d.tx.run(`INSERT INTO urls (site_id, key, url, guid, state, lastmod, published, title, first_seen, last_seen, content_hash)
			SELECT ?1, c.key, c.url, c.url, ?2, CASE WHEN b.key IS NULL THEN c.lastmod ELSE b.lastmod END, c.published, c.title, ?3, ?3,
			coalesce(b.content_hash, '') FROM temp.cur c LEFT JOIN tombstones b ON b.site_id = ?1 AND b.key = c.key
			WHERE `+which+` AND NOT EXISTS (SELECT 1 FROM urls u WHERE u.site_id = ?1 AND u.key = c.key) ORDER BY c.pos`,
			d.site.ID, state, d.Now)
	}
	if d.found.Silent, err = insert(done, `(c.silent <> 0 OR b.key IS NOT NULL)`); err != nil {
		return err
	}
	if d.found.New, err = insert(pending, `true`); err != nil {
		return err
	}
	return d.do(`DELETE FROM tombstones WHERE site_id = ? AND key IN (SELECT key FROM temp.cur)`, d.site.ID)
}

func (d *detection) back() (err error) {
	d.found.Back, err = d.tx.run(`UPDATE urls SET gone_at = NULL,
		attempts = CASE state WHEN 2 THEN 0 ELSE attempts END, next_retry_at = CASE state WHEN 2 THEN ? ELSE next_retry_at END
		WHERE site_id = ? AND gone_at IS NOT NULL AND key IN (SELECT key FROM temp.cur)`, d.Now, d.site.ID)
	return err
}

// newest orders the pages of a table u. A future date counts as now.
const newest = ` min(coalesce(u.published, u.lastmod, -1), ?) DESC, u.id `

func (d *detection) baseline() error {
	if !d.site.Baseline.IsZero() || d.Baseline <= 0 {
		return nil
	}
	n, err := d.tx.run(`UPDATE urls SET state = 0 WHERE id IN
		(SELECT u.id FROM urls u WHERE u.site_id = ? AND u.state = 1 AND u.gone_at IS NULL ORDER BY`+newest+`LIMIT ?)`, d.site.ID, d.Now, d.Baseline)
	d.found.New += n
	d.found.Silent -= n
	return err
}

// moved is the condition that lastmod has increased. A date that appears or disappears does not
// count. A page whose content had not changed the last times is checked less and less often.
const moved = ` u.site_id = ?1 AND u.key = c.key AND u.gone_at IS NULL AND c.lastmod > u.lastmod
	AND (coalesce(u.checked_at, 0) + ?2 * ((1 << min(u.false_stamps, 10)) - 1) <= ?3 OR u.checked_at > ?3) `

// changed finds pages whose lastmod has increased (S-E6). Pages that it skips keep their old one.
func (d *detection) changed() error {
	args := []any{d.site.ID, recheck.Milliseconds(), d.Now}
	n, err := d.number(`SELECT count(*) FROM urls u, temp.cur c WHERE`+moved, args...)
	if err != nil {
		return err
	}
	take := d.Updates
	if n > allowed(churnShare, churnMin, d.live) {
		d.found.Churned, take = n, false
	}
	if take {
		if d.found.Changed, err = d.tx.run(`UPDATE urls AS u SET state = 0, changed = 1, attempts = 0, next_retry_at = NULL
			FROM temp.cur c WHERE u.state = 1 AND`+moved, args...); err != nil {
			return err
		}
	}
	// The new lastmod may mean that an abandoned page was repaired.
	if err := d.do(`UPDATE urls AS u SET attempts = 0, next_retry_at = ?3 FROM temp.cur c
		WHERE u.state = 2 AND u.next_retry_at IS NULL AND`+moved, args...); err != nil {
		return err
	}
	return d.do(`UPDATE urls AS u SET url = c.url, last_seen = ?2,
		lastmod = CASE WHEN ?3 AND u.state = 1 AND c.lastmod > u.lastmod THEN u.lastmod ELSE coalesce(c.lastmod, u.lastmod) END
		FROM temp.cur c WHERE u.site_id = ?1 AND u.key = c.key`, d.site.ID, d.Now, take)
}

func (d *detection) gone() error {
	if !d.Whole {
		return nil
	}
	const missing = ` WHERE site_id = ? AND gone_at IS NULL AND key NOT IN (SELECT key FROM temp.cur)`
	n, err := d.number(`SELECT count(*) FROM urls`+missing, d.site.ID)
	if err != nil {
		return err
	}
	if n > allowed(vanishShare, vanishMin, d.live) && d.site.VanishStreak+1 < vanishLimit {
		d.found.Guarded = n
		return d.do(`UPDATE sites SET vanish_streak = vanish_streak + 1 WHERE id = ?`, d.site.ID)
	}
	if err := d.do(`UPDATE sites SET vanish_streak = 0 WHERE id = ?`, d.site.ID); err != nil {
		return err
	}
	d.found.Gone, err = d.tx.run(`UPDATE urls SET gone_at = ?`+missing, d.Now, d.site.ID)
	return err
}

// close ends the silence of the sitemaps that were read whole, and clears the listing.
func (d *detection) close() error {
	var baseline time.Time
	if d.Whole || d.found.Listed > 0 {
		baseline = d.Now
	}
	return errors.Join(
		d.do(`UPDATE files SET silent = 0 WHERE site_id = ? AND whole = 1`, d.site.ID),
		d.do(`DELETE FROM listed WHERE file_id IN (SELECT id FROM files WHERE site_id = ?)`, d.site.ID),
		d.do(`DELETE FROM temp.cur`),
		d.do(`UPDATE sites SET baseline_at = coalesce(baseline_at, ?) WHERE id = ?`, baseline, d.site.ID),
	)
}

func allowed(share float64, least, all int) int {
	return max(least, int(math.Floor(share*float64(all))))
}
