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
	return one(ctx, q.conn, scanKey, `SELECT `+keyColumns+` FROM api_keys WHERE prefix = ?`, prefix)
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
	_, err = tx.exec(ctx, `INSERT INTO api_keys (`+keyColumns+`) VALUES (?, ?, ?, ?, ?, ?)`,
		k.Prefix, k.Label, k.Hash, scopes, toMillis(k.CreatedAt), toMillis(k.RevokedAt))
	return err
}

// UpdateAPIKey replaces the label and the scopes of the key that has k's prefix.
func (tx *Tx) UpdateAPIKey(ctx context.Context, k content.APIKey) error {
	scopes, err := toJSON(k.Scopes)
	if err != nil {
		return err
	}
	_, err = tx.exec(ctx, `UPDATE api_keys SET label = ?, scopes = ? WHERE prefix = ?`, k.Label, scopes, k.Prefix)
	return err
}

// RevokeAPIKey ends a key. One that was revoked before keeps its time.
func (tx *Tx) RevokeAPIKey(ctx context.Context, prefix string, at time.Time) error {
	_, err := tx.exec(ctx, `UPDATE api_keys SET revoked_at = coalesce(revoked_at, ?) WHERE prefix = ?`, toMillis(at), prefix)
	return err
}
