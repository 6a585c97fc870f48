package state

import (
	"context"
	"fmt"
	"math"
	"time"
)

// vanishLimit is how many complete fetches in a row must miss too many pages before
// that is believed: then the site has really changed.
const vanishLimit = 3

// recheck is the least time between two fetches of a page whose lastmod moves while
// the page does not change. It doubles with each such time.
const recheck = time.Hour

// Rules say what detection makes of differences.
type Rules struct {
	Now   time.Time
	Whole bool // the whole site was read: what is not listed is missing

	// Baseline is how many pages are published at a site's first run, the newest;
	// all others it lists are old. It is the document's baseline_items.
	Baseline int

	// Updates tracks pages whose lastmod moves. Off, moves are recorded only.
	Updates bool

	// ChurnShare is the share of all pages whose lastmod may move in one run. More
	// is not news but a build that stamps every page. ChurnMin pages may always.
	ChurnShare float64
	ChurnMin   int

	// VanishShare is the share of all pages that may be missing in one run. More is
	// taken for a fault of the site, until it was so in three complete fetches in a
	// row. VanishMin pages may always be.
	VanishShare float64
	VanishMin   int
}

// Detected is what one detection found, in pages.
type Detected struct {
	New     int // never seen, to be published
	Silent  int // never seen, and recorded as old
	Back    int // were gone
	Changed int // lastmod moved, to be fetched again
	Churned int // lastmod moved on so many that it means nothing
	Gone    int // not listed any more
	Guarded int // not listed any more, which is not believed yet
	Listed  int // by the sitemaps
}

// Detect compares what the sitemaps list with what is known of the pages, and
// records the differences, in one transaction.
//
// Pages that are not listed are marked as gone only if the whole site was read
// (S-E5), and keep their state: a page that comes back is what it was, and is not
// published again (S-E4). A page that was forgotten meanwhile is recognised by its
// tombstone (S-E3).
func (s *Store) Detect(ctx context.Context, l Lease, r Rules) (d Detected, err error) {
	err = s.step(ctx, l, r.Now, func(t tx) error {
		dt := detection{tx: t, Rules: r, run: l.Run}
		if dt.site, err = siteByName(t, l.Site.Name); err != nil {
			return err
		}
		if err := dt.each(dt.dropUnnamed, dt.listing, dt.add, dt.back, dt.baseline, dt.changed, dt.gone, dt.close); err != nil {
			return err
		}
		d = dt.found
		return nil
	})
	return d, err
}

// detection is one detection under way.
type detection struct {
	tx
	Rules
	site  Site
	run   int64
	live  int // pages known and not gone, before this
	held  int // pages whose lastmod has moved, to be looked at later
	found Detected
}

func (d *detection) each(steps ...func() error) error {
	for _, s := range steps {
		if err := s(); err != nil {
			return err
		}
	}
	return nil
}

// dropUnnamed forgets sitemaps that no index names any more, with what they listed.
func (d *detection) dropUnnamed() error {
	if !d.Whole {
		return nil
	}
	return d.do(`DELETE FROM files WHERE site_id = ? AND visited_run <> ?`, d.site.ID, d.run)
}

// listing gathers what all sitemaps list in a table that lives as long as the
// transaction. A page in several of them is old if one that is silent lists it.
func (d *detection) listing() (err error) {
	for _, q := range []string{
		`CREATE TEMP TABLE IF NOT EXISTS cur (key TEXT PRIMARY KEY, url TEXT, pos INTEGER, lastmod INTEGER, published INTEGER,
			title TEXT, silent INTEGER) WITHOUT ROWID`,
		`DELETE FROM temp.cur`,
	} {
		if err := d.do(q); err != nil {
			return err
		}
	}
	if d.found.Listed, err = d.tx.run(`INSERT INTO temp.cur SELECT l.key, max(l.url), min(l.file_id * 1000000 + l.pos), max(l.lastmod), max(l.published),
		max(l.title), max(f.silent) FROM files f JOIN listed l ON l.file_id = f.id WHERE f.site_id = ? GROUP BY l.key`, d.site.ID); err != nil {
		return err
	}
	d.live, err = one(d.tx, value[int], `SELECT count(*) FROM urls WHERE site_id = ? AND gone_at IS NULL`, d.site.ID)
	return err
}

// add records pages that were never seen: all of them, whether they will be
// published or not (S-E2). One that was forgotten goes on from its tombstone, so that
// a change while it was away is a change.
func (d *detection) add() (err error) {
	insert := func(state int, which string) (int, error) {
		return d.tx.run(`INSERT INTO urls (site_id, key, url, guid, state, lastmod, published, title, first_seen, last_seen, content_hash)
			SELECT ?1, c.key, c.url, c.url, ?2, CASE WHEN b.key IS NULL THEN c.lastmod ELSE b.lastmod END, c.published, c.title, ?3, ?3,
			coalesce(b.content_hash, '') FROM temp.cur c LEFT JOIN tombstones b ON b.site_id = ?1 AND b.key = c.key
			WHERE `+which+` AND NOT EXISTS (SELECT 1 FROM urls u WHERE u.site_id = ?1 AND u.key = c.key) ORDER BY c.pos`,
			d.site.ID, state, ms(d.Now))
	}
	if d.found.Silent, err = insert(done, `(c.silent <> 0 OR b.key IS NOT NULL)`); err != nil {
		return err
	}
	if d.found.New, err = insert(pending, `true`); err != nil {
		return err
	}
	return d.do(`DELETE FROM tombstones WHERE site_id = ? AND key IN (SELECT key FROM temp.cur)`, d.site.ID)
}

// back takes up pages again that were gone. What had failed is tried again.
func (d *detection) back() (err error) {
	d.found.Back, err = d.tx.run(`UPDATE urls SET gone_at = NULL,
		attempts = CASE state WHEN 2 THEN 0 ELSE attempts END, next_retry_at = CASE state WHEN 2 THEN ? ELSE next_retry_at END
		WHERE site_id = ? AND gone_at IS NOT NULL AND key IN (SELECT key FROM temp.cur)`, ms(d.Now), d.site.ID)
	return err
}

// newest orders pages for a table that is called u, the newest first. A date in the
// future counts as now, and ties go to what stands first in the sitemap.
const newest = ` min(coalesce(u.published, u.lastmod, -1), ?) DESC, u.id `

// baseline picks what is published at a site's first run.
func (d *detection) baseline() error {
	if !d.site.Baseline.IsZero() || d.Baseline <= 0 {
		return nil
	}
	n, err := d.tx.run(`UPDATE urls SET state = 0 WHERE id IN
		(SELECT u.id FROM urls u WHERE u.site_id = ? AND u.state = 1 AND u.gone_at IS NULL ORDER BY`+newest+`LIMIT ?)`, d.site.ID, ms(d.Now), d.Baseline)
	d.found.New += n
	d.found.Silent -= n
	return err
}

// moved is the condition that a page's lastmod has moved on since it was last looked
// at. Dates are compared as the site wrote them, the future included; one that is
// new, or missing now, is no move. Pages that were stamped in vain before are looked
// at more and more rarely; until then their move is not forgotten.
const moved = ` u.site_id = ?1 AND u.key = c.key AND u.gone_at IS NULL AND c.lastmod > u.lastmod
	AND coalesce(u.checked_at, 0) + ?2 * ((1 << min(u.false_stamps, 10)) - 1) <= ?3 `

// changed looks for pages whose lastmod has moved on (S-E6). One that was fetched by a
// run which died, and is ready, is published as it was then; its move is kept for the
// next run, which finds it done. Recorded now, it would be forgotten: nobody would
// fetch the page again.
func (d *detection) changed() error {
	args := []any{d.site.ID, recheck.Milliseconds(), ms(d.Now)}
	n, err := one(d.tx, value[int], `SELECT count(*) FROM urls u, temp.cur c WHERE`+moved, args...)
	if err != nil {
		return err
	}
	take := d.Updates
	if n > allowed(d.ChurnShare, d.ChurnMin, d.live) {
		d.found.Churned, take = n, false
	}
	if take {
		if d.found.Changed, err = d.tx.run(`UPDATE urls AS u SET state = 0, changed = 1, attempts = 0, next_retry_at = NULL
			FROM temp.cur c WHERE u.state = 1 AND`+moved, args...); err != nil {
			return err
		}
	}
	// A page that was given up has been repaired, perhaps.
	if err := d.do(`UPDATE urls AS u SET attempts = 0, next_retry_at = ?3 FROM temp.cur c WHERE u.state = 2 AND u.next_retry_at IS NULL AND`+moved, args...); err != nil {
		return err
	}
	if err := d.do(`UPDATE urls AS u SET url = c.url, last_seen = ?2,
		lastmod = CASE WHEN ?3 AND u.state IN (1, 3) AND c.lastmod > u.lastmod THEN u.lastmod ELSE coalesce(c.lastmod, u.lastmod) END
		FROM temp.cur c WHERE u.site_id = ?1 AND u.key = c.key`, d.site.ID, ms(d.Now), take); err != nil {
		return err
	}
	d.held, err = one(d.tx, value[int], `SELECT count(*) FROM urls u, temp.cur c WHERE u.site_id = ? AND u.key = c.key AND c.lastmod > u.lastmod`, d.site.ID)
	return err
}

// gone marks pages that are not listed any more, unless they are suspiciously many.
func (d *detection) gone() error {
	if !d.Whole {
		return nil
	}
	const missing = ` WHERE site_id = ? AND gone_at IS NULL AND key NOT IN (SELECT key FROM temp.cur)`
	n, err := one(d.tx, value[int], `SELECT count(*) FROM urls`+missing, d.site.ID)
	if err != nil {
		return err
	}
	if n > allowed(d.VanishShare, d.VanishMin, d.live) && d.site.vanish+1 < vanishLimit {
		d.found.Guarded = n
		return d.do(`UPDATE sites SET vanish_streak = vanish_streak + 1 WHERE id = ?`, d.site.ID)
	}
	if err := d.do(`UPDATE sites SET vanish_streak = 0 WHERE id = ?`, d.site.ID); err != nil {
		return err
	}
	d.found.Gone, err = d.tx.run(`UPDATE urls SET gone_at = ?`+missing, ms(d.Now), d.site.ID)
	return err
}

// close ends the silence of sitemaps that are known now. There is a baseline once
// anything was listed, or it is sure that nothing is.
func (d *detection) close() error {
	if err := d.do(`UPDATE files SET silent = 0 WHERE site_id = ? AND whole = 1`, d.site.ID); err != nil {
		return err
	}
	if err := d.do(`DELETE FROM temp.cur`); err != nil {
		return err
	}
	again := !d.Whole || d.found.Guarded > 0 || d.held > 0
	var baseline time.Time
	if d.Whole || d.found.Listed > 0 {
		baseline = d.Now
	}
	return d.do(`UPDATE sites SET baseline_at = coalesce(baseline_at, ?), dirty = ? WHERE id = ?`,
		ms(baseline), again, d.site.ID)
}

// allowed is how many of all pages may differ in one run.
func allowed(share float64, least, all int) int {
	return max(least, int(math.Floor(share*float64(all))))
}

// Settle makes everything that waits to be published old. It is how a baseline is
// taken by hand.
func (s *Store) Settle(ctx context.Context, l Lease, now time.Time) (n int, err error) {
	err = s.step(ctx, l, now, func(t tx) error {
		if err := t.do(`DELETE FROM pages WHERE url_id IN (SELECT id FROM urls WHERE site_id = ?)`, l.Site.ID); err != nil {
			return err
		}
		n, err = t.run(fmt.Sprintf(`UPDATE urls SET state = %d, changed = 0, next_retry_at = NULL WHERE site_id = ? AND state <> %[1]d`, done), l.Site.ID)
		return err
	})
	return n, err
}
