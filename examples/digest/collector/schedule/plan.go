package schedule

import (
	"cmp"
	"math/rand/v2"
	"time"
)

// What a zero field of [Policy] means.
const (
	DefaultPauseAfter = 5
	DefaultRetryBase  = 30 * time.Minute
	DefaultRetryCap   = 24 * time.Hour
	DefaultOriginCap  = 24 * time.Hour
	DefaultAdoptAfter = 3
)

// minRetry is the soonest that a source that failed is tried again, whatever the
// dice say.
const minRetry = time.Minute

// maxProbe is the longest that a source waits to be probed.
const maxProbe = 7 * 24 * time.Hour

// Policy decides when a source is fetched next, when it is left alone and when it is
// taken to have moved. The zero value is ready to use. It may be used concurrently
// if Rand may.
type Policy struct {
	// PauseAfter is after how many failures in a row a source is paused. 0:
	// DefaultPauseAfter.
	PauseAfter int

	// RetryBase and RetryCap bound the wait after a failure: it is drawn from
	// everything up to RetryBase, then up to twice that and so on, until RetryCap
	// ("full jitter" of Brooker, "Exponential Backoff And Jitter", 2015). Five
	// failures so take hours, and not the five minutes that five ticks take. 0:
	// DefaultRetryBase, DefaultRetryCap.
	RetryBase, RetryCap time.Duration

	// OriginCap bounds how long an origin can keep us away: by Retry-After, by the
	// freshness of its answers, by the ttl of its feed. 0: DefaultOriginCap.
	OriginCap time.Duration

	// AdoptAfter is how many fetches in a row must be sent to the same place, for
	// good, before that becomes the source's address. 0: DefaultAdoptAfter.
	AdoptAfter int

	// Probe is how long after it was paused for its failures a source is tried once
	// more; while that fails, the wait doubles up to a week. 0: never.
	Probe time.Duration

	// Rand returns a number in [0, 1). Nil: that of math/rand/v2.
	Rand func() float64
}

// State is what is known of a source before a fetch.
type State struct {
	Every     time.Duration // its interval
	Failures  int           // in a row
	MovedTo   string        // where the last fetches were sent for good, empty: nowhere
	MovedSeen int           // how many those were
}

// Outcome is how a fetch went.
type Outcome struct {
	Started, Ended time.Time
	Failed         bool
	Gone           bool          // it failed, and the origin says it is for good: 410
	Wait           time.Duration // how long the origin asks us to stay away; 0: it does not
	MovedTo        string        // where we were sent for good, empty: nowhere
}

// Plan is what follows from a fetch.
type Plan struct {
	NextFetchAt time.Time

	// NotBefore is when the origin wants to see us again, if that is later than we
	// would have come. Backoff is when a source that failed is tried again. Zero:
	// there is none.
	NotBefore, Backoff time.Time

	Failures  int
	Pause     bool // too many failures in a row: leave it alone
	Gone      bool // leave it alone, and don't probe
	MovedTo   string
	MovedSeen int
	Adopt     bool // from now on the source's address is that of the outcome's MovedTo
}

// Next returns what follows from outcome o for a source in state s.
func (p Policy) Next(s State, o Outcome) Plan {
	wait := min(max(o.Wait, 0), cmp.Or(p.OriginCap, DefaultOriginCap))
	if !o.Failed {
		return p.succeeded(s, o, wait)
	}
	plan := Plan{Failures: s.Failures + 1, MovedTo: s.MovedTo, MovedSeen: s.MovedSeen, Gone: o.Gone}
	pauseAfter := cmp.Or(p.PauseAfter, DefaultPauseAfter)
	plan.Pause = plan.Gone || plan.Failures >= pauseAfter
	d := p.retry(plan.Failures)
	if plan.Pause && p.Probe > 0 {
		d = p.probe(plan.Failures - pauseAfter)
	}
	plan.Backoff = o.Ended.Add(max(d, wait))
	plan.NextFetchAt = plan.Backoff
	return plan
}

// succeeded has no jitter: next is last plus interval to the millisecond, which
// others reckon with. Only an origin that asks for more gets more. The interval
// counts from the fetch's start, or each fetch would make the next one later.
func (p Policy) succeeded(s State, o Outcome, wait time.Duration) Plan {
	plan := Plan{NextFetchAt: o.Started.Add(s.Every)}
	if wait > s.Every { // one that asks for the interval itself would get a tick more
		plan.NotBefore = o.Ended.Add(wait)
		plan.NextFetchAt = plan.NotBefore
	}
	if o.MovedTo == "" {
		return plan // a redirect that is gone again was not for good
	}
	plan.MovedTo, plan.MovedSeen = o.MovedTo, 1
	if o.MovedTo == s.MovedTo {
		plan.MovedSeen = s.MovedSeen + 1
	}
	if plan.MovedSeen >= cmp.Or(p.AdoptAfter, DefaultAdoptAfter) {
		plan.Adopt, plan.MovedTo, plan.MovedSeen = true, "", 0
	}
	return plan
}

// retry returns the wait after the n-th failure in a row.
func (p Policy) retry(n int) time.Duration {
	most := double(cmp.Or(p.RetryBase, DefaultRetryBase), n-1, cmp.Or(p.RetryCap, DefaultRetryCap))
	return max(minRetry, time.Duration(p.rand()*float64(most)))
}

// probe returns the wait after the n-th probe has failed; n is 0 for the first one
// to come. It is never less than half of what it can be at most.
func (p Policy) probe(n int) time.Duration {
	most := double(p.Probe, n, maxProbe)
	return most/2 + time.Duration(p.rand()*float64(most)/2)
}

func (p Policy) rand() float64 {
	if p.Rand != nil {
		return p.Rand()
	}
	return rand.Float64()
}

// double returns d doubled n times, most at most.
func double(d time.Duration, n int, most time.Duration) time.Duration {
	for ; n > 0 && d < most; n-- {
		d *= 2
	}
	return min(d, most)
}

// Skew returns by how much a source may be fetched before its time, for a collector
// that looks at every tick. The tick that comes an interval after a fetch may come a
// moment early; without this it would miss the source, and with an interval of one
// tick every second fetch would be lost. It is much less than any interval, since
// every fetch may be early by it.
func Skew(tick time.Duration) time.Duration { return min(tick/10, 5*time.Second) }
