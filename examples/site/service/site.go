package service

import (
	"context"
	"fmt"
	"net/url"
	"slices"

	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/store"
)

// UpdateSettings replaces the settings.
func (s *Service) UpdateSettings(ctx context.Context, in content.Settings) error {
	if err := checkSettings(in); err != nil {
		return err
	}
	return s.write(ctx, func(tx *store.Tx) ([]Event, error) {
		return []Event{SettingsUpdated{}}, tx.SetSettings(ctx, in)
	})
}

func checkSettings(in content.Settings) error {
	var c check
	u, err := url.Parse(in.BaseURL)
	c.that(err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.Scheme+"://"+u.Host == in.BaseURL,
		"base_url", "must be http or https and a host, and nothing else")
	c.line("author", in.Author)
	c.that(in.PostsPerPage >= 1 && in.PostsPerPage <= maxPerPage, "posts_per_page", "must be from 1 to %d", maxPerPage)
	c.that(in.FeedItems >= 1 && in.FeedItems <= maxPerPage, "feed_items", "must be from 1 to %d", maxPerPage)
	for _, lang := range content.Langs {
		text, ok := in.Texts[lang]
		c.that(ok, "texts", "must have %q", lang)
		c.line(fmt.Sprintf("texts.%s.title", lang), text.Title)
		c.text(fmt.Sprintf("texts.%s.description", lang), text.Description)
	}
	for lang := range in.Texts {
		c.that(slices.Contains(content.Langs, lang), "texts", "must have nothing but %v", content.Langs)
	}
	return c.err()
}

// UpdateNavigation replaces the navigation of all languages.
func (s *Service) UpdateNavigation(ctx context.Context, items []content.NavItem) error {
	var c check
	c.that(len(items) <= maxNav, "items", "must be %d at most", maxNav)
	for i, n := range items {
		c.lang(fmt.Sprintf("items[%d].lang", i), n.Lang)
		c.line(fmt.Sprintf("items[%d].label", i), n.Label)
		c.link(fmt.Sprintf("items[%d].url", i), n.URL)
	}
	if err := c.err(); err != nil {
		return err
	}
	return s.write(ctx, func(tx *store.Tx) ([]Event, error) {
		return []Event{NavigationUpdated{}}, tx.SetNavigation(ctx, items)
	})
}
