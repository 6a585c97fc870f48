package httpcache

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/codec"
	"github.com/twofold-go/twofold/policy"
)

// What a Config means by zero.
const (
	DefaultNamespace = "http:v1"
	DefaultName      = "twofold"
	DefaultMaxBody   = 1 << 20
	DefaultKeep      = time.Hour
)

// DefaultHide returns the names that Config.Hide means by nil: headers by which proxies
// say what a request was before, and which anybody can send.
func DefaultHide() []string {
	return []string{"Forwarded", "X-Forwarded-*", "X-Original-Url", "X-Rewrite-Url", "X-Http-Method-Override"}
}

// maxHeader is the most bytes of header that are stored with a response.
const maxHeader = 64 << 10

// Lifetime says what ends the life of a stored response.
type Lifetime uint8

const (
	// FromResponse keeps a response for as long as it says itself, by the rules for a
	// shared cache (RFC 9111), and as long as nobody invalidates it.
	FromResponse Lifetime = iota

	// UntilInvalidated keeps a response until something that it was made of is
	// invalidated, or for Policy's TTL. What it says of its lifetime is for caches
	// further down.
	UntilInvalidated
)

// Config says what a cache of responses is. Tiers is required unless Off is
// set. With Tiers alone it is a shared cache as RFC 9111 describes it. The functions are
// called by many goroutines at a time, and what they say of a path they must always say
// of it, for keys are made of it.
type Config struct {
	// Tiers hold the responses. They stay open when the Cache is done with.
	Tiers *cache.Tiers

	// Namespace and Tenant are where in Tiers. The tags that handlers record
	// belong to Tenant. Empty: DefaultNamespace, cache.DefaultTenant.
	Namespace, Tenant string

	// Policy changes how responses are kept. What it leaves out is: TTL policy.Forever,
	// no jitter, nothing stale, no failure remembered. With FromResponse its TTL, Jitter,
	// Stale and StaleIfError do not count: the response and Fallback say them.
	Policy policy.Patch

	// Lifetime says what ends the life of a response. Zero: FromResponse.
	Lifetime Lifetime

	// KeyOnly shows the handler a request that is made of the key and nothing else, so
	// that nothing else can be in a page. It is for a program's own handlers. Without it
	// the handler sees the whole request of the client who asked first, but for Hide.
	KeyOnly bool

	// Fallback says how long a response is kept that does not say it. Zero: it is not
	// stored. It is for FromResponse alone.
	Fallback Fallback

	// Keep is how long a response with a validator is kept beyond all use, so that the
	// handler can be asked whether it still stands. 0: DefaultKeep. It is for FromResponse
	// alone.
	Keep time.Duration

	// Targets are the names of response headers like Cache-Control that speak to this
	// cache in particular (RFC 9213). The first that is there, and can be read, counts
	// in place of Cache-Control and Expires. Nil: none. A cache at the edge of a network
	// has "CDN-Cache-Control".
	Targets []string

	// Hide are the request headers that the handler is not shown without KeyOnly: those
	// by which a client could slip something into what all others get. A name may end in
	// "*". Nil: DefaultHide.
	Hide []string

	// Secure reports whether the scheme of a request is https. Nil: r.TLS says it. Behind
	// something that ends TLS it has to look at what that says.
	Secure func(*http.Request) bool

	// IgnoreCookie names the cookies that no response depends on. The handler is not
	// shown them. A request with any other goes past the cache. Nil: every cookie counts.
	IgnoreCookie func(name string) bool

	// SharedAuthorization lets requests with an Authorization header use the cache,
	// which stores the response if it says public, s-maxage or must-revalidate (RFC 9111
	// §3.5). It is for FromResponse alone.
	SharedAuthorization bool

	// ClientMayRefresh reports whether the no-cache, max-age, min-fresh and max-stale of
	// a request's Cache-Control count. Nil: nobody's do, for with them strangers make the
	// handler work. The no-store and only-if-cached of everybody count.
	ClientMayRefresh func(*http.Request) bool

	// Codec encodes responses for a remote tier. Nil: codec.CBOR, in which a
	// body stays the bytes it is.
	Codec codec.Codec

	// Name is what the cache calls itself in Cache-Status. Empty: DefaultName.
	Name string

	// MaxBody is the longest body that is kept, in bytes. A longer one goes
	// through to its client as it is written. 0: DefaultMaxBody.
	MaxBody int

	// Statuses are the status codes of responses that are stored. Nil: with FromResponse
	// all final ones, otherwise 200, 301, 404 and 410. Neither 206 nor 304 may be among
	// them, nor 5xx without FromResponse.
	Statuses []int

	// StoreMissing says of a path whether its 404 or 410 is stored. Strangers
	// choose paths; what they make up need not be remembered. Nil: all are.
	StoreMissing func(path string) bool

	// Query returns the names of the query parameters that matter for a path;
	// the others are dropped from the key and are not shown to the handler.
	// Not ok, or a nil Query: all matter but those of Tracking.
	Query func(path string) (allowed []string, ok bool)

	// Tracking reports whether a query parameter is there for advertisers and
	// never matters. Nil: the function Tracking.
	Tracking func(name string) bool

	// StatusKey tells clients the key of the entry, in Cache-Status. It is for debugging.
	StatusKey bool

	// Vary are request headers that responses may depend on, and that are part of the
	// key. With FromResponse and without KeyOnly a response may vary on others as well,
	// 8 at most: the cache learns them.
	Vary []VaryRule

	// Bypass sends a request past the cache: to the handler, untouched. Nil:
	// none.
	Bypass func(*http.Request) bool

	// Credentials are the headers, beside Authorization, Proxy-Authorization
	// and Cookie, by which clients say who they are. Requests with one, or with
	// a client certificate, go past the cache.
	Credentials []string

	// AllowAuthorized lets a request use the cache all the same: the program
	// knows that the response does not depend on who asks, for example because
	// whether they may was checked before. The handler is not shown the
	// credentials. Nil: none.
	AllowAuthorized func(*http.Request) bool

	// Hosts are the values of Host, in lower case, that requests may use the
	// cache with. Strangers choose Host, and each one is a copy of the site.
	// Nil: every host that looks like one.
	Hosts []string

	// Format names the kind of a response, for the statistics: "html", "rss". It
	// is called with nil when there is no response. The first 32 names are
	// counted apart, the others as "other". Nil: by Content-Type.
	Format func(path string, h http.Header) string

	// TagHeaders are the headers by which a handler that does not call
	// cache.Depend names the tags of its response, such as Surrogate-Key, whose
	// tags spaces separate, or Cache-Tag, and any other, whose tags commas
	// separate. They are taken off every response. One that names what is no tag,
	// because it is too long or not UTF-8, is not stored. Nil: none.
	TagHeaders []string

	// IgnoreWrites switches off that a request of another method than GET, HEAD,
	// OPTIONS and TRACE that is answered 2xx or 3xx invalidates all entries of its
	// path, and of the paths that Location and Content-Location name.
	IgnoreWrites bool

	// Encodings are the content codings, made by Gzip and Zstd, in which stored responses
	// of 1 KiB and more are kept beside their plain form, each coding once it is asked
	// for. Of those that a client likes the same, it gets the first. The handler is not
	// shown Accept-Encoding then. Left as they are: what the handler has encoded or
	// marked no-transform, types that are compressed already, what does not get
	// smaller, what is not stored, and everything when Off is set. Nil: none.
	Encodings []Encoding

	// ContextKeys are the keys of the context values that a handler may see with KeyOnly,
	// when it renders for everybody. They must be the same for all requests. Routers
	// that keep the parameters of a route in the context need theirs to be here.
	ContextKeys []any

	// NoAge leaves the Age header away. With it, a response that was made an
	// hour ago and says max-age=60 is stale downstream as soon as it arrives,
	// though it is as true as when it was made.
	NoAge bool

	// Off turns the cache off: every client gets a rendering of its own. What
	// clients see is the same, but for Age, Date and Cache-Status.
	Off bool

	// Logger is told what an operator should know; never a key or a body. Nil:
	// slog.Default.
	Logger *slog.Logger

	// Now is the clock. Nil: time.Now.
	Now func() time.Time
}

// VaryRule lets responses depend on a request header.
type VaryRule struct {
	// Header is the header's name.
	Header string

	// Normalize makes one value of all that mean the same to the handler, which
	// sees what it returns in the header's place; "" leaves the header away. It
	// is called with the lines of the header joined by ", ", or "" when there is
	// none. Nil: as it is.
	Normalize func(value string) string

	// On says of a path whether the rule holds there. Nil: everywhere.
	On func(path string) bool
}
