package httpcache

import (
	"fmt"
	"time"
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

// faults returns all faults of f.
func (f *Fallback) faults() (errs []error) {
	for _, d := range []struct {
		name string
		d    time.Duration
	}{
		{"TTL", f.TTL}, {"Stale", f.Stale}, {"StaleIfError", f.StaleIfError}, {"MaxHeuristic", f.MaxHeuristic},
	} {
		if d.d < 0 {
			errs = append(errs, fmt.Errorf("field Fallback.%s of %v is negative; 0 leaves it out", d.name, d.d))
		}
	}
	if !(f.Heuristic >= 0 && f.Heuristic <= 1) { // also NaN
		errs = append(errs, fmt.Errorf("field Fallback.Heuristic of %v is not between 0 and 1; 0.1 is usual", f.Heuristic))
	}
	return errs
}

// heuristic returns the lifetime of a response that names none, and that was generated at date.
func (f *Fallback) heuristic(lastModified string, date time.Time) time.Duration {
	if m, ok := parseDate(lastModified); ok && f.Heuristic > 0 {
		limit := f.MaxHeuristic
		if limit == 0 {
			limit = DefaultMaxHeuristic
		}
		// In seconds: a float can hold every time in seconds.
		since := max(float64(date.Unix()-m.Unix()), 0)
		return atMost(time.Duration(min(since*f.Heuristic, maxSeconds)*float64(time.Second)), limit)
	}
	return f.TTL
}
