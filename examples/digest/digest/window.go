package digest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
	_ "time/tzdata" // zones must not depend on those that are installed

	"github.com/twofold-go/twofold/examples/digest/store"
)

// Kind is a type of digest. It determines the length of the period.
type Kind string

// The kinds of digests.
const (
	FourHours Kind = "4h"
	Daily     Kind = "daily"
	Weekly    Kind = "weekly"  // from Monday
	Monthly   Kind = "monthly" // a calendar month
)

// Kinds returns all kinds, shortest first.
func Kinds() []Kind { return []Kind{FourHours, Daily, Weekly, Monthly} }

// ErrKind is wrapped by errors about an unknown kind.
var ErrKind = errors.New("digest: unknown type")

// ParseKind returns the kind with the given name.
func ParseKind(s string) (Kind, error) {
	if k := Kind(s); slices.Contains(Kinds(), k) {
		return k, nil
	}
	return "", fmt.Errorf("%w: %d bytes, must be one of %v", ErrKind, len(s), Kinds())
}

// Retention returns how long a digest of the kind is cached.
func (k Kind) Retention() time.Duration {
	days := map[Kind]int{FourHours: 3, Daily: 14, Weekly: 60, Monthly: 180}
	return time.Duration(days[k]) * 24 * time.Hour
}

// Window is the period of a digest. It includes Start and excludes End.
type Window struct {
	Kind       Kind
	Start, End time.Time
}

// The default calendar.
const (
	DefaultZone  = "Asia/Singapore"
	DefaultGrace = 5 * time.Minute
)

// Calendar computes the periods in a zone.
type Calendar struct {
	zone  *time.Location
	grace time.Duration
}

// NewCalendar returns the calendar of an IANA zone. Empty means DefaultZone.
func NewCalendar(zone string, grace time.Duration) (Calendar, error) {
	if grace < 0 {
		return Calendar{}, fmt.Errorf("%w: grace of %v, must not be negative", ErrConfig, grace)
	}
	loc, err := time.LoadLocation(cmp.Or(zone, DefaultZone))
	if err != nil {
		return Calendar{}, fmt.Errorf("%w: zone: %w", ErrConfig, err)
	}
	return Calendar{loc, grace}, nil
}

// Containing returns the period that contains a moment.
func (c Calendar) Containing(k Kind, at time.Time) Window {
	n := 0
	for c.begin(k, at, n).After(at) { // where clocks change, the moment may be in the neighbouring period
		n--
	}
	for !c.begin(k, at, n+1).After(at) {
		n++
	}
	return Window{k, c.begin(k, at, n), c.begin(k, at, n+1)}
}

// LastClosed returns the last period whose end and grace have passed. An open period still changes.
func (c Calendar) LastClosed(k Kind, now time.Time) Window {
	open := c.Containing(k, now.Add(-c.grace))
	return c.Containing(k, open.Start.Add(-1))
}

func (c Calendar) begin(k Kind, at time.Time, n int) time.Time {
	at = at.In(c.zone)
	y, m, d := at.Date()
	switch k {
	case FourHours:
		slots := at.Hour()/4 + n
		days := (slots+6000)/6 - 1000 // rounds down; n is small
		return c.first(y, m, d+days, 4*(slots-6*days))
	case Weekly:
		return c.first(y, m, d-(int(at.Weekday())+6)%7+7*n, 0)
	case Monthly:
		return c.first(y, m+time.Month(n), 1, 0)
	case Daily:
	}
	return c.first(y, m, d+n, 0)
}

// first returns the first moment at which the local clock shows at least the hour. At a
// clock change, [time.Date] may use either offset.
func (c Calendar) first(year int, month time.Month, day, hour int) time.Time {
	t := time.Date(year, month, day, hour, 0, 0, 0, c.zone)
	want := time.Date(year, month, day, hour, 0, 0, 0, time.UTC)
	shown := func(t time.Time) time.Duration { // how far the local clock is past the wanted time
		_, offset := t.Zone()
		return t.UTC().Add(time.Duration(offset) * time.Second).Sub(want)
	}
	since, until := t.ZoneBounds()
	switch skew := shown(t); {
	case skew > 0: // the hour was skipped; t is after the clock change
		return since
	case skew < 0:
		return until
	}
	// If the hour occurs twice, return the one before the clock was set back.
	if !since.IsZero() {
		_, before := since.Add(-1).Zone()
		_, now := t.Zone()
		if early := t.Add(time.Duration(now-before) * time.Second); early.Before(since) && shown(early) == 0 {
			return early
		}
	}
	return t
}

// ErrZone means that the periods of a database use another zone.
var ErrZone = errors.New("digest: the database has another zone")

const zoneSetting = "zone"

// settle returns the calendar of a database. The first process sets the zone.
func settle(ctx context.Context, s *store.Store, wanted string) (c Calendar, err error) {
	if c, err = NewCalendar(wanted, DefaultGrace); err != nil {
		return c, err
	}
	var kept string
	err = s.Write(ctx, func(tx *store.Tx) error {
		if kept, err = tx.Setting(ctx, zoneSetting); err != nil || kept != "" {
			return err
		}
		kept = cmp.Or(wanted, DefaultZone)
		return tx.Set(ctx, zoneSetting, kept)
	})
	switch {
	case err != nil:
		return c, err
	case wanted == "":
		return NewCalendar(kept, DefaultGrace)
	case wanted != kept:
		err = fmt.Errorf("%w: its periods use %s, not %s: open it with %s, or begin another database",
			ErrZone, kept, wanted, kept)
	}
	return c, err
}
