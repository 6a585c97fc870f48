package store

import (
	"context"
	"encoding/json"

	"github.com/twofold-go/twofold/examples/internal/sqlite"
	"github.com/twofold-go/twofold/examples/site/content"
)

func (c conn) Settings(ctx context.Context) (s content.Settings, err error) {
	content.Depend(ctx, content.SettingsEntity)
	value, err := one[string](ctx, c, `SELECT value FROM settings`)
	if err == nil {
		err = json.Unmarshal([]byte(value), &s)
	}
	return s, err
}

// SetSettings replaces the settings.
func (tx *Tx) SetSettings(ctx context.Context, s content.Settings) error {
	value, err := sqlite.ToJSON(s)
	if err != nil {
		return err
	}
	return tx.exec(ctx, `INSERT INTO settings (id, value) VALUES (1, $1)
		ON CONFLICT (id) DO UPDATE SET value = excluded.value`, value)
}

func (c conn) Navigation(ctx context.Context) ([]content.NavItem, error) {
	content.Depend(ctx, content.NavigationEntity)
	return sqlite.List[content.NavItem](ctx, c.Conn, `SELECT label, url FROM nav_items ORDER BY position`)
}

// SetNavigation replaces the navigation.
func (tx *Tx) SetNavigation(ctx context.Context, items []content.NavItem) error {
	if _, err := tx.Run(ctx, `DELETE FROM nav_items`); err != nil {
		return err
	}
	for i, n := range items {
		if err := tx.exec(ctx, `INSERT INTO nav_items (position, label, url) VALUES ($1, $2, $3)`,
			i, n.Label, n.URL); err != nil {
			return err
		}
	}
	return nil
}

const keyColumns = `prefix, label, hash, scopes, created_at, revoked_at`

func (c conn) APIKeyByPrefix(ctx context.Context, prefix string) (content.APIKey, error) {
	content.Depend(ctx, content.KeyEntity(prefix))
	return one[content.APIKey](ctx, c, `SELECT `+keyColumns+` FROM api_keys WHERE prefix = $1`, prefix)
}

// APIKeys returns all keys, newest first.
func (c conn) APIKeys(ctx context.Context) ([]content.APIKey, error) {
	return sqlite.List[content.APIKey](ctx, c.Conn, `SELECT `+keyColumns+` FROM api_keys ORDER BY created_at DESC, prefix`)
}

// SaveAPIKey adds a key, or replaces the one with its prefix.
func (tx *Tx) SaveAPIKey(ctx context.Context, k content.APIKey) error {
	scopes, err := sqlite.ToJSON(k.Scopes)
	if err != nil {
		return err
	}
	return tx.exec(ctx, `INSERT INTO api_keys (`+keyColumns+`) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (prefix) DO UPDATE SET label = excluded.label, scopes = excluded.scopes, revoked_at = excluded.revoked_at`,
		k.Prefix, k.Label, k.Hash, scopes, k.CreatedAt, k.RevokedAt)
}

// Tags returns all tags, used or not, by slug.
func (c conn) Tags(ctx context.Context) ([]content.Tag, error) {
	return sqlite.List[content.Tag](ctx, c.Conn, `SELECT slug, name FROM tags ORDER BY slug`)
}

func (c conn) TagCounts(ctx context.Context) ([]content.TagCount, error) {
	content.Depend(ctx, content.TagsEntity)
	return sqlite.List[content.TagCount](ctx, c.Conn, `SELECT t.slug, t.name, count(*) AS posts
		FROM posts p JOIN post_tags x ON x.post_id = p.id JOIN tags t ON t.id = x.tag_id
		WHERE `+public+` GROUP BY t.id ORDER BY t.slug`)
}

func (c conn) MonthCounts(ctx context.Context) ([]content.MonthCount, error) {
	content.Depend(ctx, content.MonthsEntity)
	return sqlite.List[content.MonthCount](ctx, c.Conn, `SELECT p.month, count(*) AS posts FROM shown p WHERE `+public+` GROUP BY p.month ORDER BY p.month DESC`)
}

// SaveTag adds a tag if id is 0, or replaces the one with the id.
func (tx *Tx) SaveTag(ctx context.Context, id int64, t content.Tag) error {
	if id == 0 {
		return tx.exec(ctx, `INSERT INTO tags (slug, name) VALUES ($1, $2)`, t.Slug, t.Name)
	}
	return tx.exec(ctx, `UPDATE tags SET slug = $1, name = $2 WHERE id = $3`, t.Slug, t.Name, id)
}
