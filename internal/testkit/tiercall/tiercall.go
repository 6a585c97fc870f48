// Package tiercall makes the calls of a remote tier and returns their answers, for tests.
package tiercall

import (
	"context"

	"github.com/twofold-go/twofold/tier"
)

// Get reads one key.
func Get(ctx context.Context, r tier.Remote, key string) ([]byte, error) {
	got, err := GetMany(ctx, r, []string{key})
	return got[0], err
}

// Claim claims one key.
func Claim(ctx context.Context, r tier.Remote, key string, c tier.Claim) (tier.Claimed, error) {
	got, err := ClaimMany(ctx, r, []string{key}, []tier.Claim{c})
	return got[0], err
}

// Fill fills one key.
func Fill(ctx context.Context, r tier.Remote, key string, f tier.Fill) (bool, error) {
	got, err := FillMany(ctx, r, []string{key}, []tier.Fill{f})
	return got[0], err
}

// Remove removes the cells of keys.
func Remove(ctx context.Context, r tier.Remote, keys ...string) error { return r.Remove(ctx, keys) }

// GetMany reads keys.
func GetMany(ctx context.Context, r tier.Remote, keys []string) ([][]byte, error) {
	frames := make([][]byte, len(keys))
	return frames, r.Get(ctx, keys, frames)
}

// ClaimMany claims keys.
func ClaimMany(ctx context.Context, r tier.Remote, keys []string, claims []tier.Claim) ([]tier.Claimed, error) {
	answers := make([]tier.Claimed, len(keys))
	return answers, r.Claim(ctx, keys, claims, answers)
}

// FillMany fills keys.
func FillMany(ctx context.Context, r tier.Remote, keys []string, fills []tier.Fill) ([]bool, error) {
	stored := make([]bool, len(keys))
	return stored, r.Fill(ctx, keys, fills, stored)
}

// Look reads one key by a claim with Look.
func Look(ctx context.Context, r tier.Remote, key string, c tier.Claim) (tier.Claimed, error) {
	c.Look = true
	return Claim(ctx, r, key, c)
}
