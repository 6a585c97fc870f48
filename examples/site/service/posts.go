package service

import (
	"context"
	"slices"
	"time"

	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/store"
)

// PostInput is all of a post that its author decides.
type PostInput struct {
	Slug    string         `json:"slug"`
	Title   string         `json:"title"`
	Summary string         `json:"summary"`
	Body    string         `json:"body"` // Markdown
	Lang    content.Lang   `json:"lang"`
	Status  content.Status `json:"status"`

	// PublishedAt is when a scheduled post is to be published, in the future; or
	// when a published one was, in the past: by default now, and on an update what
	// it was. A draft has none.
	PublishedAt time.Time `json:"published_at,omitzero"`

	Tags []string `json:"tags"` // slugs of tags that exist
}

// CreatePost adds a post.
func (s *Service) CreatePost(ctx context.Context, in PostInput) (p content.Post, err error) {
	err = s.write(ctx, func(tx *store.Tx) (events []Event, err error) {
		p, err = s.savePost(ctx, tx, content.Post{}, in)
		return []Event{PostUpserted{ID: p.ID, New: placeOf(p)}}, err
	})
	return p, err
}

// UpdatePost replaces a post.
func (s *Service) UpdatePost(ctx context.Context, id int64, in PostInput) (p content.Post, err error) {
	err = s.write(ctx, func(tx *store.Tx) ([]Event, error) {
		old, err := tx.AnyPost(ctx, id)
		if err != nil {
			return nil, err
		}
		p, err = s.savePost(ctx, tx, old, in)
		return []Event{PostUpserted{id, placeOf(old), placeOf(p)}}, err
	})
	return p, err
}

// DeletePost removes a post.
func (s *Service) DeletePost(ctx context.Context, id int64) error {
	return s.write(ctx, func(tx *store.Tx) ([]Event, error) {
		old, err := tx.AnyPost(ctx, id)
		if err != nil {
			return nil, err
		}
		return []Event{PostDeleted{id, placeOf(old)}}, tx.DeletePost(ctx, id)
	})
}

// savePost writes in over old, which is the zero Post if it is a new one, and
// returns what it is now.
func (s *Service) savePost(ctx context.Context, tx *store.Tx, old content.Post, in PostInput) (content.Post, error) {
	now := s.now()
	p := content.Post{Body: in.Body, Summary: content.Summary{
		ID: old.ID, Slug: in.Slug, Title: in.Title, Excerpt: in.Summary, Lang: in.Lang, Status: in.Status,
		PublishedAt: in.PublishedAt.UTC().Truncate(time.Millisecond), UpdatedAt: now,
	}}
	if p.Status == content.Published && p.PublishedAt.IsZero() {
		p.PublishedAt = now
		if old.Status == content.Published {
			p.PublishedAt = old.PublishedAt
		}
	}
	if err := checkPost(p, in.Tags, now); err != nil {
		return p, err
	}
	if err := free(p.ID, func() (int64, error) { return tx.PostID(ctx, p.Slug) }); err != nil {
		return p, err
	}
	var err error
	if p.Tags, err = findTags(ctx, tx, in.Tags); err != nil {
		return p, err
	}
	if p.ID == 0 {
		p.ID, err = tx.InsertPost(ctx, p)
		return p, err
	}
	return p, tx.UpdatePost(ctx, p)
}

func checkPost(p content.Post, tags []string, now time.Time) error {
	var c check
	c.slug("slug", p.Slug)
	c.line("title", p.Title)
	c.text("summary", p.Excerpt)
	c.body(p.Body)
	c.lang("lang", p.Lang)
	c.that(len(tags) <= maxTags, "tags", "must be %d at most", maxTags)
	at := p.PublishedAt
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
	return c.err()
}

// findTags returns the tags that have the slugs, by slug, each once.
func findTags(ctx context.Context, tx *store.Tx, slugs []string) ([]content.Tag, error) {
	all, err := tx.Tags(ctx)
	if err != nil {
		return nil, err
	}
	var c check
	for _, slug := range slugs {
		known := slices.ContainsFunc(all, func(t content.Tag) bool { return t.Slug == slug })
		c.that(known, "tags", "there is no tag %q", slug)
	}
	return slices.DeleteFunc(all, func(t content.Tag) bool { return !slices.Contains(slugs, t.Slug) }), c.err()
}
