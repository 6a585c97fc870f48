package sitemap

import (
	"fmt"
	"strings"
	"time"
)

// layouts are the forms of the W3C note on dates, and the wrong ones that sites
// really write. Dates without a zone are taken as UTC: two runs on machines in two
// zones must agree on what has changed.
var layouts = []string{
	// https://www.w3.org/TR/NOTE-datetime; seconds may have a fraction
	"2006-01-02", "2006-01-02T15:04:05Z07:00", "2006-01-02T15:04Z07:00", "2006-01", "2006",
	// without a zone, or with one that lacks its colon or minutes
	"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02T15:04:05Z0700", "2006-01-02T15:04Z0700", "2006-01-02T15:04:05Z07",
	// a space before the zone
	"2006-01-02T15:04:05 Z07:00", "2006-01-02T15:04:05 Z0700", "2006-01-02T15:04:05 MST",
	// slashes, or nothing between
	"2006/01/02", "2006/01/02T15:04:05", "20060102T150405Z0700", "20060102T150405", "20060102",
	// of mail and feeds
	"Mon, 2 Jan 2006 15:04:05 -0700", "Mon, 2 Jan 2006 15:04:05 MST", "2 Jan 2006 15:04:05 -0700", "2 Jan 2006 15:04:05 MST",
	"Mon, 2 Jan 2006 15:04 -0700", "Mon, 2 Jan 2006 15:04 MST", "Monday, 02-Jan-06 15:04:05 MST", "Mon Jan _2 15:04:05 2006",
	"2 Jan 2006", "January 2, 2006", "Jan 2, 2006",
}

// zones are those that RFC 822 names. Without them Go takes a name it does not know
// for UTC.
var zones = map[string]string{
	"UT": "+0000", "EST": "-0500", "EDT": "-0400", "CST": "-0600", "CDT": "-0500",
	"MST": "-0700", "MDT": "-0600", "PST": "-0800", "PDT": "-0700",
}

// firstYear is before any page. Earlier dates are what programs write that have
// none: 0001-01-01, 1970-01-01.
const firstYear = 1990

// ParseDate reads a date as sites write them, and returns it in UTC. A date in the
// future is returned as it is, because a sitemap that changes may change it, see
// [Clamp]. Its errors wrap [ErrDate]. Dates whose order of day and month has to be
// guessed are refused.
func ParseDate(s string) (time.Time, error) {
	text := strings.TrimSpace(s)
	if len(text) < 4 || len(text) > 64 {
		return time.Time{}, fmt.Errorf("%w: %d bytes", ErrDate, len(text))
	}
	if text[4:] != "" && (text[4] == '-' || text[4] == '/') {
		text = tidyNumeric(text)
	}
	if i := strings.LastIndexByte(text, ' '); i > 0 {
		if z, ok := zones[strings.ToUpper(text[i+1:])]; ok {
			text = text[:i+1] + z
		}
	}
	for _, layout := range layouts {
		t, err := time.Parse(layout, text)
		if err != nil {
			continue
		}
		if t = t.UTC(); t.Year() < firstYear || t.Year() > 9999 {
			return time.Time{}, fmt.Errorf("%w: the year %d", ErrDate, t.Year())
		}
		return t, nil
	}
	return time.Time{}, fmt.Errorf("%w: %d bytes in no known form", ErrDate, len(text))
}

// tidyNumeric makes "2026-01-02 03:04:05z" what it was meant to be.
func tidyNumeric(text string) string {
	b := []byte(text)
	if len(b) > 10 && (b[10] == 't' || b[10] == ' ' && len(b) > 11 && b[11] >= '0' && b[11] <= '9') {
		b[10] = 'T'
	}
	if last := len(b) - 1; b[last] == 'z' {
		b[last] = 'Z'
	}
	return string(b)
}

// Clamp returns t, or now when t is later: a page cannot be newer than now, and one
// that says so would stand before all others for good. It is for ordering and
// publishing. To see whether a page has changed, compare the dates unclamped:
// clamped ones change with the clock.
func Clamp(t, now time.Time) time.Time {
	if t.After(now) {
		return now
	}
	return t
}
