package store

import (
	"context"
	"math"

	"github.com/twofold-go/twofold/examples/site/content"
)

// A post and its tags come in one query, so that they are of one moment.
const (
	summaryColumns = `p.id, p.slug, p.title, p.summary, p.lang, p.status, p.published_at, p.updated_at, p.tags`
	postColumns    = summaryColumns + `, p.body`

	public = `p.status = 'published'`
	newest = ` ORDER BY p.published_at DESC, p.id DESC`
)

func scanSummary(r row) (s content.Summary, err error) {
	err = r.Scan(summaryFields(&s)...)
	return s, err
}

func scanPost(r row) (p content.Post, err error) {
	err = r.Scan(append(summaryFields(&p.Summary), &p.Body)...)
	return p, err
}

func summaryFields(s *content.Summary) []any {
	return []any{
		&s.ID, &s.Slug, &s.Title, &s.Excerpt, &s.Lang, &s.Status,
		millis{&s.PublishedAt}, millis{&s.UpdatedAt}, inJSON{&s.Tags},
	}
}

// PostBySlug implements [content.Reader].
func (q queries) PostBySlug(ctx context.Context, slug string) (content.Post, error) {
	return one(ctx, q.conn, scanPost, `SELECT `+postColumns+` FROM shown p WHERE `+public+` AND p.slug = $1`, slug)
}

// PostByID implements [content.Reader].
func (q queries) PostByID(ctx context.Context, id int64) (content.Post, error) {
	return one(ctx, q.conn, scanPost, `SELECT `+postColumns+` FROM shown p WHERE `+public+` AND p.id = $1`, id)
}

// AnyPost returns a post, public or not.
func (q queries) AnyPost(ctx context.Context, id int64) (content.Post, error) {
	return one(ctx, q.conn, scanPost, `SELECT `+postColumns+` FROM shown p WHERE p.id = $1`, id)
}

// PostID returns the id of the post, public or not, that has the slug.
func (q queries) PostID(ctx context.Context, slug string) (int64, error) {
	return one(ctx, q.conn, scanValue[int64], `SELECT id FROM posts WHERE slug = $1`, slug)
}

// PostsWithTag returns all posts, public or not, that have the tag, by id.
func (q queries) PostsWithTag(ctx context.Context, slug string) ([]content.Summary, error) {
	return list(ctx, q.conn, scanSummary, `SELECT `+summaryColumns+` FROM shown p
		WHERE p.id IN (SELECT x.post_id FROM post_tags x JOIN tags t ON t.id = x.tag_id WHERE t.slug = $1)
		ORDER BY p.id`, slug)
}

// ListPosts implements [content.Reader].
func (s *Store) ListPosts(ctx context.Context, f content.Filter, w content.Window) (l content.List, err error) {
	from, to := int64(0), int64(math.MaxInt64)
	if !f.Month.IsZero() {
		first, next := f.Month.Bounds()
		from, to = first.UnixMilli(), next.UnixMilli()
	}
	const matching = ` FROM shown p WHERE ` + public + ` AND p.lang = $1 AND p.published_at >= $2 AND p.published_at < $3
		AND ($4 = '' OR p.id IN (SELECT x.post_id FROM post_tags x JOIN tags t ON t.id = x.tag_id WHERE t.slug = $4))`
	where := []any{f.Lang, from, to, f.Tag}
	err = s.in(ctx, s.readers, s.snapshot, func(c conn) error { // the posts and their number of one moment
		if l.Total, err = one(ctx, c, scanValue[int], `SELECT count(*)`+matching, where...); err != nil {
			return err
		}
		l.Posts, err = list(ctx, c, scanSummary, `SELECT `+summaryColumns+matching+newest+` LIMIT $5 OFFSET $6`,
			append(where, w.Size, (w.Number-1)*w.Size)...)
		return err
	})
	return l, err
}

// AllPosts returns a window of all posts, public or not, by id from the newest,
// or of those with a status.
func (s *Store) AllPosts(ctx context.Context, status content.Status, w content.Window) (l content.List, err error) {
	const matching = ` FROM shown p WHERE ($1 = '' OR p.status = $1)`
	err = s.in(ctx, s.readers, s.snapshot, func(c conn) error {
		if l.Total, err = one(ctx, c, scanValue[int], `SELECT count(*)`+matching, status); err != nil {
			return err
		}
		l.Posts, err = list(ctx, c, scanSummary, `SELECT `+summaryColumns+matching+` ORDER BY p.id DESC LIMIT $2 OFFSET $3`,
			status, w.Size, (w.Number-1)*w.Size)
		return err
	})
	return l, err
}

// FeedItems implements [content.Reader].
func (q queries) FeedItems(ctx context.Context, lang content.Lang, n int) ([]content.Post, error) {
	return list(ctx, q.conn, scanPost,
		`SELECT `+postColumns+` FROM shown p WHERE `+public+` AND p.lang = $1`+newest+` LIMIT $2`, lang, n)
}

// DuePosts returns the ids of the scheduled posts whose time is at or before now,
// in milliseconds, the longest due first.
func (q queries) DuePosts(ctx context.Context, now int64) ([]int64, error) {
	return list(ctx, q.conn, scanValue[int64],
		`SELECT id FROM posts WHERE status = 'scheduled' AND published_at <= $1 ORDER BY published_at, id`, now)
}
