package httpcache

import "net/http"

// words are what a request's Cache-Control says (RFC 9111 §5.2.1), or its Pragma if there is no
// Cache-Control. Numbers are in seconds; negative means absent.
type words struct {
	noStore, noCache, only     bool // only: only-if-cached
	maxAge, minFresh, maxStale int64
}

func wordsOf(h http.Header) words {
	w := words{maxAge: -1, minFresh: -1, maxStale: -1}
	lines := h["Cache-Control"]
	if len(lines) == 0 {
		w.noCache = names(h["Pragma"], "no-cache")
		return w
	}
	d, _ := parseCacheControl(lines)
	w.noStore, w.noCache, w.only = d.has("no-store"), d.has("no-cache"), d.has("only-if-cached")
	if d.has("max-age") {
		w.maxAge, _ = d.seconds("max-age") // unreadable: 0
	}
	if n, ok := d.seconds("min-fresh"); ok {
		w.minFresh = n
	}
	if d.has("max-stale") {
		if n, ok := d.seconds("max-stale"); ok {
			w.maxStale = n
		} else if d["max-stale"][0] == "" { // any age
			w.maxStale = maxSeconds
		}
	}
	return w
}

// restrict reports whether the words require more than a response that may be used by its own
// words.
func (w *words) restrict() bool { return w.noCache || w.maxAge >= 0 || w.minFresh >= 0 }

// accept reports whether a page meets the words at a time in Unix milliseconds.
func (w *words) accept(p *page, now int64) bool {
	left := p.Made + p.Fresh - now
	switch {
	case w.noCache || p.Asks:
		return false
	case w.maxAge == 0 && p.Immutable && left > 0 && w.minFresh < 0:
		return true // RFC 8246: a reload does not revalidate a page that never changes
	case w.maxAge >= 0 && now-p.Made > w.maxAge*1000:
		return false
	case w.minFresh >= 0 && left < w.minFresh*1000:
		return false
	case left > 0:
		return true
	}
	return w.maxStale >= 0 && !p.Strict && -left <= w.maxStale*1000
}
