package worker

import (
	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate/redislog"
	"github.com/twofold-go/twofold/tier/redistier"
)

// maxAudits is the number of audits that a worker begins in a second. With more, their loads would
// be a burden to the machine.
const maxAudits = 100

// openTiers returns the tiers of this process.
func (w *worker) openTiers(cfg Config, rdb redis.UniversalClient) (*cache.Tiers, error) {
	tc := cache.TiersConfig{Remote: redistier.New(rdb, redistier.Config{Prefix: cfg.Prefix}), MaxAudits: maxAudits}
	if cfg.DB.Cells {
		tc.Remote = w.db.cells()
	}
	switch {
	case cfg.NoLog:
	case w.db != nil:
		w.log = &steppedLog{Log: w.db.log(&cfg), steps: &w.steps, late: cfg.Late}
		tc.Log = w.log
	default:
		tc.Log = redislog.New(rdb, redislog.Config{Prefix: cfg.Prefix, Bound: cfg.Bound})
	}
	return cache.Open(tc)
}
