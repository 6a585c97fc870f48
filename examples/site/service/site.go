package service

import (
	"context"
	"fmt"
	"slices"

	"github.com/twofold-go/twofold/examples/internal/call"
	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/events"
	"github.com/twofold-go/twofold/examples/site/store"
)

// UpdateSettings replaces the settings.
func (s *Service) UpdateSettings(ctx context.Context, in content.Settings) error {
	if err := checkSettings(in); err != nil {
		return err
	}
	return s.write(ctx, func(tx *store.Tx) ([]events.Event, error) {
		return []events.Event{{Kind: events.SiteSettingsUpdated}}, tx.SetSettings(ctx, in)
	})
}

func checkSettings(in content.Settings) error {
	var c check
	c.that(call.IsBase(in.BaseURL), "base_url", "must be only a scheme, http or https, and a host")
	c.line("title", in.Title)
	c.text("description", in.Description)
	c.line("author", in.Author)
	c.that(in.PostsPerPage >= 1 && in.PostsPerPage <= maxPerPage, "posts_per_page", "must be from 1 to %d", maxPerPage)
	c.that(in.FeedItems >= 1 && in.FeedItems <= maxPerPage, "feed_items", "must be from 1 to %d", maxPerPage)
	return c.err()
}

// UpdateNavigation replaces the navigation.
func (s *Service) UpdateNavigation(ctx context.Context, items []content.NavItem) error {
	var c check
	c.that(len(items) <= maxNav, "items", "must be at most %d", maxNav)
	for i, n := range items {
		c.line(fmt.Sprintf("items[%d].label", i), n.Label)
		c.link(fmt.Sprintf("items[%d].url", i), n.URL)
	}
	if err := c.err(); err != nil {
		return err
	}
	return s.write(ctx, func(tx *store.Tx) ([]events.Event, error) {
		return []events.Event{{Kind: events.NavigationUpdated}}, tx.SetNavigation(ctx, items)
	})
}

// KeyInput holds the fields that the creator of an API key sets.
type KeyInput struct {
	Label  string          `json:"label"`
	Scopes []content.Scope `json:"scopes"` // empty means that the key allows nothing
}

// CreateAPIKey creates a key. Only its result contains the secret.
func (s *Service) CreateAPIKey(ctx context.Context, in KeyInput) (k content.APIKey, key string, err error) {
	if err := checkKey(&in); err != nil {
		return k, "", err
	}
	key = content.NewKey()
	prefix, secret, _ := content.SplitKey(key)
	k = content.APIKey{Prefix: prefix, Label: in.Label, Hash: content.HashSecret(secret), Scopes: in.Scopes, CreatedAt: s.now()}
	return k, key, s.write(ctx, func(tx *store.Tx) ([]events.Event, error) {
		return []events.Event{{Kind: events.APIKeyUpserted, Prefix: prefix}}, tx.SaveAPIKey(ctx, k)
	})
}

// UpdateAPIKey changes the label and the scopes of a key.
func (s *Service) UpdateAPIKey(ctx context.Context, prefix string, in KeyInput) (content.APIKey, error) {
	if err := checkKey(&in); err != nil {
		return content.APIKey{}, err
	}
	return s.changeKey(ctx, prefix, events.APIKeyUpserted, func(k *content.APIKey) { k.Label, k.Scopes = in.Label, in.Scopes })
}

// RevokeAPIKey revokes a key permanently. A key that is already revoked keeps its time.
func (s *Service) RevokeAPIKey(ctx context.Context, prefix string) error {
	_, err := s.changeKey(ctx, prefix, events.APIKeyRevoked, func(k *content.APIKey) {
		if k.RevokedAt.IsZero() {
			k.RevokedAt = s.now()
		}
	})
	return err
}

func (s *Service) changeKey(ctx context.Context, prefix string, kind events.Kind, change func(k *content.APIKey)) (k content.APIKey, err error) {
	err = s.write(ctx, func(tx *store.Tx) ([]events.Event, error) {
		if k, err = tx.APIKeyByPrefix(ctx, prefix); err != nil {
			return nil, err
		}
		change(&k)
		return []events.Event{{Kind: kind, Prefix: prefix}}, tx.SaveAPIKey(ctx, k)
	})
	return k, err
}

// checkKey validates in, and sorts its scopes.
func checkKey(in *KeyInput) error {
	var c check
	c.line("label", in.Label)
	for _, scope := range in.Scopes {
		c.that(slices.Contains(content.Scopes, scope), "scopes", "must be among %v", content.Scopes)
	}
	in.Scopes = append([]content.Scope{}, slices.Compact(slices.Sorted(slices.Values(in.Scopes)))...)
	return c.err()
}

// PageInput holds the fields that the author of a page sets.
type PageInput struct {
	Slug  string `json:"slug"`
	Title string `json:"title"`
	Body  string `json:"body"` // Markdown
}

// SavePage replaces the page with the id, or adds one if id is 0.
func (s *Service) SavePage(ctx context.Context, id int64, in PageInput) (p content.Page, err error) {
	err = s.write(ctx, func(tx *store.Tx) ([]events.Event, error) {
		var old content.Page
		if id != 0 {
			if old, err = tx.PageByID(ctx, id); err != nil {
				return nil, err
			}
		}
		p = content.Page{ID: id, Slug: in.Slug, Title: in.Title, Body: in.Body, UpdatedAt: s.now()}
		if err = checkPage(ctx, tx, p); err == nil {
			p.ID, err = tx.SavePage(ctx, p)
		}
		return events.Page(old, p), err
	})
	return p, err
}

// DeletePage deletes a page.
func (s *Service) DeletePage(ctx context.Context, id int64) error {
	return s.write(ctx, func(tx *store.Tx) ([]events.Event, error) {
		old, err := tx.PageByID(ctx, id)
		if err != nil {
			return nil, err
		}
		return events.Page(old, content.Page{}), tx.Delete(ctx, store.Pages, id)
	})
}

func checkPage(ctx context.Context, tx *store.Tx, p content.Page) error {
	var c check
	c.slug("slug", p.Slug)
	c.line("title", p.Title)
	c.body(p.Body)
	return c.free(ctx, tx, store.Pages, p.Slug, p.ID)
}
