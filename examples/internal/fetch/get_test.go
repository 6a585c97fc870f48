package fetch_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/twofold-go/twofold/examples/internal/fetch"
)

func TestGet(t *testing.T) {
	o := newOrigin(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/rss+xml; charset=utf-8")
		w.Header().Set("ETag", `"v1"`)
		w.Header().Set("Last-Modified", "Mon, 02 Mar 2026 10:00:00 GMT")
		w.Header().Set("Cache-Control", "max-age=600")
		fmt.Fprint(w, "<rss/>")
	})
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	c := newClient(t, fetch.Config{AllowPrivate: true, Now: func() time.Time { return now }})
	got := get(t, c, fetch.Request{URL: o.URL + "/feed.xml#top", Accept: "application/rss+xml"})
	want := fetch.Response{
		URL: o.URL + "/feed.xml", Status: 200, ContentType: "application/rss+xml; charset=utf-8", Body: []byte("<rss/>"),
		Hash: "b8a3805e669decf7180d8c7f4af5d4706d615d0678c424bd1c6b853def3bf3d2", FreshFor: 10 * time.Minute,
	}
	if d := cmp.Diff(want, got, cmpopts.EquateApproxTime(10*time.Second)); d != "" {
		t.Errorf("Get differs (-want +got):\n%s", d)
	}
	r := o.last(t)
	sent := []string{r.URL.String(), r.Header.Get("Accept"), r.Header.Get("User-Agent"), r.Header.Get("Accept-Encoding"), r.Header.Get("Referer"), r.Header.Get("Cookie")}
	if d := cmp.Diff([]string{"/feed.xml", "application/rss+xml", "TestBot/1.0 (+https://bot.example)", "gzip", "", ""}, sent); d != "" {
		t.Errorf("the request differs (-want +got):\n%s", d)
	}
}

// Characters that a request line or a Host cannot contain are escaped. Existing escapes stay.
func TestSpelling(t *testing.T) {
	for url, want := range map[string]string{
		"HTTPS://A.Example":                      "a.example /",
		"https://a.example:443/x?":               "a.example /x?",
		"http://a.example:443/x":                 "a.example:443 /x",
		"https://bücher.example/ä b?ü=ä b&q=%C3": "xn--bcher-kva.example /%C3%A4%20b?%C3%BC=%C3%A4%20b&q=%C3",
		"https://a.example/a%2Fb/%7e?a=b+c#d":    "a.example /a%2Fb/%7e?a=b+c",
		"https://[2001:DB8::1]:8080/":            "[2001:db8::1]:8080 /",
	} {
		t.Run(url, func(t *testing.T) {
			var sent string
			c := newClient(t, fetch.Config{Transport: wire(func(r *http.Request) (*http.Response, error) {
				sent = r.Host + " " + r.URL.RequestURI()
				return reply(200, ""), nil
			})})
			get(t, c, fetch.Request{URL: url})
			if sent != want {
				t.Errorf("sent %q, want %q", sent, want)
			}
		})
	}
}

// A steady feed costs a load that returns ErrNotModified. The entry stays, and the load
// does not count as an error.
func TestSteadyFeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tiers := newTiers(t, nil)
		c := newClient(t, fetch.Config{Tiers: tiers, Transport: wire(func(r *http.Request) (*http.Response, error) {
			if r.Header.Get("If-None-Match") == `"1"` {
				return reply(304, ""), nil
			}
			return reply(200, "one", "ETag", `"1"`), nil
		})})
		for day := range 3 { // more than eight days after the only 200
			resp := get(t, c, fetch.Request{URL: "https://feed.example/"})
			if resp.NotModified != (day > 0) || string(resp.Body) != "one" {
				t.Errorf("day %d: NotModified %v, body %q", day, resp.NotModified, resp.Body)
			}
			advance(8*24*time.Hour - time.Hour)
		}
		if s := tiers.Stats().Total; s.Loads.Errors != 0 {
			t.Errorf("%d load errors, want none", s.Loads.Errors)
		}
		advance(2 * time.Hour)
		if resp := get(t, c, fetch.Request{URL: "https://feed.example/"}); resp.NotModified {
			t.Error("beyond eight days the answer is still known")
		}
	})
}

func TestMaxAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		c := newClient(t, fetch.Config{Transport: wire(func(*http.Request) (*http.Response, error) {
			asked++
			return reply(200, strings.Repeat("x", asked), "Cache-Control", "max-age=600"), nil
		})})
		steps := []struct {
			after, maxAge time.Duration
			wantAsked     int
			wantFresh     time.Duration
		}{
			{after: 0, maxAge: time.Hour, wantAsked: 1, wantFresh: 10 * time.Minute},
			{after: time.Minute, maxAge: time.Hour, wantAsked: 1, wantFresh: 9 * time.Minute},
			{after: time.Minute, maxAge: 2 * time.Minute, wantAsked: 1, wantFresh: 8 * time.Minute},
			{after: time.Minute, maxAge: 2 * time.Minute, wantAsked: 2, wantFresh: 10 * time.Minute},
			{after: 0, maxAge: 0, wantAsked: 3, wantFresh: 10 * time.Minute}, // at the instant of the last answer
			{after: time.Hour, maxAge: 0, wantAsked: 4, wantFresh: 10 * time.Minute},
			{after: time.Hour, maxAge: 2 * time.Hour, wantAsked: 4, wantFresh: 0},
		}
		for i, s := range steps {
			advance(s.after)
			before := asked
			resp := get(t, c, fetch.Request{URL: "https://feed.example/", MaxAge: s.maxAge})
			if asked != s.wantAsked || resp.FromCache != (asked == before) || len(resp.Body) != asked {
				t.Errorf("step %d: asked %d times, FromCache %v, body of %d; want %d times", i, asked, resp.FromCache, len(resp.Body), s.wantAsked)
			}
			if resp.FreshFor != s.wantFresh || resp.FromCache && resp.NotModified {
				t.Errorf("step %d: fresh for %v, NotModified %v; want %v", i, resp.FreshFor, resp.NotModified, s.wantFresh)
			}
		}
	})
}
