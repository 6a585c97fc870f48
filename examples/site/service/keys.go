package service

import (
	"context"
	"slices"

	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/store"
)

// KeyInput is what an API key is for.
type KeyInput struct {
	Label  string          `json:"label"`
	Scopes []content.Scope `json:"scopes"` // none: good for nothing
}

// CreateAPIKey makes a key. The key itself is in what it returns and nowhere else.
func (s *Service) CreateAPIKey(ctx context.Context, in KeyInput) (k content.APIKey, key string, err error) {
	if err := checkKey(&in); err != nil {
		return k, "", err
	}
	key, prefix, secret := content.NewKey()
	k = content.APIKey{
		Prefix: prefix, Label: in.Label, Hash: content.HashSecret(secret), Scopes: in.Scopes, CreatedAt: s.now(),
	}
	return k, key, s.write(ctx, func(tx *store.Tx) ([]Event, error) {
		return []Event{APIKeyUpserted{prefix}}, tx.InsertAPIKey(ctx, k)
	})
}

// UpdateAPIKey changes what a key is for.
func (s *Service) UpdateAPIKey(ctx context.Context, prefix string, in KeyInput) (k content.APIKey, err error) {
	if err := checkKey(&in); err != nil {
		return k, err
	}
	err = s.write(ctx, func(tx *store.Tx) ([]Event, error) {
		if k, err = tx.APIKeyByPrefix(ctx, prefix); err != nil {
			return nil, err
		}
		k.Label, k.Scopes = in.Label, in.Scopes
		return []Event{APIKeyUpserted{prefix}}, tx.UpdateAPIKey(ctx, k)
	})
	return k, err
}

// RevokeAPIKey ends a key for good.
func (s *Service) RevokeAPIKey(ctx context.Context, prefix string) error {
	return s.write(ctx, func(tx *store.Tx) ([]Event, error) {
		return []Event{APIKeyRevoked{prefix}}, tx.RevokeAPIKey(ctx, prefix, s.now())
	})
}

// checkKey checks in, and sorts its scopes.
func checkKey(in *KeyInput) error {
	var c check
	c.line("label", in.Label)
	for _, scope := range in.Scopes {
		c.that(slices.Contains(content.Scopes, scope), "scopes", "must be of %v", content.Scopes)
	}
	in.Scopes = slices.Compact(slices.Sorted(slices.Values(in.Scopes)))
	if in.Scopes == nil {
		in.Scopes = []content.Scope{}
	}
	return c.err()
}
