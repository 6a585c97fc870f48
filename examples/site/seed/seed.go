// Package seed fills an empty site with something to read: a few hundred posts in
// two languages, put together from paragraphs in text files, always the same ones
// in the same order.
package seed

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/store"
	"github.com/twofold-go/twofold/invalidate"
)

// Options are what differs between sites.
type Options struct {
	BaseURL string // of the settings
	APIKey  string // that may read; empty: none
}

// The first and the last post, and how many there are of each topic.
var (
	first = time.Date(2024, time.May, 2, 7, 30, 0, 0, time.UTC)
	last  = time.Date(2026, time.October, 29, 7, 30, 0, 0, time.UTC)
	count = map[content.Lang]int{content.English: 25, content.Chinese: 15}
)

// ErrFilled says that a database is not empty.
var ErrFilled = errors.New("seed: there is a site in the database")

// Fill writes the seed in one transaction, which invalidates everything: a process may
// have cached that there is nothing. It returns ErrFilled if there is something.
func Fill(ctx context.Context, s *store.Store, o Options) error {
	topics, err := readTopics()
	if err != nil {
		return fmt.Errorf("seed: %w", err)
	}
	_, err = s.Write(ctx, func(tx *store.Tx) error {
		if _, err := tx.Settings(ctx); err == nil { // another process may have been first
			return ErrFilled
		}
		if err := fillTags(ctx, tx, topics); err != nil {
			return err
		}
		for _, p := range posts(topics) {
			if _, err := tx.InsertPost(ctx, p); err != nil {
				return fmt.Errorf("post %s: %w", p.Slug, err)
			}
		}
		return errors.Join(fillSite(ctx, tx, o), tx.Invalidate(ctx, invalidate.All()))
	})
	if err != nil {
		return fmt.Errorf("seed: %w", err)
	}
	return nil
}

func fillTags(ctx context.Context, tx *store.Tx, topics []topic) error {
	seen := map[string]bool{}
	for _, t := range topics {
		for _, tag := range t.tags {
			if seen[tag.Slug] {
				continue
			}
			seen[tag.Slug] = true
			if err := tx.InsertTag(ctx, tag); err != nil {
				return err
			}
		}
	}
	return nil
}

func fillSite(ctx context.Context, tx *store.Tx, o Options) error {
	for _, p := range pages() {
		if _, err := tx.InsertPage(ctx, p); err != nil {
			return fmt.Errorf("page %s: %w", p.Slug, err)
		}
	}
	if err := tx.SetNavigation(ctx, navigation); err != nil {
		return err
	}
	if err := tx.SetSettings(ctx, settings(o.BaseURL)); err != nil {
		return err
	}
	if o.APIKey == "" {
		return nil
	}
	prefix, secret, ok := content.SplitKey(o.APIKey)
	if !ok {
		return fmt.Errorf("%q is not an API key", o.APIKey)
	}
	return tx.InsertAPIKey(ctx, content.APIKey{
		Prefix: prefix, Label: "Seed", Hash: content.HashSecret(secret),
		Scopes: []content.Scope{content.ScopeRead}, CreatedAt: first,
	})
}
