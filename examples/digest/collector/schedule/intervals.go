// Package schedule decides when a source is fetched next. It is arithmetic: no
// database, no network, no clock of its own.
package schedule

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The bounds of an interval, and that of a type nobody has set one for.
const (
	MinInterval     = time.Minute
	MaxInterval     = 30 * 24 * time.Hour
	DefaultInterval = 4 * time.Hour
)

// The variable for types that have no interval of their own.
const fallbackType = "default"

var defaults = map[string]time.Duration{
	"twitter_feed":      30 * time.Minute,
	"twitter_list":      30 * time.Minute,
	"twitter_bookmarks": time.Hour,
	"hackernews":        time.Hour,
	"reddit":            time.Hour,
	"rss":               4 * time.Hour,
	"atom":              4 * time.Hour,
	"json":              4 * time.Hour,
	"digest_feed":       4 * time.Hour,
	"github_trending":   4 * time.Hour,
	"website":           4 * time.Hour,
	"custom_api":        2 * time.Hour,
}

// Intervals says how long sources of each type rest between two fetches. The zero
// value is that of [Defaults]. It is not changed once made, so it may be used
// concurrently.
type Intervals struct {
	set      map[string]time.Duration // what differs from the defaults
	fallback time.Duration            // 0: DefaultInterval
}

// Defaults returns the intervals that hold when nobody has set others.
func Defaults() Intervals { return Intervals{} }

// Types returns the types that have an interval of their own, sorted. The slice
// belongs to the caller.
func (in Intervals) Types() []string {
	all := maps.Clone(defaults)
	maps.Copy(all, in.set)
	return slices.Sorted(maps.Keys(all))
}

// For returns the interval of a type. A type that is in no table has one too:
// without it a source of that type would never be due again after its first fetch.
func (in Intervals) For(typ string) time.Duration {
	if d, ok := in.set[typ]; ok {
		return d
	}
	if d, ok := defaults[typ]; ok {
		return d
	}
	if in.fallback > 0 {
		return in.fallback
	}
	return DefaultInterval
}

// Source returns the interval of a source: its own, which stands as
// fetch_interval_minutes in its config, else that of its type. The error says what
// is wrong with its own; the interval is good all the same.
func (in Intervals) Source(typ string, config json.RawMessage) (time.Duration, error) {
	own, err := Override(config)
	if err != nil || own == 0 {
		return in.For(typ), err
	}
	return own, nil
}

// Set returns in with other intervals, by the last part of the names of variables:
// FETCH_INTERVAL_RSS=120 comes as "RSS": "120". The case does not matter; "DEFAULT"
// is for the types that have none. Known are the types that may be set beside those
// of the table. A type that nobody knows, a value that is no whole number of minutes
// in the bounds, and one type in two spellings are errors, all of which are
// returned: a typo must not pass as a default.
func (in Intervals) Set(minutes map[string]string, known []string) (Intervals, error) {
	out := Intervals{set: maps.Clone(in.set), fallback: in.fallback}
	if out.set == nil {
		out.set = map[string]time.Duration{}
	}
	known = append(in.Types(), known...)
	var errs []error
	seen := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(minutes)) {
		typ := strings.ToLower(name)
		d, err := parseMinutes(minutes[name])
		switch other, twice := seen[typ]; {
		case twice:
			err = fmt.Errorf("is set as %s, too", other)
		case typ != fallbackType && !slices.Contains(known, typ):
			err = fmt.Errorf("no source type has that name; there are %s", strings.Join(known, ", "))
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("FETCH_INTERVAL_%s: %w", name, err))
			continue
		}
		seen[typ] = name
		if typ == fallbackType {
			out.fallback = d
		} else {
			out.set[typ] = d
		}
	}
	return out, errors.Join(errs...)
}

// parseMinutes is strict: digits and nothing else, or "15abc" and "-5" would become
// something nobody meant.
func parseMinutes(s string) (time.Duration, error) {
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil {
		return 0, fmt.Errorf("%q is not a whole number of minutes", s)
	}
	return inBounds(time.Duration(n) * time.Minute)
}

func inBounds(d time.Duration) (time.Duration, error) {
	if d < MinInterval || d > MaxInterval {
		return 0, fmt.Errorf("%d minutes is not from %d to %d", d/time.Minute, MinInterval/time.Minute, MaxInterval/time.Minute)
	}
	return d, nil
}

// Override returns the interval that stands in a source's config as
// fetch_interval_minutes, 0 if there is none.
func Override(config json.RawMessage) (time.Duration, error) {
	if len(config) == 0 {
		return 0, nil
	}
	var c struct {
		Minutes *json.RawMessage `json:"fetch_interval_minutes"`
	}
	if err := json.Unmarshal(config, &c); err != nil {
		return 0, errors.New("config is not a JSON object")
	}
	if c.Minutes == nil || string(*c.Minutes) == "null" {
		return 0, nil
	}
	d, err := parseMinutes(string(*c.Minutes)) // a JSON number in digits, so no fraction and no string
	if err != nil {
		return 0, fmt.Errorf("config.fetch_interval_minutes: %w", err)
	}
	return d, nil
}
