// Package redistier is the remote tier on Redis, through go-redis: a single
// server, Sentinel, or Cluster.
//
// Each entry is one string key, <Prefix>:v:<key>, that holds one [tier.Cell]
// frame and expires by itself. It carries no hash tag, so a Cluster spreads the
// entries over all of its slots. A hit is a plain GET; claims and fills are
// scripts of one key, sent by their digest. While a few GETs are under way to a
// single server, those that come gather and leave in one MGET.
//
// # What the client must be
//
// The guarantee of the cache rests on every command reaching a primary, so
// clients that read from replicas, cache replies on their side or hash keys
// over unrelated servers are refused; see [Tier.Validate]. The client must obey
// deadlines, or a call with a deadline of 50 ms may take the ReadTimeout of five
// seconds. [Options] sets what that takes, and what else suits a cache. Even then
// go-redis looks at the deadline only: a context that is cancelled while a command is
// under way is noticed at its deadline, or at ReadTimeout.
//
// # While Redis is down
//
// The cache says that in a few lines: when it begins, once a minute while invalidations
// wait, and when it ends. Go-redis also writes a line to standard error for each
// connection that it fails to make, many a second. They are of the whole process. To
// leave them out, call once, before the first client is made,
//
//	redis.SetLogger(logging.NewBlacklistLogger([]string{"failed to dial"}))
//
// with package github.com/redis/go-redis/v9/logging, or logging.Disable() for no lines of
// go-redis at all.
//
// # A server that answers garbage
//
// Replies of the wrong type are errors ([ErrReply]), and so are the panics of
// the client library at nonsensical lengths. One thing cannot be caught here: a
// length that the library tries to allocate, which ends the process. Where the
// server or the network is not trusted that far, dial by [LimitReplies].
package redistier

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/internal/rediserr"
	"github.com/twofold-go/twofold/tier"
)

// MaxPrefix is the longest [Config.Prefix] in bytes.
const MaxPrefix = 128

// MaxCell is the largest frame in bytes that [Tier.Fill] sends, which is the
// longest string Redis keeps. It is a backstop: how large values may become is
// for policy.Policy.MaxValueBytes to say.
const MaxCell = 512 << 20

// The reasons to refuse a configuration, all reported by [Tier.Validate].
var (
	ErrPrefix       = fmt.Errorf("redistier: prefix must have 1 to %d bytes, no braces, which would tie all keys to one slot of a cluster, and no %q inside or %q at its end, which would let two prefixes spell one key", MaxPrefix, separator, ":v")
	ErrNoClient     = errors.New("redistier: no client")
	ErrClient       = errors.New("redistier: client of unknown type: cannot tell whether it reads from replicas; pass the *redis.Client or *redis.ClusterClient")
	ErrRing         = errors.New("redistier: redis.Ring moves keys to another server when one is away and back again, with the values it left there")
	ErrReplicaReads = errors.New("redistier: client reads from replicas, which lag behind invalidations")
	ErrClientCache  = errors.New("redistier: client caches replies on its side, where no invalidation of ours reaches them")
)

// The errors of calls, beside those of the client library.
var (
	ErrTooLarge = fmt.Errorf("cell over %d bytes", MaxCell)
	ErrReply    = errors.New("unreadable reply")
)

// Config says how a [Tier] uses Redis.
type Config struct {
	// Prefix starts every key. Caches that share a server and not their values
	// need different ones. It must have 1 to MaxPrefix bytes, no braces, no ":v:"
	// inside and no ":v" at its end. So two prefixes never spell one name.
	Prefix string

	// Logger gets one warning from New when the client does not obey deadlines.
	// Nil: slog.Default().
	Logger *slog.Logger
}

// Tier is a [tier.Remote] on Redis. The zero Tier fails every call. All methods
// may be called concurrently.
//
// The errors of its methods say which operation failed and wrap what the client
// library or ctx said; they never hold a key or a payload.
type Tier struct {
	rdb     redis.UniversalClient
	cluster cluster // nil when there is one node
	prefix  string
	err     error // why the configuration is refused
	merger  merger
}

var (
	_ tier.Remote    = (*Tier)(nil)
	_ tier.Batcher   = (*Tier)(nil)
	_ tier.Validator = (*Tier)(nil)
	_ tier.Pinger    = (*Tier)(nil)
	_ tier.Named     = (*Tier)(nil)
)

// New returns a tier that keeps its cells through rdb. It does not talk to
// Redis. The client stays the caller's: the tier neither changes nor closes it.
// What is wrong with the configuration is reported by [Tier.Validate] and by
// every call.
func New(rdb redis.UniversalClient, cfg Config) *Tier {
	t := &Tier{rdb: rdb, prefix: cfg.Prefix + separator}
	client, err := inspect(rdb)
	t.cluster = client.cluster
	t.err = errors.Join(checkPrefix(cfg.Prefix), err)
	if t.err == nil && !client.deadlines {
		log := cfg.Logger
		if log == nil {
			log = slog.Default()
		}
		log.Warn("redistier: the Redis client does not obey deadlines: a call with a deadline of 50 ms may take as long as ReadTimeout; make its options with redistier.Options, or set ContextTimeoutEnabled",
			"readTimeout", client.readTimeout)
	}
	return t
}

// separator stands between the prefix and the key. Its first place in a name is the end
// of the prefix.
const separator = ":v:"

// Name implements [tier.Named]: Redis, and the prefix.
func (t *Tier) Name() string { return "redis " + strings.TrimSuffix(t.prefix, separator) }

func checkPrefix(p string) error {
	if p == "" || len(p) > MaxPrefix || strings.ContainsAny(p, "{}") || strings.Contains(p+":", separator) {
		return ErrPrefix
	}
	return nil
}

// Validate returns why the configuration cannot be used, or nil: ErrPrefix,
// ErrNoClient, ErrClient, ErrRing, ErrReplicaReads, ErrClientCache, or several
// of them joined. For a client that follows a Sentinel it asks the server for
// its role, because nothing else tells a ReplicaOnly client; that takes at most
// a second, and a server that does not answer is no reason to refuse.
func (t *Tier) Validate() error {
	if t.rdb == nil && t.err == nil {
		return ErrNoClient
	}
	if t.err != nil {
		return t.err
	}
	return t.checkRole()
}

// checkRole asks only behind Sentinel: who configures the address of a replica
// by hand gets READONLY on every claim, which says as much.
func (t *Tier) checkRole() (err error) {
	c, ok := t.rdb.(interface{ Options() *redis.Options })
	if !ok || c.Options().Addr != failoverAddr {
		return nil
	}
	defer func() {
		if recover() != nil {
			err = nil // garbage instead of a role: not for us to judge
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	role, err := t.rdb.Do(ctx, "ROLE").Slice()
	if err == nil && len(role) > 0 && role[0] == "slave" {
		return ErrReplicaReads
	}
	return nil
}

// failoverAddr is what go-redis puts for the address of a client that asks
// Sentinels.
const failoverAddr = "FailoverClient"

// client is what inspect learns.
type client struct {
	cluster     cluster
	deadlines   bool // obeys the deadlines of contexts
	readTimeout time.Duration
}

// inspect looks for clients that do not always talk to the primary. Types that
// embed a client of go-redis are as good as the client itself; others hide
// where they send their commands.
func inspect(rdb redis.UniversalClient) (c client, err error) {
	if rediserr.IsNil(rdb) {
		return c, ErrNoClient
	}
	defer func() {
		if recover() != nil { // a wrapper around no client
			err = ErrNoClient
		}
	}()
	switch r := rdb.(type) {
	case interface{ Options() *redis.RingOptions }:
		return c, ErrRing
	case interface{ Options() *redis.Options }:
		o := r.Options()
		c.deadlines, c.readTimeout = o.ContextTimeoutEnabled, o.ReadTimeout
		if o.ClientSideCache != nil || o.ClientSideCacheConfig != nil {
			return c, ErrClientCache
		}
		return c, nil
	case cluster:
		o := r.Options()
		c.cluster, c.deadlines, c.readTimeout = r, o.ContextTimeoutEnabled, o.ReadTimeout
		if o.ReadOnly || o.RouteByLatency || o.RouteRandomly {
			return c, ErrReplicaReads
		}
		return c, nil
	}
	return c, ErrClient
}
