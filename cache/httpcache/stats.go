package httpcache

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/twofold-go/twofold/cache/httpcache/internal/reason"
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

type counts struct {
	hits, stale, misses, coalesced, notModified, stored, bytes atomic.Int64
}

func (c *counts) read() Counts {
	return Counts{
		Hits: c.hits.Load(), Stale: c.stale.Load(), Misses: c.misses.Load(), Coalesced: c.coalesced.Load(),
		NotModified: c.notModified.Load(), Stored: c.stored.Load(), Bytes: c.bytes.Load(),
	}
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

// counters have a fixed size.
type counters struct {
	bypassed, refused [reason.Count]atomic.Int64
	pendingWrites     atomic.Int64
	formats           [len(formats)]counts
}

func (c *counters) bypass(why reason.Reason) { c.bypassed[why].Add(1) }

func (c *counters) refuse(why reason.Reason) { c.refused[why].Add(1) }

// of returns the counts of a format.
func (c *counters) of(format string) *counts {
	return &c.formats[max(slices.Index(formats[:], format), 0)]
}

// Stats returns the numbers so far. They are read one by one, not in one snapshot.
func (c *Cache) Stats() Stats { return c.stats.read() }

func (c *counters) read() Stats {
	s := Stats{Formats: map[string]Counts{}, Bypass: map[string]int64{}, Refused: map[string]int64{}}
	for i, name := range formats {
		if n := c.formats[i].read(); n != (Counts{}) {
			s.Formats[name] = n
			s.add(n)
		}
	}
	s.PendingWrites = c.pendingWrites.Load()
	for r := reason.None + 1; r < reason.Count; r++ {
		if n := c.bypassed[r].Load(); n > 0 {
			s.Bypass[r.String()] = n
		}
		if n := c.refused[r].Load(); n > 0 {
			s.Refused[r.String()] = n
		}
	}
	return s
}

// formats are the results of formatOf. The first one stands for all others.
var formats = [...]string{"other", "html", "json", "jsonfeed", "rss", "atom", "xml", "css", "js", "text"}

// formatOf names a response by its Content-Type.
func formatOf(h http.Header) string {
	kind, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	switch strings.ToLower(strings.TrimSpace(kind)) {
	case "text/html", "application/xhtml+xml":
		return "html"
	case "application/json", "application/problem+json":
		return "json"
	case "application/feed+json":
		return "jsonfeed"
	case "application/rss+xml":
		return "rss"
	case "application/atom+xml":
		return "atom"
	case "text/xml", "application/xml":
		return "xml"
	case "text/css":
		return "css"
	case "text/javascript", "application/javascript":
		return "js"
	case "text/plain":
		return "text"
	}
	return "other"
}
