package rules

import (
	"net/http"
	"slices"
)

// Life is how long a stored response may be used.
type Life struct {
	Made      int64 // when its age was zero, in Unix milliseconds
	Fresh     int64 // how long after that it is fresh, in milliseconds
	Asks      bool  // it is revalidated before every use
	Strict    bool  // it is not served stale
	Immutable bool  // RFC 8246
}

// Request is what a request's Cache-Control says (RFC 9111 §5.2.1), or its Pragma if there is no
// Cache-Control. Numbers are in seconds; negative means absent.
type Request struct {
	NoStore, NoCache, OnlyIfCached bool
	MaxAge, MinFresh, MaxStale     int64
}

// Request reads the header of a request in which s was seen.
func (s Seen) Request(h http.Header) Request {
	w := Request{MaxAge: -1, MinFresh: -1, MaxStale: -1}
	if !s.Any(SawCacheControl | SawPragma) {
		return w
	}
	lines := h["Cache-Control"]
	if len(lines) == 0 {
		w.NoCache = Lists(h["Pragma"], "no-cache")
		return w
	}
	d, _ := ParseCacheControl(lines)
	w.NoStore, w.NoCache, w.OnlyIfCached = d.Has("no-store"), d.Has("no-cache"), d.Has("only-if-cached")
	if d.Has("max-age") {
		w.MaxAge, _ = d.Seconds("max-age") // unreadable: 0
	}
	if n, ok := d.Seconds("min-fresh"); ok {
		w.MinFresh = n
	}
	if d.Has("max-stale") {
		if n, ok := d.Seconds("max-stale"); ok {
			w.MaxStale = n
		} else if slices.Contains(d, Directive{Name: "max-stale"}) { // any age
			w.MaxStale = MaxSeconds
		}
	}
	return w
}

// Restricts reports whether the client requires more than a response that may be used by its own
// words.
func (w *Request) Restricts() bool { return w.NoCache || w.MaxAge >= 0 || w.MinFresh >= 0 }

// Accepts reports whether a stored response meets the request at a time in Unix milliseconds.
func (w *Request) Accepts(p Life, now int64) bool {
	left := p.Made + p.Fresh - now
	switch {
	case w.NoCache || p.Asks:
		return false
	case w.MaxAge == 0 && p.Immutable && left > 0 && w.MinFresh < 0:
		return true // RFC 8246: a reload does not revalidate a page that never changes
	case w.MaxAge >= 0 && now-p.Made > w.MaxAge*1000:
		return false
	case w.MinFresh >= 0 && left < w.MinFresh*1000:
		return false
	case left > 0:
		return true
	}
	return w.MaxStale >= 0 && !p.Strict && -left <= w.MaxStale*1000
}
