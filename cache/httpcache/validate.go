package httpcache

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/codec"
	"github.com/twofold-go/twofold/policy"
)

// defaults fills in what was left out, and reports what is wrong.
func (c *Config) defaults() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	c.Namespace = cmp.Or(c.Namespace, DefaultNamespace)
	c.Tenant = cmp.Or(c.Tenant, cache.DefaultTenant)
	c.Name = cmp.Or(c.Name, DefaultName)
	c.MaxBody = cmp.Or(c.MaxBody, DefaultMaxBody)
	if c.Tiers == nil && !c.Off {
		bad("field Tiers is nil")
	}
	if c.MaxBody < 0 {
		bad("field MaxBody of %d is negative", c.MaxBody)
	}
	c.lives(bad)
	if c.Statuses == nil && c.until() {
		c.Statuses = []int{http.StatusOK, http.StatusMovedPermanently, http.StatusNotFound, http.StatusGone}
	}
	c.Statuses = slices.Clone(c.Statuses)
	for _, s := range c.Statuses {
		if s < 200 || s > 999 || s == http.StatusPartialContent || s == http.StatusNotModified {
			bad("field Statuses has %d, which is not a whole response of its own", s)
		} else if s >= 500 && c.until() {
			bad("field Statuses has %d, a failure, which must not be kept until something is invalidated", s)
		}
	}
	c.Hosts = slices.Clone(c.Hosts)
	for i, h := range c.Hosts {
		if !isHost(h) || h == "" {
			bad("field Hosts: entry %d of %d bytes is not a host in lower case", i, len(h))
		}
	}
	if c.Tracking == nil {
		c.Tracking = Tracking
	}
	if c.ClientMayRefresh == nil {
		c.ClientMayRefresh = func(*http.Request) bool { return false }
	}
	if c.Format == nil {
		c.Format = formatOf
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
	errs = append(errs, c.headers()...)
	errs = append(errs, c.tagHeaders()...)
	return errors.Join(append(errs, c.encodings()...)...)
}

// lives fills in what is about lifetimes.
func (c *Config) lives(bad func(format string, args ...any)) {
	if c.Lifetime > UntilInvalidated {
		bad("field Lifetime is %d; want FromResponse or UntilInvalidated", c.Lifetime)
	}
	if c.Keep < 0 {
		bad("field Keep of %v is negative", c.Keep)
	}
	c.Keep = cmp.Or(c.Keep, DefaultKeep)
	if c.Secure == nil {
		c.Secure = func(r *http.Request) bool { return r.TLS != nil }
	}
	if c.Hide == nil {
		c.Hide = DefaultHide()
	}
	for _, err := range c.Fallback.faults() {
		bad("%w", err)
	}
	c.Hide, c.Targets = canonicalNames(c.Hide), canonicalNames(c.Targets)
	for i, n := range c.Hide {
		if !isToken(n) {
			bad("field Hide: entry %d is not a header's name", i)
		}
	}
	for i, n := range c.Targets {
		if !isToken(n) {
			bad("field Targets: entry %d is not a header's name", i)
		}
	}
	if !c.until() {
		p := &c.Policy
		if p.TTL != nil || p.Stale != nil || p.StaleIfError != nil || p.Jitter != nil && *p.Jitter != 0 {
			bad("field Policy sets TTL, Jitter, Stale or StaleIfError, which with FromResponse the response says; see Fallback, or set UntilInvalidated")
		}
		return
	}
	for name, set := range map[string]bool{
		"Fallback": c.Fallback != (Fallback{}), "Targets": len(c.Targets) > 0, "SharedAuthorization": c.SharedAuthorization,
	} {
		if set {
			bad("field %s says something about lifetimes that responses say; with UntilInvalidated none counts", name)
		}
	}
}

// until reports whether responses live until they are invalidated.
func (c *Config) until() bool { return c.Lifetime == UntilInvalidated }

func canonicalNames(names []string) []string {
	all := make([]string, len(names))
	for i, n := range names {
		all[i] = http.CanonicalHeaderKey(n)
	}
	return all
}

// headers brings the names of headers into their usual form, and reports what is
// wrong with them.
func (c *Config) headers() (errs []error) {
	c.Vary, c.ContextKeys = slices.Clone(c.Vary), slices.Clone(c.ContextKeys)
	names := []string{"Authorization", "Proxy-Authorization", "Cookie"}
	for i, n := range c.Credentials {
		if !isToken(n) {
			errs = append(errs, fmt.Errorf("field Credentials: entry %d is not a header's name", i))
		}
		names = append(names, http.CanonicalHeaderKey(n))
	}
	c.Credentials = names
	var seen []string
	for i := range c.Vary {
		v := &c.Vary[i]
		name := http.CanonicalHeaderKey(v.Header)
		switch {
		case !isToken(v.Header):
			errs = append(errs, fmt.Errorf("field Vary: the header of entry %d is not a header's name", i))
		case slices.Contains(c.Credentials, name):
			errs = append(errs, fmt.Errorf("field Vary: %s says who asks; keys are no place for that", name))
		case unsafeToVary(name):
			errs = append(errs, fmt.Errorf("field Vary: %s is looked at before the cache is", name))
		case slices.Contains(seen, name):
			errs = append(errs, fmt.Errorf("field Vary has %s twice", name))
		}
		v.Header = name
		seen = append(seen, name)
		if v.Normalize == nil {
			v.Normalize = strings.TrimSpace
		}
	}
	return errs
}

// unsafeToVary are the headers that decide whether and how a response is sent,
// not what is in it.
func unsafeToVary(name string) bool {
	switch name {
	case "Range", "If-Range", "If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since",
		"Connection", "Upgrade", "Content-Length", "Transfer-Encoding", "Te", "Trailer", "Expect", "Host":
		return true
	}
	return false
}

// policy returns the policy of the namespace: what was asked for, on top of what
// suits responses.
func (c *Config) policy() policy.Patch {
	p := c.Policy
	def := func(d **time.Duration, v time.Duration) {
		if *d == nil {
			*d = &v
		}
	}
	if !c.until() { // what a response says is exact, and says itself when it is of no more use
		forever, none := policy.Forever, time.Duration(0)
		p.TTL, p.Stale, p.StaleIfError, p.Jitter = &forever, &none, &none, new(float64)
	}
	def(&p.TTL, policy.Forever)
	def(&p.NegativeTTL, 0) // a 5xx is not remembered either
	if p.Jitter == nil {
		p.Jitter = new(float64)
	}
	if p.MaxValueBytes == nil { // what a codec may make of a body
		p.MaxValueBytes = new(2*c.MaxBody + 2*maxHeader)
	}
	return p
}
