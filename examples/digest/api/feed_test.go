package api_test

import (
	"context"
	"strings"
	"testing"

	"github.com/mmcdole/gofeed"

	"github.com/twofold-go/twofold/examples/digest/store"
)

var paths = []string{"/feed/ann", "/feed/ann.rss"}

func TestFeed(t *testing.T) {
	w := newWorld(t)
	w.subscribe(1, news)
	w.call(ann, "POST /api/digests", `{"type":"daily"}`, 200)
	for path, typ := range map[string]string{
		"/feed/ann": "text/html; charset=utf-8", "/feed/ann.rss": "application/rss+xml; charset=utf-8",
	} {
		rec := w.do("", "GET "+path, "")
		if rec.Code != 200 || rec.Header().Get("Content-Type") != typ || rec.Header().Get("Cache-Control") != "no-cache" {
			t.Errorf("%s: %d %v", path, rec.Code, rec.Header())
		}
		w.wantIn(rec.Body.String(), "Told by News", "https://s.example/0", "Tuesday, 24 Feb 2026", "24 Feb 2026 00:00 to 25 Feb 2026 00:00", "digest-1")
		if strings.Contains(rec.Body.String(), "<script") || strings.Contains(rec.Body.String(), "ann <b>") {
			t.Errorf("%s is not safe to show: %s", path, rec.Body)
		}
	}
	w.wantIn(w.do("", "GET /feed/ann", "").Body.String(), `href="https://digest.example/feed/ann.rss"`)
	for _, path := range []string{"/feed/ann.rss"} {
		f, err := gofeed.NewParser().ParseString(w.do("", "GET "+path, "").Body.String())
		if err != nil || f.Title != "Digests of ann <b>" || len(f.Items) != 1 {
			t.Fatalf("%s: %v, %v", path, err, f)
		}
		it := f.Items[0]
		if it.GUID != "https://digest.example/feed/ann#digest-1" || it.Link != it.GUID || !it.PublishedParsed.Equal(noon) || !strings.Contains(it.Content, "<a href=") {
			t.Errorf("%s: %+v", path, it)
		}
	}
}

func TestFeedHidesPrivateSources(t *testing.T) {
	w := newWorld(t)
	w.subscribe(1, news, secret)
	w.call(ann, "POST /api/digests", `{"type":"daily"}`, 200)
	shows := func(key string, want bool) {
		t.Helper()
		for _, path := range paths {
			rec := w.do(key, "GET "+path, "")
			if got := strings.Contains(rec.Body.String(), "Told by"); rec.Code != 200 || got != want {
				t.Errorf("%s with %q: %d, shows it: %v, want %v", path, key, rec.Code, got, want)
			}
			if control := rec.Header().Get("Cache-Control"); strings.Contains(control, "private") != (key != "") || rec.Header().Get("Vary") != "Authorization" {
				t.Errorf("%s with %q: %v", path, key, rec.Header())
			}
		}
	}
	shows(ann, true)
	shows(bob, false)
	shows(operator, false)
	shows("", false)
	w.write(func(ctx context.Context, tx *store.Tx) error {
		return tx.EditSource(ctx, secret, store.SourceEdit{Public: new(true)})
	})
	shows("", true)
	// The digest itself names its sources.
	w.call(operator, "DELETE /api/admin/digest-cache", "", 200)
	shows("", true)
	w.write(func(ctx context.Context, tx *store.Tx) error {
		return tx.EditSource(ctx, secret, store.SourceEdit{Public: new(false)})
	})
	shows("", false)
	shows(ann, true)
}
