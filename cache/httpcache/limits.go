package httpcache

import (
	"net/http"
	"time"

	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
)

// limits are what a client requires of its page (RFC 9111 §5.2.1). The zero value requires
// nothing.
type limits struct {
	anew     bool          // no-cache: a new load is required
	aged     bool          // maxAge counts
	maxAge   time.Duration // the highest age
	minFresh time.Duration // the shortest remaining freshness
}

// limitsOf reads the limits of a request whose client may refresh pages.
func limitsOf(h http.Header) (l limits) {
	lines := h["Cache-Control"]
	if len(lines) == 0 {
		l.anew = rules.Lists(h["Pragma"], "no-cache")
		return l
	}
	d, _ := rules.ParseCacheControl(lines)
	l.anew = d.Has("no-cache")
	if d.Has("max-age") {
		n, _ := d.Seconds("max-age") // not a number: 0
		l.aged, l.maxAge = true, time.Duration(n)*time.Second
	}
	if n, ok := d.Seconds("min-fresh"); ok {
		l.minFresh = time.Duration(n) * time.Second
	}
	return l
}

// unwanted reports whether the page does not meet the client's limits.
func (x *exchange) unwanted(p *page) bool {
	l, age := x.t.limits, time.Duration(x.c.age(p))*time.Second
	switch {
	case l.anew, l.aged && age > l.maxAge:
		return true
	case x.c.cfg.pages() || l.minFresh == 0:
		return false
	}
	return time.Duration(p.Fresh)*time.Millisecond-age < l.minFresh
}
