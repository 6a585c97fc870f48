package httpcache

import (
	"net/http"
	"time"
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
		l.anew = names(h["Pragma"], "no-cache")
		return l
	}
	d, _ := parseCacheControl(lines)
	l.anew = d.has("no-cache")
	if d.has("max-age") {
		n, _ := d.seconds("max-age") // not a number: 0
		l.aged, l.maxAge = true, time.Duration(n)*time.Second
	}
	if n, ok := d.seconds("min-fresh"); ok {
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
	case x.c.cfg.until() || l.minFresh == 0:
		return false
	}
	return time.Duration(p.Fresh)*time.Millisecond-age < l.minFresh
}
