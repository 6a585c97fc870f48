package httpcache

import (
	"net/http"
	"time"
)

// limits are what a client asks of the page that it gets (RFC 9111 §5.2.1). The zero value
// asks nothing.
type limits struct {
	anew     bool          // it is to be asked for
	aged     bool          // maxAge counts
	maxAge   time.Duration // how old it may be
	minFresh time.Duration // for how long it has to be fresh yet
}

// limitsOf reads the limits of a request whose client may make the handler work.
func limitsOf(h http.Header) (l limits) {
	lines := h["Cache-Control"]
	if len(lines) == 0 {
		l.anew = names(h["Pragma"], "no-cache")
		return l
	}
	d, _ := parseCacheControl(lines)
	l.anew = d.has("no-cache")
	if d.has("max-age") {
		n, _ := d.seconds("max-age") // what is no number is 0
		l.aged, l.maxAge = true, time.Duration(n)*time.Second
	}
	if n, ok := d.seconds("min-fresh"); ok {
		l.minFresh = time.Duration(n) * time.Second
	}
	return l
}

// unwanted reports whether the client asks for better than the page.
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
