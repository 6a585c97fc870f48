package fetch

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"code.dny.dev/ssrf"
	"golang.org/x/sync/semaphore"
)

const maxHeaderBytes = 64 << 10

// newTransport has no proxy, because the guard would check the address of the proxy.
func newTransport(dial func(ctx context.Context, network, address string) (net.Conn, error)) *http.Transport {
	return &http.Transport{
		DisableKeepAlives:      true,
		DisableCompression:     true, // the client decodes bodies itself, to count the bytes before and after
		MaxResponseHeaderBytes: maxHeaderBytes,
		DialContext:            dial,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
	}
}

// guarded refuses addresses that are not public. It checks the address that the connection
// goes to, after the name was resolved.
func guarded(cfg Config) *http.Transport {
	// The limit is below the request's own, to distinguish a host that does not answer from a slow
	// one.
	d := &net.Dialer{Timeout: min(10*time.Second, cfg.Timeout/2), Control: guard(cfg.AllowPrivate)}
	return newTransport(d.DialContext)
}

func guard(private bool) func(network, address string, _ syscall.RawConn) error {
	options := []ssrf.Option{ssrf.WithAnyPort()} // checkURL has checked the port
	if private {
		options = append(options, ssrf.WithAllowedV4Prefixes(
			netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("172.16.0.0/12"),
			netip.MustParsePrefix("192.168.0.0/16"), netip.MustParsePrefix("100.64.0.0/10"), // overlay networks use the last one
		), ssrf.WithAllowedV6Prefixes(netip.MustParsePrefix("::1/128"), netip.MustParsePrefix("fc00::/7")))
	}
	safe := ssrf.New(options...).Safe
	return func(network, address string, conn syscall.RawConn) error {
		if err := safe(network, address, conn); err != nil {
			return fmt.Errorf("%w: %w", ErrPrivateAddress, err)
		}
		return nil
	}
}

// hosts limits the requests to each host. A request takes one of the host's slots, then its single
// door, and waits there for the pause. A request that stops waiting delays no other.
type hosts struct {
	per   int64
	mu    sync.Mutex // protects known and host.users
	known map[string]*host
}

type host struct {
	slots, door *semaphore.Weighted
	last        time.Time // the last start; only the request in the door uses it
	users       int       // requests, and pauses that are not over. At 0 the host is deleted
}

func newHosts(per int) *hosts {
	return &hosts{per: int64(per), known: make(map[string]*host)}
}

// enter waits until a request to the host may start. The caller calls leave when the request ends.
func (hs *hosts) enter(ctx context.Context, name string, delay time.Duration) (leave func(), err error) {
	hs.mu.Lock()
	h := hs.known[name]
	if h == nil {
		h = &host{slots: semaphore.NewWeighted(hs.per), door: semaphore.NewWeighted(1)}
		hs.known[name] = h
	}
	h.users++
	hs.mu.Unlock()
	if err := h.slots.Acquire(ctx, 1); err != nil {
		hs.drop(name, h)
		return nil, err
	}
	leave = func() {
		h.slots.Release(1)
		time.AfterFunc(max(delay, maxCrawlDelay), func() { hs.drop(name, h) }) // the next request may need a longer pause
	}
	if err := h.pass(ctx, delay); err != nil {
		leave()
		return nil, err
	}
	return leave, nil
}

func (hs *hosts) drop(name string, h *host) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	if h.users--; h.users == 0 {
		delete(hs.known, name)
	}
}

func (h *host) pass(ctx context.Context, delay time.Duration) error {
	if err := h.door.Acquire(ctx, 1); err != nil {
		return err
	}
	defer h.door.Release(1)
	if pause := time.Until(h.last.Add(delay)); !h.last.IsZero() && pause > 0 {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	h.last = time.Now()
	return nil
}
