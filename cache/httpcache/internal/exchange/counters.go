package exchange

import (
	"iter"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/twofold-go/twofold/cache/httpcache/internal/reason"
)

// Counts are the counters of the responses of a format; see Counts of package httpcache.
type Counts struct {
	Hits, Stale, Misses, Coalesced, NotModified, Stored, Bytes atomic.Int64
}

// Counters have a fixed size.
type Counters struct {
	bypassed, refused [reason.Count]atomic.Int64
	PendingWrites     atomic.Int64
	formats           [len(formats)]Counts
}

// Bypass counts a request that bypassed the cache.
func (c *Counters) Bypass(why reason.Reason) { c.bypassed[why].Add(1) }

// Refuse counts a response that was not stored.
func (c *Counters) Refuse(why reason.Reason) { c.refused[why].Add(1) }

// Of returns the counts of a format.
func (c *Counters) Of(format string) *Counts {
	return &c.formats[max(slices.Index(formats[:], format), 0)]
}

// Formats returns the counters of each format.
func (c *Counters) Formats() iter.Seq2[string, *Counts] {
	return func(yield func(string, *Counts) bool) {
		for i, name := range formats {
			if !yield(name, &c.formats[i]) {
				return
			}
		}
	}
}

// Reasons returns how many requests bypassed the cache, and how many responses were not stored, by reason.
func (c *Counters) Reasons() (bypassed, refused map[string]int64) {
	return byReason(&c.bypassed), byReason(&c.refused)
}

func byReason(counts *[reason.Count]atomic.Int64) map[string]int64 {
	all := map[string]int64{}
	for r := reason.None + 1; r < reason.Count; r++ {
		if n := counts[r].Load(); n > 0 {
			all[r.String()] = n
		}
	}
	return all
}

// formats are the results of FormatOf. The first one stands for all others.
var formats = [...]string{"other", "html", "json", "jsonfeed", "rss", "atom", "xml", "css", "js", "text"}

// FormatOf names a response by its Content-Type.
func FormatOf(h http.Header) string {
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
