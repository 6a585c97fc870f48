package fetch

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// forever is what a number of seconds too large to count becomes: 2^31 s, as RFC
// 9111, section 1.2.2, has it.
const forever = (math.MaxInt32 + 1) * time.Second

// freshFor returns for how much longer an answer is fresh that has just come, by
// RFC 9111, section 4.2, for a private cache: max-age before Expires, less the Age
// it had on arrival. What does not parse counts as not fresh; nothing that is said
// here switches off validators.
func freshFor(h http.Header, now time.Time) time.Duration {
	d, said := maxAge(h)
	if !said {
		d = untilExpires(h, now)
	}
	if age, ok := seconds(strings.TrimSpace(h.Get("Age"))); ok {
		d -= age
	}
	return max(d, 0)
}

// maxAge returns the first max-age of Cache-Control; said also when reuse is
// forbidden, or when it does not parse.
func maxAge(h http.Header) (d time.Duration, said bool) {
	for directive := range strings.SplitSeq(strings.Join(h.Values("Cache-Control"), ","), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(directive), "=")
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "no-cache", "no-store":
			return 0, true
		case "max-age":
			if !said {
				d, _ = seconds(strings.Trim(strings.TrimSpace(value), `"`))
				said = true
			}
		}
	}
	return d, said
}

// untilExpires measures from the origin's own Date where there is one: its clock
// need not agree with ours.
func untilExpires(h http.Header, now time.Time) time.Duration {
	expires, err := http.ParseTime(h.Get("Expires"))
	if err != nil {
		return 0 // "0" and "-1" among others
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	// Within bounds before anything is taken off: Sub stops at the ends of the range
	// of a Duration, and what is less than that end is a very large number.
	return min(max(expires.Sub(now), 0), forever)
}

// retryAfter reads a Retry-After: seconds or a date. 0: there is none.
func retryAfter(v string, now time.Time) time.Duration {
	v = strings.TrimSpace(v)
	if d, ok := seconds(v); ok {
		return d
	}
	at, err := http.ParseTime(v)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), forever)
}

// seconds reads a delta-seconds of RFC 9111: digits alone.
func seconds(v string) (time.Duration, bool) {
	if v == "" || strings.Trim(v, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n > math.MaxInt32 {
		return forever, true
	}
	return time.Duration(n) * time.Second, true
}
