package store

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// User is somebody who reads digests.
type User struct {
	ID         int64           `json:"id"`
	Name       string          `json:"name"`
	Email      string          `json:"email"`
	Slug       string          `json:"slug"`
	APIKeyHash []byte          `json:"-"`       // by [HashKey]; nil: no key
	Options    json.RawMessage `json:"options"` // how the digests are to be written; empty: as by default
	CreatedAt  time.Time       `json:"created_at"`
}

// HashKey returns what is kept of an API key. Keys are random and long, so a slow
// hash would add nothing.
func HashKey(key string) []byte {
	sum := sha256.Sum256([]byte(key))
	return sum[:]
}

const userColumns = `id, name, email, slug, api_key_hash, options, created_at`

func scanUser(r row) (u User, err error) {
	err = r.Scan(&u.ID, &u.Name, &u.Email, &u.Slug, &u.APIKeyHash, inJSON{&u.Options}, millis{&u.CreatedAt})
	return u, err
}

// User returns a user by id.
func (q queries) User(ctx context.Context, id int64) (User, error) {
	return one(ctx, q.conn, scanUser, `SELECT `+userColumns+` FROM users WHERE id = ?`, id)
}

// UserBySlug returns a user by slug.
func (q queries) UserBySlug(ctx context.Context, slug string) (User, error) {
	return one(ctx, q.conn, scanUser, `SELECT `+userColumns+` FROM users WHERE slug = ?`, slug)
}

// UserByKey returns the user an API key belongs to. The look-up is by the key's
// SHA-256, so how long it takes says nothing about a key.
func (q queries) UserByKey(ctx context.Context, key string) (User, error) {
	return one(ctx, q.conn, scanUser, `SELECT `+userColumns+` FROM users WHERE api_key_hash = ?`, HashKey(key))
}

// UserIDs returns up to limit ids of users after the given one, ascending.
func (q queries) UserIDs(ctx context.Context, after int64, limit int) ([]int64, error) {
	return list(ctx, q.conn, scanValue[int64], `SELECT id FROM users WHERE id > ? ORDER BY id LIMIT ?`, after, limit)
}

// AddUser adds a user, who starts with the sources of the default pack if there is
// one, and returns the id. CreatedAt is the store's.
func (tx *Tx) AddUser(ctx context.Context, u User) (int64, error) {
	if u.Email == "" || u.Slug == "" {
		return 0, fmt.Errorf("%w: a user needs an email and a slug", ErrInvalid)
	}
	id, err := tx.insert(ctx, `INSERT INTO users (name, email, slug, api_key_hash, options, created_at)
		VALUES (?, ?, ?, ?, ?, ?)`, u.Name, u.Email, u.Slug, u.APIKeyHash, orEmpty(u.Options), toMillis(tx.now()))
	if err != nil {
		return 0, err
	}
	tx.touch(id)
	pack, err := one(ctx, tx.conn, scanValue[string], `SELECT slug FROM source_packs WHERE is_default = 1`)
	if errors.Is(err, ErrNotFound) {
		return id, nil
	}
	if err == nil {
		_, err = tx.InstallPack(ctx, id, pack)
	}
	return id, err
}

// SetUserOptions replaces how a user's digests are to be written.
func (tx *Tx) SetUserOptions(ctx context.Context, user int64, options json.RawMessage) error {
	tx.touch(user)
	return tx.exec(ctx, `UPDATE users SET options = ? WHERE id = ?`, orEmpty(options), user)
}

// DeleteUser removes a user with subscriptions, hash and digests. Private sources of
// the user stay, and nobody sees them.
func (tx *Tx) DeleteUser(ctx context.Context, id int64) error {
	delete(tx.touched, id)
	return tx.exec(ctx, `DELETE FROM users WHERE id = ?`, id)
}
