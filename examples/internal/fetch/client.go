// Package fetch is the HTTP client of the example programs: an http.Client on the library's
// httpcache.Transport. It obeys robots.txt if a request says so. It validates an old answer
// at the origin, once for all callers. It limits the requests to each host, refuses
// addresses that are not public, and bounds bodies while it reads them. A redirect passes
// the same checks. There are no cookies, proxies or idle connections.
package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache"
	"github.com/twofold-go/twofold/codec"
	"github.com/twofold-go/twofold/policy"
)

// Client gets URLs over HTTP. All methods may be called concurrently.
type Client struct {
	cfg   Config
	wire  http.RoundTripper
	dead  cache.Cache[string, struct{}]
	hosts *hosts

	answers, rules  *httpcache.Transport // rules: robots.txt
	requests, wired atomic.Int64
}

// Stats are counts since the client was made.
type Stats struct {
	Requests int64 // on the wire, robots.txt and redirects included
	Wire     int64 // bytes of bodies read from the network, before decompression
}

// Stats returns the counts so far.
func (c *Client) Stats() Stats { return Stats{c.requests.Load(), c.wired.Load()} }

// New returns the client that cfg describes. The error names every fault of cfg.
func New(cfg Config) (*Client, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg = cfg.filled()
	c := &Client{cfg: cfg, wire: cfg.Transport, hosts: newHosts(cfg.PerHost)}
	if c.wire == nil {
		c.wire = guarded(cfg)
	}
	var errs [3]error
	c.answers, errs[0] = c.transport("http:v1")
	c.rules, errs[1] = c.transport("robots:v1")
	c.dead, errs[2] = cache.New(cfg.Tiers, cache.Config[string, struct{}]{
		Namespace: "deadhost:v1",
		Policy:    policy.Patch{ErrorTTL: new(cfg.DeadFor), Jitter: new(0.0)},
	})
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("fetch: %w", err)
	}
	return c, nil
}

// transport returns an HTTP cache in front of the network.
func (c *Client) transport(namespace string) (*httpcache.Transport, error) {
	return httpcache.NewTransport(httpcache.TransportConfig{
		Tiers:     c.cfg.Tiers,
		Namespace: namespace,
		Base:      polite{c},
		Partition: partition,
		MaxBody:   int(c.cfg.MaxBytes + c.cfg.MaxBytes/1000 + 1<<10), // gzip makes random bytes longer
		Keep:      keep,
		Codec:     codec.Deflate(codec.CBOR, 0),
		Policy: policy.Patch{
			LoadTimeout:   new(maxWait + c.cfg.Timeout + time.Second), // polite fails first
			RemoteTimeout: new(time.Second),                           // bodies are long, and the origin is slower than Redis
		},
		Logger: c.cfg.Logger,
		Now:    c.cfg.Now,
	})
}

func partition(r *http.Request) string {
	a := askOf(r)
	var b strings.Builder
	fmt.Fprintf(&b, "%q %d %t\n", a.version, a.max, a.pack)
	_ = r.Header.WriteSubset(&b, map[string]bool{"Cache-Control": true}) // a Builder takes every write
	return b.String()
}

// Close waits up to 5 s for requests that run although their callers have left. It leaves the
// Tiers open.
func (c *Client) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	for _, t := range []*httpcache.Transport{c.answers, c.rules} {
		if err := t.Close(ctx); err != nil {
			c.cfg.Logger.Warn("fetch: the client was closed while requests ran", "err", err)
		}
	}
}

// Config configures a client. Tiers and UserAgent are required.
type Config struct {
	Tiers        *cache.Tiers      // where answers are cached. The client does not close them
	UserAgent    string            // begins with a product token, which selects the rules of robots.txt
	Timeout      time.Duration     // of one request, without the time in its host's queue. Zero means 20 s
	MaxBytes     int64             // longest body, after decompression. Zero means 15 MiB
	PerHost      int               // requests to one host (name and port) at a time. Zero means 2
	HostDelay    time.Duration     // least time between the starts of two requests to a host. Zero means none
	DeadFor      time.Duration     // how long a host gets no requests after a connection failed. Zero means 1 minute
	AllowPrivate bool              // allows loopback and private addresses, at any port, but never link-local ones
	Now          func() time.Time  // the time of day, for dates in answers. Nil means time.Now
	Logger       *slog.Logger      // never gets a body, a query or a header. Nil means slog.Default
	Transport    http.RoundTripper // replaces the network and its guard, for tests. Nil means the network
}

const (
	maxMaxBytes  = 63 << 20           // the codec decodes at most 64 MiB
	maxRedirects = 3                  // of one Get
	maxWait      = 5 * time.Minute    // in a host's queue; then the request fails with ErrBusy
	keep         = 8 * 24 * time.Hour // how long an answer is kept after its last validation; exceeds the longest interval between polls
)

func (cfg Config) validate() error {
	var errs []error
	if cfg.Tiers == nil {
		errs = append(errs, errors.New("fetch: Config.Tiers is nil; open them with cache.Open"))
	}
	if token(cfg.UserAgent) == "" || strings.ContainsFunc(cfg.UserAgent, func(r rune) bool { return r < ' ' || r > '~' }) {
		errs = append(errs, fmt.Errorf("fetch: Config.UserAgent of %d bytes does not begin with a product token, or is not printable ASCII", len(cfg.UserAgent)))
	}
	for _, f := range []struct {
		name    string
		n, most int64
	}{
		{"Timeout", int64(cfg.Timeout), math.MaxInt64}, {"MaxBytes", cfg.MaxBytes, maxMaxBytes}, {"PerHost", int64(cfg.PerHost), math.MaxInt64},
		{"HostDelay", int64(cfg.HostDelay), math.MaxInt64}, {"DeadFor", int64(cfg.DeadFor), math.MaxInt64},
	} {
		if f.n < 0 || f.n > f.most {
			errs = append(errs, fmt.Errorf("fetch: Config.%s is %d: want 0 to %d", f.name, f.n, f.most))
		}
	}
	return errors.Join(errs...)
}

// filled returns cfg with defaults for its zero values.
func (cfg Config) filled() Config {
	cfg.Timeout = cmp.Or(cfg.Timeout, 20*time.Second)
	cfg.MaxBytes = cmp.Or(cfg.MaxBytes, 15<<20)
	cfg.PerHost = cmp.Or(cfg.PerHost, 2)
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
	return (userAgent + "/")[:strings.IndexAny(userAgent+"/", "/ \t(")]
}
