package httpcache

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/codec"
	"github.com/twofold-go/twofold/policy"
)

// The defaults of a TransportConfig.
const (
	DefaultTransportNamespace = "httpclient:v1"
	DefaultTransportMaxBody   = 16 << 20
	DefaultTransportKeep      = 8 * 24 * time.Hour
	DefaultTransportTimeout   = 2 * time.Minute
)

// TransportConfig configures a Transport. If only Tiers is set, the Transport is a private cache by
// RFC 9111. Many goroutines call the functions concurrently.
type TransportConfig struct {
	// Tiers hold the responses. They are required. They stay open when the Transport is closed.
	Tiers *cache.Tiers

	// Namespace and Tenant place the entries in Tiers. Empty means DefaultTransportNamespace and
	// cache.DefaultTenant.
	Namespace, Tenant string

	// Policy changes settings that are not about the lifetime of responses: LoadTimeout,
	// RemoteTimeout, LocalTTL, Throttle, MaxRefreshes, MaxValueBytes. The response itself and
	// Fallback decide how long it lives. Without a LoadTimeout, DefaultTransportTimeout ends a
	// shared request or a refresh. The caller whose request was sent goes on waiting or reading, and the
	// response is still stored. The other callers send their own requests.
	Policy policy.Patch

	// Codec encodes responses for a remote tier. Nil means codec.CBOR.
	Codec codec.Codec

	// Fallback says how long a response may be used if it does not say so. With the zero value a
	// response that names no lifetime is not stored.
	Fallback Fallback

	// MaxBody is the longest body that is stored, in bytes. A longer one goes through to its
	// caller as it comes. Zero means DefaultTransportMaxBody. All bodies in transit together hold at
	// most eight times MaxBody, or 64 MiB if that is more. A response that finds no room goes
	// through to its caller, too, and Stats.Refused counts it as "no-room".
	MaxBody int

	// Keep is how long a response is kept after it is no longer usable. Until then it can be
	// revalidated, and max-stale can accept it. Zero means DefaultTransportKeep.
	Keep time.Duration

	// Base sends the requests that the cache does not answer. Nil means http.DefaultTransport.
	Base http.RoundTripper

	// Partition separates responses: requests for which it returns different strings share
	// nothing. Its result is hashed before it becomes part of a key. Nil means one partition for
	// each combination of Authorization, Proxy-Authorization, Cookie, the URL's user and
	// Credentials, or a single partition if Shared is set.
	Partition func(*http.Request) string

	// Credentials are further headers by which requests identify their user.
	Credentials []string

	// Shared applies the rules of a cache for several users. s-maxage and proxy-revalidate count.
	// Private responses are not stored. A response to a request with Authorization is stored only
	// if it allows that.
	Shared bool

	// Name is the cache's name in Cache-Status. Empty means DefaultName.
	Name string

	// Logger gets what an operator should know, never a key, a URL or a body. Nil means
	// slog.Default.
	Logger *slog.Logger

	// Now is the clock. Nil means time.Now.
	Now func() time.Time
}

// defaults sets the fields that are zero, and returns all faults.
func (c *TransportConfig) defaults() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	c.Fallback.check(bad)
	c.Namespace = cmp.Or(c.Namespace, DefaultTransportNamespace)
	c.Tenant = cmp.Or(c.Tenant, cache.DefaultTenant)
	c.MaxBody = min(cmp.Or(c.MaxBody, DefaultTransportMaxBody), math.MaxInt/16) // sums of bodies must not overflow
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
	c.Credentials = append(usualCredentials(), canonicalNames("Credentials", c.Credentials, bad)...)
	if c.Base == nil {
		c.Base = http.DefaultTransport
	}
	return errors.Join(errs...)
}

// policy returns the policy of the namespace. Each load sets the lifetime of its page.
func (c *TransportConfig) policy() policy.Patch {
	p := exact(c.Policy)
	p.NegativeTTL, p.ErrorTTL, p.RefreshAhead = new(time.Duration), new(time.Duration), new(float64)
	p.LoadTimeout = cmp.Or(p.LoadTimeout, new(DefaultTransportTimeout))
	return p
}
