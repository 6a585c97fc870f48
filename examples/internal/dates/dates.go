// Package dates reads dates in the forms that sites write, in feeds, sitemaps and pages.
package dates

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// ErrDate means that a text is not a date.
var ErrDate = errors.New("not a date")

// layouts are the forms of the W3C note on dates and of RFC 822, and invalid ones in use. Without a
// zone, a date is UTC.
var layouts = []string{
	"2006-01-02", "2006-01-02T15:04:05Z07:00", "2006-01-02T15:04Z07:00", "2006-01", "2006",
	"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02T15:04:05Z0700", "2006-01-02T15:04Z0700", "2006-01-02T15:04:05Z07",
	"2006-01-02T15:04:05 Z07:00", "2006-01-02T15:04:05 Z0700", "2006-01-02T15:04 Z0700", "2006-01-02T15:04:05 MST",
	"2006/01/02", "2006/01/02T15:04:05", "2006/01/02T15:04:05 Z0700", "20060102T150405Z0700", "20060102T150405", "20060102",
	"2 Jan 2006 15:04:05 Z0700", "2 Jan 2006 15:04 Z0700", "2 Jan 06 15:04:05 Z0700", "2 Jan 06 15:04 Z0700", "2 Jan 2006 15:04:05 MST",
	"2 Jan 2006 15:04:05", "2 Jan 2006", "January 2, 2006", "Jan 2, 2006",
}

// firstYear is before any web page. Programs without a date write 0001-01-01 or 1970-01-01.
const firstYear = 1990

// Parse reads a date, and returns it in UTC. It rejects forms where day and month cannot be
// distinguished. Errors wrap [ErrDate].
func Parse(s string) (time.Time, error) {
	text := strings.TrimSpace(s)
	if len(text) < 4 || len(text) > 64 {
		return time.Time{}, fmt.Errorf("%w: %d bytes", ErrDate, len(text))
	}
	if text[4:] != "" && (text[4] == '-' || text[4] == '/') {
		text = tidyNumeric(text)
	}
	text = numericZone(weekday.ReplaceAllString(text, ""))
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
	return time.Time{}, fmt.Errorf("%w: %d bytes in an unknown form", ErrDate, len(text))
}

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

// A name may follow a numeric zone, as in "+0200 (CEST)".
var (
	weekday = regexp.MustCompile(`^(?i:mon|tue|wed|thu|fri|sat|sun)[a-z]*,? *`)
	twice   = regexp.MustCompile(`^(.*) ?([+-]\d\d):?(\d\d) *\(?[A-Za-z]{1,5}\)?$`)
	named   = regexp.MustCompile(`^(.*\d) *\(?([A-Za-z]{1,5})\)?$`)
	fromGMT = regexp.MustCompile(`^(.*\d) *(?i:GMT|UTC|UT) *([+-])(\d\d?):?(\d\d)?$`)
)

// numericZone replaces the name of a zone by its offset: package time takes a name that it does not
// know for UTC. Where two zones share a name, it takes the one that feeds use more.
func numericZone(text string) string {
	if m := fromGMT.FindStringSubmatch(text); m != nil {
		return fmt.Sprintf("%s %s%02s%02s", m[1], m[2], m[3], m[4])
	}
	if m := twice.FindStringSubmatch(text); m != nil {
		return strings.TrimSpace(m[1]) + " " + m[2] + m[3]
	}
	m := named.FindStringSubmatch(text)
	if m == nil || zones[strings.ToUpper(m[2])] == "" {
		return text
	}
	return m[1] + " " + zones[strings.ToUpper(m[2])]
}

var zones = map[string]string{
	"UT": "+0000", "UTC": "+0000", "GMT": "+0000", "WET": "+0000",
	"BST": "+0100", "CET": "+0100", "MEZ": "+0100", "MET": "+0100", "WEST": "+0100",
	"CEST": "+0200", "EET": "+0200", "MEST": "+0200", "MESZ": "+0200", "SAST": "+0200",
	"EEST": "+0300", "MSK": "+0300", "IST": "+0530", "HKT": "+0800", "SGT": "+0800", "JST": "+0900", "KST": "+0900",
	"AEST": "+1000", "AEDT": "+1100", "NZST": "+1200", "NZDT": "+1300",
	"ADT": "-0300", "AST": "-0400", "EDT": "-0400", "EST": "-0500", "CDT": "-0500", "CST": "-0600", "MDT": "-0600",
	"MST": "-0700", "PDT": "-0700", "PST": "-0800", "AKDT": "-0800", "AKST": "-0900", "HST": "-1000",
}
