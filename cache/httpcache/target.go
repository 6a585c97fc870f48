package httpcache

import (
	"net/http"
	"slices"
	"strings"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache/internal/address"
	"github.com/twofold-go/twofold/cache/httpcache/internal/reason"
	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
)

// target returns the target of r, or the reason why r bypasses the cache.
func (c *Cache) target(r *http.Request) (t address.Target, why reason.Reason) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return t, reason.Method
	}
	t.Saw = rules.Look(r.Header)
	t.Wants = t.Saw.Request(r.Header)
	t.Wants.NoCache, t.Wants.MaxAge, t.Wants.MinFresh, t.Wants.MaxStale = false, -1, -1, -1 // any client could make the handler work
	if why := c.personal(r, &t); why != reason.None {
		return t, why
	}
	if t.Host = strings.ToLower(r.Host); !c.serves(t.Host) {
		return t, reason.Host
	}
	if t.Secure = c.secure(r); !t.Locate(r) {
		return t, reason.Path
	}
	if !c.cfg.query(r.URL, &t) {
		return t, reason.Query
	}
	for i, rule := range c.cfg.Vary {
		if rule.On != nil && !rule.On(t.Path) {
			continue
		}
		if v := rule.Normalize(rules.Joined(r.Header[rule.Header])); v != "" {
			if t.Vary == nil {
				t.Vary = make([]string, len(c.cfg.Vary))
			}
			t.Vary[i] = v
		}
	}
	t.Key = t.Spell(func(i int) string { return c.cfg.Vary[i].Header })
	if !c.k.Fits(t.Key, 0) {
		return t, reason.KeyLength
	}
	return t, reason.None
}

// personal returns the reason why a request must be answered only for its own client, or none.
func (c *Cache) personal(r *http.Request, t *address.Target) reason.Reason {
	h := r.Header
	switch {
	case cache.Filling(r.Context()) != nil:
		return reason.Nesting // it is part of another load, which records its dependencies
	case c.cfg.Bypass != nil && c.cfg.Bypass(r):
		return reason.Program
	case t.Saw.Any(rules.SawUpgrade):
		return reason.Upgrade
	}
	if t.Saw.Any(rules.SawConnection) {
		if rules.Lists(h["Connection"], "upgrade") {
			return reason.Upgrade
		}
		if drops(h) {
			return reason.Connection
		}
	}
	switch {
	case r.ContentLength != 0 || len(r.TransferEncoding) > 0:
		return reason.Body
	case t.Saw.Any(rules.SawStream) && (rules.Has(h, "Last-Event-Id") || rules.Lists(h["Accept"], "text/event-stream")):
		return reason.Stream
	}
	if !c.hasCredentials(r, t.Saw) {
		return reason.None
	}
	if t.Allowed = c.cfg.AllowAuthorized != nil && c.cfg.AllowAuthorized(r); t.Allowed {
		return reason.None
	}
	return reason.Credentials
}

// drops reports whether a request's Connection names another header of the request. A proxy
// behind the cache would not pass that header on (RFC 9110 §7.6.1), so its response would not
// match the key.
func drops(h http.Header) bool {
	for _, line := range h["Connection"] {
		for name := range strings.SplitSeq(line, ",") {
			switch name = http.CanonicalHeaderKey(strings.TrimSpace(name)); name {
			case "Connection", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Http2-Settings":
				continue
			}
			if rules.Has(h, name) {
				return true
			}
		}
	}
	return false
}

func (c *Cache) hasCredentials(r *http.Request, saw rules.Seen) bool {
	for i, name := range c.cfg.Credentials {
		if i < usual && !saw.Any(rules.SawAuthorization<<i) {
			continue
		}
		if rules.Has(r.Header, name) && (name != "Cookie" || !c.cfg.ignores(r)) {
			return true
		}
	}
	return r.TLS != nil && len(r.TLS.PeerCertificates) > 0
}

func (c *Cache) serves(host string) bool {
	if len(c.cfg.Hosts) == 0 {
		return address.IsHost(host)
	}
	if slices.Contains(c.cfg.Hosts, host) {
		return true
	}
	name := address.Name(host)
	if i := slices.IndexFunc(c.cfg.Hosts, func(h string) bool { return address.Name(h) == name }); i >= 0 && !c.oddPort.Swap(true) {
		c.cfg.Logger.Warn("httpcache: requests bypass the cache because Hosts lists their host without their port; add it as the header Host has it",
			"host", host, "listed", c.cfg.Hosts[i])
	}
	return false
}
