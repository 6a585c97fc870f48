package store

import (
	"context"
	"fmt"
	"math"

	"github.com/twofold-go/twofold/examples/internal/sqlite"
	"github.com/twofold-go/twofold/examples/site/content"
)

// One query returns a post with its tags, because both must be from the same moment.
const (
	summaryColumns = `p.id, p.slug, p.title, p.summary AS excerpt, p.status, p.published_at, p.updated_at, p.tags`
	postColumns    = summaryColumns + `, p.body`

	public = `p.status = 'published'`
	newest = ` ORDER BY p.published_at DESC, p.id DESC`
)

func (c conn) PostBySlug(ctx context.Context, slug string) (content.Post, error) {
	content.Depend(ctx, content.SlugEntity(slug))
	p, err := one[content.Post](ctx, c, `SELECT `+postColumns+` FROM shown p WHERE `+public+` AND p.slug = $1`, slug)
	if err == nil {
		content.Depend(ctx, content.PostEntity(p.ID))
	}
	return p, err
}

func (c conn) PostByID(ctx context.Context, id int64) (content.Post, error) {
	content.Depend(ctx, content.PostEntity(id))
	return one[content.Post](ctx, c, `SELECT `+postColumns+` FROM shown p WHERE `+public+` AND p.id = $1`, id)
}

// AnyPost returns a post, public or not.
func (c conn) AnyPost(ctx context.Context, id int64) (content.Post, error) {
	return one[content.Post](ctx, c, `SELECT `+postColumns+` FROM shown p WHERE p.id = $1`, id)
}

// PostsWithTag returns all posts with the tag, public or not.
func (c conn) PostsWithTag(ctx context.Context, slug string) ([]content.Summary, error) {
	return sqlite.List[content.Summary](ctx, c.Conn, `SELECT `+summaryColumns+` FROM shown p
		WHERE p.id IN (SELECT x.post_id FROM post_tags x JOIN tags t ON t.id = x.tag_id WHERE t.slug = $1)
		ORDER BY p.id`, slug)
}

// ListPosts returns a window of the public posts, newest first.
func (s *Store) ListPosts(ctx context.Context, f content.Filter, w content.Window) (l content.List, err error) {
	content.Depend(ctx, content.PostsEntity)
	from, to := int64(0), int64(math.MaxInt64)
	if f.Month != "" {
		first, err := content.ParseMonth(f.Month)
		if err != nil {
			return l, err
		}
		from, to = first.UnixMilli(), first.AddDate(0, 1, 0).UnixMilli()
	}
	return s.window(ctx, w, public+` AND p.published_at >= $1 AND p.published_at < $2
		AND ($3 = '' OR p.id IN (SELECT x.post_id FROM post_tags x JOIN tags t ON t.id = x.tag_id WHERE t.slug = $3))`,
		newest, from, to, f.Tag)
}

// AllPosts returns a window of the posts with a status, public or not. An empty status means all.
func (s *Store) AllPosts(ctx context.Context, status content.Status, w content.Window) (content.List, error) {
	return s.window(ctx, w, `($1 = '' OR p.status = $1)`, ` ORDER BY p.id DESC`, status)
}

// window returns a part of the posts that match a condition, and their total at the same moment.
func (s *Store) window(ctx context.Context, w content.Window, where, order string, args ...any) (l content.List, err error) {
	err = s.in(ctx, s.readers, func(c conn) error {
		matching := ` FROM shown p WHERE ` + where
		if l.Total, err = one[int](ctx, c, `SELECT count(*)`+matching, args...); err != nil {
			return err
		}
		part := fmt.Sprintf(` LIMIT %d OFFSET %d`, w.Size, max(0, (w.Number-1)*w.Size))
		l.Posts, err = sqlite.List[content.Summary](ctx, c.Conn, `SELECT `+summaryColumns+matching+order+part, args...)
		return err
	})
	return l, err
}

func (c conn) FeedItems(ctx context.Context, n int) ([]content.Post, error) {
	content.Depend(ctx, content.FeedEntity)
	return sqlite.List[content.Post](ctx, c.Conn,
		`SELECT `+postColumns+` FROM shown p WHERE `+public+newest+` LIMIT $1`, n)
}

// DuePosts returns the ids of the scheduled posts that are due at now, in milliseconds.
func (c conn) DuePosts(ctx context.Context, now int64) ([]int64, error) {
	return sqlite.List[int64](ctx, c.Conn,
		`SELECT id FROM posts WHERE status = 'scheduled' AND published_at <= $1 ORDER BY published_at, id`, now)
}

// SavePost adds a post, or replaces the one with p's id. Its tags must exist.
func (tx *Tx) SavePost(ctx context.Context, p content.Post) (id int64, err error) {
	query := `INSERT INTO posts (slug, title, summary, body, status, published_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING id`
	args := []any{p.Slug, p.Title, p.Excerpt, p.Body, p.Status, p.PublishedAt, p.UpdatedAt}
	if p.ID != 0 {
		query, args = `UPDATE posts SET slug = $1, title = $2, summary = $3, body = $4, status = $5,
			published_at = $6, updated_at = $7 WHERE id = $8 RETURNING id`, append(args, p.ID)
	}
	if id, err = one[int64](ctx, tx.conn, query, args...); err != nil {
		return 0, err
	}
	if _, err := tx.Run(ctx, `DELETE FROM post_tags WHERE post_id = $1`, id); err != nil {
		return 0, err
	}
	for _, t := range p.Tags {
		if err := tx.exec(ctx, `INSERT INTO post_tags (post_id, tag_id) VALUES ($1, (SELECT id FROM tags WHERE slug = $2))`, id, t.Slug); err != nil {
			return 0, err
		}
	}
	return id, nil
}

const pageColumns = `id, slug, title, body, updated_at`

func (c conn) PageBySlug(ctx context.Context, slug string) (content.Page, error) {
	content.Depend(ctx, content.PageSlugEntity(slug))
	p, err := one[content.Page](ctx, c, `SELECT `+pageColumns+` FROM pages WHERE slug = $1`, slug)
	if err == nil {
		content.Depend(ctx, content.PageEntity(p.ID))
	}
	return p, err
}

func (c conn) PageByID(ctx context.Context, id int64) (content.Page, error) {
	content.Depend(ctx, content.PageEntity(id))
	return one[content.Page](ctx, c, `SELECT `+pageColumns+` FROM pages WHERE id = $1`, id)
}

// Pages returns all pages, by id.
func (c conn) Pages(ctx context.Context) ([]content.Page, error) {
	return sqlite.List[content.Page](ctx, c.Conn, `SELECT `+pageColumns+` FROM pages ORDER BY id`)
}

// SavePage adds a page, or replaces the one with p's id.
func (tx *Tx) SavePage(ctx context.Context, p content.Page) (int64, error) {
	query := `INSERT INTO pages (slug, title, body, updated_at) VALUES ($1, $2, $3, $4) RETURNING id`
	args := []any{p.Slug, p.Title, p.Body, p.UpdatedAt}
	if p.ID != 0 {
		query, args = `UPDATE pages SET slug = $1, title = $2, body = $3, updated_at = $4 WHERE id = $5 RETURNING id`, append(args, p.ID)
	}
	return one[int64](ctx, tx.conn, query, args...)
}

func (c conn) Sitemap(ctx context.Context) ([]content.SitemapEntry, error) {
	content.Depend(ctx, content.SitemapEntity)
	return sqlite.List[content.SitemapEntry](ctx, c.Conn, `SELECT '/posts/' || slug AS path, updated_at FROM posts p WHERE `+public+`
		UNION ALL SELECT '/pages/' || slug, updated_at FROM pages ORDER BY path`)
}
