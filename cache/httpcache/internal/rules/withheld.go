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

// StandsIn reports whether an older response may replace one with that status (RFC 5861 §4).
func StandsIn(status int) bool {
	return status == http.StatusInternalServerError || status >= http.StatusBadGateway && status <= http.StatusGatewayTimeout
}
