package state

import (
	"context"
	"slices"
	"time"

	"github.com/twofold-go/twofold/examples/internal/sqlite"
	"github.com/twofold-go/twofold/examples/rsstracker/feed"
	"github.com/twofold-go/twofold/examples/rsstracker/page"
	"github.com/twofold-go/twofold/examples/rsstracker/sitemap"
)

// The states of a page, with the numbers of the source document.
const (
	pending = iota // to be fetched
	done           // published, or old when it was first seen
	failed         // to be retried at next_retry_at, or abandoned
)

// URL is a page to fetch.
type URL struct {
	ID        int64
	URL       string
	Title     string    // from the sitemap
	LastMod   time.Time `db:"lastmod"` // as the site wrote it
	Published time.Time // from the sitemap
	FirstSeen time.Time
	Attempts  int    // failed ones
	Changed   bool   // whether it was done before
	Hash      string `db:"content_hash"` // of its content at the last fetch; "" means never fetched
}

const due = ` FROM urls u WHERE u.site_id = ?1 AND u.gone_at IS NULL
	AND (u.state = 0 OR u.state = 2 AND ?2 AND (u.next_retry_at <= ?3 OR u.checked_at > ?3)) `

// Due returns the pages to fetch (S-E1). It sorts before it applies limit (S-E9). total
// counts the pages without the limit.
func (s *Store) Due(ctx context.Context, site int64, now time.Time, limit int, retries bool) (all []URL, total int, err error) {
	err = s.db.Read(ctx, func(c sqlite.Conn) error {
		t := tx{c, ctx}
		if total, err = t.number(`SELECT count(*)`+due, site, retries, now); err != nil {
			return err
		}
		all, err = sqlite.List[URL](ctx, c, `SELECT u.id, u.url, u.title, u.lastmod, u.published, u.first_seen, u.attempts, u.changed, u.content_hash`+
			due+`ORDER BY`+newest+`LIMIT ?`, site, retries, now, now, limit)
		return err
	})
	return all, total, err
}

// Verdict is the result of a fetched page.
type Verdict uint8

// The verdicts.
const (
	Published Verdict = iota + 1 // a new item
	Updated                      // the page's item has the new text
	Unchanged                    // lastmod had increased, but the page is the same
	Learned                      // lastmod had increased, but the old content is unknown
)

// SavePage stores the item of a page and marks the page done, in one transaction. A changed
// text keeps the guid and the dates, so readers do not show the item as unread. If the
// old content is unknown, the item in the feed is compared instead.
func (s *Store) SavePage(ctx context.Context, l Lease, now time.Time, u URL, p page.Meta) (v Verdict, err error) {
	err = s.step(ctx, l, now, func(t tx) error {
		if v, err = verdict(t, u, p); err != nil {
			return err
		}
		if v == Published {
			n, err := t.run(`UPDATE items AS i SET url = u.url, title = ?2, description = ?3, updated_at = ?4
				FROM urls u WHERE u.id = ?1 AND i.site_id = u.site_id AND i.key = u.key`, u.ID, p.Title, p.Description, now)
			if n > 0 {
				v = Updated
			} else if err == nil {
				err = t.do(`INSERT INTO items (site_id, key, `+itemColumns+`) SELECT site_id, key, guid, url, ?2, ?3, ?5, ?4, ?4 FROM urls WHERE id = ?1`,
					u.ID, p.Title, p.Description, now, p.Published)
			}
			if err != nil {
				return err
			}
		}
		return t.do(`UPDATE urls SET state = 1, changed = 0, attempts = 0, next_retry_at = NULL, last_error = '', content_hash = ?2, checked_at = ?3,
			false_stamps = CASE WHEN ?4 THEN false_stamps + 1 WHEN ?5 THEN false_stamps ELSE 0 END WHERE id = ?1`,
			u.ID, p.Hash, now, v == Unchanged, v == Learned)
	})
	return v, err
}

// verdict returns Published for Updated too.
func verdict(t tx, u URL, p page.Meta) (Verdict, error) {
	switch {
	case !u.Changed:
		return Published, nil
	case u.Hash != "" && u.Hash == p.Hash:
		return Unchanged, nil
	case u.Hash != "":
		return Published, nil
	}
	differs, err := t.number(`SELECT count(*) FROM urls u JOIN items i ON i.site_id = u.site_id AND i.key = u.key
		WHERE u.id = ? AND (i.title <> ? OR i.description <> ?)`, u.ID, p.Title, p.Description)
	if differs > 0 {
		return Published, err
	}
	return Learned, err
}

// SaveFailure records that a page failed, and when to retry it. A zero retry abandons the page
// (S-E11).
func (s *Store) SaveFailure(ctx context.Context, l Lease, now time.Time, u URL, code string, retry time.Time) error {
	return s.step(ctx, l, now, func(t tx) error {
		return t.do(`UPDATE urls SET state = 2, attempts = attempts + 1, next_retry_at = ?, last_error = ?, checked_at = ? WHERE id = ?`,
			retry, code, now, u.ID)
	})
}

const itemColumns = `guid, url, title, description, date, published_at, updated_at`

// Window returns the last n items, newest first (S-E7).
func (s *Store) Window(ctx context.Context, site int64, n int) ([]feed.Item, error) {
	return sqlite.List[feed.Item](ctx, s.db.Conn, `SELECT guid, url, title, description, date, published_at AS published, updated_at AS updated
		FROM items WHERE site_id = ? ORDER BY id DESC LIMIT ?`, site, n)
}

// Restore writes a window into a database that has no rows of the site.
func (s *Store) Restore(ctx context.Context, l Lease, now time.Time, window []feed.Item) error {
	return s.step(ctx, l, now, func(t tx) error {
		for _, i := range slices.Backward(window) {
			key := sitemap.Identity(i.GUID)
			if err := t.do(`INSERT INTO items (site_id, key, `+itemColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
				l.Site.ID, key, i.GUID, i.URL, i.Title, i.Description, i.Date, i.Published, i.Updated); err != nil {
				return err
			}
			if err := t.do(`INSERT INTO urls (site_id, key, url, guid, state, title, first_seen, last_seen)
				VALUES (?, ?, ?, ?, 1, '', ?, ?) ON CONFLICT DO NOTHING`, l.Site.ID, key, i.URL, i.GUID, i.Published, now); err != nil {
				return err
			}
		}
		return nil
	})
}

// Visit records that the run has reached a sitemap. A sitemap is silent, so its pages are
// old, until it was read whole once. This keeps a part of the site that was down at first
// from flooding the feed.
func (s *Store) Visit(ctx context.Context, l Lease, now time.Time, ref sitemap.Ref) (id int64, err error) {
	err = s.step(ctx, l, now, func(t tx) error {
		n, err := t.number(`INSERT INTO files (site_id, url, silent, visited_run)
			VALUES (?1, ?2, coalesce((SELECT silent FROM files WHERE site_id = ?1 AND url = ?3), 1), ?4)
			ON CONFLICT DO UPDATE SET whole = 0, visited_run = excluded.visited_run RETURNING id`, l.Site.ID, ref.URL, ref.Parent, l.Run)
		if id = int64(n); err != nil {
			return err
		}
		return t.do(`DELETE FROM listed WHERE file_id = ?`, id) // of a run that was killed
	})
	return id, err
}

// List stores the entries of fill, all or none. fill reports whether the sitemap is whole.
func (s *Store) List(ctx context.Context, l Lease, now time.Time, file int64, fill func(put func(sitemap.Entry) error) (whole bool, err error)) error {
	return s.step(ctx, l, now, func(t tx) error {
		pos := 0
		whole, err := fill(func(e sitemap.Entry) error {
			pos++
			return t.do(`INSERT OR REPLACE INTO listed (file_id, key, url, pos, lastmod, published, title) VALUES (?, ?, ?, ?, ?, ?, ?)`,
				file, sitemap.Identity(e.Loc), e.Loc, pos, e.LastMod, e.Published, e.Title)
		})
		if err != nil {
			return err
		}
		return t.do(`UPDATE files SET whole = ? WHERE id = ?`, whole, file)
	})
}
