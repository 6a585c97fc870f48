package httpcache

import (
	"net/http"
	"slices"
	"time"
)

// weigh decides what to do with a response that says how long it lives. Without KeyOnly it was
// made from one client's whole request, so other clients get it only if it is stored.
func (n *rendering) weigh(status int, h http.Header) verdict {
	c, now := n.x.c, n.x.c.cfg.Now()
	if status == http.StatusNotModified && n.prev != nil {
		return verdict{fate: renew, at: now}
	}
	v := verdict{fate: store, at: now, life: c.rules.lifetimeOf(status, h, n.made, now)}
	v.why = c.forbids(n, status, h, &v.life)
	switch {
	case v.why == none:
	case standsIn(status) && !v.life.explicit:
		v.fate, v.mine = fail, !c.cfg.KeyOnly || v.why != bySilence
	case c.cfg.KeyOnly && (v.why == bySilence || v.why == byMissing):
		v.fate = share
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
func (c *Cache) forbids(n *rendering, status int, h http.Header, life *lifetime) reason {
	if why := crossed(h); why != none {
		return why
	}
	switch {
	case status == http.StatusPartialContent:
		return byPartial
	case status == http.StatusNotModified, c.cfg.Statuses != nil && !slices.Contains(c.cfg.Statuses, status):
		return byStatus
	case life.noStore:
		return byNoStore
	case life.private:
		return byPrivate
	case life.bad:
		return byBadCacheControl
	case has(n.req, "Authorization") && !life.authorized:
		return byCredentials
	case missing(status) && c.cfg.StoreMissing != nil && !c.cfg.StoreMissing(n.x.t.path):
		return byMissing
	}
	if why := n.forbidsVary(h); why != none {
		return why
	}
	fresh, stale, staleIfError := life.left()
	switch {
	case fresh > 0 || stale > 0 || staleIfError > 0:
		return none
	case (life.asks || life.explicit) && (has(h, "Etag") || has(h, "Last-Modified")):
		return none // usable after revalidation
	case life.asks:
		return byNoCache
	}
	return bySilence
}

// forbidsVary returns the reason why Vary forbids storing a response, or none.
func (n *rendering) forbidsVary(h http.Header) reason {
	names, ok := n.x.c.learned(&n.x.t, h["Vary"])
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
func (p *page) dated(at time.Time, life *lifetime) {
	p.Made = at.Add(-life.age).UnixMilli()
	p.Fresh = max(life.total, 0).Milliseconds()
	p.Stale, p.IfError = life.stale.Milliseconds(), life.staleIfError.Milliseconds()
	p.Asks, p.Strict = life.asks, life.strict
	p.drop("Age")
	if p.get("Date") == "" {
		p.put("Date", at.UTC().Format(http.TimeFormat))
	}
}
