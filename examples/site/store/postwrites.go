package store

import (
	"context"

	"github.com/twofold-go/twofold/examples/site/content"
)

// InsertPost adds a post and returns its id. Its tags must exist.
func (tx *Tx) InsertPost(ctx context.Context, p content.Post) (id int64, err error) {
	p.ID, err = one(ctx, tx.conn, scanValue[int64], `INSERT INTO posts (slug, title, summary, body, lang, status, published_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING id`,
		p.Slug, p.Title, p.Excerpt, p.Body, p.Lang, p.Status, toMillis(p.PublishedAt), toMillis(p.UpdatedAt))
	if err != nil {
		return 0, err
	}
	return p.ID, tx.tagPost(ctx, p)
}

// UpdatePost replaces the post that has p's id. Its tags must exist.
func (tx *Tx) UpdatePost(ctx context.Context, p content.Post) error {
	err := tx.exec(ctx, `UPDATE posts SET slug = $1, title = $2, summary = $3, body = $4, lang = $5, status = $6,
		published_at = $7, updated_at = $8 WHERE id = $9`,
		p.Slug, p.Title, p.Excerpt, p.Body, p.Lang, p.Status, toMillis(p.PublishedAt), toMillis(p.UpdatedAt), p.ID)
	if err != nil {
		return err
	}
	if err := tx.run(ctx, `DELETE FROM post_tags WHERE post_id = $1`, p.ID); err != nil {
		return err
	}
	return tx.tagPost(ctx, p)
}

// DeletePost removes a post.
func (tx *Tx) DeletePost(ctx context.Context, id int64) error {
	return tx.exec(ctx, `DELETE FROM posts WHERE id = $1`, id)
}

// tagPost gives a post without tags its tags.
func (tx *Tx) tagPost(ctx context.Context, p content.Post) error {
	for _, slug := range p.TagSlugs() {
		if err := tx.exec(ctx, `INSERT INTO post_tags (post_id, tag_id)
			VALUES ($1, (SELECT id FROM tags WHERE slug = $2))`, p.ID, slug); err != nil {
			return err
		}
	}
	return nil
}
