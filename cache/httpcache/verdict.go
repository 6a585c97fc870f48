package httpcache

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// fate is what becomes of a response.
type fate uint8

const (
	refuse fate = iota // for nobody but the client whose own request it answers
	fail               // 5xx: not stored; an older one may stand in for it
	share              // for all who wait for it, and not stored
	store
	renew // 304: what was there still stands
)

// verdict is what the header of a response says about its fate.
type verdict struct {
	fate fate
	why  reason // why it is not stored
	mine bool   // of a failure: it is not for everybody

	// held says that the response is an answer to the cache, whether it is flushed or not:
	// what was there may be sent in its place.
	held bool

	// With FromResponse: when the header came, and how long the response lives.
	at   time.Time
	life lifetime
}

// judge decides by status and header, whose names are in their usual form,
// what becomes of a response to t.
//
// A response that is marked as its client's own, in whatever way, is refused
// before its status is looked at. So is one with a status that HTTP itself takes
// for an answer to this client only, such as 302 or 401, unless it says
// otherwise (RFC 9110 §15.1): a handler that renders for everybody has not seen
// what such an answer may depend on.
func (c *Cache) judge(t *target, status int, h http.Header) verdict {
	why := marked(h)
	if why == none && !c.varies(t, h["Vary"]) {
		why = byVary
	}
	switch {
	case status >= 500:
		return verdict{fate: fail, why: byStatus, mine: why != none}
	case why != none:
		return verdict{why: why}
	case status == http.StatusPartialContent:
		return verdict{why: byPartial}
	case slices.Contains(c.cfg.Statuses, status):
		if missing(status) && c.cfg.StoreMissing != nil && !c.cfg.StoreMissing(t.path) {
			return verdict{fate: share, why: byMissing}
		}
		return verdict{fate: store}
	case forAll(status) || declaredFresh(h):
		return verdict{fate: share, why: byPlainStatus}
	}
	return verdict{why: byStatus}
}

func missing(status int) bool {
	return status == http.StatusNotFound || status == http.StatusGone
}

// marked returns the mark by which a response says that it is not for everybody,
// or not a whole one.
func marked(h http.Header) reason {
	if why := crossed(h); why != none {
		return why
	}
	return markedByCacheControl(h)
}

// crossed returns what makes a response one that no cache keeps, whatever it says.
func crossed(h http.Header) reason {
	switch {
	case has(h, "Set-Cookie"):
		return bySetCookie
	case has(h, "Content-Range"):
		return byPartial
	case has(h, "Trailer"):
		return byTrailer
	case has(h, "Transfer-Encoding"):
		return byTransferEncoding
	case has(h, "Upgrade"), names(h["Connection"], "upgrade"):
		return byConnection
	case names(h["Content-Type"], "text/event-stream"), names(h["Content-Type"], "multipart/x-mixed-replace"):
		return byEventStream
	}
	return none
}

// markedByCacheControl judges Cache-Control and its forerunner. The arguments of
// private and no-cache, which limit them to some fields, are not honoured: too
// few understand them. Lifetimes (max-age, s-maxage, Expires) and must-revalidate
// speak to caches further down: here a response is true until it is invalidated.
func markedByCacheControl(h http.Header) reason {
	lines := h["Cache-Control"]
	if len(lines) == 0 {
		if names(h["Pragma"], "no-cache") {
			return byNoCache
		}
		return none
	}
	d, ok := parseCacheControl(lines)
	switch {
	case d.has("no-store"):
		return byNoStore
	case d.has("private"):
		return byPrivate
	case d.has("no-cache"):
		return byNoCache // there is nothing that could be asked whether it still stands
	case !ok:
		return byBadCacheControl
	}
	return none
}

// varies reports whether all that a response says it varies on is in the key.
func (c *Cache) varies(t *target, lines []string) bool {
	for _, line := range lines {
		for name := range strings.SplitSeq(line, ",") {
			if name = strings.TrimSpace(name); name != "" && !c.declares(t, name) {
				return false
			}
		}
	}
	return true
}

func (c *Cache) declares(t *target, header string) bool {
	if len(c.cfg.Encodings) > 0 && strings.EqualFold(header, "Accept-Encoding") {
		return true // no handler sees it
	}
	for _, r := range c.cfg.Vary {
		if strings.EqualFold(r.Header, header) {
			return r.On == nil || r.On(t.path)
		}
	}
	return false
}

// forAll reports whether HTTP takes a status for an answer about the resource,
// which holds for whoever asks (RFC 9110 §15.1: heuristically cacheable).
func forAll(status int) bool {
	switch status {
	case http.StatusOK, http.StatusNonAuthoritativeInfo, http.StatusNoContent, http.StatusMultipleChoices,
		http.StatusMovedPermanently, http.StatusPermanentRedirect, http.StatusNotFound, http.StatusMethodNotAllowed,
		http.StatusGone, http.StatusRequestURITooLong:
		return true
	}
	return false
}

// declaredFresh reports whether a response says that others may use it again.
func declaredFresh(h http.Header) bool {
	d, _ := parseCacheControl(h["Cache-Control"])
	if n, ok := d.seconds("s-maxage"); ok {
		return n > 0
	}
	n, ok := d.seconds("max-age")
	return d.has("public") || ok && n > 0
}
