package fetch

import (
	"context"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"
)

// Internals for the tests.

var (
	NewHosts   = newHosts
	FreshFor   = freshFor
	RetryAfter = retryAfter
	ReadRobots = readRobots
)

// Enter waits until a request to the host may start.
func (hs *hosts) Enter(ctx context.Context, name string, delay time.Duration) (func(), error) {
	return hs.enter(ctx, name, delay)
}

// Len returns the number of known hosts.
func (hs *hosts) Len() int {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	return len(hs.known)
}

// Allowed reports whether the guard allows an address in the dialer's form.
func Allowed(address string, private bool) bool {
	a := netip.MustParseAddr(address)
	network := "tcp6"
	if a.Is4() {
		network = "tcp4"
	}
	return guard(private)(network, netip.AddrPortFrom(a, 443).String(), nil) == nil
}

// Guard is the guard of the dialer.
func Guard(network, address string) error { return guard(false)(network, address, nil) }

// KeepsSecrets is keepsSecrets for URLs that parse.
func KeepsSecrets(from, to string) bool {
	f, _ := url.Parse(from)
	t, _ := url.Parse(to)
	return keepsSecrets(f, t)
}

// RealTransport returns the client's transport.
func RealTransport(cfg Config) *http.Transport {
	cfg = cfg.filled()
	return newTransport(cfg, guarded(cfg))
}

// PipeTransport returns the client's transport with another dialer: real except for the sockets.
func PipeTransport(cfg Config, dial func() (net.Conn, error)) *http.Transport {
	return newTransport(cfg.filled(), func(context.Context, string, string) (net.Conn, error) { return dial() })
}

// TrustingTransport returns the client's transport with a trusted certificate.
func TrustingTransport(cfg Config, cert *x509.Certificate) *http.Transport {
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	cfg = cfg.filled()
	cfg.roots = pool
	return newTransport(cfg, guarded(cfg))
}

// Text returns a body in UTF-8.
func Text(body []byte, contentType string) ([]byte, error) {
	r, err := Response{Body: body, ContentType: contentType}.Text()
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}
