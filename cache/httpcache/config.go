package httpcache

import (
	"cmp"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache/internal/address"
	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
	"github.com/twofold-go/twofold/codec"
	"github.com/twofold-go/twofold/policy"
)

// The defaults of a Config.
const (
	DefaultNamespace = "http:v1"
	DefaultName      = "twofold"
	DefaultMaxBody   = 1 << 20
	DefaultKeep      = time.Hour
)

// DefaultHide returns the default of Config.Hide: headers by which proxies describe the original
// request, and which any client can send.
func DefaultHide() []string {
	return []string{
		"Forwarded", "X-Forwarded-*", "X-Original-*", "X-Rewrite-*", "X-Host", "X-Real-Ip", "X-Client-Ip", "True-Client-Ip",
		"X-Http-Method", "X-Http-Method-Override", "X-Method-Override",
	}
}

// Preset says whose responses a Cache holds.
type Preset uint8

const (
	// Shared is a shared cache as RFC 9111 describes it, in front of a proxy or of a handler from
	// elsewhere. A response is stored for as long as it says, unless it is invalidated before. The
	// handler sees the request of the first client as it came, without what Hide names. If Query or
	// Tracking drops a parameter and a response shows it, plain or as a URL escapes it, in small letters or
	// capitals, that response is its client's own. Other forms of the parameter are not looked for.
	Shared Preset = iota

	// Pages is for a program's own pages. A response is stored until something that it was made of is
	// invalidated, or for Policy's TTL. What it says of its lifetime is for caches further down. The
	// handler sees a request that is made only from the key, so nothing else can be in a page.
	Pages
)

// Config configures a Cache. Tiers is required unless Off is set. If only Tiers is set, the Cache is a
// shared cache as RFC 9111 describes it. Many goroutines call the functions concurrently. For the
// same arguments a function must always return the same result, because keys are made of it.
type Config struct {
	// Tiers hold the responses. They stay open when the Cache is closed.
	Tiers *cache.Tiers

	// Namespace and Tenant place the entries in Tiers. The tags that handlers record belong to
	// Tenant. Empty means DefaultNamespace and cache.DefaultTenant.
	Namespace, Tenant string

	// Preset says whose responses these are. Zero means Shared.
	Preset Preset

	// Policy changes how responses are kept. The defaults are: TTL policy.Forever, no jitter,
	// nothing stale, no failure remembered. With Shared the response and Fallback say TTL, Stale and
	// StaleIfError, and there is no Jitter. New then refuses a Policy that sets one of them.
	Policy policy.Patch

	// AuditIgnore are the response headers that audits do not compare, besides Date and Age: those
	// that differ in each rendering, such as a request's number. Nil means none. The Audit of Policy
	// is the share of the hits for which the handler renders the page once more, in the background.
	// The context of such a request says so; see cache.Fill.Auditing.
	AuditIgnore []string

	// Fallback says how long to keep a response that does not say it. Zero means that such a
	// response is not stored. It is for Shared only.
	Fallback Fallback

	// Keep is how long the cache keeps a response with a validator after it is no longer usable,
	// in order to revalidate it. Zero means DefaultKeep. It is for Shared only.
	Keep time.Duration

	// Targets are the names of response headers like Cache-Control that are meant for this cache
	// in particular (RFC 9213). The first one that is present and valid replaces Cache-Control
	// and Expires. Nil means none. An edge cache has "CDN-Cache-Control".
	Targets []string

	// Hide are the request headers that the handler of a Shared cache does not see. With such a
	// header a client could change the page that all other clients get. A name may end in "*".
	// Nil means DefaultHide.
	Hide []string

	// Secure reports whether the scheme of a request is https. Nil means that r.TLS decides. If
	// something in front ends TLS, Secure must read the header that it sets. If a client sends
	// X-Forwarded-Proto or X-Forwarded-Host, the handler sees the scheme and the host of the key.
	Secure func(*http.Request) bool

	// IgnoreCookie names the cookies that no response depends on. The handler does not see them.
	// A request with any other cookie bypasses the cache. Nil means that every cookie counts.
	IgnoreCookie func(name string) bool

	// Tickets makes the cache look at [TicketHeader]. A page that answers such a request is at least as new as
	// the ticket; see cache.AtLeast. If the log does not answer in time, the handler answers, and its response is not
	// stored. A header that is no ticket gets 400. Set it only if clients that may make the handler work can send the
	// header. If false, the header means nothing here.
	Tickets bool

	// Codec encodes responses for a remote tier. Nil means codec.CBOR, which keeps the bytes of a
	// body as they are.
	Codec codec.Codec

	// Name is the cache's name in Cache-Status. Empty means DefaultName.
	Name string

	// MaxBody is the longest body that is stored, in bytes. A longer one goes through to its
	// client as it is written. Zero means DefaultMaxBody. All bodies that are being recorded hold at
	// most eight times MaxBody, or 64 MiB if that is more. A response that finds no room goes
	// through to its client, too, and Stats.Refused counts it as "no-room".
	MaxBody int

	// Statuses are the status codes of responses that are stored. Nil means all final ones with
	// Shared, and 200, 301, 404 and 410 with Pages. 206 and 304 are not allowed, and 5xx only with
	// Shared.
	Statuses []int

	// Query returns the names of the query parameters that matter for a path. The key then has these
	// only, sorted by name and spelled in one way, whatever the order and the spelling of the client. With
	// Pages the handler sees the query of the key. If ok is false, or Query is nil, each query is its own,
	// as it came.
	Query func(path string) (allowed []string, ok bool)

	// Tracking reports whether a query parameter never matters, where Query does not say which do. It is
	// dropped from the key, and the rest of the query stays as it came. The function Tracking names the
	// parameters of advertisers. Nil means that all parameters matter.
	Tracking func(name string) bool

	// Vary are request headers that responses may depend on, and that are part of the key. With
	// Shared a response may vary on up to 8 other headers too. The cache learns their names.
	Vary []VaryRule

	// Bypass reports whether a request bypasses the cache. The handler then gets it unchanged.
	// Nil means none.
	Bypass func(*http.Request) bool

	// Credentials are the headers by which clients identify themselves, besides Authorization,
	// Proxy-Authorization and Cookie. Requests with one of them, or with a client certificate,
	// bypass the cache.
	Credentials []string

	// AllowAuthorized lets a request with credentials use the cache. The program then promises
	// that the response does not depend on the client, for example because it checked the
	// permission before. The handler does not see the credentials, nor the client certificate. Nil
	// means none.
	AllowAuthorized func(*http.Request) bool

	// ContextKeys reports whether the handler may see the value that the context of a request has under
	// a key. Such a value must be the same for all clients, or no response may depend on it, as on a
	// logger or on a request's number. It must still be usable when its request has ended. Nil means the
	// values of the server and of OpenTelemetry only.
	//
	// The handler does not see other values that outer handlers have set: they may be about the client.
	// If it asks for one, its response is not stored, and each client gets its own rendering, for which the
	// handler is called once more. The Logger then says once that the cache must be around what sets the
	// value, such as a router.
	ContextKeys func(key any) bool

	// Hosts are the values of Host, in lower case, for which requests use the cache. The port counts, as
	// in "localhost:8080"; requests that differ from an entry in the port only are logged once. Clients
	// choose Host, and each host is a copy of the site. Nil means every syntactically valid host.
	Hosts []string

	// IgnoreWrites turns off invalidation by writes. A write is a request that is answered 2xx or
	// 3xx, of a method that the registry of HTTP does not call safe: other than GET, HEAD, OPTIONS, PRI,
	// PROPFIND, QUERY, REPORT, SEARCH and TRACE. By default it invalidates all
	// entries of its path on its host, and of the paths that Location and Content-Location name.
	IgnoreWrites bool

	// Encodings are the content codings, made by Gzip and Zstd, in which responses of 1 KiB and
	// more are stored beside their plain form. Each coding is made on first request. Of codings
	// that a client accepts equally, it gets the first. The handler then does not see
	// Accept-Encoding. So all clients share one rendering. Without Encodings a handler that compresses
	// renders once for each spelling of the header: "gzip, br" and "br, gzip" are two variants.
	//
	// Some responses have no codings: those that the handler has encoded or marked no-transform,
	// those of compressed types, those that do not get smaller, and those that are not stored.
	// With Off there are no codings. Nil means none.
	Encodings []Encoding

	// Off turns the cache off: the handler renders for every client. With Pages clients
	// see the same responses, except for Age, Date, Cache-Status and the codings of Encodings. With
	// Shared the handler gets every request unchanged, with its conditions and its Range, and
	// clients see what it answers.
	Off bool

	// Logger gets what an operator should know, never a key or a body. Nil means slog.Default.
	Logger *slog.Logger

	// Now is the clock. Nil means time.Now.
	Now func() time.Time
}

// VaryRule lets responses depend on a request header.
type VaryRule struct {
	// Header is the header's name.
	Header string

	// Normalize returns one value for all values that mean the same to the handler. The handler
	// sees the result in place of the header; "" removes the header. With Shared a header of
	// Hide is hidden even with a rule. The argument is the lines of the header joined by ", ", or ""
	// if there are none. Nil trims spaces.
	Normalize func(value string) string

	// On reports whether the rule applies to a path. Nil means everywhere.
	On func(path string) bool
}

// Tracking reports whether a query parameter is one that advertisers and mail programs add to
// links. Few pages depend on these. It is for Config.Tracking.
func Tracking(name string) bool {
	switch name {
	case "fbclid", "gclid", "gclsrc", "dclid", "gbraid", "wbraid", "msclkid", "twclid", "ttclid", "yclid", "igshid",
		"mc_cid", "mc_eid", "_ga", "_gl", "li_fat_id", "srsltid":
		return true
	}
	return strings.HasPrefix(name, "utm_")
}

// keeps returns a function that reports whether a query parameter of path matters, or nil if all do. With form set,
// the query is a set of parameters.
func (c *Config) keeps(path string) (keep func(name string) bool, form bool) {
	if c.Query != nil {
		if allowed, ok := c.Query(path); ok {
			return func(name string) bool { return slices.Contains(allowed, name) }, true
		}
	}
	if c.Tracking == nil {
		return nil, false
	}
	return func(name string) bool { return !c.Tracking(name) }, false
}

// query sets the query of t. It reports false for one that bypasses the cache.
func (c *Config) query(u *url.URL, t *address.Target) (ok bool) {
	if u.RawQuery == "" && !u.ForceQuery {
		return true
	}
	if len(u.RawQuery) > address.MaxQuery {
		return false
	}
	keep, form := c.keeps(t.Path)
	if form {
		t.Query, ok = address.Form(u.RawQuery, keep)
		return ok
	}
	t.Query, t.Empty = u.RawQuery, u.ForceQuery
	if keep != nil {
		t.Query = address.CutQuery(t.Query, keep)
	}
	t.Query = address.Normal(t.Query)
	return true
}

// ignores reports whether all cookies of a request are ignored.
func (c *Config) ignores(r *http.Request) bool {
	if c.IgnoreCookie == nil {
		return false
	}
	for _, line := range r.Header["Cookie"] {
		for pair := range strings.SplitSeq(line, ";") {
			name, _, _ := strings.Cut(strings.TrimSpace(pair), "=")
			if name != "" && !c.IgnoreCookie(name) {
				return false
			}
		}
	}
	return true
}

// usual is how many usualCredentials there are. Package rules has them in the same order.
const usual = 3

// usualCredentials are the headers by which every request may identify its user.
func usualCredentials() []string { return []string{"Authorization", "Proxy-Authorization", "Cookie"} }

// DefaultMaxHeuristic is the default of Fallback.MaxHeuristic.
const DefaultMaxHeuristic = 24 * time.Hour

// Fallback says how long a response may be used if it does not say so. What the response says
// wins, for each field separately. With the zero value a response that names no lifetime is not
// stored, and a response is served stale only if it allows that.
type Fallback struct {
	// TTL is the freshness lifetime of a response that names none. It applies to statuses that
	// RFC 9110 §15.1 lets caches store, except 501, and to responses that say public. Zero means
	// none.
	TTL time.Duration

	// Stale is how long a response without stale-while-revalidate may be served while it is
	// refreshed. Zero means not at all.
	Stale time.Duration

	// StaleIfError is how long a response without stale-if-error may replace a failure. Zero
	// means not at all.
	StaleIfError time.Duration

	// Heuristic is the part of the time since Last-Modified for which a response that names no
	// lifetime is fresh (RFC 9111 §4.2.2); 0.1 is usual. It applies to the same responses as TTL,
	// and before TTL. Zero means TTL only.
	Heuristic float64

	// MaxHeuristic limits what Heuristic gives. Zero means DefaultMaxHeuristic.
	MaxHeuristic time.Duration
}

// StaleWhileRevalidate returns a Fallback for read-only GETs of services that do not say how long
// their answers last. Such an answer is fresh for a minute, and may be served for another minute
// while one request refreshes it. If requests for it are less than two minutes apart, only the
// first one waits. An answer that names a lifetime but no stale-while-revalidate is also served stale
// for a minute. What a response says wins, must-revalidate and no-store too.
//
//	httpcache.TransportConfig{Tiers: tiers, Fallback: httpcache.StaleWhileRevalidate()}
func StaleWhileRevalidate() Fallback { return Fallback{TTL: time.Minute, Stale: time.Minute} }

// check reports all faults of f.
func (f *Fallback) check(bad func(format string, args ...any)) {
	for _, d := range []struct {
		name string
		d    time.Duration
	}{
		{"TTL", f.TTL}, {"Stale", f.Stale}, {"StaleIfError", f.StaleIfError}, {"MaxHeuristic", f.MaxHeuristic},
	} {
		if d.d < 0 {
			bad("field Fallback.%s of %v is negative; 0 leaves it out", d.name, d.d)
		}
	}
	if !(f.Heuristic >= 0 && f.Heuristic <= 1) { // also NaN
		bad("field Fallback.Heuristic of %v is not between 0 and 1; 0.1 is usual", f.Heuristic)
	}
}

// rule returns f with its defaults.
func (f Fallback) rule() rules.Fallback {
	f.MaxHeuristic = cmp.Or(f.MaxHeuristic, DefaultMaxHeuristic)
	return rules.Fallback(f)
}
