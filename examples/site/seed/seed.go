// Package seed fills an empty site with sample posts, always the same.
package seed

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/store"
	"github.com/twofold-go/twofold/invalidate"
)

//go:embed seed.json
var source []byte

// Options are the parts of the seed that differ between sites.
type Options struct {
	BaseURL string // of the settings
	APIKey  string // with all scopes
	Empty   bool   // only the settings and the key
}

// Fill writes the seed in one transaction. If the database already has a site, it returns false.
func Fill(ctx context.Context, s *store.Store, o Options) (filled bool, err error) {
	err = s.Write(ctx, func(tx *store.Tx) error {
		if _, err := tx.Settings(ctx); !errors.Is(err, content.ErrNotFound) { // another process may have filled it
			return err
		}
		filled = true
		err := fillSite(ctx, tx, o)
		if !o.Empty {
			err = errors.Join(err, fillTexts(ctx, tx))
		}
		return errors.Join(err, tx.Invalidate(ctx, invalidate.All()))
	})
	if err != nil {
		return false, fmt.Errorf("seed: %w", err)
	}
	return filled, nil
}

func fillSite(ctx context.Context, tx *store.Tx, o Options) error {
	prefix, secret, ok := content.SplitKey(o.APIKey)
	if !ok {
		return fmt.Errorf("%q is not an API key", o.APIKey)
	}
	return errors.Join(tx.SetSettings(ctx, content.Settings{
		BaseURL: o.BaseURL, Author: "The Yard", PostsPerPage: 10, FeedItems: 20,
		Texts: map[content.Lang]content.Text{content.English: {Title: "Notes from the Yard"}, content.Chinese: {Title: "小院札记"}},
	}), tx.SaveAPIKey(ctx, content.APIKey{
		Prefix: prefix, Label: "Seed", Hash: content.HashSecret(secret), Scopes: content.Scopes,
		CreatedAt: time.Date(2024, time.May, 2, 7, 30, 0, 0, time.UTC),
	}))
}

func fillTexts(ctx context.Context, tx *store.Tx) error {
	var texts struct {
		Tags       []content.Tag
		Posts      []content.Post
		Pages      []content.Page
		Navigation []content.NavItem
	}
	if err := json.Unmarshal(source, &texts); err != nil {
		return err
	}
	errs := []error{tx.SetNavigation(ctx, texts.Navigation)}
	for _, t := range texts.Tags {
		errs = append(errs, tx.SaveTag(ctx, 0, t))
	}
	for _, p := range texts.Posts {
		_, err := tx.SavePost(ctx, p)
		errs = append(errs, err)
	}
	for _, p := range texts.Pages {
		_, err := tx.SavePage(ctx, p)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
