package fetch

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"time"
)

// Internals for the tests.

var (
	NewHosts   = newHosts
	FreshFor   = freshFor
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

// RealTransport returns the client's transport.
func RealTransport(cfg Config) *http.Transport {
	return guarded(cfg.filled())
}

// PipeTransport returns the client's transport with another dialer: real except for the sockets.
func PipeTransport(dial func() (net.Conn, error)) *http.Transport {
	return newTransport(func(context.Context, string, string) (net.Conn, error) { return dial() })
}

// Text returns a body in UTF-8.
func Text(body []byte, contentType string) ([]byte, error) {
	r, err := Response{Body: body, ContentType: contentType}.Text()
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// Gunzip reads gzip as the client does.
func Gunzip(r io.Reader) (io.Reader, error) { return newGunzip(bufio.NewReader(r)) }
