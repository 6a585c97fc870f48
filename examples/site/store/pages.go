package store

import (
	"context"

	"github.com/twofold-go/twofold/examples/site/content"
)

const pageColumns = `id, slug, title, body, lang, updated_at`

func scanPage(r row) (p content.Page, err error) {
	err = r.Scan(&p.ID, &p.Slug, &p.Title, &p.Body, &p.Lang, millis{&p.UpdatedAt})
	return p, err
}

// PageBySlug implements [content.Reader].
func (q queries) PageBySlug(ctx context.Context, slug string) (content.Page, error) {
	return one(ctx, q.conn, scanPage, `SELECT `+pageColumns+` FROM pages WHERE slug = $1`, slug)
}

// PageByID returns a page.
func (q queries) PageByID(ctx context.Context, id int64) (content.Page, error) {
	return one(ctx, q.conn, scanPage, `SELECT `+pageColumns+` FROM pages WHERE id = $1`, id)
}

// Pages returns all pages, by id.
func (q queries) Pages(ctx context.Context) ([]content.Page, error) {
	return list(ctx, q.conn, scanPage, `SELECT `+pageColumns+` FROM pages ORDER BY id`)
}

// InsertPage adds a page and returns its id.
func (tx *Tx) InsertPage(ctx context.Context, p content.Page) (int64, error) {
	return one(ctx, tx.conn, scanValue[int64], `INSERT INTO pages (slug, title, body, lang, updated_at)
		VALUES ($1, $2, $3, $4, $5) RETURNING id`, p.Slug, p.Title, p.Body, p.Lang, toMillis(p.UpdatedAt))
}

// UpdatePage replaces the page that has p's id.
func (tx *Tx) UpdatePage(ctx context.Context, p content.Page) error {
	return tx.exec(ctx, `UPDATE pages SET slug = $1, title = $2, body = $3, lang = $4, updated_at = $5 WHERE id = $6`,
		p.Slug, p.Title, p.Body, p.Lang, toMillis(p.UpdatedAt), p.ID)
}

// DeletePage removes a page.
func (tx *Tx) DeletePage(ctx context.Context, id int64) error {
	return tx.exec(ctx, `DELETE FROM pages WHERE id = $1`, id)
}

// Sitemap implements [content.Reader].
func (q queries) Sitemap(ctx context.Context) ([]content.SitemapEntry, error) {
	return list(ctx, q.conn, func(r row) (e content.SitemapEntry, err error) {
		err = r.Scan(&e.Path, millis{&e.UpdatedAt})
		return e, err
	}, `SELECT CASE lang WHEN 'en' THEN '' ELSE '/' || lang END || kind || slug AS path, updated_at FROM (
			SELECT lang, '/posts/' AS kind, slug, updated_at FROM posts p WHERE `+public+`
			UNION ALL
			SELECT lang, '/pages/', slug, updated_at FROM pages) AS paths
		ORDER BY path`)
}
