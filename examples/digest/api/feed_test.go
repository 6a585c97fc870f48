package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mmcdole/gofeed"

	"github.com/twofold-go/twofold/examples/digest/api"
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

// A title has a character that XML forbids. The digest keeps it.
func TestFeedIsWellFormed(t *testing.T) {
	w := newWorld(t)
	w.write(func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.PutDigest(ctx, store.Digest{
			UserID: 1, Type: "weekly", Content: "A \x01 bell \x07 and ]]> and \uFFFF", Metadata: json.RawMessage(`{"period_start":0,"period_end":1}`),
		})
		return err
	})
	rec := w.do(ann, "GET /feed/ann.rss", "")
	f, err := gofeed.NewParser().ParseString(rec.Body.String())
	if err != nil || len(f.Items) != 1 || f.Items[0].Title != "Week of 1 Jan 1970" || strings.ContainsAny(rec.Body.String(), "\x01\x07\uFFFF") {
		t.Errorf("%v: %q", err, rec.Body)
	}
}

func TestFeedIsStable(t *testing.T) {
	w := newWorld(t)
	w.subscribe(1, news)
	w.call(ann, "POST /api/digests", `{"type":"daily"}`, 200)
	for _, path := range paths {
		before := w.do("", "GET "+path, "")
		w.clock.Advance(time.Hour)
		w.call(ann, "POST /api/digests", `{"type":"daily"}`, 200)
		w.Handler = api.New(w.cfg)
		after := w.do("", "GET "+path, "")
		tag := before.Header().Get("ETag")
		if before.Body.String() != after.Body.String() || tag == "" || after.Header().Get("ETag") != tag {
			t.Errorf("%s has changed:\n%s\n%s", path, before.Body, after.Body)
		}
		conditional := func(path string) int {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
			r.Header.Set("If-None-Match", tag)
			rec := httptest.NewRecorder()
			w.ServeHTTP(rec, r)
			if rec.Code == http.StatusNotModified && rec.Body.Len() > 0 {
				t.Errorf("%s: 304 with a body", path)
			}
			return rec.Code
		}
		if got := conditional(path); got != http.StatusNotModified {
			t.Errorf("%s: %d with its own tag", path, got)
		}
		if got := conditional(strings.Replace(path, "ann", "bob", 1)); got != http.StatusOK {
			t.Errorf("Bob's for %s: %d with Ann's tag", path, got)
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

// A digest that an operator wrote has no known sources, so strangers do not see it.
func TestFeedHidesWhatItCannotTell(t *testing.T) {
	w := newWorld(t)
	w.subscribe(1, news)
	w.call(ann, "POST /api/digests", `{"type":"daily"}`, 200)
	w.write(func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.PutDigest(ctx, store.Digest{UserID: 1, Type: "daily", Content: "Written by hand"})
		return err
	})
	for _, path := range paths {
		for key, want := range map[string]bool{ann: true, "": false} {
			body := w.do(key, "GET "+path, "").Body.String()
			if strings.Contains(body, "by hand") != want || !strings.Contains(body, "Told by") {
				t.Errorf("%s with %q: %s", path, key, body)
			}
		}
	}
}

func TestFeedRefusals(t *testing.T) {
	w := newWorld(t)
	for _, ext := range []string{"", ".rss"} {
		w.call("", "GET /feed/nobody"+ext, "", 404)
		w.call("wrong", "GET /feed/ann"+ext, "", 401)
		if rec := w.do("", "GET /feed/bob"+ext, ""); rec.Code != 200 {
			t.Errorf("bob%s without digests: %d %s", ext, rec.Code, rec.Body)
		}
	}
	w.call("", "GET /feed/bob.json", "", 404)
	w.wantIn(w.do("", "GET /feed/bob", "").Body.String(), "no digests yet")
	w.call("", "GET /feed/bob.atom", "", 404)
}
