package store

import (
	"context"
	"encoding/json"
	"time"
)

// States of a [CacheRow].
const (
	StateReady = "ready" // there is a digest
	StateEmpty = "empty" // it is known that nothing came in that period
)

// CacheRow is a row of digest_cache: a digest as it was made.
type CacheRow struct {
	Hash         string          `json:"subscription_hash"`
	SourcesHash  string          `json:"sources_hash"` // without the options
	Type         string          `json:"type"`
	PeriodStart  time.Time       `json:"period_start"`
	PeriodEnd    time.Time       `json:"period_end"`
	State        string          `json:"state"`
	Content      string          `json:"content"`
	Metadata     json.RawMessage `json:"metadata"`
	SourceIDs    []int64         `json:"source_ids"`
	RawItemCount int             `json:"raw_item_count"`
	Model        string          `json:"llm_model"`
	Tokens       int64           `json:"llm_tokens"`
	CreatedAt    time.Time       `json:"created_at"`
	ExpiresAt    time.Time       `json:"expires_at"`
}

const cacheColumns = `subscription_hash, sources_hash, digest_type, period_start, period_end, state, content,
	metadata, source_ids, raw_item_count, llm_model, llm_tokens, created_at, expires_at`

func scanCacheRow(r row) (c CacheRow, err error) {
	err = r.Scan(&c.Hash, &c.SourcesHash, &c.Type, millis{&c.PeriodStart}, millis{&c.PeriodEnd}, &c.State, &c.Content,
		inJSON{&c.Metadata}, inJSON{&c.SourceIDs}, &c.RawItemCount, &c.Model, &c.Tokens, millis{&c.CreatedAt}, millis{&c.ExpiresAt})
	return c, err
}

// CacheRow returns the row of a combination and a period. One that has expired is
// [ErrNotFound].
func (q queries) CacheRow(ctx context.Context, hash, kind string, start, end time.Time) (CacheRow, error) {
	return one(ctx, q.conn, scanCacheRow, `SELECT `+cacheColumns+` FROM digest_cache
		WHERE subscription_hash = ? AND digest_type = ? AND period_start = ? AND period_end = ? AND expires_at > ?`,
		hash, kind, start.UnixMilli(), end.UnixMilli(), q.now().UnixMilli())
}

// LastReady returns the newest digest of a combination whose period ended at before or
// earlier.
func (q queries) LastReady(ctx context.Context, hash, kind string, before time.Time) (CacheRow, error) {
	return one(ctx, q.conn, scanCacheRow, `SELECT `+cacheColumns+` FROM digest_cache
		WHERE subscription_hash = ? AND digest_type = ? AND period_end <= ? AND state = 'ready' AND expires_at > ?
		ORDER BY period_end DESC LIMIT 1`, hash, kind, before.UnixMilli(), q.now().UnixMilli())
}

// CacheSelection says which rows of digest_cache are meant. The zero value means none.
type CacheSelection struct {
	Hash   string    // a combination, with or without its options
	Before time.Time // periods that ended at this time or earlier
	All    bool
}

// Deleted names a row of digest_cache that is gone.
type Deleted struct {
	Hash, Type string
	Start, End time.Time
}

// DeleteCache removes the selected rows and says which they were, and keeps what is being
// made now from coming back: see [Tx.PutCacheRow]. The rows' texts are not read: all of
// them may be more than there is memory for.
func (tx *Tx) DeleteCache(ctx context.Context, sel CacheSelection) ([]Deleted, error) {
	before := int64(0)
	if !sel.Before.IsZero() {
		before = sel.Before.UnixMilli()
	}
	_, err := tx.run(ctx, `INSERT INTO digest_cache_deletions (at, hash, before, every) VALUES (?, ?, ?, ?)`,
		tx.now().UnixMilli(), sel.Hash, before, sel.All)
	if err != nil {
		return nil, err
	}
	return list(ctx, tx.conn, func(r row) (d Deleted, err error) {
		err = r.Scan(&d.Hash, &d.Type, millis{&d.Start}, millis{&d.End})
		return d, err
	}, `DELETE FROM digest_cache
		WHERE ?1 OR (?2 != '' AND (subscription_hash = ?2 OR sources_hash = ?2)) OR (?3 > 0 AND period_end <= ?3)
		RETURNING subscription_hash, digest_type, period_start, period_end`, sel.All, sel.Hash, before)
}

// LastDeletion returns the number of the last call of [Tx.DeleteCache].
func (q queries) LastDeletion(ctx context.Context) (int64, error) {
	return one(ctx, q.conn, scanValue[int64], `SELECT coalesce(max(id), 0) FROM digest_cache_deletions`)
}

// PutCacheRow writes a row, unless one like it was deleted after the deletion with the
// number since: then the digest began to be made before.
func (tx *Tx) PutCacheRow(ctx context.Context, r CacheRow, since int64) error {
	ids, err := toJSON(r.SourceIDs)
	if err != nil {
		return err
	}
	_, err = tx.run(ctx, `INSERT INTO digest_cache (`+cacheColumns+`)
		SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14
		WHERE NOT EXISTS (SELECT 1 FROM digest_cache_deletions WHERE id > ?15 AND (every OR hash IN (?1, ?2) OR before >= ?5))
		ON CONFLICT DO UPDATE SET sources_hash = excluded.sources_hash, state = excluded.state,
			content = excluded.content, metadata = excluded.metadata, source_ids = excluded.source_ids,
			raw_item_count = excluded.raw_item_count, llm_model = excluded.llm_model, llm_tokens = excluded.llm_tokens,
			created_at = excluded.created_at, expires_at = excluded.expires_at`,
		r.Hash, r.SourcesHash, r.Type, toMillis(r.PeriodStart), toMillis(r.PeriodEnd), r.State, r.Content,
		orEmpty(r.Metadata), ids, r.RawItemCount, r.Model, r.Tokens, toMillis(r.CreatedAt), toMillis(r.ExpiresAt), since)
	return err
}

// CacheStats are about what digest_cache holds now.
type CacheStats struct {
	Total        int64            `json:"total"`         // digests and known emptiness
	UniqueHashes int64            `json:"unique_hashes"` // combinations
	ByType       map[string]int64 `json:"by_type"`
}

// CacheStats counts what has not expired.
func (q queries) CacheStats(ctx context.Context) (CacheStats, error) {
	s := CacheStats{ByType: map[string]int64{}}
	const live = ` FROM digest_cache WHERE expires_at > ?`
	now := q.now().UnixMilli()
	kinds, err := list(ctx, q.conn, func(r row) (c Count, err error) {
		err = r.Scan(&c.Name, &c.Value)
		return c, err
	}, `SELECT digest_type, count(*)`+live+` GROUP BY digest_type`, now)
	if err != nil {
		return s, err
	}
	for _, k := range kinds {
		s.ByType[k.Name] = k.Value
		s.Total += k.Value
	}
	s.UniqueHashes, err = one(ctx, q.conn, scanValue[int64], `SELECT count(DISTINCT subscription_hash)`+live, now)
	return s, err
}

// CleanCache removes the digests that have served their time, by the store's clock,
// and returns how many there were. Cells expire by the machine's clock.
func (tx *Tx) CleanCache(ctx context.Context) (int64, error) {
	return tx.run(ctx, `DELETE FROM digest_cache WHERE expires_at <= ?`, tx.now().UnixMilli())
}
