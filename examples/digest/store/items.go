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

	"github.com/twofold-go/twofold/examples/internal/sqlite"
)

// Item is one version of an item of a source.
type Item struct {
	ID          int64     `json:"id"`
	SourceID    int64     `json:"source_id"`
	Key         string    `json:"-" db:"item_key"` // identifies the item; AddItems computes it
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

// itemKey identifies an item in its source: by guid, else by normalised URL, else by content.
func itemKey(it Item) string {
	switch {
	case it.GUID != "":
		return "guid:" + anyScheme(it.GUID)
	case it.URL != "":
		return "url:" + page(it.URL)
	}
	return "hash:" + contentHash(it)
}

func page(url string) string { return anyScheme(NormaliseURL(url)) }

// anyScheme returns a URL in the form that it has in keys: a site that moves to https keeps its items.
func anyScheme(url string) string {
	if rest, ok := strings.CutPrefix(url, "https://"); ok {
		return "http://" + rest
	}
	return url
}

// key returns the key of an item. Some feeds give several items one guid; shared means that this one
// does. Then the page is a part of the key. The key must not depend on the other items of a list, so
// an item that is stored keeps its key.
func (tx *Tx) key(ctx context.Context, it Item, shared bool) (string, error) {
	key := itemKey(it)
	if it.GUID == "" || it.URL == "" {
		return key, nil
	}
	const apart = "\x1f" // in no guid, and before all other characters
	own := key + apart + page(it.URL)
	stored, err := sqlite.One[struct {
		Own, Shared, Alone bool
		URL                string
	}](ctx, tx.Conn, `SELECT EXISTS (SELECT 1 FROM raw_items WHERE source_id = ?1 AND item_key = ?2) AS own,
		EXISTS (SELECT 1 FROM raw_items WHERE source_id = ?1 AND item_key > ?3 || ?4 AND item_key < ?3 || ' ') AS shared,
		a.id IS NOT NULL AS alone, coalesce(a.url, '') AS url
		FROM (SELECT 1) LEFT JOIN (SELECT id, url FROM raw_items WHERE source_id = ?1 AND item_key = ?3 ORDER BY version DESC LIMIT 1) a`,
		it.SourceID, own, key, apart)
	if stored.Own || (shared || stored.Shared) && (!stored.Alone || page(stored.URL) != page(it.URL)) {
		key = own
	}
	return key, err
}

// contentHash distinguishes versions of an item. It omits the times, because sources change
// them without changing the content.
func contentHash(it Item) string {
	h := sha256.New()
	for _, s := range []string{it.URL, it.Title, it.Content, it.Author} {
		h.Write([]byte(s))
		h.Write([]byte{0}) // a separator, because "ab", "c" must differ from "a", "bc"
	}
	return hex.EncodeToString(h.Sum(nil))
}

// NormaliseURL drops fragment and tracking parameters, sorts the query and lowers the host.
func NormaliseURL(s string) string {
	u, err := url.Parse(strings.TrimSpace(s))
	if err != nil || u.Host == "" {
		return s
	}
	u.Fragment, u.RawFragment = "", ""
	u.Host = strings.ToLower(u.Host) // Parse has lowered the scheme
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

// MaxVersions is the most versions of one item that are stored.
const MaxVersions = 10

// Added counts the results of [Tx.AddItems].
type Added struct {
	New     int // items never seen before
	Updated int // new versions of known items
	Same    int // unchanged, twice in the list, or with too many versions
}

// AddItems stores the items that a source lists now. A changed item is stored as a new version.
func (tx *Tx) AddItems(ctx context.Context, source int64, items []Item) (Added, error) {
	pages, shared := map[string]string{}, map[string]bool{} // by guid
	for _, it := range items {
		first, listed := pages[it.GUID]
		shared[it.GUID] = shared[it.GUID] || listed && first != page(it.URL)
		pages[it.GUID] = page(it.URL)
	}
	var sum Added
	seen := map[string]bool{}
	for _, it := range items {
		var err error
		it.SourceID, it.ContentHash = source, contentHash(it)
		if it.Key, err = tx.key(ctx, it, shared[it.GUID]); err != nil {
			return Added{}, err
		}
		if seen[it.Key] { // two entries with one key would replace each other at every fetch
			sum.Same++
			continue
		}
		seen[it.Key] = true
		if err := tx.addItem(ctx, it, &sum); err != nil {
			return Added{}, err
		}
	}
	return sum, nil
}

func (tx *Tx) addItem(ctx context.Context, it Item, sum *Added) error {
	now := tx.now()
	last, err := sqlite.One[Item](ctx, tx.Conn, `SELECT i.* FROM raw_items i
		WHERE i.source_id = ? AND i.item_key = ? ORDER BY i.version DESC LIMIT 1`, it.SourceID, it.Key)
	as := it
	if anyScheme(it.URL) == anyScheme(last.URL) {
		as.URL = last.URL
	}
	switch {
	case errors.Is(err, ErrNotFound):
		sum.New++
	case err != nil:
		return err
	case last.ContentHash == contentHash(as), last.Version >= MaxVersions:
		sum.Same++
		return tx.Exec(ctx, `UPDATE raw_items SET last_seen_at = ? WHERE id = ?`, now, last.ID)
	default:
		sum.Updated++
	}
	_, err = tx.Run(ctx, `INSERT INTO raw_items (source_id, item_key, version, guid, url, title, content, content_hash,
		author, published_at, fetched_at, last_seen_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		it.SourceID, it.Key, last.Version+1, it.GUID, it.URL, it.Title, it.Content, it.ContentHash,
		it.Author, it.PublishedAt, now, now)
	return err
}

// Items returns the newest items of [start, end), in their last versions before end, by source and
// id.
func (q queries) Items(ctx context.Context, sources []int64, start, end time.Time, limit int) ([]Item, error) {
	all, err := sqlite.List[Item](ctx, q.Conn, `SELECT i.* FROM raw_items i
		WHERE i.source_id IN (SELECT value FROM json_each(?1)) AND i.fetched_at >= ?2 AND i.fetched_at < ?3
			AND NOT EXISTS (SELECT 1 FROM raw_items n WHERE n.source_id = i.source_id AND n.item_key = i.item_key
				AND n.version > i.version AND n.fetched_at < ?3)
		ORDER BY i.fetched_at DESC, i.id DESC LIMIT ?4`, idList(sources), start.UnixMilli(), end.UnixMilli(), limit)
	slices.SortFunc(all, func(a, b Item) int { return cmp.Or(cmp.Compare(a.SourceID, b.SourceID), cmp.Compare(a.ID, b.ID)) })
	return all, err
}

// ItemFilter selects items.
type ItemFilter struct {
	User          int64     // only of sources that this user may see
	All           bool      // of all sources, for the operator
	Source        int64     // 0 means all
	Since         time.Time // fetched at this time or later
	Limit, Offset int
}

const inView = ` FROM raw_items i JOIN sources s ON s.id = i.source_id WHERE (?2 OR (` + visible + `))`

// RawItems returns items, newest first.
func (q queries) RawItems(ctx context.Context, f ItemFilter) ([]Item, error) {
	return sqlite.List[Item](ctx, q.Conn, `SELECT i.*`+inView+` AND (?3 = 0 OR s.id = ?3) AND i.fetched_at >= ?4
		ORDER BY i.fetched_at DESC, i.id DESC LIMIT ?5 OFFSET ?6`, f.User, f.All, f.Source, f.Since.UnixMilli(), f.Limit, f.Offset)
}

// ItemStats are the statistics of the items of a source.
type ItemStats struct {
	SourceID   int64      `json:"source_id" db:"id"`
	Name       string     `json:"name"`
	Total      int64      `json:"total_items"`
	LastItemAt *time.Time `json:"last_item_at" db:"-"` // when the newest item was fetched; null means no items
	Day        int64      `json:"items_24h"`
}

// ItemStats counts the items of each source that the user may see, or of all sources.
func (q queries) ItemStats(ctx context.Context, user int64, all bool) ([]ItemStats, error) {
	type row struct {
		ItemStats
		Last time.Time
	}
	rows, err := sqlite.List[row](ctx, q.Conn, `SELECT s.id, s.name, count(i.id) AS total, max(i.fetched_at) AS last, sum(i.fetched_at >= ?3) AS day
		FROM sources s LEFT JOIN raw_items i ON i.source_id = s.id WHERE (?2 AND s.is_deleted = 0 OR (`+visible+`))
		GROUP BY s.id ORDER BY s.id`, user, all, q.now().Add(-24*time.Hour))
	stats := make([]ItemStats, len(rows))
	for i, r := range rows {
		if stats[i] = r.ItemStats; !r.Last.IsZero() {
			stats[i].LastItemAt = &r.Last
		}
	}
	return stats, err
}
