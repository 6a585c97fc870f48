package httpcache

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/codec"
	"github.com/twofold-go/twofold/policy"
)

// What a TransportConfig means by zero.
const (
	DefaultTransportNamespace = "httpclient:v1"
	DefaultTransportMaxBody   = 16 << 20
	DefaultTransportKeep      = 8 * 24 * time.Hour
	DefaultTransportTimeout   = 2 * time.Minute
)

// TransportConfig says what a Transport is. With Tiers alone it is a private
// cache by RFC 9111. The functions are called by many goroutines at a time.
type TransportConfig struct {
	// Tiers hold the responses. They are required, and stay open when the
	// Transport is done with.
	Tiers *cache.Tiers

	// Namespace and Tenant are where in Tiers. Empty: DefaultTransportNamespace,
	// cache.DefaultTenant.
	Namespace, Tenant string

	// Policy changes what is not about the lifetime of responses: LoadTimeout,
	// RemoteTimeout, LocalTTL, Throttle, MaxRefreshes, MaxValueBytes. How long a
	// response lives is what it says itself, and Fallback. Without a LoadTimeout,
	// DefaultTransportTimeout ends a request that is sent for several callers, or
	// behind their backs; a caller that reads the body reads on.
	Policy policy.Patch

	// Codec encodes responses for a remote tier. Nil: codec.CBOR.
	Codec codec.Codec

	// Fallback says how long a response may be used where it is silent. Zero: a
	// response that names no lifetime is not stored.
	Fallback Fallback

	// MaxBody is the longest body that is kept, in bytes. A longer one goes through
	// to its caller as it comes. 0: DefaultTransportMaxBody.
	MaxBody int

	// Keep is how long a response is kept beyond all use, to be asked for with its
	// validator, and for callers that accept it by max-stale. 0:
	// DefaultTransportKeep.
	Keep time.Duration

	// Base sends the requests that the cache does not answer. Nil:
	// http.DefaultTransport.
	Base http.RoundTripper

	// Partition keeps answers apart: requests for which it returns different
	// strings share nothing. What it returns is hashed before it becomes part of a
	// key. Nil: by Authorization, Proxy-Authorization, Cookie, the URL's user and
	// Credentials; one for all when Shared is set.
	Partition func(*http.Request) string

	// Credentials are further headers by which requests say who they are.
	Credentials []string

	// Shared applies the rules of a cache for more than one user: s-maxage and
	// proxy-revalidate count, private responses are not stored, nor are those to
	// requests with Authorization unless they allow it.
	Shared bool

	// Name is what the cache calls itself in Cache-Status. Empty: DefaultName.
	Name string

	// Logger is told what an operator should know; never a key, a URL or a body.
	// Nil: slog.Default.
	Logger *slog.Logger

	// Now is the clock. Nil: time.Now.
	Now func() time.Time
}

// defaults fills in what was left out, and reports what is wrong.
func (c *TransportConfig) defaults() error {
	errs := c.Fallback.faults()
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	c.Namespace = cmp.Or(c.Namespace, DefaultTransportNamespace)
	c.Tenant = cmp.Or(c.Tenant, cache.DefaultTenant)
	c.Name = cmp.Or(c.Name, DefaultName)
	c.MaxBody = cmp.Or(c.MaxBody, DefaultTransportMaxBody)
	c.Keep = cmp.Or(c.Keep, DefaultTransportKeep)
	if c.Tiers == nil {
		bad("field Tiers is nil; open them with cache.Open")
	}
	if c.MaxBody < 0 {
		bad("field MaxBody of %d is negative; 0 means %d", c.MaxBody, DefaultTransportMaxBody)
	}
	if c.Keep < 0 {
		bad("field Keep of %v is negative; 0 means %v", c.Keep, DefaultTransportKeep)
	}
	names := []string{"Authorization", "Proxy-Authorization", "Cookie"}
	for i, n := range c.Credentials {
		if !isToken(n) {
			bad("field Credentials: entry %d of %d bytes is not a header's name", i, len(n))
		}
		if n = http.CanonicalHeaderKey(n); !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	c.Credentials = names
	if c.Base == nil {
		c.Base = http.DefaultTransport
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Codec == nil {
		c.Codec = codec.CBOR
	}
	return errors.Join(errs...)
}

// policy returns the policy of the namespace. Lifetimes are set by each load.
func (c *TransportConfig) policy() policy.Patch {
	p := c.Policy
	p.TTL, p.Stale, p.StaleIfError = new(policy.Forever), new(time.Duration), new(time.Duration)
	p.NegativeTTL, p.ErrorTTL = new(time.Duration), new(time.Duration)
	p.Jitter, p.RefreshAhead = new(float64), new(float64)
	if p.LoadTimeout == nil {
		p.LoadTimeout = new(DefaultTransportTimeout)
	}
	if p.MaxValueBytes == nil { // what a codec may make of a body
		p.MaxValueBytes = new(2*c.MaxBody + 2*maxHeader)
	}
	return p
}
