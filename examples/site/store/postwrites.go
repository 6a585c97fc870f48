package store

import (
	"context"

	"github.com/twofold-go/twofold/examples/site/content"
)

// InsertPost adds a post and returns its id. Its tags must exist.
func (tx *Tx) InsertPost(ctx context.Context, p content.Post) (int64, error) {
	res, err := tx.exec(ctx, `INSERT INTO posts (slug, title, summary, body, lang, status, published_at, updated_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		p.Slug, p.Title, p.Excerpt, p.Body, p.Lang, p.Status, toMillis(p.PublishedAt), toMillis(p.UpdatedAt))
	if err != nil {
		return 0, err
	}
	if p.ID, err = res.LastInsertId(); err != nil {
		return 0, err
	}
	return p.ID, tx.tagPost(ctx, p)
}

// UpdatePost replaces the post that has p's id. Its tags must exist.
func (tx *Tx) UpdatePost(ctx context.Context, p content.Post) error {
	_, err := tx.exec(ctx, `UPDATE posts SET slug = ?, title = ?, summary = ?, body = ?, lang = ?, status = ?,
		published_at = ?, updated_at = ? WHERE id = ?`,
		p.Slug, p.Title, p.Excerpt, p.Body, p.Lang, p.Status, toMillis(p.PublishedAt), toMillis(p.UpdatedAt), p.ID)
	if err != nil {
		return err
	}
	if err := tx.run(ctx, `DELETE FROM post_tags WHERE post_id = ?`, p.ID); err != nil {
		return err
	}
	return tx.tagPost(ctx, p)
}

// DeletePost removes a post.
func (tx *Tx) DeletePost(ctx context.Context, id int64) error {
	_, err := tx.exec(ctx, `DELETE FROM posts WHERE id = ?`, id)
	return err
}

func (tx *Tx) tagPost(ctx context.Context, p content.Post) error {
	slugs, err := toJSON(p.TagSlugs())
	if err != nil {
		return err
	}
	return tx.run(ctx, `INSERT INTO post_tags (post_id, tag_id)
		SELECT ?, id FROM tags WHERE slug IN (SELECT value FROM json_each(?))`, p.ID, slugs)
}
