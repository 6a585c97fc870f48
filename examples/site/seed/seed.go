// Package seed fills an empty site with sample posts, always the same.
package seed

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/store"
	"github.com/twofold-go/twofold/invalidate"
)

//go:embed seed.sql
var source string

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
			_, e := tx.ExecContext(ctx, source)
			err = errors.Join(err, e)
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
		BaseURL: o.BaseURL, Title: "Notes from the Yard", Author: "The Yard", PostsPerPage: 10, FeedItems: 20,
	}), tx.SaveAPIKey(ctx, content.APIKey{
		Prefix: prefix, Label: "Seed", Hash: content.HashSecret(secret), Scopes: content.Scopes,
		CreatedAt: time.Date(2024, time.May, 2, 7, 30, 0, 0, time.UTC),
	}))
}
