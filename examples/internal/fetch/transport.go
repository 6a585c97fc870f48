package fetch

import (
	"net"
	"net/http"
	"time"
)

// maxHeaderBytes is the longest header that is read.
const maxHeaderBytes = 64 << 10

// newTransport returns the way to the network.
func newTransport(cfg Config) *http.Transport {
	dialer := &net.Dialer{
		// Well below a request's own limit, so that a host that does not answer the
		// dial is told from one that is slow, and remembered.
		Timeout: min(10*time.Second, cfg.Timeout/2),
		Control: guard(cfg.AllowPrivate),
	}
	return &http.Transport{
		// No proxy, also not the environment's: behind one the guard would see the
		// proxy's address instead of the host's.
		Proxy:       nil,
		DialContext: dialer.DialContext,

		// It does not undo gzip, because each request says itself what it accepts:
		// bodies are decoded where both sides of the decoder are counted.
		ForceAttemptHTTP2:      true,
		MaxResponseHeaderBytes: maxHeaderBytes,
		TLSHandshakeTimeout:    cfg.Timeout,
		MaxIdleConns:           100,
		MaxIdleConnsPerHost:    cfg.PerHost,
		IdleConnTimeout:        30 * time.Second,
	}
}
