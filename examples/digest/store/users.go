package store

import (
	"context"
	"crypto/rand"
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
	return id, tx.welcome(ctx, id)
}

// welcome gives a new user the sources of the default pack.
func (tx *Tx) welcome(ctx context.Context, id int64) error {
	tx.touch(id)
	pack, err := sqlite.One[string](ctx, tx.Conn, `SELECT slug FROM source_packs WHERE is_default = 1`)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err == nil {
		_, err = tx.InstallPack(ctx, id, pack)
	}
	return err
}

// Import runs statements that add sources, packs and users, or change users, in one transaction. A new
// user starts with the default pack and a key, which Import returns by slug: the database stores only
// its hash.
func (s *Store) Import(ctx context.Context, statements string) (keys map[string]string, err error) {
	keys = map[string]string{}
	return keys, s.Write(ctx, func(tx *Tx) error {
		if _, err := tx.Run(ctx, statements); err != nil {
			return err
		}
		users, err := sqlite.List[User](ctx, tx.Conn, `SELECT * FROM users`)
		for _, u := range users {
			tx.touch(u.ID)
			if err == nil && len(u.APIKeyHash) == 0 {
				keys[u.Slug] = rand.Text()
				err = errors.Join(tx.Exec(ctx, `UPDATE users SET api_key_hash = ? WHERE id = ?`, HashKey(keys[u.Slug]), u.ID), tx.welcome(ctx, u.ID))
			}
		}
		return err
	})
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

// InstallPack subscribes a user to the sources of a pack. It counts the installation if a
// subscription is new, and returns the number of sources that the user may see.
func (tx *Tx) InstallPack(ctx context.Context, user int64, slug string) (int, error) {
	if _, err := tx.PackID(ctx, slug); err != nil {
		return 0, err
	}
	ids, err := sqlite.List[int64](ctx, tx.Conn, `SELECT s.id
		FROM source_packs p JOIN source_pack_sources x ON x.pack_id = p.id JOIN sources s ON s.id = x.source_id
		WHERE `+visible+` AND p.slug = ?2`, user, slug)
	if err != nil {
		return 0, err
	}
	added, err := tx.subscribe(ctx, user, ids)
	if err != nil || added == 0 {
		return len(ids), err
	}
	return len(ids), tx.Exec(ctx, `UPDATE source_packs SET install_count = install_count + 1 WHERE slug = ?`, slug)
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
