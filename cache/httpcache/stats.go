package httpcache

import (
	"github.com/twofold-go/twofold/cache/httpcache/internal/exchange"
)

// Counts are numbers of requests, except for Stored and Bytes. Each request that may use the
// cache is one of Hits, Stale, Misses and Coalesced.
type Counts struct {
	Hits        int64 // answered by a fresh stored page
	Stale       int64 // answered by a stale stored page
	Misses      int64 // the handler ran
	Coalesced   int64 // the handler ran for another client at the same time
	NotModified int64 // of all these: answered 304
	Stored      int64 // responses that were given to the tiers
	Bytes       int64 // length of all bodies that were whole before they were sent
}

// Stats are the numbers of a Cache since it was made.
type Stats struct {
	Counts
	Formats map[string]Counts // by Content-Type: "html", "json", "other"

	// Bypass counts the requests that bypassed the cache, or got their own rendering without
	// reading the cache, by reason.
	Bypass map[string]int64

	// PendingWrites counts the writes that succeeded although their invalidation did not reach
	// the log in time. The Tiers keep trying.
	PendingWrites int64

	// Refused counts the responses that were not stored, by reason. "unavailable" counts the
	// requests that a Cache answered 503 or 504 because there was no response, and the ends of
	// pages that could not be sent in time.
	Refused map[string]int64
}

func (c *Counts) add(o Counts) {
	c.Hits += o.Hits
	c.Stale += o.Stale
	c.Misses += o.Misses
	c.Coalesced += o.Coalesced
	c.NotModified += o.NotModified
	c.Stored += o.Stored
	c.Bytes += o.Bytes
}

func statsOf(c *exchange.Counters) Stats {
	s := Stats{Formats: map[string]Counts{}, PendingWrites: c.PendingWrites.Load()}
	for format, c := range c.Formats() {
		n := Counts{
			Hits: c.Hits.Load(), Stale: c.Stale.Load(), Misses: c.Misses.Load(), Coalesced: c.Coalesced.Load(),
			NotModified: c.NotModified.Load(), Stored: c.Stored.Load(), Bytes: c.Bytes.Load(),
		}
		if n != (Counts{}) {
			s.Formats[format] = n
			s.add(n)
		}
	}
	s.Bypass, s.Refused = c.Reasons()
	return s
}

// Stats returns the numbers so far. They are read one by one, not in one snapshot.
func (c *Cache) Stats() Stats { return statsOf(&c.k.Stats) }

// Stats returns the numbers so far. They are read one by one, not in one snapshot.
func (t *Transport) Stats() Stats { return statsOf(&t.k.Stats) }
