package state

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Item is one entry of a feed. Its JSON is what the last good window is kept in.
type Item struct {
	Key         string    `json:"key"`
	GUID        string    `json:"guid"` // the URL at first sight, for good
	URL         string    `json:"url"`
	Title       string    `json:"title"`
	Description string    `json:"description"`
	Date        time.Time `json:"date"`         // of the page, for good
	PublishedAt time.Time `json:"published_at"` // when it entered the feed, for good
	UpdatedAt   time.Time `json:"updated_at"`   // when its text last changed
}

const itemColumns = `key, guid, url, title, description, date, published_at, updated_at`

func scanItem(r row) (i Item, err error) {
	err = r.Scan(&i.Key, &i.GUID, &i.URL, &i.Title, &i.Description, millis{&i.Date}, millis{&i.PublishedAt}, millis{&i.UpdatedAt})
	return i, err
}

// Published is what one Publish did.
type Published struct{ New, Updated int }

// Publish makes items of all pages that are ready, in one transaction, the oldest
// first. A page has one item for good: what was published before is brought up to
// date in its place and keeps its guid and dates, so that readers do not show it as
// unread.
func (s *Store) Publish(ctx context.Context, l Lease, now time.Time) (p Published, err error) {
	const from = ` FROM pages p JOIN urls u ON u.id = p.url_id WHERE u.site_id = ?1 AND u.state = 3`
	const known = ` EXISTS (SELECT 1 FROM items i WHERE i.site_id = u.site_id AND i.key = u.key)`
	err = s.step(ctx, l, now, func(t tx) error {
		if p.Updated, err = t.run(`UPDATE items AS i SET url = x.url, title = x.title, description = x.description, updated_at = ?2
			FROM (SELECT u.key, u.url, p.title, p.description`+from+`) AS x WHERE i.site_id = ?1 AND i.key = x.key`, l.Site.ID, ms(now)); err != nil {
			return err
		}
		if p.New, err = t.run(`INSERT INTO items (site_id, `+itemColumns+`)
			SELECT ?1, u.key, u.guid, u.url, p.title, p.description, p.date, ?2, ?2`+from+` AND NOT`+known+` ORDER BY p.date, u.id`, l.Site.ID, ms(now)); err != nil {
			return err
		}
		if err := t.do(`UPDATE urls AS u SET state = 1, changed = 0, content_hash = p.content_hash FROM pages p
			WHERE p.url_id = u.id AND u.site_id = ? AND u.state = 3`, l.Site.ID); err != nil {
			return err
		}
		return t.do(`DELETE FROM pages WHERE url_id IN (SELECT id FROM urls WHERE site_id = ? AND state = 1)`, l.Site.ID)
	})
	return p, err
}

// Window returns the last n items that were published, the last one first: the
// feed, however many of them the reader has seen (S-E7).
func (s *Store) Window(ctx context.Context, site int64, n int) (all []Item, err error) {
	err = s.read(ctx, func(t tx) error {
		all, err = list(t, scanItem, `SELECT `+itemColumns+` FROM items WHERE site_id = ? ORDER BY id DESC LIMIT ?`, site, n)
		return err
	})
	return all, err
}

// Restore puts a window that was kept elsewhere into a database that knows nothing
// of the site, and records its pages as done.
func (s *Store) Restore(ctx context.Context, l Lease, now time.Time, window []Item) error {
	return s.step(ctx, l, now, func(t tx) error {
		for _, i := range slices.Backward(window) {
			if err := t.do(`INSERT INTO items (site_id, `+itemColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
				l.Site.ID, i.Key, i.GUID, i.URL, i.Title, i.Description, ms(i.Date), ms(i.PublishedAt), ms(i.UpdatedAt)); err != nil {
				return err
			}
			if err := t.do(fmt.Sprintf(`INSERT INTO urls (site_id, key, url, guid, state, title, first_seen, last_seen) VALUES (?, ?, ?, ?, %d, '', ?, ?) ON CONFLICT DO NOTHING`, done),
				l.Site.ID, i.Key, i.URL, i.GUID, ms(i.PublishedAt), ms(now)); err != nil {
				return err
			}
		}
		return nil
	})
}
