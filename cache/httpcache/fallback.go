package httpcache

import (
	"cmp"
	"time"

	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
)

// DefaultMaxHeuristic is the default of Fallback.MaxHeuristic.
const DefaultMaxHeuristic = 24 * time.Hour

// Fallback says how long a response may be used if it does not say so. What the response says
// wins, for each field separately. With the zero value a response that names no lifetime is not
// stored, and a response is served stale only if it allows that.
type Fallback struct {
	// TTL is the freshness lifetime of a response that names none. It applies to statuses that
	// RFC 9110 §15.1 lets caches store, except 501, and to responses that say public. Zero means
	// none.
	TTL time.Duration

	// Stale is how long a response without stale-while-revalidate may be served while it is
	// refreshed. Zero means not at all.
	Stale time.Duration

	// StaleIfError is how long a response without stale-if-error may replace a failure. Zero
	// means not at all.
	StaleIfError time.Duration

	// Heuristic is the part of the time since Last-Modified for which a response that names no
	// lifetime is fresh (RFC 9111 §4.2.2); 0.1 is usual. It applies to the same responses as TTL,
	// and before TTL. Zero means TTL only.
	Heuristic float64

	// MaxHeuristic limits what Heuristic gives. Zero means DefaultMaxHeuristic.
	MaxHeuristic time.Duration
}

// StaleWhileRevalidate returns a Fallback for read-only GETs of services that do not say how long
// their answers last. Such an answer is fresh for a minute, and may be served for another minute
// while one request refreshes it. If requests for it are less than two minutes apart, only the
// first one waits. An answer that names a lifetime but no stale-while-revalidate is also served stale
// for a minute. What a response says wins, must-revalidate and no-store too.
//
//	httpcache.TransportConfig{Tiers: tiers, Fallback: httpcache.StaleWhileRevalidate()}
func StaleWhileRevalidate() Fallback { return Fallback{TTL: time.Minute, Stale: time.Minute} }

// check reports all faults of f.
func (f *Fallback) check(bad func(format string, args ...any)) {
	for _, d := range []struct {
		name string
		d    time.Duration
	}{
		{"TTL", f.TTL}, {"Stale", f.Stale}, {"StaleIfError", f.StaleIfError}, {"MaxHeuristic", f.MaxHeuristic},
	} {
		if d.d < 0 {
			bad("field Fallback.%s of %v is negative; 0 leaves it out", d.name, d.d)
		}
	}
	if !(f.Heuristic >= 0 && f.Heuristic <= 1) { // also NaN
		bad("field Fallback.Heuristic of %v is not between 0 and 1; 0.1 is usual", f.Heuristic)
	}
}

// rule returns f with its defaults.
func (f Fallback) rule() rules.Fallback {
	f.MaxHeuristic = cmp.Or(f.MaxHeuristic, DefaultMaxHeuristic)
	return rules.Fallback(f)
}
