package rules_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
)

// oracle computes a lifetime exactly as RFC 9111 §4.2 says, in seconds. A negative number is a
// missing field.
func oracle(shared bool, sMaxAge, maxAge, expires, date, age, delay int) (total, old int) {
	generated := 0 // seconds after noon
	if date >= 0 {
		generated = -date
	}
	old = max(-generated, delay)
	if age >= 0 {
		old = max(-generated, age+delay)
	}
	switch {
	case shared && sMaxAge >= 0:
		return sMaxAge, old
	case maxAge >= 0:
		return maxAge, old
	case expires >= 0:
		return max(expires-generated, 0), old
	}
	return 0, old
}

func TestLifetimeAgainstOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := func(name string) int { return rapid.IntRange(-20, 100).Draw(t, name) }
		shared := rapid.Bool().Draw(t, "shared")
		sMaxAge, maxAge, expires, date, age := n("s-maxage"), n("max-age"), n("expires"), n("date"), n("age")
		delay := rapid.IntRange(0, 30).Draw(t, "delay")
		h := http.Header{}
		add := func(value int, name, text string) {
			if value >= 0 {
				h.Add(name, text)
			}
		}
		add(sMaxAge, "Cache-Control", "s-maxage="+strconv.Itoa(sMaxAge))
		add(maxAge, "Cache-Control", "max-age="+strconv.Itoa(maxAge))
		add(expires, "Expires", noonPlus(expires))
		add(date, "Date", noonPlus(-date))
		add(age, "Age", strconv.Itoa(age))
		got := (&rules.Cache{Shared: shared, Targets: nil, Fallback: rules.Fallback{}}).Lifetime(http.StatusOK, h, noon.Add(-time.Duration(delay)*time.Second), noon)
		total, old := oracle(shared, sMaxAge, maxAge, expires, date, age, delay)
		if int(got.Total/time.Second) != total || int(got.Age/time.Second) != old {
			t.Fatalf("%v after %d s: fresh for %v, %v old; want %d s, %d s", h, delay, got.Total, got.Age, total, old)
		}
		if want := expires >= 0 || maxAge >= 0 || shared && sMaxAge >= 0; got.Explicit != want {
			t.Fatalf("%v is explicit: %v", h, got.Explicit)
		}
	})
}

// For any response, no time is negative or too long, and no readable no-store is missed.
func FuzzLifetime(f *testing.F) {
	f.Add("max-age=5, s-maxage=9", "Sun, 22 Nov 2026 12:00:00 GMT", "Sun, 22 Nov 2026 12:00:00 GMT", "1", "max-age=3", int64(0))
	f.Add("max-age=99999999999999999999", "0", "x", "-1, 2", `max-age="x", a=(1 2);b`, int64(-1))
	f.Add("no-store", "Fri, 31 Dec 9999 23:59:59 GMT", "Mon, 01 Jan 0001 00:00:00 GMT", "99999999999999999999", "", int64(1)<<62)
	f.Fuzz(func(t *testing.T, cc, expires, date, age, target string, delay int64) {
		h := http.Header{
			"Cache-Control": {cc}, "Expires": {expires}, "Date": {date}, "Age": {age},
			"Cdn-Cache-Control": {target}, "Last-Modified": {expires},
		}
		fallback := rules.Fallback{TTL: 1 << 62, Stale: 1 << 62, StaleIfError: 1, Heuristic: 1, MaxHeuristic: 1 << 62}
		for _, targets := range [][]string{nil, {"Cdn-Cache-Control"}} {
			l := (&rules.Cache{Shared: true, Targets: targets, Fallback: fallback}).Lifetime(http.StatusOK, h, noon.Add(-time.Duration(delay)), noon)
			fresh, stale, staleIfError := l.Left()
			for _, d := range []time.Duration{l.Age, l.Total, l.Stale, l.StaleIfError, fresh, stale, staleIfError} {
				if d < 0 || d > longest {
					t.Errorf("%v: %+v", h, l)
				}
			}
			if (l.Asks || l.Strict) && l.Stale+l.StaleIfError > 0 {
				t.Errorf("%v is served stale", h)
			}
			if targets == nil && !l.Bad && !l.NoStore && strings.EqualFold(strings.TrimSpace(cc), "no-store") {
				t.Errorf("%q: no-store is lost", cc)
			}
		}
	})
}
