package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/invalidate"
)

// floods are requests that strangers can vary without limit.
var floods = map[string]func(w *twins, n int) request{
	"query strings":     func(w *twins, n int) request { return w.plainly(fmt.Sprint("/?x=", n)) },
	"queries of posts":  func(w *twins, n int) request { return w.plainly(fmt.Sprint("/posts/a?", n, "=", n)) },
	"pages of the list": func(w *twins, n int) request { return w.plainly(fmt.Sprint("/?page=", n+100)) },
	"pages of a tag":    func(w *twins, n int) request { return w.plainly(fmt.Sprint("/tags/go?page=", n+100)) },
	"hosts":             func(w *twins, n int) request { return w.at(fmt.Sprintf("h%d.example", n), "/posts/a") },
	"paths":             func(w *twins, n int) request { return w.plainly(fmt.Sprint("/nope/", n)) },
	"slugs of posts":    func(w *twins, n int) request { return w.plainly(fmt.Sprint("/posts/s-", n)) },
	"slugs of pages":    func(w *twins, n int) request { return w.plainly(fmt.Sprint("/zh/pages/s-", n)) },
	"ids":               func(w *twins, n int) request { return w.plainly(fmt.Sprint("/p/", n+100)) },
	"tags":              func(w *twins, n int) request { return w.plainly(fmt.Sprint("/tags/t-", n)) },
	"months":            func(w *twins, n int) request { return w.plainly(fmt.Sprintf("/months/%04d-%02d", 1+n/12, 1+n%12)) },
	"tags in the API":   func(w *twins, n int) request { return w.plainly(fmt.Sprint("/api/v1/posts?tag=t-", n)) },
	"slugs in the API":  func(w *twins, n int) request { return w.plainly(fmt.Sprint("/api/v1/posts/s-", n)) },
	"API keys": func(w *twins, n int) request {
		q := w.plainly("/api/v1/posts")
		q.header.Set("X-API-Key", fmt.Sprintf("p%d_SECRET", n))
		return q
	},
	"clients": func(w *twins, n int) request {
		q := w.plainly("/")
		for _, name := range []string{"User-Agent", "Accept", "Accept-Language", "X-Forwarded-Host", "Origin"} {
			q.header.Set(name, fmt.Sprint(n))
		}
		return q
	},
}

func (w *twins) at(host, target string) request {
	q := w.plainly(target)
	q.host = host
	return q
}

// inFlood returns the number of requests of a flood.
func inFlood() int {
	switch {
	case os.Getenv("SITE_SOAK") != "":
		return 50_000
	case raceEnabled:
		return 30
	}
	return 2_000
}

// A flood evicts no hot page, and nothing exceeds its bounds.
func TestFloods(t *testing.T) {
	for name, flood := range floods {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newTwins(t, control{})
			defer w.close()
			w.cold()
			cold := 0
			for n := range inFlood() {
				w.ask(w.cached, flood(w, n))
				if n%25 == 20 {
					cold += w.cold()
				}
			}
			if cold += w.cold(); cold > 0 {
				t.Errorf("%d reads of hot pages were no hits", cold)
			}
			w.cached.within(t)
		})
	}
}

// cold requests the hot pages, and returns how many were not cached.
func (w *twins) cold() (n int) {
	for _, target := range hot {
		r, cacheStatus := w.ask(w.cached, w.plainly(target))
		if storable := r.Status != http.StatusNotFound; storable && !strings.Contains(cacheStatus, hit) {
			n++
		}
	}
	return n
}

// within checks the bounds of the caches.
func (c *caches) within(t *testing.T) {
	t.Helper()
	for i, most := range []int64{usual.responses, usual.objects, usual.absences} {
		l := c.layers[i]
		local := l.Tiers.Stats().Local
		if most += most / 20; local.Bytes > most { // the promise of package local
			t.Errorf("%s take %d bytes, want %d at most", l.Name, local.Bytes, most)
		}
		if l.Index == nil {
			continue
		}
		if s := l.Index.Stats(); int64(s.Entries) != local.Entries || s.Missing != 0 {
			t.Errorf("there are %d %s, and the index has %+v", local.Entries, l.Name, s)
		}
	}
}

// Pages of invented hosts exceed the memory. They take no more than the bound, and do not
// evict pages that are requested often.
func TestFloodOfHosts(t *testing.T) {
	c, err := newCaches(new(onePost).reader(), memory(), siteConfig{log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	page := make([]byte, 100<<10)
	h := c.wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host == hosts[0] {
			_, _ = w.Write(page[:5000])
		} else {
			_, _ = w.Write(page)
		}
	}))
	ask := func(host, path string) (isHit bool) {
		r := httptest.NewRequest(http.MethodGet, path, http.NoBody)
		r.Host = host
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return strings.Contains(w.Header().Get("Cache-Status"), hit)
	}
	misses, stored := 0, 6*int(usual.responses)/5/len(page)
	for n := range stored {
		ask(fmt.Sprintf("h%d.example", n), "/")
		for path := range 4 {
			if !ask(hosts[0], fmt.Sprint("/", path)) {
				misses++
			}
		}
	}
	if misses > 4+stored/100 {
		t.Errorf("%d misses of 4 hot pages in %d rounds", misses, stored)
	}
	if c.within(t); c.tiers.Stats().Total.Evictions.Entries == 0 {
		t.Error("there was room for all")
	}
}

// Guesses at absent things evict only each other.
func TestFloodOfGuesses(t *testing.T) {
	c, err := newCaches((&onePost{title: "TITLE"}).reader(), memory(), siteConfig{log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	ctx := t.Context()
	for name, guess := range map[string]func(n int) error{
		"page": func(n int) error { _, err := c.objects.PageBySlug(ctx, fmt.Sprint("s-", n)); return err },
		"key":  func(n int) error { _, err := c.objects.APIKeyByPrefix(ctx, fmt.Sprint("p", n)); return err },
		"post": func(n int) error { _, err := c.objects.PostByID(ctx, int64(n)+2); return err },
	} {
		for n := range scaled(50_000) {
			if err := guess(n); !errors.Is(err, content.ErrNotFound) {
				t.Fatalf("%s %d: %v", name, n, err)
			}
			if n%100 == 0 {
				if _, err := c.objects.PostByID(ctx, 1); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	c.within(t)
	present, absent := c.layers[1].Tiers.Stats(), c.layers[2].Tiers.Stats()
	if present.Local.Entries != 1 || absent.Local.Entries < 100 || absent.Total.Evictions.Entries == 0 {
		t.Errorf("there are %d objects and %d absences, of which %d were evicted", present.Local.Entries, absent.Local.Entries, absent.Total.Evictions.Entries)
	}
	if found := c.layers[1].Index.KeysOf(invalidate.Tag(cache.DefaultTenant, "post:1")); len(found) != 1 {
		t.Errorf("the post is at %v", found)
	}
}
