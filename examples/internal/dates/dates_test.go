package dates_test

import (
	"errors"
	"testing"
	"time"

	"github.com/twofold-go/twofold/examples/internal/dates"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		// the forms of the W3C note
		"2026":                          "2026-01-01T00:00:00Z",
		"2026-03":                       "2026-03-01T00:00:00Z",
		"2026-03-04":                    "2026-03-04T00:00:00Z",
		"2026-03-04T05:06Z":             "2026-03-04T05:06:00Z",
		"2026-03-04T05:06+08:00":        "2026-03-03T21:06:00Z",
		"2026-03-04T05:06:07Z":          "2026-03-04T05:06:07Z",
		"2026-03-04T05:06:07-05:00":     "2026-03-04T10:06:07Z",
		"2026-03-04T05:06:07.890+00:00": "2026-03-04T05:06:07.89Z",
		// invalid forms that sites write
		" 2026-03-04\n":                  "2026-03-04T00:00:00Z",
		"2026-03-04T05:06:07":            "2026-03-04T05:06:07Z",
		"2026-03-04T05:06":               "2026-03-04T05:06:00Z",
		"2026-03-04 05:06:07":            "2026-03-04T05:06:07Z",
		"2026-03-04 05:06:07 +0200":      "2026-03-04T03:06:07Z",
		"2026-03-04 05:06:07 UTC":        "2026-03-04T05:06:07Z",
		"2026-03-04T05:06:07+0800":       "2026-03-03T21:06:07Z",
		"2026-03-04T05:06:07+08":         "2026-03-03T21:06:07Z",
		"2026-03-04t05:06:07z":           "2026-03-04T05:06:07Z",
		"2026/03/04":                     "2026-03-04T00:00:00Z",
		"20260304":                       "2026-03-04T00:00:00Z",
		"20260304T050607Z":               "2026-03-04T05:06:07Z",
		"Wed, 04 Mar 2026 05:06:07 GMT":  "2026-03-04T05:06:07Z",
		"Wed, 4 Mar 2026 05:06:07 +0100": "2026-03-04T04:06:07Z",
		"March 4, 2026":                  "2026-03-04T00:00:00Z",
		// zones
		"Wed, 04 Mar 2026 05:06:07 EST":          "2026-03-04T10:06:07Z",
		"Wed, 04 Mar 2026 05:06:07 MEST":         "2026-03-04T03:06:07Z",
		"Wed, 04 Mar 2026 05:06:07 JST":          "2026-03-03T20:06:07Z",
		"Wed, 04 Mar 2026 05:06:07 GMT+2":        "2026-03-04T03:06:07Z",
		"Wed, 04 Mar 2026 05:06:07 GMT+02:00":    "2026-03-04T03:06:07Z",
		"Wed, 04 Mar 2026 05:06:07 UTC-0330":     "2026-03-04T08:36:07Z",
		"Wed, 04 Mar 2026 05:06:07 +0200 (CEST)": "2026-03-04T03:06:07Z",

		"Wed, 04 Mar 2026 05:06:07 Z":   "2026-03-04T05:06:07Z",
		"Wednesday, 4 Mar 26 05:06 pst": "2026-03-04T13:06:00Z",
		"2026-03-04 05:06:07 JST":       "2026-03-03T20:06:07Z",
		"2026-03-04T05:06:07GMT+2":      "2026-03-04T03:06:07Z",
		"2026-03-04 05:06 Z":            "2026-03-04T05:06:00Z",
		"Wed, 04 Mar 2026 05:06:07 XYZ": "2026-03-04T05:06:07Z", // nobody knows it
		// the caller handles future dates
		"2099-01-01": "2099-01-01T00:00:00Z",
	} {
		got, err := dates.Parse(text)
		if err != nil || got.Format(time.RFC3339Nano) != want || got.Location() != time.UTC {
			t.Errorf("Parse(%q) = %v, %v; want %s", text, got, err, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{
		"", "x", "2026-02-30", "2026-13-01", "0001-01-01T00:00:00Z", "1970-01-01", "0000-00-00", "03/04/2026",
		"yesterday", "{{ page.date }}", "2026-03-04T25:00:00Z", "1772600000000000000000000000000000000000000000000000000000000000000",
	} {
		if got, err := dates.Parse(text); !errors.Is(err, dates.ErrDate) || !got.IsZero() {
			t.Errorf("Parse(%q) = %v, %v; want ErrDate", text, got, err)
		}
	}
}

// FuzzParse: a date is in UTC, in a year that a feed can write, and survives a round trip.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"2026", "2026-03-04T05:06:07.5+08:00", "Wed, 04 Mar 2026 05:06:07 EST", "20260304", "January 2, 2006", "9999-12-31T23:59:59-14:00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := dates.Parse(s)
		if err != nil {
			if !errors.Is(err, dates.ErrDate) || !d.IsZero() {
				t.Errorf("Parse(%q) = %v, %v", s, d, err)
			}
			return
		}
		again, err := dates.Parse(d.Format(time.RFC3339Nano))
		if err != nil || !again.Equal(d) || d.Location() != time.UTC || d.Year() < 1990 || d.Year() > 9999 {
			t.Errorf("Parse(%q) = %v; read again: %v, %v", s, d, again, err)
		}
	})
}
