package httpcache

import (
	"net/http"
	"slices"
	"time"

	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
)

// weigh decides what to do with a response that says how long it lives. It was made
// from one client's whole request, so other clients get it only if it is stored.
func (n *rendering) weigh(status int, h http.Header) verdict {
	c, now := n.x.c, n.x.c.cfg.Now()
	if status == http.StatusNotModified && n.prev != nil {
		return verdict{fate: renew, at: now}
	}
	v := verdict{fate: store, at: now, life: c.rules.Lifetime(status, h, n.made, now)}
	v.why = c.forbids(n, status, h, &v.life)
	switch {
	case v.why == none:
	case standsIn(status) && !v.life.Explicit:
		v.fate, v.mine = fail, true
	default:
		v.fate = refuse
	}
	return v
}

// standsIn reports whether an older response may replace one with that status (RFC 5861 §4).
func standsIn(status int) bool {
	return status == http.StatusInternalServerError || status >= http.StatusBadGateway && status <= http.StatusGatewayTimeout
}

// forbids returns the reason why a shared cache must not store a response (RFC 9111 §3), or none.
func (c *Cache) forbids(n *rendering, status int, h http.Header, life *rules.Lifetime) reason {
	if why := crossed(h); why != none {
		return why
	}
	switch {
	case status == http.StatusPartialContent:
		return byPartial
	case status == http.StatusNotModified, c.cfg.Statuses != nil && !slices.Contains(c.cfg.Statuses, status):
		return byStatus
	case missing(status) && c.cfg.StoreMissing != nil && !c.cfg.StoreMissing(n.x.t.path):
		return byMissing
	}
	if why := withheld(life, true, n.req); why != none {
		return why
	}
	if why := n.forbidsVary(h); why != none {
		return why
	}
	return useless(life, status, h)
}

// withheld returns the reason why a response to a request with header asked is for its client only,
// or none.
func withheld(life *rules.Lifetime, shared bool, asked http.Header) reason {
	switch {
	case life.NoStore:
		return byNoStore
	case shared && life.Private:
		return byPrivate
	case life.Bad:
		return byBadCacheControl
	case shared && rules.Has(asked, "Authorization") && !life.Authorized:
		return byCredentials
	}
	return none
}

// useless returns the reason why a stored response would never answer anything, or none.
func useless(life *rules.Lifetime, status int, h http.Header) reason {
	switch {
	case life.Usable(status, h):
		return none
	case life.Asks:
		return byNoCache
	}
	return bySilence
}

// forbidsVary returns the reason why Vary forbids storing a response, or none.
func (n *rendering) forbidsVary(h http.Header) reason {
	names, ok := n.x.c.learned(&n.x.t, h, rules.Has(h, "Content-Encoding"))
	if !ok {
		return byVary
	}
	if n.x.vary == nil {
		return none
	}
	for _, name := range names {
		if !slices.ContainsFunc(n.x.vary, func(f field) bool { return f.Name == name }) {
			n.x.relearn.Store(true)
			return byVary
		}
	}
	return none
}

// dated sets the times of a page that says how long it lives: when it was made, as far as known,
// and how long it is fresh.
func (p *page) dated(at time.Time, life *rules.Lifetime) {
	p.Checked = at.UnixMilli()
	p.Made = at.Add(-life.Age).UnixMilli()
	p.Fresh = max(life.Total, 0).Milliseconds()
	p.Stale, p.IfError = life.Stale.Milliseconds(), life.StaleIfError.Milliseconds()
	p.Asks, p.Strict = life.Asks, life.Strict
	p.drop("Age")
	if p.Get("Date") == "" {
		p.put("Date", at.UTC().Format(http.TimeFormat))
	}
}
