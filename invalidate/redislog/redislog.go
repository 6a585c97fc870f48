package redislog

import (
	"cmp"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/invalidate"
)

// Log is an [invalidate.Log] on Redis. The zero Log fails every call with
// [ErrNoClient]. All methods may be called concurrently.
//
// The errors of its methods name the operation and wrap what ctx, the client
// library or the server said; they hold neither keys nor payloads.
type Log struct {
	rdb     redis.UniversalClient // the caller's, to know it again
	control redis.UniversalClient // nil when the configuration is refused
	cluster clusterClient         // control, where that is a cluster's
	keys    []string              // meta, keys, scopes
	cfg     Config                // with the defaults filled in
	err     error                 // why the configuration is refused

	noInfo    atomic.Bool // scripts may not ask who the server is
	noWitness atomic.Bool // the server can't say whether the log was loaded; it was logged

	mu     sync.Mutex // protects closed, and calls from growing once it is set
	closed bool
	calls  sync.WaitGroup // exchanges under way, some of them left by their callers
}

var _ invalidate.Log = (*Log)(nil)

// New returns a log on the servers that rdb talks to. It does not talk to them
// itself; what is wrong with the configuration is reported by [Log.Validate] and
// by every call.
//
// The log makes a client of its own from rdb's options, with timeouts of a
// quarter of Bound, few connections and no retries; hooks and limiters of rdb
// are not part of it. rdb stays the caller's, and must not be closed before the
// log when it follows a Sentinel. Close the log to close its client.
func New(rdb redis.UniversalClient, cfg Config) *Log {
	cfg.Bound = cmp.Or(cfg.Bound, DefaultBound)
	cfg.KeyRetention = cmp.Or(cfg.KeyRetention, DefaultKeyRetention)
	cfg.ScopeRetention = cmp.Or(cfg.ScopeRetention, DefaultScopeRetention)
	l := &Log{cfg: cfg, rdb: rdb}
	for _, name := range []string{"m", "k", "s"} {
		l.keys = append(l.keys, "{"+cfg.Prefix+"}:"+name)
	}
	dial, err := plan(rdb, cfg.Bound)
	l.err = errors.Join(cfg.check(), err)
	if l.err == nil {
		l.control = dial()
		l.cluster, _ = l.control.(clusterClient)
	}
	return l
}

// Validate returns everything that is wrong with the configuration, joined, or
// nil: ErrPrefix, ErrBound, ErrRetention, ErrNoClient, ErrClient, ErrRing,
// ErrReplicaReads, ErrClientCache. It does not talk to Redis. A client that a
// Sentinel sends to replicas passes, and fails every Sync with READONLY.
func (l *Log) Validate() error {
	if l.err == nil && l.control == nil {
		return ErrNoClient
	}
	return l.err
}

// Bound returns what the Config says.
func (l *Log) Bound() time.Duration {
	if l.cfg.Bound <= 0 {
		return DefaultBound
	}
	return l.cfg.Bound
}

// Close ends all calls and closes the log's own client; calls after it fail with
// [ErrClosed]. Closing a second time does nothing.
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
