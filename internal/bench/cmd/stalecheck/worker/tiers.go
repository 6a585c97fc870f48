package worker

import (
	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate/redislog"
	"github.com/twofold-go/twofold/tier/redistier"
)

// openTiers returns the tiers of this process.
func openTiers(cfg Config, rdb redis.UniversalClient) (*cache.Tiers, error) {
	tc := cache.TiersConfig{Remote: redistier.New(rdb, redistier.Config{Prefix: cfg.Prefix})}
	if !cfg.NoLog {
		tc.Log = redislog.New(rdb, redislog.Config{Prefix: cfg.Prefix, Bound: cfg.Bound})
	}
	return cache.Open(tc)
}
