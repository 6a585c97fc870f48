package origin_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/examples/internal/fetch"
	"github.com/twofold-go/twofold/examples/rsstracker/origin"
	"github.com/twofold-go/twofold/examples/rsstracker/track"
)

// client returns the answers of a test, and counts.
type client struct {
	body, contentType string
	err               error
	asked             []fetch.Request
}

func (c *client) Get(_ context.Context, r fetch.Request) (fetch.Response, error) {
	c.asked = append(c.asked, r)
	if c.err != nil {
		return fetch.Response{}, c.err
	}
	return fetch.Response{URL: r.URL, Body: []byte(c.body), ContentType: c.contentType}, nil
}

func (c *client) Robots(context.Context, string) (*fetch.Robots, error) {
	if c.err != nil {
		return nil, c.err
	}
	return &fetch.Robots{Sitemaps: []string{"https://example.com/s.xml"}}, nil
}

// with runs a test in a bubble of virtual time.
func with(t *testing.T, c *client, fn func(t *testing.T, s *origin.Source)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		tiers, err := cache.Open(cache.TiersConfig{})
		if err != nil {
			t.Fatal(err)
		}
		defer tiers.Close(context.WithoutCancel(t.Context()))
		s, err := origin.New(c, tiers)
		if err != nil {
			t.Fatal(err)
		}
		fn(t, s)
	})
}

var request = track.PageRequest{URL: "https://example.com/a"}

func TestPageIsCached(t *testing.T) {
	c := &client{body: "<title>A</title>", contentType: "text/html"}
	with(t, c, func(t *testing.T, s *origin.Source) {
		p, err := s.Page(t.Context(), request)
		if err != nil || p.Title != "A" || p.Cached {
			t.Errorf("Page = %+v, %v", p, err)
		}
		if p, err = s.Page(t.Context(), request); err != nil || p.Title != "A" || !p.Cached {
			t.Errorf("again = %+v, %v", p, err)
		}
		c.body = "<title>B</title>"
		fresh := request
		fresh.Fresh = true
		if p, err = s.Page(t.Context(), fresh); err != nil || p.Title != "B" || p.Cached {
			t.Errorf("of a page that has changed = %+v, %v", p, err)
		}
		for _, r := range c.asked {
			if !r.Robots {
				t.Errorf("%+v does not obey robots.txt", r)
			}
		}
	})
}

// TestCachedBeforeTheChange: an entry that is older than a page's change is not served.
func TestCachedBeforeTheChange(t *testing.T) {
	for name, tt := range map[string]struct {
		lastMod func(now time.Time) time.Time // two minutes after the page was cached
		cached  bool
	}{
		"a minute after":   {func(now time.Time) time.Time { return now.Add(-time.Minute) }, false},
		"in the future":    {func(now time.Time) time.Time { return now.Add(time.Hour) }, false},
		"this day":         {func(now time.Time) time.Time { return now.Truncate(24 * time.Hour) }, false},
		"not known":        {func(time.Time) time.Time { return time.Time{} }, true},
		"a minute before":  {func(now time.Time) time.Time { return now.Add(-3 * time.Minute) }, true},
		"the day before":   {func(now time.Time) time.Time { return now.Truncate(24*time.Hour).AddDate(0, 0, -1) }, true},
		"a long time past": {func(now time.Time) time.Time { return now.AddDate(-1, 0, 0) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			c := &client{body: "<title>A</title>", contentType: "text/html"}
			with(t, c, func(t *testing.T, s *origin.Source) {
				<-time.After(time.Hour) // bubbles begin at midnight
				if _, err := s.Page(t.Context(), request); err != nil {
					t.Fatal(err)
				}
				<-time.After(2 * time.Minute)
				r := request
				r.LastMod = tt.lastMod(time.Now().UTC())
				if p, err := s.Page(t.Context(), r); err != nil || p.Cached != tt.cached {
					t.Errorf("Cached %v, want %v; %v", p.Cached, tt.cached, err)
				}
			})
		})
	}
}

// TestDeadPagesAreRemembered: negative entries expire before the tracker retries.
func TestDeadPagesAreRemembered(t *testing.T) {
	for _, code := range []int{404, 410} {
		c := &client{err: &fetch.StatusError{Code: code}}
		with(t, c, func(t *testing.T, s *origin.Source) {
			for n := range 3 {
				p, err := s.Page(t.Context(), request)
				e, ok := errors.AsType[*fetch.StatusError](err)
				if !ok || n == 0 && e.Code != code || p.Cached != (n > 0) {
					t.Errorf("%d, time %d: %+v, %v", code, n, p, err)
				}
			}
			<-time.After(10 * time.Minute)
			c.err, c.body, c.contentType = nil, "<title>A</title>", "text/html"
			if p, err := s.Page(t.Context(), request); err != nil || p.Title != "A" {
				t.Errorf("after ten minutes: %+v, %v", p, err)
			}
		})
	}
}

func TestSitemaps(t *testing.T) {
	c := &client{body: "<urlset/>"}
	with(t, c, func(t *testing.T, s *origin.Source) {
		if resp, err := s.Sitemap(t.Context(), "https://example.com/s.xml"); err != nil || string(resp.Body) != c.body {
			t.Errorf("Sitemap = %+v, %v", resp, err)
		}
		if r := c.asked[0]; r.Robots {
			t.Errorf("asked %+v", r)
		}
		if all, err := s.Discover(t.Context(), "https://example.com"); err != nil || len(all) != 1 {
			t.Errorf("Discover = %q, %v", all, err)
		}
		c.err = fetch.ErrConnect
		if _, err := s.Discover(t.Context(), "https://example.com"); !errors.Is(err, fetch.ErrConnect) {
			t.Errorf("Discover of a site that is down = %v", err)
		}
	})
}
