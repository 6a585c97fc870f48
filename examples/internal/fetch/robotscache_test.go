package fetch_test

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/examples/internal/fetch"
)

// robotsOrigin has a robots.txt that can change and become unavailable.
type robotsOrigin struct {
	mu    sync.Mutex // protects the rest
	text  string
	down  bool
	asked int
	took  []string // the conditions of the requests
}

// RoundTrip answers.
func (o *robotsOrigin) RoundTrip(r *http.Request) (*http.Response, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if r.URL.Path != "/robots.txt" {
		return reply(200, "page"), nil
	}
	o.asked++
	o.took = append(o.took, r.Header.Get("If-None-Match"))
	tag := fmt.Sprintf("%q", o.text)
	switch {
	case o.down:
		return reply(503, ""), nil
	case r.Header.Get("If-None-Match") == tag:
		return reply(304, ""), nil
	}
	return reply(200, o.text, "ETag", tag), nil
}

func (o *robotsOrigin) set(text string, down bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text, o.down = text, down
}

func (o *robotsOrigin) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.asked
}

const (
	open   = "User-agent: *\nAllow: /"
	closed = "User-agent: *\nDisallow: /"
)

// A robots.txt serves for a day, for any number of requests. It is then revalidated in the
// background.
func TestRobotsAreCached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &robotsOrigin{text: open}
		c := newClient(t, fetch.Config{Transport: o, PerHost: 50})
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() { get(t, c, fetch.Request{URL: fmt.Sprintf("https://a.example/%d", i), Robots: true}) })
		}
		wg.Wait()
		advance(18 * time.Hour)
		get(t, c, fetch.Request{URL: "https://a.example/", Robots: true})
		if o.count() != 1 {
			t.Errorf("asked %d times, want once", o.count())
		}
		o.set(closed, false)
		advance(4 * time.Hour) // 22 h: served, because the day is not over, and refreshed
		get(t, c, fetch.Request{URL: "https://a.example/", Robots: true})
		synctest.Wait()
		if o.count() != 2 || o.took[1] == "" {
			t.Errorf("asked %d times, with conditions %q; want twice, the second with one", o.count(), o.took)
		}
		if _, err := c.Get(t.Context(), fetch.Request{URL: "https://a.example/", Robots: true}); !errors.Is(err, fetch.ErrRobots) {
			t.Errorf("Get = %v, want the new rules", err)
		}
		o.set(open, false)
		advance(25 * time.Hour) // too old to serve
		get(t, c, fetch.Request{URL: "https://a.example/", Robots: true})
	})
}

// Without an earlier robots.txt, no URL is allowed, and not every request tries again.
func TestRobotsUnreachable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &robotsOrigin{down: true}
		c := newClient(t, fetch.Config{Transport: o, DeadFor: time.Minute})
		for range 10 {
			_, err := c.Get(t.Context(), fetch.Request{URL: "https://a.example/", Robots: true})
			status, ok := errors.AsType[*fetch.StatusError](err)
			if !errors.Is(err, fetch.ErrRobots) || !ok || status.Code != 503 {
				t.Errorf("Get = %v, want %v because of a 503", err, fetch.ErrRobots)
			}
			if want := "fetch: https://a.example/: forbidden by robots.txt: it cannot be read"; err.Error() != want {
				t.Errorf("Error = %q, want %q", err, want)
			}
		}
		if o.count() != 1 {
			t.Errorf("asked %d times, want once", o.count())
		}
		o.set(open, false)
		advance(61 * time.Second)
		get(t, c, fetch.Request{URL: "https://a.example/", Robots: true})
	})
}

// A Crawl-delay applies only to requests with Robots.
func TestCrawlDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &robotsOrigin{text: "User-agent: testbot\nCrawl-delay: 7"}
		c := newClient(t, fetch.Config{Transport: o, HostDelay: time.Second})
		for i, tt := range []struct {
			robots bool
			want   time.Duration
		}{{false, 0}, {false, time.Second}, {true, 8 * time.Second}, {true, 7 * time.Second}, {false, time.Second}} {
			began := time.Now()
			get(t, c, fetch.Request{URL: fmt.Sprintf("https://a.example/%d", i), Robots: tt.robots})
			if got := time.Since(began); got != tt.want {
				t.Errorf("request %d waited %v, want %v", i, got, tt.want)
			}
		}
	})
}
