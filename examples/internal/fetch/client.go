package fetch

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/codec"
	"github.com/twofold-go/twofold/policy"
)

// Client gets things over HTTP. Make one with [New]. All methods may be called
// concurrently.
type Client struct {
	cfg     Config
	wire    http.RoundTripper
	answers cache.Cache[string, stored]
	robots  cache.Cache[string, stored]
	dead    cache.Cache[string, struct{}]
	hosts   *hosts
	count   counters
}

// New returns the client that cfg describes. It refuses a configuration with
// faults and names all of them.
func New(cfg Config) (*Client, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg = cfg.filled()
	c := &Client{cfg: cfg, wire: cfg.Transport, hosts: newHosts(cfg.PerHost)}
	if c.wire == nil {
		c.wire = newTransport(cfg)
	}
	c.count.errors = make(map[string]int64)
	if err := c.open(); err != nil {
		return nil, fmt.Errorf("fetch: %w", err)
	}
	return c, nil
}

// open makes the client's caches.
func (c *Client) open() error {
	var errs [3]error
	perHop := c.cfg.MaxWait + c.cfg.Timeout
	// A hang would be ended by the limits of each request; this is the sum of
	// them, so that the cache never ends a load that is still in its right.
	robotsTime := (maxRobotsRedirects + 1) * perHop
	loadTime := time.Duration(max(c.cfg.MaxRedirects, 0)+1) * (perHop + robotsTime)
	c.answers, errs[0] = cache.New(c.cfg.Tiers, cache.Config[string, stored]{
		Namespace: "http:v1",
		Codec:     codec.Deflate(codec.CBOR, 0),
		Size:      stored.size,
		Policy: policy.Patch{
			// Fresh for as short as can be: whether an answer is young enough is
			// for each Request to say. Stale for long: a copy that nobody would be
			// served is still what a conditional request is made from.
			TTL: new(time.Millisecond), Stale: new(c.cfg.Keep), Jitter: new(0.0),
			LoadTimeout:   new(loadTime),
			MaxValueBytes: new(int(c.cfg.MaxBytes) + maxHeaderBytes),
			RemoteTimeout: new(time.Second), // bodies are long, and the origin is slower
		},
	})
	c.robots, errs[1] = cache.New(c.cfg.Tiers, cache.Config[string, stored]{
		Namespace: "robots:v1",
		Codec:     codec.Deflate(codec.CBOR, 0),
		Size:      stored.size,
		Policy:    robotsPolicy(c.cfg.DeadFor, robotsTime),
	})
	c.dead, errs[2] = cache.New(c.cfg.Tiers, cache.Config[string, struct{}]{
		Namespace: "deadhost:v1",
		Policy:    policy.Patch{ErrorTTL: new(c.cfg.DeadFor), Jitter: new(0.0)},
	})
	return errors.Join(errs[:]...)
}

// Close closes idle connections. The Tiers stay open.
func (c *Client) Close() {
	if t, ok := c.wire.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

func (cfg Config) validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("fetch: "+format, args...)) }
	if cfg.Tiers == nil {
		bad("Config.Tiers is nil: the client caches through it")
	}
	if token(cfg.UserAgent) == "" || strings.ContainsFunc(cfg.UserAgent, func(r rune) bool { return r < ' ' || r > '~' }) {
		bad("Config.UserAgent of %d bytes does not begin with a product token, or is not printable ASCII", len(cfg.UserAgent))
	}
	for _, f := range []struct {
		name string
		n    int64
	}{
		{"Timeout", int64(cfg.Timeout)}, {"MaxBytes", cfg.MaxBytes}, {"PerHost", int64(cfg.PerHost)}, {"HostDelay", int64(cfg.HostDelay)},
		{"MaxWait", int64(cfg.MaxWait)}, {"Keep", int64(cfg.Keep)}, {"DeadFor", int64(cfg.DeadFor)},
	} {
		if f.n < 0 {
			bad("Config.%s is %d: want 0 or more", f.name, f.n)
		}
	}
	if cfg.MaxBytes > maxMaxBytes {
		bad("Config.MaxBytes is %d: want at most %d", cfg.MaxBytes, maxMaxBytes)
	}
	if cfg.MaxRedirects > maxMaxRedirects {
		bad("Config.MaxRedirects is %d: want at most %d", cfg.MaxRedirects, maxMaxRedirects)
	}
	return errors.Join(errs...)
}

// Limits of the configuration itself. The codec decodes no more than 64 MiB, and
// nobody follows 20 redirects to anything good.
const (
	maxMaxBytes     = codec.MaxDecoded - 1<<20
	maxMaxRedirects = 20
)

// filled returns cfg with its zero values replaced.
func (cfg Config) filled() Config {
	cfg.Timeout = cmp.Or(cfg.Timeout, 20*time.Second)
	cfg.MaxBytes = cmp.Or(cfg.MaxBytes, 15<<20)
	cfg.MaxRedirects = max(cmp.Or(cfg.MaxRedirects, 3), 0)
	cfg.PerHost = cmp.Or(cfg.PerHost, 2)
	cfg.MaxWait = cmp.Or(cfg.MaxWait, 5*time.Minute)
	cfg.Keep = cmp.Or(cfg.Keep, 8*24*time.Hour)
	cfg.DeadFor = cmp.Or(cfg.DeadFor, time.Minute)
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	return cfg
}

// token returns the product token of a User-Agent, without its version.
func token(userAgent string) string {
	if i := strings.IndexAny(userAgent, "/ \t("); i >= 0 {
		return userAgent[:i]
	}
	return userAgent
}
