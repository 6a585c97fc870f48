package digest

import (
	"errors"
	"fmt"
	"time"
	_ "time/tzdata" // a zone must mean the same on a machine that has none installed
)

// Kind is a type of digest: how long its period is.
type Kind string

// The kinds of digests.
const (
	FourHours Kind = "4h"
	Daily     Kind = "daily"
	Weekly    Kind = "weekly"  // from Monday on
	Monthly   Kind = "monthly" // of the calendar
)

// Kinds returns all kinds, the shortest first.
func Kinds() []Kind { return []Kind{FourHours, Daily, Weekly, Monthly} }

// ErrKind is wrapped by errors about what is no kind.
var ErrKind = errors.New("digest: unknown type")

// ParseKind returns the kind that is spelled so.
func ParseKind(s string) (Kind, error) {
	for _, k := range Kinds() {
		if string(k) == s {
			return k, nil
		}
	}
	return "", fmt.Errorf("%w: %d bytes, must be one of %v", ErrKind, len(s), Kinds())
}

// Retention is how long a digest of the kind is kept for others.
func (k Kind) Retention() time.Duration {
	const day = 24 * time.Hour
	switch k {
	case FourHours:
		return 3 * day
	case Daily:
		return 14 * day
	case Weekly:
		return 60 * day
	case Monthly:
		return 180 * day
	}
	return 0
}

// Window is the period of a digest: from Start on, up to and without End.
type Window struct {
	Kind       Kind
	Start, End time.Time
}

// The calendar of a program that is told nothing.
const (
	DefaultZone  = "Asia/Singapore"
	DefaultGrace = 5 * time.Minute
)

// Calendar says which periods there are: those of one zone's clocks and calendar. They
// follow each other without a gap, also where clocks are set, so one of four hours may
// have three or five.
type Calendar struct {
	zone  *time.Location
	grace time.Duration
}

// NewCalendar returns the calendar of an IANA zone; empty: DefaultZone. Grace is how long
// after its end a period is closed.
func NewCalendar(zone string, grace time.Duration) (Calendar, error) {
	if zone == "" {
		zone = DefaultZone
	}
	if grace < 0 {
		return Calendar{}, fmt.Errorf("%w: grace of %v, must not be negative", ErrConfig, grace)
	}
	loc, err := time.LoadLocation(zone)
	if err != nil {
		return Calendar{}, fmt.Errorf("%w: zone: %w", ErrConfig, err)
	}
	return Calendar{loc, grace}, nil
}

// Containing returns the period that a moment lies in. Kind must be one of [Kinds].
func (c Calendar) Containing(k Kind, at time.Time) Window {
	n := c.number(k, at)
	// Where clocks were set the number may be that of a neighbour.
	for c.boundary(k, n).After(at) {
		n--
	}
	for !c.boundary(k, n+1).After(at) {
		n++
	}
	return Window{k, c.boundary(k, n), c.boundary(k, n+1)}
}

// LastClosed returns the last period whose end and grace are over. Only such are made
// digests of: what is still open would read differently for whoever asks later.
func (c Calendar) LastClosed(k Kind, now time.Time) Window {
	open := c.Containing(k, now.Add(-c.grace))
	return c.Containing(k, open.Start.Add(-1))
}

// number counts the periods of a kind by the calendar; where from does not matter.
func (c Calendar) number(k Kind, at time.Time) int {
	at = at.In(c.zone)
	y, m, d := at.Date()
	days := int(time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix() / 86400)
	switch k {
	case FourHours:
		return days*6 + at.Hour()/4
	case Weekly:
		return (days + 3) / 7 // day 0 was a Thursday
	case Monthly:
		return y*12 + int(m) - 1
	case Daily:
	}
	return days
}

// boundary returns when the period with a number begins.
func (c Calendar) boundary(k Kind, n int) time.Time {
	switch k {
	case FourHours:
		return c.first(1970, 1, 1+floor(n, 6), (n-6*floor(n, 6))*4)
	case Weekly:
		return c.first(1970, 1, 1+7*n-3, 0)
	case Monthly:
		return c.first(0, 1+n, 1, 0)
	case Daily:
	}
	return c.first(1970, 1, 1+n, 0)
}

func floor(n, by int) int {
	if n < 0 {
		return -((-n + by - 1) / by)
	}
	return n / by
}

// first returns the first moment at which the zone's clocks show an hour of a date, or
// more. [time.Date] says of hours that are skipped or repeated only that it takes one of
// two offsets.
func (c Calendar) first(year, month, day, hour int) time.Time {
	t := time.Date(year, time.Month(month), day, hour, 0, 0, 0, c.zone)
	want := time.Date(year, time.Month(month), day, hour, 0, 0, 0, time.UTC)
	shown := func(t time.Time) time.Duration { // by how much the clocks are past what is wanted
		_, offset := t.Zone()
		return t.UTC().Add(time.Duration(offset) * time.Second).Sub(want)
	}
	since, until := t.ZoneBounds()
	switch skew := shown(t); {
	case skew > 0: // skipped; t is past the moment at which clocks were set
		return since
	case skew < 0:
		return until
	}
	// Shown twice? Then it was shown before clocks were set back, too.
	if !since.IsZero() {
		_, before := since.Add(-1).Zone()
		_, now := t.Zone()
		if early := t.Add(time.Duration(now-before) * time.Second); early.Before(since) && shown(early) == 0 {
			return early
		}
	}
	return t
}
