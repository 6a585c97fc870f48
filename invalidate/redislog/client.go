package redislog

import (
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/twofold-go/twofold/internal/rediserr"
)

// poolSize is the most connections to one server. Usually two are in use, and at most idle are
// kept. After poolSize failed dials the pool stops dialling for a second, so poolSize leaves room
// for a failover.
const (
	poolSize = 64
	idle     = 4
)

// plan inspects the caller's client. It returns how to make the control client from it, or why
// the client is refused.
func plan(rdb redis.UniversalClient, bound time.Duration) (dial func() redis.UniversalClient, err error) {
	server, servers, err := rediserr.Inspect(rdb, &refusals)
	switch {
	case err != nil:
		return nil, err
	case server != nil:
		o := *server
		single(&o, bound)
		return func() redis.UniversalClient { return redis.NewClient(&o) }, nil
	}
	o := *servers.Options()
	cluster(&o, bound)
	return func() redis.UniversalClient { return redis.NewClusterClient(&o) }, nil
}

// single turns options into those of a control client. It obeys deadlines. It does not retry,
// because the caller does. It never waits long enough to outlive a lease.
func single(o *redis.Options, bound time.Duration) {
	o.ContextTimeoutEnabled = true
	o.MaxRetries = -1
	o.DialerRetries = 1
	o.DialTimeout, o.PoolTimeout = atMost(o.DialTimeout, bound/4), atMost(o.PoolTimeout, bound/4)
	o.ReadTimeout, o.WriteTimeout = atMost(o.ReadTimeout, bound/4), atMost(o.WriteTimeout, bound/4)
	o.PoolSize, o.MaxIdleConns, o.MinIdleConns, o.MaxActiveConns = poolSize, idle, 0, 0
	o.MaxConcurrentDials, o.PipelinePoolSize, o.AutoPipelineOptions = 0, -1, nil
	o.Limiter = nil // a tail that waits is not a failure
	o.PushNotificationProcessor = nil
	o.MaintNotificationsConfig = noMaintenance()
	if o.Addr == rediserr.Sentinels {
		// Only the caller's client learns of a failover. A connection to an old primary
		// that other clients cannot reach stays open, and that primary may take records. Therefore
		// no connection is used for longer than a lease, because the next one asks a Sentinel.
		o.ConnMaxLifetime = atMost(o.ConnMaxLifetime, bound)
		o.ConnMaxLifetimeJitter = 0
	}
}

// cluster does the same as single for a cluster client. Such a client follows redirections, so it
// retries a little.
func cluster(o *redis.ClusterOptions, bound time.Duration) {
	o.ContextTimeoutEnabled = true
	o.MaxRetries, o.MaxRedirects = -1, 3
	o.DialerRetries = 1
	o.DialTimeout, o.PoolTimeout = atMost(o.DialTimeout, bound/4), atMost(o.PoolTimeout, bound/4)
	o.ReadTimeout, o.WriteTimeout = atMost(o.ReadTimeout, bound/4), atMost(o.WriteTimeout, bound/4)
	o.PoolSize, o.MaxIdleConns, o.MinIdleConns, o.MaxActiveConns = poolSize, idle, 0, 0
	o.MaxConcurrentDials, o.PipelinePoolSize, o.AutoPipelineOptions = 0, -1, nil
	o.DisableRoutingPolicies = true // all we send has a key
	o.PushNotificationProcessor = nil
	o.MaintNotificationsConfig = noMaintenance()
	if o.ClusterSlots != nil { // made by NewFailoverClusterClient: see single
		o.ClusterStateReloadInterval = atMost(o.ClusterStateReloadInterval, bound)
	}
}

func noMaintenance() *maintnotifications.Config {
	return &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}

// atMost returns d, or limit when d is longer or not positive.
func atMost(d, limit time.Duration) time.Duration {
	if d <= 0 || d > limit {
		return limit
	}
	return d
}
