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
	"github.com/twofold-go/twofold/cache/httpcache/internal/address"
	"github.com/twofold-go/twofold/cache/httpcache/internal/coding"
	"github.com/twofold-go/twofold/cache/httpcache/internal/record"
	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
	"github.com/twofold-go/twofold/codec"
	"github.com/twofold-go/twofold/policy"
)

// defaults sets the fields that are zero, and returns all faults.
func (c *Config) defaults() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	c.Namespace = cmp.Or(c.Namespace, DefaultNamespace)
	c.Tenant = cmp.Or(c.Tenant, cache.DefaultTenant)
	c.Name = cmp.Or(c.Name, DefaultName)
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
			bad("field Hosts: entry %d of %d bytes is not a host in lower case", i, len(h))
		}
	}
	if c.Tracking == nil {
		c.Tracking = Tracking
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
	errs = append(errs, c.auditIgnore()...)
	return errors.Join(append(errs, c.encodings()...)...)
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
	for _, err := range c.Fallback.faults() {
		bad("%w", err)
	}
	c.Hide, c.Targets = canonicalNames(c.Hide), canonicalNames(c.Targets)
	for i, n := range c.Hide {
		if !rules.IsToken(n) {
			bad("field Hide: entry %d is not a header's name", i)
		}
	}
	for i, n := range c.Targets {
		if !rules.IsToken(n) {
			bad("field Targets: entry %d is not a header's name", i)
		}
	}
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

func canonicalNames(names []string) []string {
	all := make([]string, len(names))
	for i, n := range names {
		all[i] = http.CanonicalHeaderKey(n)
	}
	return all
}

// headers makes the names of headers canonical, and returns the faults.
func (c *Config) headers() (errs []error) {
	c.Vary = slices.Clone(c.Vary)
	names := usualCredentials()
	for i, n := range c.Credentials {
		if !rules.IsToken(n) {
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
		case !rules.IsToken(v.Header):
			errs = append(errs, fmt.Errorf("field Vary: the header of entry %d is not a header's name", i))
		case slices.Contains(c.Credentials, name):
			errs = append(errs, fmt.Errorf("field Vary: %s identifies the client and must not be in a key; leave it out", name))
		case rules.UnsafeToVary(name):
			errs = append(errs, fmt.Errorf("field Vary: %s says how a response is sent, not what is in it; leave it out", name))
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

// policy returns the policy of the namespace: Config.Policy on top of the defaults for responses.
func (c *Config) policy() policy.Patch {
	p := c.Policy
	def := func(d **time.Duration, v time.Duration) {
		if *d == nil {
			*d = &v
		}
	}
	if !c.pages() { // the response gives exact times and its own limits of staleness
		forever, none := policy.Forever, time.Duration(0)
		p.TTL, p.Stale, p.StaleIfError, p.Jitter = &forever, &none, &none, new(float64)
	}
	def(&p.TTL, policy.Forever)
	def(&p.NegativeTTL, 0) // a 5xx is not remembered either
	if p.Jitter == nil {
		p.Jitter = new(float64)
	}
	if p.MaxValueBytes == nil { // an encoded body may be longer than the body
		p.MaxValueBytes = new(2*c.MaxBody + 2*record.MaxHeader)
	}
	return p
}

// auditIgnore makes the names in Config.AuditIgnore canonical, and returns the faults.
func (c *Config) auditIgnore() (errs []error) {
	for i, n := range c.AuditIgnore {
		if !rules.IsToken(n) {
			errs = append(errs, fmt.Errorf("field AuditIgnore: entry %d is not a header's name", i))
		}
	}
	c.AuditIgnore = canonicalNames(c.AuditIgnore)
	return errs
}

// encodings returns the faults of Config.Encodings.
func (c *Config) encodings() (errs []error) {
	var seen [coding.Kinds]bool
	for i, e := range compressors(c.Encodings) {
		switch {
		case e.Pack == nil && e.Level == 0:
			errs = append(errs, fmt.Errorf("field Encodings: entry %d is zero; make one by Gzip or Zstd", i))
			continue
		case e.Pack == nil:
			errs = append(errs, fmt.Errorf("field Encodings: level %d of entry %d is not one of %v; 0 is the default", e.Level, i, e.Kind))
		case seen[e.Kind]:
			errs = append(errs, fmt.Errorf("field Encodings has %v twice", e.Kind))
		}
		seen[e.Kind] = true
	}
	if len(c.Encodings) > 0 && slices.ContainsFunc(c.Vary, func(v VaryRule) bool { return v.Header == "Accept-Encoding" }) {
		errs = append(errs, errors.New("field Vary has Accept-Encoding, which no handler sees when Encodings is set; leave one of them out"))
	}
	c.Encodings = slices.Clone(c.Encodings)
	return errs
}
