package httpcache_test

import (
	"net/http"
	"testing"

	"github.com/twofold-go/twofold/cache/httpcache"
)

// A 304 confirms a page by the validators of that page (RFC 9111 §4.3.4). One about another time of change
// confirms nothing: the old body would get the new date, and would be confirmed for ever.
func TestConfirmedByItsOwnDate(t *testing.T) {
	const cc = "max-age=10"
	for name, c := range map[string]struct {
		first, then string
		body        string
		tagged      bool
	}{
		"the same date":          {first: "-10h", then: "-10h", body: "body 1"},
		"no date":                {first: "-10h", body: "body 1"},
		"another date":           {first: "-10h", then: "-1h", body: "body 3"},
		"an older date":          {first: "-10h", then: "-20h", body: "body 3"},
		"a date for one":         {then: "-1h", body: "body 1", tagged: true},
		"another date for a tag": {first: "-10h", then: "-1h", body: "body 1", tagged: true},
	} {
		t.Run(name, func(t *testing.T) {
			first, then := []string{"Cache-Control", cc}, []string{":status", "304", "Cache-Control", cc}
			if c.first != "" {
				first = append(first, "Last-Modified", dated(c.first))
			}
			if c.tagged {
				first = append(first, "Etag", `"a"`)
			}
			if c.then != "" {
				then = append(then, "Last-Modified", dated(c.then))
			}
			o := func() http.Handler {
				return &origin{script: [][]string{first, then, {"Cache-Control", cc, "Last-Modified", dated("-1h")}}}
			}
			sides(t, httpcache.Config{}, o, func(t *testing.T, get func(...string) answer) {
				if a := get(); a.body != "body 1" {
					t.Fatal(a)
				}
				sleep(t, "11s")
				for range 2 {
					if a := get(); a.body != c.body {
						t.Error(a)
					}
				}
			})
		})
	}
}

// dated returns a date of HTTP, at a distance from the beginning of a bubble's time.
func dated(d string) string {
	return map[string]string{
		"-20h": "Fri, 31 Dec 1999 04:00:00 GMT", "-10h": "Fri, 31 Dec 1999 14:00:00 GMT", "-1h": "Fri, 31 Dec 1999 23:00:00 GMT",
	}[d]
}

// A weak validator stays weak when a 304 spells it as a strong one, as nginx does for what it has
// compressed: the stored bytes are not those of the strong validator, and no part of them may complete
// others.
func TestWeakValidatorStaysWeak(t *testing.T) {
	for name, c := range map[string]struct{ first, then, want string }{
		"strong":  {`W/"a"`, `"a"`, `W/"a"`},
		"weak":    {`"a"`, `W/"a"`, `W/"a"`},
		"no less": {`"a"`, `"a"`, `"a"`},
	} {
		t.Run(name, func(t *testing.T) {
			o := func() http.Handler {
				return &origin{script: [][]string{
					{"Cache-Control", "max-age=10", "Etag", c.first}, {":status", "304", "Cache-Control", "max-age=60", "Etag", c.then, "X-New", "1"},
				}}
			}
			sides(t, httpcache.Config{}, o, func(t *testing.T, get func(...string) answer) {
				get()
				sleep(t, "11s")
				if a := get(); a.body != "body 1" || a.header.Get("Etag") != c.want || a.header.Get("X-New") != "1" {
					t.Error(a)
				}
				partial := http.StatusOK
				if c.want[0] == '"' {
					partial = http.StatusPartialContent
				}
				a := get("Range", "bytes=0-1", "If-Range", `"a"`)
				if kind, named := a.header["Content-Type"]; a.status != partial || named != (len(kind) > 0) {
					t.Error(a)
				}
			})
		})
	}
}
