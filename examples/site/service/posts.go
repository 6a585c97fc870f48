package service

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/events"
	"github.com/twofold-go/twofold/examples/site/store"
)

// PostInput holds the fields that the author of a post sets.
type PostInput struct {
	Slug    string         `json:"slug"`
	Title   string         `json:"title"`
	Summary string         `json:"summary"`
	Body    string         `json:"body"` // Markdown
	Status  content.Status `json:"status"`
	// PublishedAt is in the future for a scheduled post and in the past for a published
	// one. The default for a published post is now, or its previous time.
	PublishedAt time.Time `json:"published_at,omitzero"`
	Tags        []string  `json:"tags"` // slugs of existing tags
}

// SavePost replaces the post with the id, or adds one if id is 0.
func (s *Service) SavePost(ctx context.Context, id int64, in PostInput) (p content.Post, err error) {
	err = s.write(ctx, func(tx *store.Tx) ([]events.Event, error) {
		var old content.Post
		if id != 0 {
			if old, err = tx.AnyPost(ctx, id); err != nil {
				return nil, err
			}
		}
		p, err = s.savePost(ctx, tx, old, in)
		return events.Post(old.Summary, p.Summary), err
	})
	return p, err
}

// DeletePost deletes a post.
func (s *Service) DeletePost(ctx context.Context, id int64) error {
	return s.write(ctx, func(tx *store.Tx) ([]events.Event, error) {
		old, err := tx.AnyPost(ctx, id)
		if err != nil {
			return nil, err
		}
		return events.Post(old.Summary, content.Summary{}), tx.Delete(ctx, store.Posts, id)
	})
}

// savePost replaces old by in. The zero Post means a new post.
func (s *Service) savePost(ctx context.Context, tx *store.Tx, old content.Post, in PostInput) (content.Post, error) {
	now := s.now()
	p := content.Post{Body: in.Body, Summary: content.Summary{
		ID: old.ID, Slug: in.Slug, Title: in.Title, Excerpt: in.Summary, Status: in.Status,
		PublishedAt: in.PublishedAt.UTC().Truncate(time.Millisecond), UpdatedAt: now,
	}}
	if p.Status == content.Published && p.PublishedAt.IsZero() {
		p.PublishedAt = now
		if old.Status == content.Published {
			p.PublishedAt = old.PublishedAt
		}
	}
	err := checkPost(ctx, tx, p, in.Tags)
	if err == nil {
		p.Tags, err = findTags(ctx, tx, in.Tags)
	}
	if err == nil {
		p.ID, err = tx.SavePost(ctx, p)
	}
	return p, err
}

func checkPost(ctx context.Context, tx *store.Tx, p content.Post, tags []string) error {
	var c check
	c.slug("slug", p.Slug)
	c.line("title", p.Title)
	c.text("summary", p.Excerpt)
	c.body(p.Body)
	c.that(len(tags) <= maxTags, "tags", "must be at most %d", maxTags)
	at, now := p.PublishedAt, p.UpdatedAt
	c.that(at.IsZero() || at.Year() >= 1970 && at.Year() <= 9999, "published_at", "must be from 1970 to 9999")
	switch p.Status {
	case content.Draft:
		c.that(at.IsZero(), "published_at", "must be absent from a draft")
	case content.Scheduled:
		c.that(at.After(now), "published_at", "must be in the future for a scheduled post")
	case content.Published:
		c.that(!at.After(now), "published_at", "must not be in the future for a published post")
	default:
		c.that(false, "status", "must be draft, scheduled or published")
	}
	return c.free(ctx, tx, store.Posts, p.Slug, p.ID)
}

func findTags(ctx context.Context, tx *store.Tx, slugs []string) ([]content.Tag, error) {
	all, err := tx.Tags(ctx)
	if err != nil {
		return nil, err
	}
	var c check
	for _, slug := range slugs {
		known := slices.ContainsFunc(all, func(t content.Tag) bool { return t.Slug == slug })
		c.that(known, "tags", "no tag has the slug %q", slug)
	}
	return slices.DeleteFunc(all, func(t content.Tag) bool { return !slices.Contains(slugs, t.Slug) }), c.err()
}

// CreateTag adds a tag.
func (s *Service) CreateTag(ctx context.Context, t content.Tag) error {
	return s.write(ctx, func(tx *store.Tx) ([]events.Event, error) {
		if err := checkTag(ctx, tx, 0, t); err != nil {
			return nil, err
		}
		return nil, tx.SaveTag(ctx, 0, t)
	})
}

// UpdateTag changes the name and the slug of a tag. Its posts keep it.
func (s *Service) UpdateTag(ctx context.Context, slug string, t content.Tag) error {
	return s.writeTag(ctx, slug, func(tx *store.Tx, id int64) error {
		if err := checkTag(ctx, tx, id, t); err != nil {
			return err
		}
		return tx.SaveTag(ctx, id, t)
	})
}

// DeleteTag deletes a tag and removes it from its posts.
func (s *Service) DeleteTag(ctx context.Context, slug string) error {
	return s.writeTag(ctx, slug, func(tx *store.Tx, id int64) error { return tx.Delete(ctx, store.Tags, id) })
}

func (s *Service) writeTag(ctx context.Context, slug string, change func(tx *store.Tx, id int64) error) error {
	return s.write(ctx, func(tx *store.Tx) ([]events.Event, error) {
		id, err := tx.ID(ctx, store.Tags, slug)
		if err != nil {
			return nil, err
		}
		posts, err := tx.PostsWithTag(ctx, slug)
		if err != nil {
			return nil, err
		}
		return events.Tagged(posts), change(tx, id)
	})
}

func checkTag(ctx context.Context, tx *store.Tx, id int64, t content.Tag) error {
	var c check
	c.slug("slug", t.Slug)
	c.line("name", t.Name)
	return c.free(ctx, tx, store.Tags, t.Slug, id)
}

// PublishPost publishes a post now. It does not change a post that is already public.
func (s *Service) PublishPost(ctx context.Context, id int64) (content.Post, error) {
	p, _, err := s.publish(ctx, id, false)
	return p, err
}

// WithdrawPost makes a post a draft. It does not change a draft.
func (s *Service) WithdrawPost(ctx context.Context, id int64) (p content.Post, err error) {
	err = s.write(ctx, func(tx *store.Tx) ([]events.Event, error) {
		if p, err = tx.AnyPost(ctx, id); err != nil || p.Status == content.Draft {
			return nil, err
		}
		old := p.Summary
		p.Status, p.PublishedAt, p.UpdatedAt = content.Draft, time.Time{}, s.now()
		_, err := tx.SavePost(ctx, p)
		return events.Post(old, p.Summary), err
	})
	return p, err
}

// RenderPost has the pages of a public post rendered again, as if it had changed.
func (s *Service) RenderPost(ctx context.Context, id int64) (p content.Post, err error) {
	err = s.write(ctx, func(tx *store.Tx) ([]events.Event, error) {
		p, err = tx.AnyPost(ctx, id)
		return events.Post(p.Summary, p.Summary), err
	})
	return p, err
}

// PublishDue publishes the due posts, and returns how many. One failure does not stop the others.
func (s *Service) PublishDue(ctx context.Context) (n int, err error) {
	due, err := s.store.DuePosts(ctx, s.now().UnixMilli())
	for _, id := range due {
		_, done, e := s.publish(ctx, id, true)
		if done {
			n++
		}
		if !errors.Is(e, content.ErrNotFound) { // the post was deleted meanwhile
			err = errors.Join(err, e)
		}
	}
	return n, err
}

// publish publishes a post, and reports whether it did. With due, it publishes only a
// scheduled post whose time has come.
func (s *Service) publish(ctx context.Context, id int64, due bool) (p content.Post, done bool, err error) {
	wrote := false
	err = s.write(ctx, func(tx *store.Tx) ([]events.Event, error) {
		if p, err = tx.AnyPost(ctx, id); err != nil || p.Status == content.Published {
			return nil, err
		}
		if due && (p.Status != content.Scheduled || p.PublishedAt.After(s.now())) {
			return nil, nil
		}
		old := p.Summary
		p.Status, p.UpdatedAt, wrote = content.Published, s.now(), true
		if !due {
			p.PublishedAt = p.UpdatedAt
		}
		_, err := tx.SavePost(ctx, p)
		return events.Post(old, p.Summary), err
	})
	_, unpublished := errors.AsType[*UnpublishedError](err)
	return p, wrote && (err == nil || unpublished), err
}
