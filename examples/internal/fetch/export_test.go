package fetch

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"
)

// Inner parts that the tests look at by themselves.

var (
	NewHosts   = newHosts
	FreshFor   = freshFor
	RetryAfter = retryAfter
	Tidy       = tidy
	ReadRobots = readRobots
)

// Enter waits for a host's turn.
func (hs *hosts) Enter(ctx context.Context, name string, delay time.Duration) (func(), error) {
	return hs.enter(ctx, name, delay)
}

// Len returns how many hosts are remembered.
func (hs *hosts) Len() int {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	return len(hs.known)
}

// Allowed reports what the guard says of an address.
func Allowed(address string, private bool) bool {
	return allowed(netip.MustParseAddr(address), private)
}

// Guard is what the dialer calls.
func Guard(network, address string) error { return guard(false)(network, address, nil) }

// KeepsSecrets is keepsSecrets for URLs that parse.
func KeepsSecrets(from, to string) bool {
	f, _ := url.Parse(from)
	t, _ := url.Parse(to)
	return keepsSecrets(f, t)
}

// RealTransport returns the client's transport.
func RealTransport(cfg Config) *http.Transport { return newTransport(cfg.filled()) }

// PipeTransport returns the client's transport on another dialer: a real one, but
// for the sockets.
func PipeTransport(cfg Config, dial func() (net.Conn, error)) *http.Transport {
	t := RealTransport(cfg)
	t.DialContext = func(context.Context, string, string) (net.Conn, error) { return dial() }
	return t
}
