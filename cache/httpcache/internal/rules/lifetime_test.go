package rules_test

import (
	"math"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
)

// noon is when the responses of these tests arrive.
var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// noonPlus is a date of HTTP, some seconds after noon.
func noonPlus(seconds int) string {
	return noon.Add(time.Duration(seconds) * time.Second).Format(http.TimeFormat)
}

// headerOf makes a header of pairs of names and values.
func headerOf(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i+1 < len(pairs); i += 2 {
		h.Add(pairs[i], pairs[i+1])
	}
	return h
}

type lifetimeCase struct {
	name     string
	shared   bool
	targets  []string
	fallback rules.Fallback
	status   int // 0: 200
	h        http.Header
	delay    time.Duration // of the response
	want     rules.Lifetime
}

func (c lifetimeCase) run(t *testing.T) {
	t.Helper()
	status := c.status
	if status == 0 {
		status = http.StatusOK
	}
	got := (&rules.Cache{Shared: c.shared, Targets: c.targets, Fallback: c.fallback}).Lifetime(status, c.h, noon.Add(-c.delay), noon)
	if diff := cmp.Diff(c.want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-want +got): %s", c.name, diff)
	}
}

const longest = math.MaxInt32 * time.Second

// RFC 9111 §4.2.1: s-maxage, max-age, Expires, in this order.
func TestFreshnessLifetime(t *testing.T) {
	explicit := func(d time.Duration) rules.Lifetime { return rules.Lifetime{Total: d, Explicit: true} }
	cc := func(s ...string) http.Header { return http.Header{"Cache-Control": s} }
	dated := headerOf("Date", noonPlus(0), "Expires", noonPlus(50))
	for _, c := range []lifetimeCase{
		{name: "silent", h: nil},
		{name: "max-age", h: cc("max-age=60"), want: explicit(time.Minute)},
		{name: "max-age twice: the least", h: cc("max-age=60", "max-age=50"), want: explicit(50 * time.Second)},
		{name: "unreadable max-age", h: cc("max-age=1.5"), want: explicit(0)},
		{name: "one of two unreadable", h: cc("max-age=60, max-age=x"), want: explicit(0)},
		{name: "as long as can be", h: cc("max-age=99999999999999999999"), want: explicit(longest)},
		{name: "s-maxage is for shared caches", h: cc("s-maxage=9, max-age=60"), want: rules.Lifetime{Total: time.Minute, Explicit: true, Authorized: true}},
		{
			name: "s-maxage first, and never stale", shared: true, h: cc("s-maxage=9, max-age=60, stale-while-revalidate=5"),
			want: rules.Lifetime{Total: 9 * time.Second, Explicit: true, Strict: true, Authorized: true},
		},
		{name: "Expires", h: dated, want: explicit(50 * time.Second)},
		{name: "Expires without Date", h: headerOf("Expires", noonPlus(50)), want: explicit(50 * time.Second)},
		{name: "Expires at an hour of one digit", h: headerOf("Expires", "Thu, 18 Aug 2050 2:01:18 GMT"), want: explicit(0)},
		{name: "Expires of a zone", h: headerOf("Expires", "Thursday, 18-Aug-50 02:01:18 CET"), want: explicit(0)},
		{name: "Expires by RFC 850", h: headerOf("Expires", noon.Add(time.Minute).Format("Monday, 02-Jan-06 15:04:05 GMT")), want: explicit(time.Minute)},
		{name: "Expires by asctime", h: headerOf("Expires", noon.Add(time.Minute).Format(time.ANSIC)), want: explicit(time.Minute)},
		{name: "Expires 0", h: headerOf("Expires", "0"), want: explicit(0)},
		{name: "Expires, empty", h: headerOf("Expires", ""), want: explicit(0)},
		{name: "Expires in the past", h: headerOf("Expires", noonPlus(-50)), want: explicit(0)},
		{name: "Expires twice: the least", h: headerOf("Expires", noonPlus(50), "Expires", noonPlus(20)), want: explicit(20 * time.Second)},
		{name: "Expires twice, once unreadable", h: headerOf("Expires", noonPlus(50), "Expires", "never"), want: explicit(0)},
		{name: "Expires far away", h: headerOf("Expires", "Fri, 31 Dec 9999 23:59:59 GMT"), want: explicit(longest)},
		{name: "max-age before Expires", h: headerOf("Cache-Control", "max-age=7", "Expires", noonPlus(50)), want: explicit(7 * time.Second)},
		{name: "unreadable Date", h: headerOf("Date", "today", "Expires", noonPlus(50)), want: explicit(50 * time.Second)},
	} {
		c.run(t)
	}
}

// RFC 9111 §4.2.2, and Fallback.
func TestHeuristicLifetime(t *testing.T) {
	tenth := rules.Fallback{TTL: 9 * time.Second, Heuristic: 0.1, MaxHeuristic: 24 * time.Hour}
	modified := headerOf("Last-Modified", noonPlus(-1000))
	for _, c := range []lifetimeCase{
		{name: "off", h: modified},
		{name: "a tenth", fallback: tenth, h: modified, want: rules.Lifetime{Total: 100 * time.Second}},
		{name: "from Date", fallback: tenth, h: headerOf("Last-Modified", noonPlus(-1100), "Date", noonPlus(-100)), want: rules.Lifetime{Total: 100 * time.Second, Age: 100 * time.Second}},
		{name: "a day at most", fallback: tenth, h: headerOf("Last-Modified", "Thu, 01 Jan 1970 00:00:00 GMT"), want: rules.Lifetime{Total: 24 * time.Hour}},
		{name: "less at most", fallback: rules.Fallback{Heuristic: 0.1, MaxHeuristic: time.Second}, h: modified, want: rules.Lifetime{Total: time.Second}},
		{name: "modified in the future", fallback: tenth, h: headerOf("Last-Modified", noonPlus(60))},
		{name: "no Last-Modified: TTL", fallback: tenth, want: rules.Lifetime{Total: 9 * time.Second}},
		{name: "unreadable Last-Modified: TTL", fallback: tenth, h: headerOf("Last-Modified", "0"), want: rules.Lifetime{Total: 9 * time.Second}},
		{name: "explicit: neither", fallback: tenth, h: headerOf("Last-Modified", noonPlus(-1000), "Expires", "0"), want: rules.Lifetime{Explicit: true}},
		{name: "404", fallback: tenth, status: 404, want: rules.Lifetime{Total: 9 * time.Second}},
		{name: "302", fallback: tenth, status: 302, h: modified},
		{name: "500", fallback: tenth, status: 500, h: modified},
		{name: "302, public", fallback: tenth, status: 302, h: headerOf("Cache-Control", "public"), want: rules.Lifetime{Total: 9 * time.Second, Public: true, Authorized: true}},
		{name: "too long", fallback: rules.Fallback{TTL: math.MaxInt64}, want: rules.Lifetime{Total: longest}},
	} {
		c.run(t)
	}
}

// RFC 9111 §4.2.3.
func TestInitialAge(t *testing.T) {
	aged := func(d time.Duration) rules.Lifetime { return rules.Lifetime{Age: d} }
	for _, c := range []lifetimeCase{
		{name: "from Date", h: headerOf("Date", noonPlus(-7)), want: aged(7 * time.Second)},
		{name: "Date in the future", h: headerOf("Date", noonPlus(7))},
		{name: "unreadable Date", h: headerOf("Date", "yesterday")},
		{name: "from Age", h: headerOf("Age", "7"), want: aged(7 * time.Second)},
		{name: "Age and the delay", h: headerOf("Age", "7"), delay: time.Second, want: aged(8 * time.Second)},
		{name: "the delay", delay: 1500 * time.Millisecond, want: aged(1500 * time.Millisecond)},
		{name: "the clock went back", delay: -time.Second},
		{name: "the more of two", h: headerOf("Date", noonPlus(-9), "Age", "7"), delay: time.Second, want: aged(9 * time.Second)},
		{name: "the first of a list", h: headerOf("Age", "7, 100"), want: aged(7 * time.Second)},
		{name: "the first of two lines", h: headerOf("Age", "7", "Age", "100"), want: aged(7 * time.Second)},
		{name: "unreadable", h: headerOf("Age", "-7")},
		{name: "a fraction", h: headerOf("Age", "7.5")},
		{name: "unreadable at first", h: headerOf("Age", "x, 7")},
		{name: "too long", h: headerOf("Age", "99999999999999999999"), delay: time.Hour, want: aged(longest)},
	} {
		c.run(t)
	}
}

// RFC 9111 §5.2.2 and §5.4, RFC 5861, RFC 8246.
func TestResponseDirectives(t *testing.T) {
	fallback := rules.Fallback{Stale: 5 * time.Second, StaleIfError: 6 * time.Second}
	stale := func(l rules.Lifetime) rules.Lifetime {
		l.Stale, l.StaleIfError = fallback.Stale, fallback.StaleIfError
		return l
	}
	for _, c := range []struct {
		cc                string
		status            int
		private, sharedly rules.Lifetime // for a private and for a shared cache
	}{
		{cc: "stale-while-revalidate=1, stale-if-error=2", private: rules.Lifetime{Stale: time.Second, StaleIfError: 2 * time.Second}},
		{cc: "stale-while-revalidate=x, stale-if-error", private: rules.Lifetime{}},
		{cc: "no-cache, stale-if-error=9", private: rules.Lifetime{Asks: true}},
		{cc: "no-cache=set-cookie", private: rules.Lifetime{Asks: true}},
		{cc: "must-revalidate, stale-while-revalidate=9", private: rules.Lifetime{Strict: true, Authorized: true}},
		{cc: "proxy-revalidate", private: stale(rules.Lifetime{}), sharedly: rules.Lifetime{Strict: true}},
		{cc: `private="x"`, private: stale(rules.Lifetime{Private: true})},
		{cc: "public", private: stale(rules.Lifetime{Public: true, Authorized: true})},
		{cc: "immutable", private: stale(rules.Lifetime{Immutable: true})},
		{cc: "no-store", private: stale(rules.Lifetime{NoStore: true})},
		{cc: "no-store, must-understand", private: stale(rules.Lifetime{})},
		{cc: "no-store, must-understand", status: 418, private: stale(rules.Lifetime{NoStore: true})},
		{cc: "must-understand", status: 499, private: stale(rules.Lifetime{NoStore: true})},
		{cc: "x; no-store", private: stale(rules.Lifetime{Bad: true})},
		{cc: "foo, bar=baz", private: stale(rules.Lifetime{})},
	} {
		for shared, want := range map[bool]rules.Lifetime{false: c.private, true: c.sharedly} {
			if shared && want == (rules.Lifetime{}) {
				want = c.private
			}
			lifetimeCase{name: c.cc, shared: shared, fallback: fallback, status: c.status, h: headerOf("Cache-Control", c.cc), want: want}.run(t)
		}
	}
	lifetimeCase{name: "Pragma", h: headerOf("Pragma", "No-Cache"), want: rules.Lifetime{Asks: true}}.run(t)
	lifetimeCase{name: "Pragma beside Cache-Control", h: headerOf("Pragma", "no-cache", "Cache-Control", "x")}.run(t)
}

// RFC 9213.
func TestTargets(t *testing.T) {
	targets := []string{"One-Cache-Control", "Cdn-Cache-Control"}
	fresh := func(seconds int) rules.Lifetime {
		return rules.Lifetime{Total: time.Duration(seconds) * time.Second, Explicit: true}
	}
	const one, cdn, all = "One-Cache-Control", "Cdn-Cache-Control", "Cache-Control"
	for _, c := range []lifetimeCase{
		{name: "the first", h: headerOf(cdn, "max-age=2", one, "max-age=1", all, "max-age=3"), want: fresh(1)},
		{name: "the second", h: headerOf(cdn, "max-age=2", all, "max-age=3"), want: fresh(2)},
		{name: "none", h: headerOf(all, "max-age=3"), want: fresh(3)},
		{name: "empty", h: headerOf(one, "", all, "max-age=3"), want: fresh(3)},
		{name: "unreadable", h: headerOf(one, "max-age=1; ;", cdn, "max-age=2"), want: fresh(2)},
		{name: "alone", h: headerOf(one, "max-age=1", all, "no-store, no-cache, x;y", "Pragma", "no-cache"), want: fresh(1)},
		{name: "alone, without a lifetime", h: headerOf(one, "foo", all, "max-age=3", "Expires", noonPlus(5))},
		{name: "no-store", h: headerOf(one, "no-store", all, "max-age=3"), want: rules.Lifetime{NoStore: true}},
		{name: "not no-store", h: headerOf(one, "no-store=?0, max-age=1"), want: fresh(1)},
		{name: "a string is no number", h: headerOf(one, `max-age="1"`), want: fresh(0)},
		{name: "neither is a list", h: headerOf(one, "max-age=(1 2)"), want: fresh(0)},
		{name: "nor what is negative", h: headerOf(one, "max-age=-1"), want: fresh(0)},
		{name: "private with fields", h: headerOf(one, `private="x", max-age=1`), want: rules.Lifetime{Private: true, Total: time.Second, Explicit: true}},
		{name: "two lines", h: headerOf(one, "max-age=1", one, "stale-if-error=4"), want: rules.Lifetime{Total: time.Second, Explicit: true, StaleIfError: 4 * time.Second}},
	} {
		c.targets = targets
		c.run(t)
	}
	lifetimeCase{name: "not a target", h: headerOf(cdn, "max-age=2", all, "max-age=3"), want: fresh(3)}.run(t)
}

// The rest of a lifetime when the response arrives.
func TestLeft(t *testing.T) {
	for _, c := range []struct {
		l                          rules.Lifetime
		fresh, stale, staleIfError time.Duration
	}{
		{rules.Lifetime{Total: 10, Stale: 4, StaleIfError: 6}, 10, 4, 6},
		{rules.Lifetime{Age: 3, Total: 10, Stale: 4, StaleIfError: 6}, 7, 4, 6},
		{rules.Lifetime{Age: 15, Total: 10, Stale: 4, StaleIfError: 6}, 0, 0, 1},
		{rules.Lifetime{Asks: true, Total: 10}, 0, 0, 0},
	} {
		fresh, stale, staleIfError := c.l.Left()
		if fresh != c.fresh || stale != c.stale || staleIfError != c.staleIfError {
			t.Errorf("%+v: %d, %d, %d are left", c.l, fresh, stale, staleIfError)
		}
	}
}

// A Fallback with faults returns all of them.

// A response is worth storing if it can be used for some time, or revalidated.
func TestUsable(t *testing.T) {
	tag, date := []string{"Etag", `"a"`}, []string{"Last-Modified", "Mon, 02 Jan 2006 15:04:05 GMT"}
	for name, c := range map[string]struct {
		status int
		life   rules.Lifetime
		header []string
		want   bool
	}{
		"nothing":                     {status: 200},
		"a lifetime":                  {status: 200, life: rules.Lifetime{Total: time.Second, Explicit: true}, want: true},
		"over":                        {status: 200, life: rules.Lifetime{Age: time.Minute, Total: time.Second, Explicit: true}},
		"over, with a tag":            {status: 200, life: rules.Lifetime{Age: time.Minute, Total: time.Second, Explicit: true}, header: tag, want: true},
		"a tag":                       {status: 200, header: tag, want: true},
		"a date":                      {status: 404, header: date, want: true},
		"a tag of a failure":          {status: 500, header: tag},
		"a tag of a redirect":         {status: 302, header: tag},
		"a tag of a public redirect":  {status: 302, life: rules.Lifetime{Public: true}, header: tag, want: true},
		"no-cache without a tag":      {status: 200, life: rules.Lifetime{Asks: true}},
		"no-cache with a tag":         {status: 200, life: rules.Lifetime{Asks: true}, header: tag, want: true},
		"no-cache of a redirect":      {status: 302, life: rules.Lifetime{Asks: true}, header: tag},
		"stale while revalidating":    {status: 200, life: rules.Lifetime{Stale: time.Second}, want: true},
		"stale in place of a failure": {status: 200, life: rules.Lifetime{StaleIfError: time.Second}, want: true},
		"a stale failure":             {status: 503, life: rules.Lifetime{Stale: time.Second, StaleIfError: time.Second}, header: tag},
		"a stale, public failure":     {status: 503, life: rules.Lifetime{Stale: time.Second, Public: true}, want: true},
	} {
		h := http.Header{}
		for i := 0; i < len(c.header); i += 2 {
			h.Set(c.header[i], c.header[i+1])
		}
		if got := c.life.Usable(c.status, h); got != c.want {
			t.Errorf("%s: Usable = %v, want %v", name, got, c.want)
		}
	}
}
