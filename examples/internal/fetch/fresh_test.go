package fetch_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/twofold-go/twofold/examples/internal/fetch"
)

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// longest replaces a number of seconds that is too large to count (RFC 9111, section 1.2.2).
const longest = (1 << 31) * time.Second

// parseHeader reads "Name: value" lines.
func parseHeader(lines string) http.Header {
	h := http.Header{}
	for line := range strings.SplitSeq(lines, "\n") {
		name, value, _ := strings.Cut(line, ":")
		h.Add(name, strings.TrimSpace(value))
	}
	return h
}

func TestFreshFor(t *testing.T) {
	for _, tt := range []struct {
		header string
		want   time.Duration
	}{
		{"", 0},
		{"Cache-Control: max-age=600", 10 * time.Minute},
		{"Cache-Control: public, MAX-AGE=600, must-revalidate", 10 * time.Minute},
		{"Cache-Control: public\nCache-Control: max-age=600", 10 * time.Minute},
		{`Cache-Control: max-age="600"`, 10 * time.Minute},
		{"Cache-Control: max-age=600, max-age=5", 10 * time.Minute},
		{"Cache-Control: s-maxage=600", 0},
		{"Cache-Control: max-age=600, no-cache", 0},
		{"Cache-Control: no-store, max-age=600", 0},
		{"Cache-Control: max-age=-1", 0},
		{"Cache-Control: max-age=1.5", 0},
		{"Cache-Control: max-age=", 0},
		{"Cache-Control: max-age=99999999999999999999", longest},
		{"Cache-Control: max-age=4294967296", longest},
		{"Cache-Control: max-age=600\nAge: 120", 8 * time.Minute},
		{"Cache-Control: max-age=600\nAge: 601", 0},
		{"Cache-Control: max-age=600\nAge: old", 10 * time.Minute},
		{"Cache-Control: max-age=600\nExpires: Mon, 02 Mar 2026 15:00:00 GMT", 10 * time.Minute},
		{"Cache-Control: max-age=0\nExpires: Mon, 02 Mar 2026 15:00:00 GMT", 0},
		{"Expires: Mon, 02 Mar 2026 15:00:00 GMT", 3 * time.Hour},
		{"Expires: Monday, 02-Mar-26 15:00:00 GMT", 3 * time.Hour},
		{"Expires: Mon, 02 Mar 2026 15:00:00 GMT\nDate: Mon, 02 Mar 2026 14:00:00 GMT", time.Hour},
		{"Expires: Mon, 02 Mar 2026 11:00:00 GMT", 0},
		{"Expires: 0", 0},
		{"Expires: -1", 0},
		{"Expires: Fri, 31 Dec 9999 23:59:59 GMT", longest},
	} {
		t.Run(strings.ReplaceAll(tt.header, "\n", "; "), func(t *testing.T) {
			if got := fetch.FreshFor(parseHeader(tt.header), noon); got != tt.want {
				t.Errorf("FreshFor = %v, want %v", got, tt.want)
			}
		})
	}
}

func TestRetryAfter(t *testing.T) {
	for _, tt := range []struct {
		value string
		want  time.Duration
	}{
		{"", 0},
		{"0", 0},
		{"120", 2 * time.Minute},
		{" 120 ", 2 * time.Minute},
		{"-5", 0},
		{"+5", 0},
		{"1.5", 0},
		{"soon", 0},
		{"99999999999999999999", longest},
		{"Mon, 02 Mar 2026 12:05:00 GMT", 5 * time.Minute},
		{"Monday, 02-Mar-26 12:05:00 GMT", 5 * time.Minute},
		{"Mon Mar  2 12:05:00 2026", 5 * time.Minute},
		{"Mon, 02 Mar 2026 11:05:00 GMT", 0},
		{"Fri, 31 Dec 9999 23:59:59 GMT", longest},
	} {
		t.Run(tt.value, func(t *testing.T) {
			if got := fetch.RetryAfter(tt.value, noon); got != tt.want {
				t.Errorf("RetryAfter(%q) = %v, want %v", tt.value, got, tt.want)
			}
		})
	}
}
