package tiertest

import (
	"context"

	"github.com/twofold-go/twofold/tier"
)

// oneByOne hides the batch methods of a tier, so the helpers of package tier fall back to single
// calls.
type oneByOne struct{ tier.Remote }

// GetMany calls Get for each key.
func (m *Memory) GetMany(ctx context.Context, keys []string) ([][]byte, error) {
	return tier.GetMany(ctx, oneByOne{m}, keys)
}

// ClaimMany calls Claim for each key. It is not atomic as a whole.
func (m *Memory) ClaimMany(ctx context.Context, keys []string, claims []tier.Claim) ([]tier.Claimed, error) {
	return tier.ClaimMany(ctx, oneByOne{m}, keys, claims)
}

// FillMany calls Fill for each key. It is not atomic as a whole.
func (m *Memory) FillMany(ctx context.Context, keys []string, fills []tier.Fill) ([]bool, error) {
	return tier.FillMany(ctx, oneByOne{m}, keys, fills)
}
