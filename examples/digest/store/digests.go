package store

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/twofold-go/twofold/examples/internal/sqlite"
)

// States of a [CacheRow].
const (
	StateReady = "ready" // there is a digest
	StateEmpty = "empty" // the period has no items
)

// CacheRow is a row of digest_cache: a digest as it was generated.
type CacheRow struct {
	Hash         string          `json:"subscription_hash" db:"subscription_hash"`
	SourcesHash  string          `json:"sources_hash"` // without the options
	Type         string          `json:"type" db:"digest_type"`
	PeriodStart  time.Time       `json:"period_start"`
	PeriodEnd    time.Time       `json:"period_end"`
	State        string          `json:"state"`
	Content      string          `json:"content"`
	Metadata     json.RawMessage `json:"metadata"`
	SourceIDs    []int64         `json:"source_ids" db:"source_ids"`
	RawItemCount int             `json:"raw_item_count"`
	Model        string          `json:"llm_model" db:"llm_model"`
	Tokens       int64           `json:"llm_tokens" db:"llm_tokens"`
	CreatedAt    time.Time       `json:"created_at"`
	ExpiresAt    time.Time       `json:"expires_at"`
}

const cacheColumns = `subscription_hash, sources_hash, digest_type, period_start, period_end, state, content,
	metadata, source_ids, raw_item_count, llm_model, llm_tokens, created_at, expires_at`

// CacheRow returns the row of a combination and a period. An expired row is [ErrNotFound].
func (q queries) CacheRow(ctx context.Context, hash, kind string, start, end time.Time) (CacheRow, error) {
	return sqlite.One[CacheRow](ctx, q.Conn, `SELECT `+cacheColumns+` FROM digest_cache
		WHERE subscription_hash = ? AND digest_type = ? AND period_start = ? AND period_end = ? AND expires_at > ?`,
		hash, kind, start.UnixMilli(), end.UnixMilli(), q.now().UnixMilli())
}

// CacheSelection selects rows of digest_cache.
type CacheSelection struct {
	Hash   string    // of a combination, with or without its options
	Before time.Time // periods that ended at or before this time
	All    bool
}

// Deleted identifies a deleted row.
type Deleted struct {
	Hash  string    `db:"subscription_hash"`
	Type  string    `db:"digest_type"`
	Start time.Time `db:"period_start"`
	End   time.Time `db:"period_end"`
}

// DeleteCache deletes the selected rows, and returns them. Digests that
// are being generated are not stored afterwards: see [Tx.PutCacheRow].
func (tx *Tx) DeleteCache(ctx context.Context, sel CacheSelection) ([]Deleted, error) {
	before := max(sel.Before.UnixMilli(), 0)
	_, err := tx.Run(ctx, `INSERT INTO digest_cache_deletions (at, hash, before, every) VALUES (?, ?, ?, ?)`,
		tx.now().UnixMilli(), sel.Hash, before, sel.All)
	if err != nil {
		return nil, err
	}
	return sqlite.List[Deleted](ctx, tx.Conn, `DELETE FROM digest_cache
		WHERE ?1 OR (?2 != '' AND (subscription_hash = ?2 OR sources_hash = ?2)) OR (?3 > 0 AND period_end <= ?3)
		RETURNING subscription_hash, digest_type, period_start, period_end`, sel.All, sel.Hash, before)
}

// LastDeletion returns the number of the last call of [Tx.DeleteCache].
func (q queries) LastDeletion(ctx context.Context) (int64, error) {
	return sqlite.One[int64](ctx, q.Conn, `SELECT coalesce(max(id), 0) FROM digest_cache_deletions`)
}

// PutCacheRow stores a row, unless there is one, and returns the stored row. It does not
// store a row that a deletion after since selects.
func (tx *Tx) PutCacheRow(ctx context.Context, r CacheRow, since int64) (CacheRow, error) {
	first, err := tx.CacheRow(ctx, r.Hash, r.Type, r.PeriodStart, r.PeriodEnd)
	if !errors.Is(err, ErrNotFound) {
		return first, err
	}
	_, err = tx.Run(ctx, `INSERT OR REPLACE INTO digest_cache (`+cacheColumns+`)
		SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14
		WHERE NOT EXISTS (SELECT 1 FROM digest_cache_deletions WHERE id > ?15 AND (every OR hash IN (?1, ?2) OR before >= ?5))`,
		r.Hash, r.SourcesHash, r.Type, r.PeriodStart, r.PeriodEnd, r.State, r.Content,
		orEmpty(r.Metadata), idList(r.SourceIDs), r.RawItemCount, r.Model, r.Tokens, r.CreatedAt, r.ExpiresAt, since)
	return r, err
}

// CacheStats are the statistics of digest_cache.
type CacheStats struct {
	Total        int64            `json:"total"`         // digests and empty periods
	UniqueHashes int64            `json:"unique_hashes"` // combinations
	ByType       map[string]int64 `json:"by_type"`
}

// CacheStats counts the rows that have not expired.
func (q queries) CacheStats(ctx context.Context) (s CacheStats, err error) {
	const live = ` FROM digest_cache WHERE expires_at > ?`
	now := q.now().UnixMilli()
	if s.ByType, err = q.sums(ctx, `SELECT digest_type AS name, count(*) AS n`+live+` GROUP BY digest_type`, now); err != nil {
		return s, err
	}
	for _, n := range s.ByType {
		s.Total += n
	}
	s.UniqueHashes, err = sqlite.One[int64](ctx, q.Conn, `SELECT count(DISTINCT subscription_hash)`+live, now)
	return s, err
}

// CleanCache deletes expired digests, by the store's clock, and returns how many there were.
func (tx *Tx) CleanCache(ctx context.Context) (int64, error) {
	return tx.Run(ctx, `DELETE FROM digest_cache WHERE expires_at <= ?`, tx.now().UnixMilli())
}

// Digest is a row of digests, which users read.
type Digest struct {
	ID        int64           `json:"id"`
	UserID    int64           `json:"user_id"`
	Type      string          `json:"type"`
	Content   string          `json:"content"`
	Metadata  json.RawMessage `json:"metadata"` // "period_start" and "period_end", in ms, are its period
	CreatedAt time.Time       `json:"created_at"`
}

// Digests returns up to limit digests of a user, newest first.
func (q queries) Digests(ctx context.Context, user int64, kind string, limit int) ([]Digest, error) {
	return sqlite.List[Digest](ctx, q.Conn, `SELECT * FROM digests
		WHERE user_id = ?1 AND (?2 = '' OR type = ?2) ORDER BY created_at DESC, id DESC LIMIT ?3`, user, kind, limit)
}

// DigestOf returns the digest that a user has for a period.
func (q queries) DigestOf(ctx context.Context, user int64, kind string, start, end time.Time) (Digest, error) {
	return sqlite.One[Digest](ctx, q.Conn, `SELECT * FROM digests WHERE user_id = ? AND type = ?
		AND metadata ->> '$.period_start' = ? AND metadata ->> '$.period_end' = ?`,
		user, kind, start.UnixMilli(), end.UnixMilli())
}

// PutDigest stores a digest and returns its row.
func (tx *Tx) PutDigest(ctx context.Context, d Digest) (Digest, error) {
	return sqlite.One[Digest](ctx, tx.Conn, `INSERT INTO digests (user_id, type, content, metadata, created_at)
		VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (user_id, type, (metadata ->> '$.period_start'), (metadata ->> '$.period_end')) DO UPDATE SET
			created_at = CASE WHEN content = excluded.content THEN created_at ELSE excluded.created_at END,
			metadata = CASE WHEN content = excluded.content THEN metadata ELSE excluded.metadata END,
			content = excluded.content
		RETURNING *`, d.UserID, d.Type, d.Content, orEmpty(d.Metadata), tx.now())
}
