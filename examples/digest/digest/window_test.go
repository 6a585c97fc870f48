package digest_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/twofold-go/twofold/examples/digest/digest"
	"github.com/twofold-go/twofold/examples/digest/store/storetest"
)

func calendar(t interface{ Fatal(args ...any) }, zone string, grace time.Duration) digest.Calendar {
	c, err := digest.NewCalendar(zone, grace)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func moment(t *testing.T, s string) time.Time {
	t.Helper()
	at, err := time.Parse("2006-01-02T15:04Z07:00", s)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestWindows(t *testing.T) {
	for _, tt := range []struct {
		name, zone string
		kind       digest.Kind
		at         string
		start, end string
	}{
		// The examples of the source document.
		{"4h of the document", "", digest.FourHours, "2026-02-25T08:00+08:00", "2026-02-25T08:00+08:00", "2026-02-25T12:00+08:00"},
		{"daily of the document", "", digest.Daily, "2026-02-25T15:00+08:00", "2026-02-25T00:00+08:00", "2026-02-26T00:00+08:00"},
		// The document has 2026-02-24, which is a Tuesday.
		{"weekly of the document, from Monday", "", digest.Weekly, "2026-02-25T15:00+08:00", "2026-02-23T00:00+08:00", "2026-03-02T00:00+08:00"},
		{"monthly of the document", "", digest.Monthly, "2026-02-25T15:00+08:00", "2026-02-01T00:00+08:00", "2026-03-01T00:00+08:00"},

		{"the end belongs to the next", "", digest.FourHours, "2026-02-25T12:00+08:00", "2026-02-25T12:00+08:00", "2026-02-25T16:00+08:00"},
		{"the last of a day", "", digest.FourHours, "2026-02-25T23:59+08:00", "2026-02-25T20:00+08:00", "2026-02-26T00:00+08:00"},
		{"a day elsewhere", "", digest.Daily, "2026-02-25T16:00Z", "2026-02-26T00:00+08:00", "2026-02-27T00:00+08:00"},
		{"Sunday's last minute", "", digest.Weekly, "2026-03-01T23:59+08:00", "2026-02-23T00:00+08:00", "2026-03-02T00:00+08:00"},
		{"a week over New Year", "UTC", digest.Weekly, "2027-01-01T00:00Z", "2026-12-28T00:00Z", "2027-01-04T00:00Z"},
		{"December", "UTC", digest.Monthly, "2026-12-31T23:59Z", "2026-12-01T00:00Z", "2027-01-01T00:00Z"},
		{"February of a leap year", "UTC", digest.Monthly, "2028-02-29T12:00Z", "2028-02-01T00:00Z", "2028-03-01T00:00Z"},
		{"before 1970", "UTC", digest.Weekly, "1969-12-28T12:00Z", "1969-12-22T00:00Z", "1969-12-29T00:00Z"},
		{"before 1970, 4h", "UTC", digest.FourHours, "1969-12-31T23:00Z", "1969-12-31T20:00Z", "1970-01-01T00:00Z"},

		{"clocks set on: a day of 23 hours", "Europe/Berlin", digest.Daily, "2026-03-29T12:00+02:00", "2026-03-29T00:00+01:00", "2026-03-30T00:00+02:00"},
		{"clocks set on: four hours of three", "Europe/Berlin", digest.FourHours, "2026-03-29T03:30+02:00", "2026-03-29T00:00+01:00", "2026-03-29T04:00+02:00"},
		{"clocks set back: a day of 25 hours", "Europe/Berlin", digest.Daily, "2026-10-25T12:00+01:00", "2026-10-25T00:00+02:00", "2026-10-26T00:00+01:00"},
		{"clocks set back: four hours of five", "Europe/Berlin", digest.FourHours, "2026-10-25T02:30+01:00", "2026-10-25T00:00+02:00", "2026-10-25T04:00+01:00"},
		{"a week with clocks set", "America/New_York", digest.Weekly, "2026-03-08T12:00-04:00", "2026-03-02T00:00-05:00", "2026-03-09T00:00-04:00"},
		{"no midnight: the day begins at one", "Africa/Cairo", digest.Daily, "2026-04-24T12:00+03:00", "2026-04-24T00:00+02:00", "2026-04-25T00:00+03:00"},
		{"no midnight, west of Greenwich", "America/Havana", digest.Daily, "2026-03-08T12:00-04:00", "2026-03-08T00:00-05:00", "2026-03-09T00:00-04:00"},
		{"a day that was left out, by four hours", "Pacific/Apia", digest.FourHours, "2011-12-29T22:00-10:00", "2011-12-29T20:00-10:00", "2011-12-31T00:00+14:00"},
		{"midnight twice: the first counts", "America/Havana", digest.Daily, "2026-11-01T12:00-05:00", "2026-11-01T00:00-04:00", "2026-11-02T00:00-05:00"},
		{"midnight twice, east of Greenwich", "Asia/Amman", digest.Daily, "2021-10-29T12:00+02:00", "2021-10-29T00:00+03:00", "2021-10-30T00:00+02:00"},
		{"the day before it", "America/Havana", digest.Daily, "2026-10-31T12:00-04:00", "2026-10-31T00:00-04:00", "2026-11-01T00:00-04:00"},
		{"eleven twice", "Asia/Beirut", digest.Daily, "2026-10-24T23:30+02:00", "2026-10-24T00:00+03:00", "2026-10-24T22:00Z"},
		{"a day that was left out", "Pacific/Apia", digest.Daily, "2011-12-31T12:00+14:00", "2011-12-31T00:00+14:00", "2012-01-01T00:00+14:00"},
		{"clocks set by half an hour", "Australia/Lord_Howe", digest.FourHours, "2026-10-04T01:00+10:30", "2026-10-04T00:00+10:30", "2026-10-04T04:00+11:00"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := calendar(t, tt.zone, 0).Containing(tt.kind, moment(t, tt.at))
			if w.Kind != tt.kind || !w.Start.Equal(moment(t, tt.start)) || !w.End.Equal(moment(t, tt.end)) {
				t.Errorf("%s of %s is [%v, %v), want [%s, %s)", w.Kind, tt.at, w.Start, w.End, tt.start, tt.end)
			}
		})
	}
}

// Only closed periods have digests. A period is closed when its grace is over.
func TestLastClosed(t *testing.T) {
	for _, tt := range []struct {
		name  string
		kind  digest.Kind
		now   string
		start string
	}{
		{"in the middle", digest.FourHours, "2026-02-25T10:00+08:00", "2026-02-25T04:00+08:00"},
		{"at its end", digest.FourHours, "2026-02-25T12:00+08:00", "2026-02-25T04:00+08:00"},
		{"within the grace", digest.FourHours, "2026-02-25T12:04+08:00", "2026-02-25T04:00+08:00"},
		{"after the grace", digest.FourHours, "2026-02-25T12:05+08:00", "2026-02-25T08:00+08:00"},
		{"yesterday", digest.Daily, "2026-02-26T00:05+08:00", "2026-02-25T00:00+08:00"},
		{"the day before, within the grace", digest.Daily, "2026-02-26T00:04+08:00", "2026-02-24T00:00+08:00"},
		{"last week", digest.Weekly, "2026-03-02T00:05+08:00", "2026-02-23T00:00+08:00"},
		{"last month", digest.Monthly, "2026-03-01T00:05+08:00", "2026-02-01T00:00+08:00"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			now := moment(t, tt.now)
			c := calendar(t, "", digest.DefaultGrace)
			w := c.LastClosed(tt.kind, now)
			if !w.Start.Equal(moment(t, tt.start)) || w.End.Add(digest.DefaultGrace).After(now) {
				t.Errorf("the last closed at %s is [%v, %v), want it to start at %s", tt.now, w.Start, w.End, tt.start)
			}
		})
	}
}

// The database fixes the zone: with another one, the same day would be paid twice.
func TestZoneIsTheDatabases(t *testing.T) {
	w := newWorld(t, 1) // no zone: the default
	with := func(zone string) error {
		s, err := digest.Open(t.Context(), digest.Config{Store: storetest.Open(t, w.path, nil), Zone: zone})
		if err == nil {
			err = s.Close(context.Background())
		}
		return err
	}
	for zone, want := range map[string]error{"": nil, digest.DefaultZone: nil, "UTC": digest.ErrZone, "Nowhere/Land": digest.ErrConfig} {
		if err := with(zone); !errors.Is(err, want) {
			t.Errorf("zone %q: %v, want %v", zone, err, want)
		}
	}
	if err := with("UTC"); err == nil || !strings.Contains(err.Error(), "Asia/Singapore") || !strings.Contains(err.Error(), "begin another database") {
		t.Errorf("the error %v does not say what to do", err)
	}
	s, err := digest.Open(t.Context(), digest.Config{Store: storetest.Open(t, w.path, nil)})
	if err != nil || s.Location().String() != digest.DefaultZone {
		t.Errorf("without a zone: %v, %v, want the database's", s, err)
	}
	if err == nil {
		_ = s.Close(context.Background())
	}
}
