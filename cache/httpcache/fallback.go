package httpcache

import (
	"fmt"
	"time"
)

// DefaultMaxHeuristic is what Fallback.MaxHeuristic means by zero.
const DefaultMaxHeuristic = 24 * time.Hour

// Fallback says how long a response may be used where it is silent. Each field
// speaks for itself: what the response says of that field wins. The zero value
// adds nothing: a response that names no lifetime is not stored, and nothing is
// served stale that does not allow it.
type Fallback struct {
	// TTL is the freshness lifetime of a response that names none, if its status
	// is one that RFC 9110 §15.1 lets caches keep, other than 501, or if it says
	// public. 0: it has none.
	TTL time.Duration

	// Stale is how long a response may be served while it is asked for again,
	// when it has no stale-while-revalidate. 0: not at all.
	Stale time.Duration

	// StaleIfError is how long a response may stand in for a failure, when it has
	// no stale-if-error. 0: not at all.
	StaleIfError time.Duration

	// Heuristic is the part of the time since Last-Modified for which a response
	// that names no lifetime is fresh (RFC 9111 §4.2.2); 0.1 is usual. It holds
	// for the same responses as TTL, and before it. 0: TTL alone counts.
	Heuristic float64

	// MaxHeuristic is the most that Heuristic gives. 0: DefaultMaxHeuristic.
	MaxHeuristic time.Duration
}

// faults returns what is wrong with f, all of it.
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

// heuristic returns the lifetime of a response that names none, and that was
// generated at date.
func (f *Fallback) heuristic(lastModified string, date time.Time) time.Duration {
	if m, ok := parseDate(lastModified); ok && f.Heuristic > 0 {
		limit := f.MaxHeuristic
		if limit == 0 {
			limit = DefaultMaxHeuristic
		}
		// In seconds: a float holds those of all times there are.
		since := max(float64(date.Unix()-m.Unix()), 0)
		return atMost(time.Duration(min(since*f.Heuristic, maxSeconds)*float64(time.Second)), limit)
	}
	return f.TTL
}
