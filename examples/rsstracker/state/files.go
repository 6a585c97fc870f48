package state

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/twofold-go/twofold/examples/rsstracker/sitemap"
)

// File is a sitemap as it was last read.
type File struct {
	ID      int64
	URL     string
	Hash    string // of the body; "" if it has to be read whatever it holds
	Kind    sitemap.Kind
	Pages   int
	LastMod time.Time // that its index gave when it was read
	Whole   bool      // nothing was missing
	ReadAt  time.Time // or confirmed
}

const fileColumns = `id, url, hash, kind, pages, lastmod, whole, read_at`

func scanFile(r row) (f File, err error) {
	err = r.Scan(&f.ID, &f.URL, &f.Hash, &f.Kind, &f.Pages, millis{&f.LastMod}, &f.Whole, millis{&f.ReadAt})
	return f, err
}

// Visit returns the sitemap at ref, adding it if it is new, and notes that the run
// has come by.
//
// A sitemap is silent until it was once read whole: what it lists is recorded as old.
// A root is silent when it is first met; what an index names, if the index still is.
// So whatever part of the site was down at the first run does not flood the feed at
// the second, and a sitemap that an index adds later lists what is new.
func (s *Store) Visit(ctx context.Context, l Lease, now time.Time, ref sitemap.Ref) (f File, err error) {
	err = s.step(ctx, l, now, func(t tx) error {
		if err := addFile(t, l.Site.ID, ref.Parent, ref.URL); err != nil {
			return err
		}
		f, err = one(t, scanFile, `UPDATE files SET visited_run = ? WHERE site_id = ? AND url = ? RETURNING `+fileColumns, l.Run, l.Site.ID, ref.URL)
		return err
	})
	return f, err
}

// addFile adds a sitemap that is as silent as its parent; without one, it is silent.
func addFile(t tx, site int64, parent, url string) error {
	return t.do(`INSERT INTO files (site_id, url, silent) VALUES (?1, ?2, coalesce((SELECT silent FROM files WHERE site_id = ?1 AND url = ?3), 1))
		ON CONFLICT DO NOTHING`, site, url, parent)
}

// Children returns the sitemaps that an index named when it was last read.
func (s *Store) Children(ctx context.Context, file int64) (all []sitemap.Entry, err error) {
	err = s.read(ctx, func(t tx) error {
		all, err = list(t, func(r row) (e sitemap.Entry, err error) {
			err = r.Scan(&e.Loc, millis{&e.LastMod})
			return e, err
		}, `SELECT f.url, l.lastmod FROM links l JOIN files f ON f.id = l.child_id WHERE l.parent_id = ? ORDER BY f.id`, file)
		return err
	})
	return all, err
}

// Confirm notes that a sitemap is what it was when it was last read.
func (s *Store) Confirm(ctx context.Context, l Lease, now time.Time, file int64, lastMod time.Time) error {
	return s.step(ctx, l, now, func(t tx) error {
		return t.do(`UPDATE files SET read_at = ?, lastmod = ? WHERE id = ?`, ms(now), ms(lastMod), file)
	})
}

// Reading is a sitemap that is being read.
type Reading struct {
	File    File
	LastMod time.Time // that its index gives
	Hash    string    // of the body
	Now     time.Time
}

// Read replaces what a sitemap lists by what fill puts, in one transaction with the
// hash of what was read: either both are known afterwards, or neither. When fill
// says that a part is missing, what was listed before and is not now stays listed.
// It returns how many pages are listed.
func (s *Store) Read(ctx context.Context, l Lease, rd Reading, fill func(put func(sitemap.Entry) error) (sitemap.Summary, error)) (pages int, err error) {
	err = s.step(ctx, l, rd.Now, func(t tx) error {
		w := writer{tx: t, site: l.Site.ID, file: rd.File, now: rd.Now}
		if w.reading, err = one(t, value[int], `UPDATE files SET readings = readings + 1 WHERE id = ? RETURNING readings`, rd.File.ID); err != nil {
			return err
		}
		if w.add, err = t.PrepareContext(ctx, `INSERT INTO listed (file_id, key, url, pos, lastmod, published, title, reading) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (file_id, key) DO UPDATE SET url = excluded.url, pos = excluded.pos, lastmod = excluded.lastmod,
			published = excluded.published, title = excluded.title, reading = excluded.reading`); err != nil {
			return fmt.Errorf("state: %w", err)
		}
		defer w.add.Close() //nolint:errcheck // the transaction closes it, too
		var sum sitemap.Summary
		if sum, err = fill(w.put); err != nil {
			return err
		}
		pages, err = w.close(rd, sum)
		return err
	})
	return pages, err
}

// writer writes one listing.
type writer struct {
	tx
	add     *sql.Stmt
	site    int64
	file    File
	reading int
	now     time.Time
	pos     int
}

// put adds one entry: a page or, in an index, a sitemap. Which of both, the summary
// says at the end.
func (w *writer) put(e sitemap.Entry) error {
	w.pos++
	_, err := w.add.ExecContext(w.ctx, w.file.ID, sitemap.Identity(e.Loc), e.Loc, w.pos, ms(e.LastMod), ms(e.Published), e.Title, w.reading)
	if err != nil {
		return fmt.Errorf("state: %w", err)
	}
	return nil
}

var errNoKind = errors.New("state: a listing without a kind")

// close ends a listing.
func (w *writer) close(rd Reading, sum sitemap.Summary) (pages int, err error) {
	if sum.Kind == 0 {
		return 0, errNoKind
	}
	whole := sum.Partial == nil
	if whole {
		if err := w.do(`DELETE FROM listed WHERE file_id = ? AND reading <> ?`, rd.File.ID, w.reading); err != nil {
			return 0, err
		}
		if err := w.do(`DELETE FROM links WHERE parent_id = ?`, rd.File.ID); err != nil {
			return 0, err
		}
	}
	if sum.Kind == sitemap.Index {
		if err := w.index(rd.File); err != nil {
			return 0, err
		}
	}
	if pages, err = one(w.tx, value[int], `SELECT count(*) FROM listed WHERE file_id = ?`, rd.File.ID); err != nil {
		return 0, err
	}
	hash := rd.Hash
	if !whole {
		hash = "" // to be read again, even if it is the same
	}
	if err := w.do(`UPDATE files SET hash = ?, kind = ?, pages = ?, lastmod = ?, whole = ?, read_at = ? WHERE id = ?`,
		hash, sum.Kind, pages, ms(rd.LastMod), whole, ms(w.now), rd.File.ID); err != nil {
		return 0, err
	}
	return pages, w.do(`UPDATE sites SET dirty = 1 WHERE id = ?`, w.site)
}

// index makes links of what was listed. Sitemaps that are named here for the first
// time are added at once, while it is known whether their parent is silent.
func (w *writer) index(f File) error {
	for _, q := range []string{
		`INSERT INTO files (site_id, url, silent) SELECT f.site_id, l.url, f.silent FROM listed l JOIN files f ON f.id = l.file_id
			WHERE l.file_id = ? ORDER BY l.pos ON CONFLICT DO NOTHING`,
		`INSERT INTO links (parent_id, child_id, lastmod) SELECT l.file_id, c.id, l.lastmod FROM listed l JOIN files f ON f.id = l.file_id
			JOIN files c ON c.site_id = f.site_id AND c.url = l.url WHERE l.file_id = ? ON CONFLICT DO UPDATE SET lastmod = excluded.lastmod`,
		`DELETE FROM listed WHERE file_id = ?`,
	} {
		if err := w.do(q, f.ID); err != nil {
			return err
		}
	}
	return nil
}
