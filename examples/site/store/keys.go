package store

import (
	"context"
	"time"

	"github.com/twofold-go/twofold/examples/site/content"
)

const keyColumns = `prefix, label, hash, scopes, created_at, revoked_at`

func scanKey(r row) (k content.APIKey, err error) {
	err = r.Scan(&k.Prefix, &k.Label, &k.Hash, inJSON{&k.Scopes}, millis{&k.CreatedAt}, millis{&k.RevokedAt})
	return k, err
}

// APIKeyByPrefix implements [content.Reader].
func (q queries) APIKeyByPrefix(ctx context.Context, prefix string) (content.APIKey, error) {
	return one(ctx, q.conn, scanKey, `SELECT `+keyColumns+` FROM api_keys WHERE prefix = $1`, prefix)
}

// APIKeys returns all keys, the newest first.
func (q queries) APIKeys(ctx context.Context) ([]content.APIKey, error) {
	return list(ctx, q.conn, scanKey, `SELECT `+keyColumns+` FROM api_keys ORDER BY created_at DESC, prefix`)
}

// InsertAPIKey adds a key.
func (tx *Tx) InsertAPIKey(ctx context.Context, k content.APIKey) error {
	scopes, err := toJSON(k.Scopes)
	if err != nil {
		return err
	}
	return tx.exec(ctx, `INSERT INTO api_keys (`+keyColumns+`) VALUES ($1, $2, $3, $4, $5, $6)`,
		k.Prefix, k.Label, k.Hash, scopes, toMillis(k.CreatedAt), toMillis(k.RevokedAt))
}

// UpdateAPIKey replaces the label and the scopes of the key that has k's prefix.
func (tx *Tx) UpdateAPIKey(ctx context.Context, k content.APIKey) error {
	scopes, err := toJSON(k.Scopes)
	if err != nil {
		return err
	}
	return tx.exec(ctx, `UPDATE api_keys SET label = $1, scopes = $2 WHERE prefix = $3`, k.Label, scopes, k.Prefix)
}

// RevokeAPIKey ends a key. One that was revoked before keeps its time.
func (tx *Tx) RevokeAPIKey(ctx context.Context, prefix string, at time.Time) error {
	return tx.exec(ctx, `UPDATE api_keys SET revoked_at = coalesce(revoked_at, $1) WHERE prefix = $2`, toMillis(at), prefix)
}
