package rules

import (
	"net/http"

	"github.com/twofold-go/twofold/cache/httpcache/internal/reason"
)

// Forbidden returns the reason why no cache may store a response, even if its Cache-Control allows it.
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

// StandsIn reports whether an older response may replace one with that status (RFC 5861 §4).
func StandsIn(status int) bool {
	return status == http.StatusInternalServerError || status >= http.StatusBadGateway && status <= http.StatusGatewayTimeout
}

// Outdates reports whether a response that is not stored says that the stored one is over, because
// the origin does not send it any more (RFC 9111 §4.3.3). It must be about the resource. A failure is
// not, and a refusal of the client (401, 403, 429) is not. With mine set, the response is for one
// client of several. A 304 outdates the stored response if the 304 may not be stored.
func Outdates(status int, mine bool) bool {
	return !mine && (status >= 200 && status < 400 || status == http.StatusNotFound || status == http.StatusGone)
}

// AboutClient reports whether a status is about the client of a request, or about the request, and not
// about the resource.
func AboutClient(status int) bool {
	return status >= 400 && status < 500 && !HeuristicallyCacheable(status)
}
