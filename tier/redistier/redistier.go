// Package redistier is the remote tier on Redis, through go-redis: on a single server, with
// Sentinel, or on a Cluster.
//
// Each entry is one string key, <Prefix>:v:<key>, that holds one [tier.Cell] frame and expires by
// itself. The key has no hash tag, so a Cluster spreads the entries over all of its slots. A hit
// is one plain command, a GET or, where the caller would load the key, a SET that stores nothing if
// there is a value. Claims and fills are scripts, sent by their digest; on a single server one run
// serves a whole batch. While a few GETs to a single server are running, later reads gather and
// leave in one MGET.
//
// # What the client must be
//
// The guarantees of the cache require that every command reaches a primary. Therefore the tier refuses
// clients that read from replicas, cache replies, or spread keys over unrelated servers; see
// [Tier.Validate]. The client must obey deadlines. Otherwise a call with a deadline of 50 ms may
// take the ReadTimeout of five seconds. [Options] sets this, and more that suits a cache. Even
// then go-redis looks only at the deadline: when a context is cancelled during a command,
// go-redis notices it at the deadline, or at ReadTimeout.
//
// # While Redis is down
//
// The cache logs a few lines: when the outage begins, once a minute while invalidations wait, and
// when it ends. go-redis also writes a line to standard error for each failed connection, many in
// a second. That logger is global to the process. To drop these lines, call this once, before the
// first client is made:
//
//	redis.SetLogger(logging.NewBlacklistLogger([]string{"failed to dial"}))
//
// with package github.com/redis/go-redis/v9/logging. Its logging.Disable() drops all lines of
// go-redis.
//
// # Servers that send garbage
//
// Replies of the wrong type are errors ([ErrReply]), and so are panics of the client library at
// invalid lengths. The tier cannot catch one fault: a length that the library tries to allocate,
// which ends the process. If the server or the network is not trusted, use TLS, or a Dialer of your own
// that bounds replies.
package redistier

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/internal/rediserr"
	"github.com/twofold-go/twofold/tier"
)

// MaxPrefix is the longest [Config.Prefix] in bytes.
const MaxPrefix = 128

// MaxCell is the largest frame in bytes that [Tier.Fill] sends, which is the longest string in
// Redis. It is only a last limit: policy.Policy.MaxValueBytes limits the size of values.
const MaxCell = 512 << 20

// The reasons to refuse a configuration, all reported by [Tier.Validate].
var (
	ErrPrefix       = fmt.Errorf("redistier: prefix must have 1 to %d bytes, no braces, which would tie all keys to one slot of a cluster, and no %q inside or %q at its end, which would let two prefixes spell one key", MaxPrefix, separator, ":v")
	ErrNoClient     = errors.New("redistier: no client: pass New a *redis.Client or *redis.ClusterClient, and check the error of what made it")
	ErrClient       = errors.New("redistier: client of unknown type: cannot tell whether it reads from replicas; pass the *redis.Client or *redis.ClusterClient")
	ErrRing         = errors.New("redistier: redis.Ring moves keys to another server while one is down, and later back to the old values there")
	ErrReplicaReads = errors.New("redistier: client reads from replicas, which lag behind invalidations")
	ErrClientCache  = errors.New("redistier: client caches replies, which invalidations do not reach")
)

var refusals = rediserr.Refusals{NoClient: ErrNoClient, Client: ErrClient, Ring: ErrRing, ReplicaReads: ErrReplicaReads, ClientCache: ErrClientCache}

// The errors of calls. Calls also return errors of the client library.
var (
	ErrTooLarge = fmt.Errorf("cell over %d bytes", MaxCell)
	ErrReply    = errors.New("unreadable reply")
)

// Config says how a [Tier] uses Redis.
type Config struct {
	// Prefix starts every key. Caches that share a server but not their values need different
	// prefixes. It must have 1 to MaxPrefix bytes, no braces, no ":v:" inside and no ":v" at its
	// end, because otherwise two prefixes could spell the same name.
	Prefix string

	// Logger gets one warning from New when the client does not obey deadlines. If nil, it is
	// slog.Default().
	Logger *slog.Logger
}

// Tier is a [tier.Remote] on Redis. The zero Tier fails every call. All methods may be called
// concurrently.
//
// The errors of its methods name the operation, and wrap the error of the client library or of
// ctx. They never contain a key or a payload.
type Tier struct {
	rdb     redis.UniversalClient
	cluster rediserr.Cluster // nil when there is one node
	prefix  string
	err     error // why the configuration is refused
	merger  merger
	plain   atomic.Bool // the server does not know SET with NX and GET; see look
}

var _ tier.Remote = (*Tier)(nil)

// New returns a tier that keeps its cells through rdb. It sends nothing to Redis. The caller
// keeps the client: the tier neither changes nor closes it. [Tier.Validate] and every call report
// what is wrong with the configuration.
func New(rdb redis.UniversalClient, cfg Config) *Tier {
	t := &Tier{rdb: rdb, prefix: cfg.Prefix + separator}
	one, many, err := rediserr.Inspect(rdb, &refusals)
	t.cluster = many
	t.err = errors.Join(checkPrefix(cfg.Prefix), err)
	var deadlines bool
	var timeout time.Duration
	switch {
	case one != nil:
		deadlines, timeout = one.ContextTimeoutEnabled, one.ReadTimeout
	case many != nil:
		deadlines, timeout = many.Options().ContextTimeoutEnabled, many.Options().ReadTimeout
	}
	if t.err == nil && !deadlines {
		log := cfg.Logger
		if log == nil {
			log = slog.Default()
		}
		log.Warn("redistier: the Redis client does not obey deadlines: a call with a deadline of 50 ms may take as long as ReadTimeout; make its options with redistier.Options, or set ContextTimeoutEnabled",
			"readTimeout", timeout)
	}
	return t
}

// separator is between the prefix and the key. Its first occurrence in a name is the end of the
// prefix.
const separator = ":v:"

// Describe names the tier "redis" and its prefix. The server is that of the client. It is empty for a cluster,
// whose cells are on many servers, and for a client that embeds one of go-redis.
func (t *Tier) Describe(self tier.Remote) tier.Description {
	d := tier.Description{Name: "redis " + strings.TrimSuffix(t.prefix, separator), Looks: true}
	if self == tier.Remote(t) {
		d.Server, d.Prefix = rediserr.Server(t.rdb), t.prefix
	}
	return d
}

func checkPrefix(p string) error {
	if p == "" || len(p) > MaxPrefix || strings.ContainsAny(p, "{}") || strings.Contains(p+":", separator) {
		return ErrPrefix
	}
	return nil
}

// Validate returns why the configuration cannot be used, or nil: ErrPrefix, ErrNoClient,
// ErrClient, ErrRing, ErrReplicaReads, ErrClientCache, or several of them joined. For a client
// that follows a Sentinel it asks the server for its role, because nothing else reveals a
// ReplicaOnly client. That takes at most a second. When the server does not answer, Validate does
// not refuse the client.
func (t *Tier) Validate() error {
	if t.rdb == nil && t.err == nil {
		return ErrNoClient
	}
	if t.err != nil {
		return t.err
	}
	return t.checkRole()
}

// checkRole asks only behind Sentinel. A client that is configured with the address of a replica
// gets READONLY for every claim, which is clear enough.
func (t *Tier) checkRole() (err error) {
	c, ok := t.rdb.(interface{ Options() *redis.Options })
	if !ok || c.Options().Addr != rediserr.Sentinels {
		return nil
	}
	defer func() {
		if recover() != nil {
			err = nil // garbage instead of a role is not checked here
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
