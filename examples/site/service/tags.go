package service

import (
	"context"
	"errors"

	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/store"
)

// CreateTag adds a tag, which posts can then have.
func (s *Service) CreateTag(ctx context.Context, t content.Tag) error {
	return s.write(ctx, func(tx *store.Tx) ([]Event, error) {
		if err := checkTag(ctx, tx, "", t); err != nil {
			return nil, err
		}
		return []Event{TagChanged{Slug: t.Slug}}, tx.InsertTag(ctx, t)
	})
}

// UpdateTag gives the tag another name, another slug, or both. Posts keep it.
func (s *Service) UpdateTag(ctx context.Context, slug string, t content.Tag) error {
	return s.write(ctx, func(tx *store.Tx) ([]Event, error) {
		posts, err := tagged(ctx, tx, slug)
		if err != nil {
			return nil, err
		}
		if err := checkTag(ctx, tx, slug, t); err != nil {
			return nil, err
		}
		return []Event{TagChanged{slug, t.Slug, posts}}, tx.UpdateTag(ctx, slug, t)
	})
}

// DeleteTag removes a tag, from the posts that have it, too.
func (s *Service) DeleteTag(ctx context.Context, slug string) error {
	return s.write(ctx, func(tx *store.Tx) ([]Event, error) {
		posts, err := tagged(ctx, tx, slug)
		if err != nil {
			return nil, err
		}
		return []Event{TagChanged{OldSlug: slug, Posts: posts}}, tx.DeleteTag(ctx, slug)
	})
}

// tagged returns the posts that have the tag, which must exist.
func tagged(ctx context.Context, tx *store.Tx, slug string) (posts []TaggedPost, err error) {
	if _, err := tx.Tag(ctx, slug); err != nil {
		return nil, err
	}
	all, err := tx.PostsWithTag(ctx, slug)
	for _, p := range all {
		posts = append(posts, TaggedPost{p.ID, p.Slug, p.Lang, p.Status == content.Published})
	}
	return posts, err
}

// checkTag checks t, which is to replace the tag that has the slug old.
func checkTag(ctx context.Context, tx *store.Tx, old string, t content.Tag) error {
	var c check
	c.slug("slug", t.Slug)
	c.line("name", t.Name)
	if err := c.err(); err != nil || t.Slug == old {
		return err
	}
	switch _, err := tx.Tag(ctx, t.Slug); {
	case errors.Is(err, content.ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	return invalid("slug", "is in use")
}
