package redislog

import (
	"cmp"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/internal/lifetimes"
	"github.com/twofold-go/twofold/internal/rediserr"
	"github.com/twofold-go/twofold/invalidate"
)

// Log is an [invalidate.Log] on Redis. The zero Log fails every call with [ErrNoClient]. All
// methods may be called concurrently.
//
// The errors of its methods name the operation, and wrap the error of ctx, the client library or
// the server. They contain neither keys nor payloads.
type Log struct {
	rdb     redis.UniversalClient // the caller's, for Server
	control redis.UniversalClient // nil when the configuration is refused
	cluster rediserr.Cluster      // control, where that is a cluster's
	keys    []string              // meta, keys, scopes
	limits  [3]any                // arguments of each Sync: the retentions, and the bound in ms
	cfg     Config                // with the defaults filled in
	err     error                 // why the configuration is refused

	noInfo    atomic.Bool // the server denies INFO to scripts
	noWitness atomic.Bool // the server has no witness, and the warning was logged

	mu     sync.Mutex // protects closed; calls grows only under mu while closed is false
	closed bool
	calls  sync.WaitGroup // running exchanges; the callers of some have returned
}

var _ invalidate.Log = (*Log)(nil)

// New returns a log on the servers of rdb. It sends nothing. [Log.Validate] and every call report
// what is wrong with the configuration.
//
// The log makes its own client from rdb's options, with timeouts of a quarter of Bound, few
// connections and no retries. It does not use rdb's hooks and limiters. The caller keeps rdb, and
// must not close it before the log when rdb follows a Sentinel. Close the log to close its client.
func New(rdb redis.UniversalClient, cfg Config) *Log {
	cfg.Bound = cmp.Or(cfg.Bound, DefaultBound)
	cfg.KeyRetention = cmp.Or(cfg.KeyRetention, DefaultKeyRetention)
	cfg.ScopeRetention = cmp.Or(cfg.ScopeRetention, DefaultScopeRetention)
	l := &Log{cfg: cfg, rdb: rdb}
	l.limits = [3]any{cfg.KeyRetention, cfg.ScopeRetention, lifetimes.Millis(cfg.Bound)}
	for _, name := range []string{"m", "k", "s"} {
		l.keys = append(l.keys, "{"+cfg.Prefix+"}:"+name)
	}
	dial, err := plan(rdb, cfg.Bound)
	l.err = errors.Join(cfg.check(), err)
	if l.err == nil {
		l.control = dial()
		l.cluster, _ = l.control.(rediserr.Cluster)
	}
	return l
}

// Validate returns everything that is wrong with the configuration, joined, or nil: ErrPrefix,
// ErrBound, ErrRetention, ErrNoClient, ErrClient, ErrRing, ErrReplicaReads, ErrClientCache. It
// sends nothing to Redis. A client that a Sentinel sends to replicas passes Validate, and fails
// every Sync with READONLY.
func (l *Log) Validate() error {
	if l.err == nil && l.control == nil {
		return ErrNoClient
	}
	return l.err
}

// Bound returns [Config.Bound], or the default.
func (l *Log) Bound() time.Duration {
	if l.cfg.Bound <= 0 {
		return DefaultBound
	}
	return l.cfg.Bound
}

// Close ends all calls and closes the log's own client. Later calls fail with [ErrClosed]. A second
// Close does nothing.
func (l *Log) Close() error {
	l.mu.Lock()
	before := l.closed
	l.closed = true
	l.mu.Unlock()
	if before || l.control == nil {
		return nil
	}
	err := l.control.Close()
	l.calls.Wait()
	return fail("close", err)
}
