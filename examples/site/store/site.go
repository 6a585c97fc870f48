package store

import (
	"context"

	"github.com/twofold-go/twofold/examples/site/content"
)

// Settings implements [content.Reader].
func (q queries) Settings(ctx context.Context) (content.Settings, error) {
	return one(ctx, q.conn, func(r row) (s content.Settings, err error) {
		err = r.Scan(inJSON{&s})
		return s, err
	}, `SELECT value FROM settings`)
}

// SetSettings replaces the settings.
func (tx *Tx) SetSettings(ctx context.Context, s content.Settings) error {
	value, err := toJSON(s)
	if err != nil {
		return err
	}
	return tx.exec(ctx, `INSERT INTO settings (id, value) VALUES (1, $1)
		ON CONFLICT (id) DO UPDATE SET value = excluded.value`, value)
}

// Navigation implements [content.Reader].
func (q queries) Navigation(ctx context.Context) ([]content.NavItem, error) {
	return list(ctx, q.conn, func(r row) (n content.NavItem, err error) {
		err = r.Scan(&n.Lang, &n.Label, &n.URL)
		return n, err
	}, `SELECT lang, label, url FROM nav_items ORDER BY position`)
}

// SetNavigation replaces the navigation of all languages.
func (tx *Tx) SetNavigation(ctx context.Context, items []content.NavItem) error {
	if err := tx.run(ctx, `DELETE FROM nav_items`); err != nil {
		return err
	}
	for i, n := range items {
		if err := tx.exec(ctx, `INSERT INTO nav_items (position, lang, label, url) VALUES ($1, $2, $3, $4)`,
			i, n.Lang, n.Label, n.URL); err != nil {
			return err
		}
	}
	return nil
}
