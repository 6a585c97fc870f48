package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Item is one version of something that a source published.
type Item struct {
	ID          int64     `json:"id"`
	SourceID    int64     `json:"source_id"`
	Key         string    `json:"-"` // which item it is a version of; AddItems computes it
	Version     int64     `json:"version"`
	GUID        string    `json:"guid"`
	URL         string    `json:"url"`
	Title       string    `json:"title"`
	Content     string    `json:"content"`
	ContentHash string    `json:"-"` // AddItems computes it
	Author      string    `json:"author"`
	PublishedAt time.Time `json:"published_at,omitzero"`
	FetchedAt   time.Time `json:"fetched_at"`   // when this version was first seen
	LastSeenAt  time.Time `json:"last_seen_at"` // when the source last listed it
}

// ItemKey says which item of its source it is: by its guid, else by its URL without
// what does not matter, else by its content.
func ItemKey(it Item) string {
	switch {
	case it.GUID != "":
		return "guid:" + it.GUID
	case it.URL != "":
		return "url:" + NormaliseURL(it.URL)
	}
	return "hash:" + contentHash(it)
}

// contentHash tells versions of an item apart. Times are left out: sources touch them
// without changing anything.
func contentHash(it Item) string {
	h := sha256.New()
	for _, s := range []string{it.URL, it.Title, it.Content, it.Author} {
		h.Write([]byte(s))
		h.Write([]byte{0}) // or "ab", "c" would be "a", "bc"
	}
	return hex.EncodeToString(h.Sum(nil))
}

// NormaliseURL returns a URL without its fragment and the parameters that only say
// where a reader came from, with the rest of the query in order, and with the scheme
// and the host in lower case. What is no URL comes back as it is.
func NormaliseURL(s string) string {
	u, err := url.Parse(strings.TrimSpace(s))
	if err != nil || u.Host == "" {
		return s
	}
	u.Fragment, u.RawFragment = "", ""
	u.Host = strings.ToLower(u.Host) // Parse has done the scheme
	query := u.Query()
	for name := range query {
		if strings.HasPrefix(name, "utm_") || slices.Contains([]string{"fbclid", "gclid", "msclkid"}, name) {
			query.Del(name)
		}
	}
	u.RawQuery = query.Encode()
	if u.Path == "/" {
		u.Path = ""
	}
	return u.String()
}

// Added is what [Tx.AddItems] did.
type Added struct {
	New     int // items never seen before
	Updated int // new versions of known items
	Same    int // seen before as they are
}

// AddItems stores what a source lists now. An item that is known comes in as a new
// version if it has changed; else only the time it was last seen does. The rows' times
// are the store's, but for PublishedAt.
func (tx *Tx) AddItems(ctx context.Context, source int64, items []Item) (Added, error) {
	var sum Added
	for _, it := range items {
		it.SourceID, it.Key, it.ContentHash = source, ItemKey(it), contentHash(it)
		if err := tx.addItem(ctx, it, &sum); err != nil {
			return Added{}, err
		}
	}
	return sum, nil
}

func (tx *Tx) addItem(ctx context.Context, it Item, sum *Added) error {
	now := toMillis(tx.now())
	last, err := one(ctx, tx.conn, scanItem, `SELECT `+itemColumns+` FROM raw_items i
		WHERE i.source_id = ? AND i.item_key = ? ORDER BY i.version DESC LIMIT 1`, it.SourceID, it.Key)
	switch {
	case errors.Is(err, ErrNotFound):
		sum.New++
	case err != nil:
		return err
	case last.ContentHash == it.ContentHash:
		sum.Same++
		return tx.exec(ctx, `UPDATE raw_items SET last_seen_at = ? WHERE id = ?`, now, last.ID)
	default:
		sum.Updated++
	}
	_, err = tx.insert(ctx, `INSERT INTO raw_items (source_id, item_key, version, guid, url, title, content, content_hash,
		author, published_at, fetched_at, last_seen_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		it.SourceID, it.Key, last.Version+1, it.GUID, it.URL, it.Title, it.Content, it.ContentHash,
		it.Author, toMillis(it.PublishedAt), now, now)
	return err
}

const itemColumns = `i.id, i.source_id, i.item_key, i.version, i.guid, i.url, i.title, i.content, i.content_hash,
	i.author, i.published_at, i.fetched_at, i.last_seen_at`

func scanItem(r row) (it Item, err error) {
	err = r.Scan(&it.ID, &it.SourceID, &it.Key, &it.Version, &it.GUID, &it.URL, &it.Title, &it.Content, &it.ContentHash,
		&it.Author, millis{&it.PublishedAt}, millis{&it.FetchedAt}, millis{&it.LastSeenAt})
	return it, err
}

// Items returns what was fetched from the sources in [start, end): of each item the
// last version that came in it, and at most limit items, the newest of them, in the
// order of source, time and id.
func (q queries) Items(ctx context.Context, sources []int64, start, end time.Time, limit int) ([]Item, error) {
	ids, err := toJSON(slices.Concat([]int64{}, sources))
	if err != nil {
		return nil, err
	}
	all, err := list(ctx, q.conn, scanItem, `SELECT `+itemColumns+` FROM raw_items i
		WHERE i.source_id IN (SELECT value FROM json_each(?1)) AND i.fetched_at >= ?2 AND i.fetched_at < ?3
			AND NOT EXISTS (SELECT 1 FROM raw_items n WHERE n.source_id = i.source_id AND n.item_key = i.item_key
				AND n.version > i.version AND n.fetched_at < ?3)
		ORDER BY i.fetched_at DESC, i.id DESC LIMIT ?4`, ids, start.UnixMilli(), end.UnixMilli(), limit)
	slices.SortFunc(all, func(a, b Item) int {
		if a.SourceID != b.SourceID {
			return cmp.Compare(a.SourceID, b.SourceID)
		}
		return cmp.Compare(a.ID, b.ID)
	})
	return all, err
}
