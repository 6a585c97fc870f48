// Package schedule decides when to fetch a source next.
package schedule

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The bounds of an interval, and the longest wait after a failure.
const (
	MinInterval = time.Minute
	MaxInterval = 30 * 24 * time.Hour
	MaxRetry    = 24 * time.Hour

	pauseAfter = 5                  // failures in a row
	adoptAfter = 3                  // equal permanent redirects in a row
	minRetry   = time.Minute        // the shortest wait after a failure
	retryBase  = 30 * time.Minute   // the longest wait after the first failure
	originCap  = 24 * time.Hour     // the longest wait that an origin can ask for
	maxProbe   = 7 * 24 * time.Hour // the longest wait for a probe
)

// Policy decides when to fetch a source next, when to pause it, and when it has moved.
// Waits after failures have full jitter.
type Policy struct {
	Probe time.Duration  // from a pause to the next attempt; doubled up to a week. Zero means no attempt
	Rand  func() float64 // returns a number in [0, 1). Nil means the one of math/rand/v2
}

// State describes a source before a fetch.
type State struct {
	Every     time.Duration // its interval
	Failures  int           // in a row
	MovedTo   string        // target of the last permanent redirects; empty means none
	MovedSeen int           // how many of these in a row
}

// Outcome is the result of a fetch.
type Outcome struct {
	Started, Ended time.Time
	Failed         bool
	Gone           bool          // it failed with 410: the origin says that the source is gone
	Wait           time.Duration // requested by the origin, or 0
	MovedTo        string        // target of a permanent redirect, or empty
}

// Plan is the result of [Policy.Next].
type Plan struct {
	NextFetchAt time.Time
	NotBefore   time.Time // requested by the origin, if later than the interval; else zero
	Backoff     time.Time // after a failure; else zero
	Failures    int
	Pause       bool // too many failures in a row, or gone
	Gone        bool // pause, and do not probe
	MovedTo     string
	MovedSeen   int
	Adopt       bool // MovedTo of the outcome becomes the address of the source
}

// Next returns the plan after outcome o for a source in state s.
func (p Policy) Next(s State, o Outcome) Plan {
	wait := min(max(o.Wait, 0), originCap)
	if !o.Failed {
		return succeeded(s, o, wait)
	}
	draw := rand.Float64
	if p.Rand != nil {
		draw = p.Rand
	}
	plan := Plan{Failures: s.Failures + 1, MovedTo: s.MovedTo, MovedSeen: s.MovedSeen, Gone: o.Gone}
	plan.Pause = plan.Gone || plan.Failures >= pauseAfter
	d := max(minRetry, time.Duration(draw()*float64(double(retryBase, s.Failures, MaxRetry))))
	if plan.Pause && p.Probe > 0 {
		half := double(p.Probe, plan.Failures-pauseAfter, maxProbe) / 2
		d = half + time.Duration(draw()*float64(half))
	}
	plan.Backoff = o.Ended.Add(max(d, wait))
	plan.NextFetchAt = plan.Backoff
	return plan
}

// succeeded counts the interval from the start of the fetch, so fetches do not add delays.
func succeeded(s State, o Outcome, wait time.Duration) Plan {
	plan := Plan{NextFetchAt: o.Started.Add(s.Every)}
	if wait > s.Every { // not at equality: NotBefore is not shortened by Skew, so the fetch would come a tick later
		plan.NotBefore = o.Ended.Add(wait)
		plan.NextFetchAt = plan.NotBefore
	}
	if o.MovedTo == "" {
		return plan
	}
	plan.MovedTo, plan.MovedSeen = o.MovedTo, 1
	if o.MovedTo == s.MovedTo {
		plan.MovedSeen = s.MovedSeen + 1
	}
	if plan.MovedSeen >= adoptAfter {
		plan.Adopt, plan.MovedTo, plan.MovedSeen = true, "", 0
	}
	return plan
}

func double(d time.Duration, n int, most time.Duration) time.Duration {
	return time.Duration(min(math.Ldexp(float64(d), max(n, 0)), float64(most)))
}

// Skew returns how early a source may be fetched, because a tick may come a little early.
func Skew(tick time.Duration) time.Duration { return min(tick/10, 5*time.Second) }

// Intervals holds the intervals that differ from the table. "default" is for unknown types.
type Intervals map[string]time.Duration

// table holds the intervals of the source document.
var table = Intervals{
	"twitter_feed": 30 * time.Minute, "twitter_list": 30 * time.Minute, "twitter_bookmarks": time.Hour,
	"hackernews": time.Hour, "reddit": time.Hour, "custom_api": 2 * time.Hour, "rss": 4 * time.Hour, "atom": 4 * time.Hour,
	"digest_feed": 4 * time.Hour, "github_trending": 4 * time.Hour, "website": 4 * time.Hour, "default": 4 * time.Hour,
}

// For returns the interval of a type.
func (in Intervals) For(typ string) time.Duration {
	return cmp.Or(in[typ], table[typ], in["default"], table["default"])
}

// All returns the intervals of all types.
func (in Intervals) All() Intervals {
	all := maps.Clone(table)
	maps.Copy(all, in)
	return all
}

// Source returns the interval of a source: its own if that is valid, else the one of its type.
func (in Intervals) Source(typ string, config json.RawMessage) (time.Duration, error) {
	var c struct {
		Minutes json.RawMessage `json:"fetch_interval_minutes"`
	}
	if len(config) > 0 && json.Unmarshal(config, &c) != nil {
		return in.For(typ), errors.New("config is not a JSON object")
	}
	if len(c.Minutes) == 0 || string(c.Minutes) == "null" {
		return in.For(typ), nil
	}
	own, err := parse(string(c.Minutes)) // a JSON number of digits, not a fraction or a string
	if err != nil {
		return in.For(typ), fmt.Errorf("config.fetch_interval_minutes: %w", err)
	}
	return own, nil
}

// Set reads intervals: "RSS": "120" is FETCH_INTERVAL_RSS=120. The error names every fault.
func Set(minutes map[string]string, known []string) (Intervals, error) {
	in := Intervals{}
	known = slices.Concat(slices.Collect(maps.Keys(table)), known)
	slices.Sort(known)
	known = slices.Compact(known)
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(minutes)) {
		typ := strings.ToLower(name)
		d, err := parse(minutes[name])
		switch {
		case in[typ] != 0:
			err = errors.New("is also set in another spelling")
		case !slices.Contains(known, typ):
			err = fmt.Errorf("no source type has that name; the types are %s", strings.Join(known, ", "))
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("FETCH_INTERVAL_%s: %w", name, err))
		}
		in[typ] = d
	}
	return in, errors.Join(errs...)
}

func parse(minutes string) (time.Duration, error) {
	n, err := strconv.ParseUint(minutes, 10, 31)
	d := time.Duration(n) * time.Minute //nolint:gosec // it has 31 bits
	if err != nil || d < MinInterval || d > MaxInterval {
		return 0, fmt.Errorf("%q is not a whole number of minutes from %d to %d", minutes, MinInterval/time.Minute, MaxInterval/time.Minute)
	}
	return d, nil
}
