package fetch_test

import (
	"testing"
	"time"

	"github.com/twofold-go/twofold/examples/internal/fetch"
)

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// longest replaces a number of seconds that is too large to count (RFC 9111, section 1.2.2).
const longest = (1 << 31) * time.Second

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
