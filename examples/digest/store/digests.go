package store

import (
	"context"
	"encoding/json"
	"time"
)

// Digest is what a user reads.
type Digest struct {
	ID        int64           `json:"id"`
	UserID    int64           `json:"user_id"`
	Type      string          `json:"type"`
	Content   string          `json:"content"`
	Metadata  json.RawMessage `json:"metadata"` // "period_start" and "period_end", in ms, tell whose period it is
	CreatedAt time.Time       `json:"created_at"`
}

const digestColumns = `id, user_id, type, content, metadata, created_at`

func scanDigest(r row) (d Digest, err error) {
	err = r.Scan(&d.ID, &d.UserID, &d.Type, &d.Content, inJSON{&d.Metadata}, millis{&d.CreatedAt})
	return d, err
}

// Digests returns up to limit digests of a user, the newest first. An empty kind asks
// for all types.
func (q queries) Digests(ctx context.Context, user int64, kind string, limit int) ([]Digest, error) {
	return list(ctx, q.conn, scanDigest, `SELECT `+digestColumns+` FROM digests
		WHERE user_id = ?1 AND (?2 = '' OR type = ?2) ORDER BY created_at DESC, id DESC LIMIT ?3`, user, kind, limit)
}

// DigestOf returns the digest that a user has for a period.
func (q queries) DigestOf(ctx context.Context, user int64, kind string, start, end time.Time) (Digest, error) {
	return one(ctx, q.conn, scanDigest, `SELECT `+digestColumns+` FROM digests WHERE user_id = ? AND type = ?
		AND metadata ->> '$.period_start' = ? AND metadata ->> '$.period_end' = ?`,
		user, kind, start.UnixMilli(), end.UnixMilli())
}

// PutDigest stores a digest and returns its row. If the user has one of that type and
// period, that is replaced in case it reads otherwise, and stays as it is if not: to
// repeat a PutDigest changes nothing. A digest without a period is always a new row.
func (tx *Tx) PutDigest(ctx context.Context, d Digest) (Digest, error) {
	return one(ctx, tx.conn, scanDigest, `INSERT INTO digests (user_id, type, content, metadata, created_at)
		VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (user_id, type, (metadata ->> '$.period_start'), (metadata ->> '$.period_end')) DO UPDATE SET
			created_at = CASE WHEN content = excluded.content THEN created_at ELSE excluded.created_at END,
			metadata = CASE WHEN content = excluded.content THEN metadata ELSE excluded.metadata END,
			content = excluded.content
		RETURNING `+digestColumns, d.UserID, d.Type, d.Content, orEmpty(d.Metadata), toMillis(tx.now()))
}
