package rules

import (
	"net/http"

	"github.com/twofold-go/twofold/cache/httpcache/internal/reason"
)

// Forbidden returns the reason why no cache may store a response, whatever its Cache-Control says.
func Forbidden(h http.Header) reason.Reason {
	switch {
	case Has(h, "Set-Cookie"):
		return reason.SetCookie
	case Has(h, "Content-Range"):
		return reason.Partial
	case Has(h, "Trailer"):
		return reason.Trailer
	case Has(h, "Transfer-Encoding"):
		return reason.TransferEncoding
	case Has(h, "Upgrade"), Lists(h["Connection"], "upgrade"):
		return reason.Connection
	case Lists(h["Content-Type"], "text/event-stream"), Lists(h["Content-Type"], "multipart/x-mixed-replace"):
		return reason.EventStream
	}
	return reason.None
}

// Marked returns the reason why a response says that it is not for everybody, or not whole.
func Marked(h http.Header) reason.Reason {
	if why := Forbidden(h); why != reason.None {
		return why
	}
	return markedByCacheControl(h)
}

// markedByCacheControl judges Cache-Control, or Pragma without it. It ignores the arguments that
// limit private and no-cache to some fields, because too few caches understand them. Lifetimes
// (max-age, s-maxage, Expires) and must-revalidate are for caches further down: here a response
// is valid until it is invalidated.
func markedByCacheControl(h http.Header) reason.Reason {
	lines := h["Cache-Control"]
	if len(lines) == 0 {
		if Lists(h["Pragma"], "no-cache") {
			return reason.NoCache
		}
		return reason.None
	}
	d, ok := ParseCacheControl(lines)
	switch {
	case d.Has("no-store"):
		return reason.NoStore
	case d.Has("private"):
		return reason.Private
	case d.Has("no-cache"):
		return reason.NoCache // pages are not revalidated
	case !ok:
		return reason.BadCacheControl
	}
	return reason.None
}

// DeclaredFresh reports whether a response says that it may be reused for others.
func DeclaredFresh(h http.Header) bool {
	d, _ := ParseCacheControl(h["Cache-Control"])
	if n, ok := d.Seconds("s-maxage"); ok {
		return n > 0
	}
	n, ok := d.Seconds("max-age")
	return d.Has("public") || ok && n > 0
}

// StandsIn reports whether an older response may replace one with that status (RFC 5861 §4).
func StandsIn(status int) bool {
	return status == http.StatusInternalServerError || status >= http.StatusBadGateway && status <= http.StatusGatewayTimeout
}
