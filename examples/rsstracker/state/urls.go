package state

import (
	"context"
	"time"
)

// The states of a page. The first three are the document's.
const (
	pending = iota // to be fetched
	done           // published, or old when it was first seen
	failed         // to be tried again at next_retry_at, or given up
	ready          // fetched, to be published
)

// URL is a page that is due.
type URL struct {
	ID        int64
	URL       string
	Title     string    // by the sitemap
	LastMod   time.Time // as the site wrote it
	Published time.Time // by the sitemap
	FirstSeen time.Time
	Attempts  int // that failed
	Retry     bool
	Changed   bool   // it was done before
	Hash      string // of its content when it was last fetched; "": never
}

func scanURL(r row) (u URL, err error) {
	err = r.Scan(&u.ID, &u.URL, &u.Title, millis{&u.LastMod}, millis{&u.Published}, millis{&u.FirstSeen}, &u.Attempts, &u.Retry, &u.Changed, &u.Hash)
	return u, err
}

const due = ` FROM urls u WHERE u.site_id = ? AND u.gone_at IS NULL AND (u.state = 0 OR u.state = 2 AND ? AND u.next_retry_at <= ?) `

// Due returns the pages that are to be fetched now: pending ones, those of a run
// that died included (S-E1), and failed ones whose time has come. They are sorted
// from the newest before they are cut to limit (S-E9), and total says how many there
// are without the limit. Without retries, failed ones are never due.
func (s *Store) Due(ctx context.Context, site int64, now time.Time, limit int, retries bool) (all []URL, total int, err error) {
	err = s.read(ctx, func(t tx) error {
		if total, err = one(t, value[int], `SELECT count(*)`+due, site, retries, ms(now)); err != nil {
			return err
		}
		all, err = list(t, scanURL, `SELECT u.id, u.url, u.title, u.lastmod, u.published, u.first_seen, u.attempts, u.state = 2, u.changed, u.content_hash`+
			due+`ORDER BY`+newest+`LIMIT ?`, site, retries, ms(now), ms(now), limit)
		return err
	})
	return all, total, err
}

// Page is what is known of a page that was fetched.
type Page struct {
	Title       string
	Description string
	Date        time.Time // of publication, never in the future
	Hash        string    // of its content; "" if it was not looked at
}

// Verdict is what became of a page that was fetched.
type Verdict uint8

// The verdicts.
const (
	Ready     Verdict = iota + 1 // to be published, or brought up to date
	Unchanged                    // lastmod had moved, the page is the same
	Learned                      // lastmod had moved, and what the page was before is not known
)

// SavePage keeps what a page holds, to be published in the next step.
//
// A page that is not new is published only if its content has changed, whatever its
// lastmod says. Of a page that was old when the tracker first saw it, the content is
// not known; then it is learned now, and its next change is seen. If it is in a feed
// that outlived its database, what the feed says of it is compared instead.
func (s *Store) SavePage(ctx context.Context, l Lease, now time.Time, u URL, p Page) (v Verdict, err error) {
	err = s.step(ctx, l, now, func(t tx) error {
		if v, err = verdict(t, u, p); err != nil {
			return err
		}
		switch v {
		case Ready:
			if err := t.do(`INSERT OR REPLACE INTO pages (url_id, title, description, date, content_hash) VALUES (?, ?, ?, ?, ?)`,
				u.ID, p.Title, p.Description, ms(p.Date), p.Hash); err != nil {
				return err
			}
			return t.do(`UPDATE urls SET state = 3, attempts = 0, next_retry_at = NULL, last_error = '', checked_at = ?, false_stamps = 0 WHERE id = ?`, ms(now), u.ID)
		case Unchanged, Learned:
		}
		return t.do(`UPDATE urls SET state = 1, changed = 0, attempts = 0, next_retry_at = NULL, last_error = '', content_hash = ?, checked_at = ?,
			false_stamps = false_stamps + ? WHERE id = ?`, p.Hash, ms(now), v == Unchanged, u.ID)
	})
	return v, err
}

func verdict(t tx, u URL, p Page) (Verdict, error) {
	switch {
	case !u.Changed:
		return Ready, nil
	case u.Hash != "" && u.Hash == p.Hash:
		return Unchanged, nil
	case u.Hash != "":
		return Ready, nil
	}
	differs, err := one(t, value[bool], `SELECT EXISTS (SELECT 1 FROM urls u JOIN items i ON i.site_id = u.site_id AND i.key = u.key
		WHERE u.id = ? AND (i.title <> ? OR i.description <> ?))`, u.ID, p.Title, p.Description)
	if differs {
		return Ready, err
	}
	return Learned, err
}

// SaveFailure notes that a page could not be fetched, and when to try again; a zero
// time gives it up (S-E11). The code is a short word, never what the site sent.
func (s *Store) SaveFailure(ctx context.Context, l Lease, now time.Time, u URL, code string, retry time.Time) error {
	return s.step(ctx, l, now, func(t tx) error {
		return t.do(`UPDATE urls SET state = 2, attempts = attempts + 1, next_retry_at = ?, last_error = ?, checked_at = ? WHERE id = ?`,
			ms(retry), code, ms(now), u.ID)
	})
}
