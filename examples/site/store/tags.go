package store

import (
	"context"

	"github.com/twofold-go/twofold/examples/site/content"
)

func scanTag(r row) (t content.Tag, err error) {
	err = r.Scan(&t.Slug, &t.Name)
	return t, err
}

// Tags returns all tags, also those that no post has, by slug.
func (q queries) Tags(ctx context.Context) ([]content.Tag, error) {
	return list(ctx, q.conn, scanTag, `SELECT slug, name FROM tags ORDER BY slug`)
}

// Tag returns a tag.
func (q queries) Tag(ctx context.Context, slug string) (content.Tag, error) {
	return one(ctx, q.conn, scanTag, `SELECT slug, name FROM tags WHERE slug = $1`, slug)
}

// TagCounts implements [content.Reader].
func (q queries) TagCounts(ctx context.Context, lang content.Lang) ([]content.TagCount, error) {
	return list(ctx, q.conn, func(r row) (t content.TagCount, err error) {
		err = r.Scan(&t.Slug, &t.Name, &t.Posts)
		return t, err
	}, `SELECT t.slug, t.name, count(*)
		FROM posts p JOIN post_tags x ON x.post_id = p.id JOIN tags t ON t.id = x.tag_id
		WHERE `+public+` AND p.lang = $1 GROUP BY t.id ORDER BY t.slug`, lang)
}

// MonthCounts implements [content.Reader].
func (q queries) MonthCounts(ctx context.Context, lang content.Lang) ([]content.MonthCount, error) {
	return list(ctx, q.conn, func(r row) (m content.MonthCount, err error) {
		var month string
		if err := r.Scan(&month, &m.Posts); err != nil {
			return m, err
		}
		m.Month, err = content.ParseMonth(month)
		return m, err
	}, `SELECT p.month, count(*) FROM shown p WHERE `+public+` AND p.lang = $1 GROUP BY p.month ORDER BY p.month DESC`, lang)
}

// InsertTag adds a tag.
func (tx *Tx) InsertTag(ctx context.Context, t content.Tag) error {
	return tx.exec(ctx, `INSERT INTO tags (slug, name) VALUES ($1, $2)`, t.Slug, t.Name)
}

// UpdateTag replaces the tag that has the slug; posts that have it keep it.
func (tx *Tx) UpdateTag(ctx context.Context, slug string, t content.Tag) error {
	return tx.exec(ctx, `UPDATE tags SET slug = $1, name = $2 WHERE slug = $3`, t.Slug, t.Name, slug)
}

// DeleteTag removes a tag, from all posts, too.
func (tx *Tx) DeleteTag(ctx context.Context, slug string) error {
	return tx.exec(ctx, `DELETE FROM tags WHERE slug = $1`, slug)
}
