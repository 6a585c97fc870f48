package fetch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
)

// Stats are numbers of events since the client was made.
type Stats struct {
	Gets        int64 // calls of Get
	FromCache   int64 // of these, answered by the cache alone
	Shared      int64 // of these, answered by what another call asked for
	NotModified int64 // of these, with Response.NotModified

	Requests int64 // requests on the wire, robots.txt and redirects included
	Wire     int64 // bytes of bodies read from the network, before decompression
	Bytes    int64 // the same after decompression

	DeadHosts int64 // requests not made, because the host had not answered a moment ago

	// Errors counts failed Gets by what they failed with: "status 503",
	// "timed out", "answer too large", …
	Errors map[string]int64
}

type counters struct {
	gets, fromCache, shared, notModified, requests, wire, bytes, dead atomic.Int64

	mu     sync.Mutex // protects errors
	errors map[string]int64
}

// Stats returns the numbers so far. They are read one by one while others count.
// The map belongs to the caller.
func (c *Client) Stats() Stats {
	n := &c.count
	n.mu.Lock()
	defer n.mu.Unlock()
	return Stats{
		Gets: n.gets.Load(), FromCache: n.fromCache.Load(), Shared: n.shared.Load(), NotModified: n.notModified.Load(),
		Requests: n.requests.Load(), Wire: n.wire.Load(), Bytes: n.bytes.Load(),
		DeadHosts: n.dead.Load(), Errors: maps.Clone(n.errors),
	}
}

func (n *counters) failed(err error) {
	name := outcome(err)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.errors[name]++
}

// outcome names an error. There are as many names as sentinels and statuses.
func outcome(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind.Error()
	}
	if e, ok := errors.AsType[*StatusError](err); ok {
		return fmt.Sprintf("status %d", e.Code)
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return "given up"
	}
	return "other"
}
