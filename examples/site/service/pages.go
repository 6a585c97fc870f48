package service

import (
	"context"
	"errors"

	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/store"
)

// PageInput is all of a page that its author decides.
type PageInput struct {
	Slug  string       `json:"slug"`
	Title string       `json:"title"`
	Body  string       `json:"body"` // Markdown
	Lang  content.Lang `json:"lang"`
}

// CreatePage adds a page.
func (s *Service) CreatePage(ctx context.Context, in PageInput) (p content.Page, err error) {
	err = s.write(ctx, func(tx *store.Tx) (events []Event, err error) {
		p, err = s.savePage(ctx, tx, 0, in)
		return []Event{PageUpserted{ID: p.ID, Slug: p.Slug}}, err
	})
	return p, err
}

// UpdatePage replaces a page.
func (s *Service) UpdatePage(ctx context.Context, id int64, in PageInput) (p content.Page, err error) {
	err = s.write(ctx, func(tx *store.Tx) ([]Event, error) {
		old, err := tx.PageByID(ctx, id)
		if err != nil {
			return nil, err
		}
		p, err = s.savePage(ctx, tx, id, in)
		return []Event{PageUpserted{id, old.Slug, p.Slug}}, err
	})
	return p, err
}

// DeletePage removes a page.
func (s *Service) DeletePage(ctx context.Context, id int64) error {
	return s.write(ctx, func(tx *store.Tx) ([]Event, error) {
		old, err := tx.PageByID(ctx, id)
		if err != nil {
			return nil, err
		}
		return []Event{PageDeleted{id, old.Slug}}, tx.DeletePage(ctx, id)
	})
}

func (s *Service) savePage(ctx context.Context, tx *store.Tx, id int64, in PageInput) (content.Page, error) {
	p := content.Page{ID: id, Slug: in.Slug, Title: in.Title, Body: in.Body, Lang: in.Lang, UpdatedAt: s.now()}
	var c check
	c.slug("slug", p.Slug)
	c.line("title", p.Title)
	c.body(p.Body)
	c.lang("lang", p.Lang)
	if err := c.err(); err != nil {
		return p, err
	}
	err := free(id, func() (int64, error) {
		other, err := tx.PageBySlug(ctx, p.Slug)
		return other.ID, err
	})
	if err != nil {
		return p, err
	}
	if id == 0 {
		p.ID, err = tx.InsertPage(ctx, p)
		return p, err
	}
	return p, tx.UpdatePage(ctx, p)
}

// ignoreMissing returns err, but nil for [content.ErrNotFound].
func ignoreMissing(err error) error {
	if errors.Is(err, content.ErrNotFound) {
		return nil
	}
	return err
}
