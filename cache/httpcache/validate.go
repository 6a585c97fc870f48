package httpcache

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache/internal/address"
	"github.com/twofold-go/twofold/cache/httpcache/internal/coding"
	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
	"github.com/twofold-go/twofold/policy"
)

// defaults sets the fields that are zero, and returns all faults.
func (c *Config) defaults() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	c.Namespace = cmp.Or(c.Namespace, DefaultNamespace)
	c.Tenant = cmp.Or(c.Tenant, cache.DefaultTenant)
	c.MaxBody = cmp.Or(c.MaxBody, DefaultMaxBody)
	if c.Tiers == nil && !c.Off {
		bad("field Tiers is nil; open them with cache.Open")
	}
	if c.MaxBody < 0 {
		bad("field MaxBody of %d is negative", c.MaxBody)
	}
	c.lives(bad)
	if c.Statuses == nil && c.pages() {
		c.Statuses = []int{http.StatusOK, http.StatusMovedPermanently, http.StatusNotFound, http.StatusGone}
	}
	c.Statuses = slices.Clone(c.Statuses)
	for _, s := range c.Statuses {
		if s < 200 || s > 999 || s == http.StatusPartialContent || s == http.StatusNotModified {
			bad("field Statuses has %d, which is not the status of a whole response", s)
		} else if s >= 500 && c.pages() {
			bad("field Statuses has %d, a failure; with Pages it would stay until an invalidation", s)
		}
	}
	c.Hosts = slices.Clone(c.Hosts)
	for i, h := range c.Hosts {
		if !address.IsHost(h) || h == "" {
			bad("field Hosts: entry %d, %.100q, is not a host in lower case; want the value of the header Host, such as example.com:8080", i, h)
		}
	}
	c.headers(bad)
	c.encodings(bad)
	return errors.Join(errs...)
}

// lives checks the fields about lifetimes and sets those that are zero.
func (c *Config) lives(bad func(format string, args ...any)) {
	if c.Preset > Pages {
		bad("field Preset is %d; want Shared or Pages", c.Preset)
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
	c.Fallback.check(bad)
	if !c.pages() {
		p := &c.Policy
		if p.TTL != nil || p.Stale != nil || p.StaleIfError != nil || p.Jitter != nil && *p.Jitter != 0 {
			bad("field Policy sets TTL, Jitter, Stale or StaleIfError; with Shared the response says these: use Fallback, or Pages")
		}
		return
	}
	for name, set := range map[string]bool{
		"Fallback": c.Fallback != (Fallback{}), "Targets": len(c.Targets) > 0,
	} {
		if set {
			bad("field %s is for Shared only; leave it out with Pages", name)
		}
	}
}

func (c *Config) pages() bool { return c.Preset == Pages }

// canonicalNames returns the canonical names of the headers in a field.
func canonicalNames(field string, names []string, bad func(format string, args ...any)) []string {
	all := make([]string, len(names))
	for i, n := range names {
		if !rules.IsToken(n) {
			bad("field %s: entry %d, %.100q, is not a header's name", field, i, n)
		}
		all[i] = http.CanonicalHeaderKey(n)
	}
	return all
}

// headers makes the names of headers canonical, and reports the faults.
func (c *Config) headers(bad func(format string, args ...any)) {
	c.Hide, c.Targets = canonicalNames("Hide", c.Hide, bad), canonicalNames("Targets", c.Targets, bad)
	c.AuditIgnore = canonicalNames("AuditIgnore", c.AuditIgnore, bad)
	c.Credentials = append(usualCredentials(), canonicalNames("Credentials", c.Credentials, bad)...)
	c.Vary = slices.Clone(c.Vary)
	var seen []string
	for i := range c.Vary {
		v := &c.Vary[i]
		name := http.CanonicalHeaderKey(v.Header)
		switch {
		case !rules.IsToken(v.Header):
			bad("field Vary: the header of entry %d, %.100q, is not a header's name", i, v.Header)
		case slices.Contains(c.Credentials, name):
			bad("field Vary: %s identifies the client and must not be in a key; leave it out", name)
		case name == "Host":
			bad("field Vary: Host is in every key; leave it out")
		case rules.UnsafeToVary(name):
			bad("field Vary: %s says how a response is sent, not what is in it; leave it out", name)
		case slices.Contains(seen, name):
			bad("field Vary has %s twice", name)
		}
		v.Header = name
		seen = append(seen, name)
		if v.Normalize == nil {
			v.Normalize = strings.TrimSpace
		}
	}
}

// policy returns the policy of the namespace: Config.Policy on top of the defaults for responses.
func (c *Config) policy() policy.Patch {
	p := c.Policy
	if !c.pages() {
		p = exact(p)
	}
	p.TTL = cmp.Or(p.TTL, new(policy.Forever))
	p.NegativeTTL = cmp.Or(p.NegativeTTL, new(time.Duration)) // a 5xx is not remembered either
	p.Jitter = cmp.Or(p.Jitter, new(float64))
	return p
}

// exact returns p for responses that give exact times and their own limits of staleness.
func exact(p policy.Patch) policy.Patch {
	p.TTL, p.Stale, p.StaleIfError, p.Jitter = new(policy.Forever), new(time.Duration), new(time.Duration), new(float64)
	return p
}

// encodings reports the faults of Config.Encodings.
func (c *Config) encodings(bad func(format string, args ...any)) {
	var seen [coding.Kinds]bool
	for i, e := range compressors(c.Encodings) {
		switch {
		case e.Pack == nil && e.Level == 0:
			bad("field Encodings: entry %d is zero; make one by Gzip or Zstd", i)
			continue
		case e.Pack == nil:
			bad("field Encodings: level %d of entry %d is not one of %v; 0 is the default", e.Level, i, e.Kind)
		case seen[e.Kind]:
			bad("field Encodings has %v twice", e.Kind)
		}
		seen[e.Kind] = true
	}
	if len(c.Encodings) > 0 && slices.ContainsFunc(c.Vary, func(v VaryRule) bool { return v.Header == "Accept-Encoding" }) {
		bad("field Vary has Accept-Encoding, which no handler sees when Encodings is set; leave one of them out")
	}
	c.Encodings = slices.Clone(c.Encodings)
}
