package workload

import (
	"context"
	"fmt"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/codec"
	"github.com/twofold-go/twofold/internal/redistest"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/local"
	"github.com/twofold-go/twofold/tier/redistier"
)

// nothing is a local tier that keeps nothing, so that every read goes to Redis.
type nothing struct{ *local.Tier }

func (nothing) Get(uint64) (tier.Entry, bool)      { return nil, false }
func (nothing) Set(uint64, tier.Entry, int64) bool { return false }

// ours adds a cache of the library without local copies.
func ours[V any](ctx context.Context, b *remoteBench, c codec.Codec, of func(int64) V) error {
	tiers, err := cache.Open(cache.TiersConfig{
		Local:    nothing{local.New(local.Config{})},
		Remote:   redistier.New(b.rdb, redistier.Config{Prefix: redistest.Prefix()}),
		Policies: policy.Table{{Patch: policy.Patch{TTL: new(time.Hour), RemoteTimeout: new(time.Second)}}},
	})
	if err != nil {
		return err
	}
	b.closed = append(b.closed, func() { _ = tiers.Close(context.WithoutCancel(ctx)) })
	values, err := cache.New(tiers, cache.Config[int64, V]{
		Namespace: "remote:v1", Codec: c,
		Load: func(_ context.Context, id int64) (V, error) { return of(id), nil },
	})
	if err != nil {
		return err
	}
	for id := range int64(remoteKeys) {
		if _, err := values.Get(ctx, id); err != nil {
			return err
		}
	}
	if r, err := values.Fetch(ctx, 0, nil); err != nil || r.Source != cache.Remote {
		return fmt.Errorf("%s: a hit came from %v: %w", c.ID(), r.Source, err)
	}
	b.add(oursName(c), func(ctx context.Context, i int) error {
		_, err := values.Get(ctx, int64(i%remoteKeys))
		return err
	})
	return nil
}
