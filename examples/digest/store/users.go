package store

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twofold-go/twofold/examples/internal/sqlite"
)

// User is a reader of digests.
type User struct {
	ID         int64           `json:"id"`
	Name       string          `json:"name"`
	Email      string          `json:"email"`
	Slug       string          `json:"slug"`
	APIKeyHash []byte          `json:"-"`       // by [HashKey]; nil means no key
	Options    json.RawMessage `json:"options"` // language and style of the digests; empty means the defaults
	CreatedAt  time.Time       `json:"created_at"`
}

// HashKey returns the stored form of an API key.
func HashKey(key string) []byte {
	sum := sha256.Sum256([]byte(key))
	return sum[:]
}

// User returns a user by id.
func (q queries) User(ctx context.Context, id int64) (User, error) {
	return sqlite.One[User](ctx, q.Conn, `SELECT * FROM users WHERE id = ?`, id)
}

// UserBySlug returns a user by slug.
func (q queries) UserBySlug(ctx context.Context, slug string) (User, error) {
	return sqlite.One[User](ctx, q.Conn, `SELECT * FROM users WHERE slug = ?`, slug)
}

// UserByKey returns the user of an API key.
func (q queries) UserByKey(ctx context.Context, key string) (User, error) {
	return sqlite.One[User](ctx, q.Conn, `SELECT * FROM users WHERE api_key_hash = ?`, HashKey(key))
}

// Users returns up to limit users whose ids are greater than after, by id.
func (q queries) Users(ctx context.Context, after int64, limit int) ([]User, error) {
	return sqlite.List[User](ctx, q.Conn, `SELECT * FROM users WHERE id > ? ORDER BY id LIMIT ?`, after, limit)
}

// UserIDs returns up to limit ids of users greater than after, ascending.
func (q queries) UserIDs(ctx context.Context, after int64, limit int) ([]int64, error) {
	return sqlite.List[int64](ctx, q.Conn, `SELECT id FROM users WHERE id > ? ORDER BY id LIMIT ?`, after, limit)
}

// AddUser adds a user and returns the id. The user starts with the sources of the default pack.
func (tx *Tx) AddUser(ctx context.Context, u User) (int64, error) {
	if u.Email == "" || u.Slug == "" {
		return 0, fmt.Errorf("%w: a user needs an email and a slug", ErrInvalid)
	}
	id, err := sqlite.One[int64](ctx, tx.Conn, `INSERT INTO users (name, email, slug, api_key_hash, options, created_at)
		VALUES (?, ?, ?, ?, ?, ?) RETURNING id`, u.Name, u.Email, u.Slug, u.APIKeyHash, orEmpty(u.Options), tx.now())
	if err != nil {
		return 0, err
	}
	tx.touch(id)
	pack, err := sqlite.One[string](ctx, tx.Conn, `SELECT slug FROM source_packs WHERE is_default = 1`)
	if errors.Is(err, ErrNotFound) {
		return id, nil
	}
	if err == nil {
		_, err = tx.InstallPack(ctx, id, pack)
	}
	return id, err
}

// UserEdit changes a user. Nil fields do not change.
type UserEdit struct {
	Name    *string         `json:"name"`
	Email   *string         `json:"email"`
	Slug    *string         `json:"slug"`
	Options json.RawMessage `json:"options"` // language and style of the digests
}

// EditUser changes a user.
func (tx *Tx) EditUser(ctx context.Context, id int64, e UserEdit) error {
	return tx.Exec(ctx, `UPDATE users SET name = coalesce(?2, name), email = coalesce(?3, email), slug = coalesce(?4, slug),
		options = coalesce(nullif(?5, ''), options) WHERE id = ?1`, id, e.Name, e.Email, e.Slug, string(e.Options))
}

// DeleteUser deletes a user with its subscriptions, hash and digests. The user's private sources,
// which nobody else may see, are marked as deleted, so that they are no longer fetched.
func (tx *Tx) DeleteUser(ctx context.Context, id int64) error {
	_, err := tx.Run(ctx, `UPDATE sources SET is_deleted = 1, deleted_at = ?2, updated_at = ?2 WHERE owner_id = ?1 AND is_public = 0 AND is_deleted = 0`, id, tx.now())
	if err != nil {
		return err
	}
	return tx.Exec(ctx, `DELETE FROM users WHERE id = ?`, id)
}

const visible = `s.is_deleted = 0 AND (s.is_public = 1 OR s.owner_id = ?1)`

// Subscribe subscribes a user to sources, all or none. An invisible source is [ErrNotFound].
func (tx *Tx) Subscribe(ctx context.Context, user int64, sources ...int64) error {
	sources = slices.Compact(slices.Sorted(slices.Values(sources)))
	seen, err := sqlite.One[int](ctx, tx.Conn, `SELECT count(*) FROM sources s
		WHERE `+visible+` AND s.id IN (SELECT value FROM json_each(?2))`, user, idList(sources))
	if err != nil {
		return err
	}
	if seen != len(sources) {
		return fmt.Errorf("%w: %d of %d sources", ErrNotFound, len(sources)-seen, len(sources))
	}
	_, err = tx.subscribe(ctx, user, sources)
	return err
}

// subscribe adds the sources that the user may see, and returns how many are new.
func (tx *Tx) subscribe(ctx context.Context, user int64, sources []int64) (int64, error) {
	tx.touch(user)
	return tx.Run(ctx, `INSERT INTO user_subscriptions (user_id, source_id, is_active, created_at)
		SELECT ?1, s.id, 1, ?3 FROM sources s WHERE `+visible+` AND s.id IN (SELECT value FROM json_each(?2))
		ON CONFLICT (user_id, source_id) DO UPDATE SET is_active = 1 WHERE is_active = 0`, user, idList(sources), tx.now())
}

// Unsubscribe ends subscriptions of a user.
func (tx *Tx) Unsubscribe(ctx context.Context, user int64, sources ...int64) error {
	tx.touch(user)
	_, err := tx.Run(ctx, `UPDATE user_subscriptions SET is_active = 0
		WHERE user_id = ? AND source_id IN (SELECT value FROM json_each(?))`, user, idList(sources))
	return err
}

// Ended returns the sources whose subscription a user has ended.
func (q queries) Ended(ctx context.Context, user int64) ([]int64, error) {
	return sqlite.List[int64](ctx, q.Conn, `SELECT source_id FROM user_subscriptions WHERE user_id = ? AND is_active = 0 ORDER BY source_id`, user)
}

// InstallPack subscribes a user to the sources of a pack, except some. It counts the installation
// if a subscription is new, and returns the number of sources that the user may see.
func (tx *Tx) InstallPack(ctx context.Context, user int64, slug string, except ...int64) (int, error) {
	if _, err := tx.PackID(ctx, slug); err != nil {
		return 0, err
	}
	ids, err := sqlite.List[int64](ctx, tx.Conn, `SELECT s.id
		FROM source_packs p JOIN source_pack_sources x ON x.pack_id = p.id JOIN sources s ON s.id = x.source_id
		WHERE `+visible+` AND p.slug = ?2`, user, slug)
	if err != nil {
		return 0, err
	}
	offered := len(ids)
	ids = slices.DeleteFunc(ids, func(id int64) bool { return slices.Contains(except, id) })
	added, err := tx.subscribe(ctx, user, ids)
	if err != nil || added == 0 {
		return offered, err
	}
	return offered, tx.Exec(ctx, `UPDATE source_packs SET install_count = install_count + 1 WHERE slug = ?`, slug)
}

// Pack is a set of sources that a user subscribes to in one step.
type Pack struct {
	ID           int64     `json:"id"`
	Slug         string    `json:"slug"`
	Name         string    `json:"name"`
	Description  string    `json:"description"`
	Default      bool      `json:"is_default" db:"is_default"` // new users start with it; at most one pack is the default
	InstallCount int64     `json:"install_count"`
	SourceIDs    []int64   `json:"source_ids" db:"source_ids"` // ascending
	CreatedAt    time.Time `json:"created_at"`
}

// Packs returns all packs, most installed first, with the sources that a user may see. User
// 0 sees the public ones.
func (q queries) Packs(ctx context.Context, user int64) ([]Pack, error) {
	return sqlite.List[Pack](ctx, q.Conn, `SELECT p.*, (
			SELECT json_group_array(s.id ORDER BY s.id) FROM source_pack_sources x JOIN sources s ON s.id = x.source_id
			WHERE x.pack_id = p.id AND `+visible+`) AS source_ids
		FROM source_packs p ORDER BY p.install_count DESC, p.slug`, user)
}

// PackID returns the id of a pack.
func (q queries) PackID(ctx context.Context, slug string) (int64, error) {
	return sqlite.One[int64](ctx, q.Conn, `SELECT id FROM source_packs WHERE slug = ?`, slug)
}

// AddPack adds a pack and returns its id.
func (tx *Tx) AddPack(ctx context.Context, p Pack) (int64, error) {
	if p.Slug == "" {
		return 0, fmt.Errorf("%w: a pack needs a slug", ErrInvalid)
	}
	id, err := sqlite.One[int64](ctx, tx.Conn, `INSERT INTO source_packs (slug, name, description, is_default, created_at) VALUES (?, ?, ?, ?, ?) RETURNING id`,
		p.Slug, p.Name, p.Description, p.Default, tx.now())
	if err != nil {
		return 0, err
	}
	_, err = tx.Run(ctx, `INSERT INTO source_pack_sources (pack_id, source_id) SELECT ?, value FROM json_each(?)`, id, idList(p.SourceIDs))
	return id, err
}
