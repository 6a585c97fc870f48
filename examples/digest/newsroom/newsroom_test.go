package newsroom_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/examples/digest/collector/fetchers"
	"github.com/twofold-go/twofold/examples/digest/newsroom"
	"github.com/twofold-go/twofold/examples/digest/store/storetest"
)

// Every type that can be fetched has a source that the real fetcher understands, and one
// that cannot be fetched is there, too.
func TestEverySourceIsFetched(t *testing.T) {
	w := newWorld(t, newsroom.Config{Seed: 1})
	types := map[string]bool{}
	parked, chinese := 0, 0
	for _, s := range w.sources {
		types[s.Type] = true
		if slices.Contains(fetchers.Unfetched, s.Type) {
			parked++
			continue
		}
		r, err := w.fetch(t, s, "")
		if err != nil || len(r.Items) == 0 {
			t.Errorf("%s (%s): %d items, %v", s.Name, s.Type, len(r.Items), err)
			continue
		}
		if strings.IndexFunc(r.Items[0].Title, func(c rune) bool { return unicode.Is(unicode.Han, c) }) >= 0 {
			chinese++
		}
		for _, it := range r.Items {
			text := it.Title + it.Content
			switch {
			case it.GUID == "" || it.URL == "" || it.Title == "" || it.Content == "":
				t.Errorf("%s: an item lacks something: %+v", s.Name, it)
			case strings.ContainsAny(text, "{}\uFFFD") || strings.Contains(text, "  ") || badOrdinal.MatchString(text):
				t.Errorf("%s: %q reads badly", s.Name, text)
			case it.PublishedAt.After(noon):
				t.Errorf("%s: an item of the future: %v", s.Name, it.PublishedAt)
			}
		}
	}
	for _, typ := range fetchers.Types(w.fetchers) {
		if !types[typ] {
			t.Errorf("there is no source of type %s", typ)
		}
	}
	if parked != 1 || chinese < 6 || len(w.sources) < 20 {
		t.Errorf("%d sources, %d of them parked and %d in Chinese", len(w.sources), parked, chinese)
	}
}

// badOrdinal is what a gap makes of the wrong number.
var badOrdinal = regexp.MustCompile(`\b[123]th\b`)

// What is published depends on the seed and the time, and not on who asks.
func TestDetermined(t *testing.T) {
	titles := func(seed uint64, warm bool) (all []string) {
		w := newWorld(t, newsroom.Config{Seed: seed})
		if warm {
			w.clock.Set(noon.Add(-5 * time.Hour))
			for _, s := range w.sources[:2] {
				if _, err := w.fetch(t, s, ""); err != nil {
					t.Fatal(err)
				}
			}
			w.clock.Set(noon)
		}
		for _, name := range []string{"The Harbour Post", "江城晚讯", "GitHub trending: Go", "r/tinyservers"} {
			r, err := w.fetch(t, w.source(t, name), "")
			if err != nil {
				t.Fatal(err)
			}
			for _, it := range r.Items {
				all = append(all, it.GUID+" "+it.Title+" "+it.Content)
			}
		}
		return all
	}
	one := titles(1, false)
	if diff := cmp.Diff(one, titles(1, true)); diff != "" {
		t.Errorf("requests change what is published:\n%s", diff)
	}
	if cmp.Equal(one, titles(2, false)) {
		t.Error("two seeds publish the same")
	}
}

// Items appear one by one, stay, and now and then are corrected.
func TestItemsAppear(t *testing.T) {
	w := newWorld(t, newsroom.Config{Seed: 1})
	src := w.source(t, "The Harbour Post")
	texts, at := map[string]string{}, map[string]time.Time{}
	seen, corrected, changes := "", 0, 0
	for step := range 96 {
		w.clock.Set(noon.Add(time.Duration(step) * 15 * time.Minute))
		r, err := w.fetch(t, src, seen)
		if err != nil {
			t.Fatal(err)
		}
		if seen = r.Seen; r.NotModified {
			continue
		}
		changes++
		for _, it := range r.Items {
			if _, known := at[it.GUID]; !known && step > 0 && w.clock.Now().Sub(it.PublishedAt) > 15*time.Minute {
				t.Errorf("an item of %v appears at %v", it.PublishedAt, w.clock.Now())
			}
			if old, known := texts[it.GUID]; known && old != it.Content {
				corrected++
				if !strings.HasPrefix(it.Content, old) {
					t.Errorf("%q became %q", old, it.Content)
				}
			}
			texts[it.GUID], at[it.GUID] = it.Content, it.PublishedAt
		}
	}
	// 24 a day, on top of the 12 of the first look.
	if len(texts) < 34 || len(texts) > 38 || corrected == 0 || changes < 20 || changes > 60 {
		t.Errorf("%d items in a day, %d corrected, %d changes", len(texts), corrected, changes)
	}
}

// A second look at what has not changed costs a header, by either validator.
func TestValidators(t *testing.T) {
	w := newWorld(t, newsroom.Config{Seed: 1})
	for _, tt := range []struct {
		path          string
		etag, dated   bool
		ask, validate string
	}{
		{"/feeds/harbour-post", true, true, "If-None-Match", "Etag"},
		{"/feeds/kernel-kettle", true, false, "If-None-Match", "Etag"},
		{"/feeds/jiangcheng", false, true, "If-Modified-Since", "Last-Modified"},
		{"/feeds/field-kitchen", false, false, "", ""},
		{"/hn/api/v1/search?tags=front_page", true, false, "If-None-Match", "Etag"},
	} {
		first := w.ask(t, tt.path, nil)
		if got := first.Header(); first.Code != http.StatusOK || (got.Get("Etag") != "") != tt.etag || (got.Get("Last-Modified") != "") != tt.dated {
			t.Errorf("%s: %d with %v", tt.path, first.Code, got)
		}
		if tt.ask == "" {
			continue
		}
		h := http.Header{tt.ask: {first.Header().Get(tt.validate)}}
		if again := w.ask(t, tt.path, h); again.Code != http.StatusNotModified || again.Body.Len() != 0 {
			t.Errorf("%s: %d with %d bytes, want 304", tt.path, again.Code, again.Body.Len())
		}
		w.clock.Advance(6 * time.Hour)
		if later := w.ask(t, tt.path, h); later.Code != http.StatusOK {
			t.Errorf("%s: %d six hours later, want 200", tt.path, later.Code)
		}
		w.clock.Set(noon)
	}
	if got := w.Stats(); got.Requests != 13 || got.NotModified != 4 || got.Failed != 0 || got.Bytes < 30_000 {
		t.Errorf("stats = %+v", got)
	}
}

// Who asks by the date alone hears of corrections, too.
func TestLastModified(t *testing.T) {
	w := newWorld(t, newsroom.Config{Seed: 1})
	body, since := "", ""
	for step := range 2 * 24 * 12 {
		w.clock.Set(noon.Add(time.Duration(step) * 5 * time.Minute))
		rec := w.ask(t, "/feeds/jiangcheng", nil)
		if got := rec.Header().Get("Last-Modified"); (got != since) != (rec.Body.String() != body) {
			t.Errorf("at %v: Last-Modified is %q after %q, and the body differs: %v", w.clock.Now(), got, since, rec.Body.String() != body)
		} else {
			body, since = rec.Body.String(), got
		}
	}
}

func TestEncodings(t *testing.T) {
	w := newWorld(t, newsroom.Config{Seed: 1})
	plain := w.ask(t, "/feeds/harbour-post", nil)
	small := w.ask(t, "/feeds/harbour-post", http.Header{"Accept-Encoding": {"gzip"}})
	z, err := gzip.NewReader(small.Body)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(z)
	if err != nil || !bytes.Equal(body, plain.Body.Bytes()) {
		t.Errorf("compressed it says something else: %v", err)
	}
	gbk := w.ask(t, "/feeds/jiangcheng", nil).Body.Bytes()
	if !bytes.Contains(gbk[:60], []byte(`encoding="GBK"`)) || bytes.Contains(gbk, []byte("江城")) {
		t.Errorf("it begins with %q, want a feed in GBK", gbk[:60])
	}
}

func TestKeyAndOldAddress(t *testing.T) {
	w := newWorld(t, newsroom.Config{Seed: 1})
	if got := w.ask(t, "/api/climate-desk", nil); got.Code != http.StatusUnauthorized {
		t.Errorf("without a key: %d, want 401", got.Code)
	}
	r, err := w.fetch(t, w.source(t, "The Old Ropewalk"), "")
	if want := w.base + "/feeds/old-ropewalk"; err != nil || r.MovedTo != want {
		t.Errorf("moved to %q, %v, want %q", r.MovedTo, err, want)
	}
	if got := w.ask(t, "/robots.txt", nil); got.Code != http.StatusOK || !strings.Contains(got.Body.String(), "Disallow: /private/") {
		t.Errorf("robots.txt: %d, %q", got.Code, got.Body)
	}
	if got := w.ask(t, "/nothing", nil); got.Code != http.StatusNotFound {
		t.Errorf("nothing: %d, want 404", got.Code)
	}
}

// Filters of Hacker News hold, and the rules of a subreddit are no news.
func TestServices(t *testing.T) {
	w := newWorld(t, newsroom.Config{Seed: 1})
	var all struct{ Hits []struct{ Points int } }
	rec := w.ask(t, "/hn/api/v1/search?hitsPerPage=5&numericFilters=points%3E%3D150", nil)
	if err := json.Unmarshal(rec.Body.Bytes(), &all); err != nil || len(all.Hits) != 5 {
		t.Fatalf("%d hits, %v, want 5", len(all.Hits), err)
	}
	for _, h := range all.Hits {
		if h.Points < 150 {
			t.Errorf("a hit with %d points, want 150", h.Points)
		}
	}
	r, err := w.fetch(t, w.source(t, "r/tinyservers"), "")
	if err != nil || slices.ContainsFunc(r.Items, func(it fetchers.Item) bool { return it.GUID == "t3_rules" }) {
		t.Errorf("the rules are news: %v", err)
	}
}

// On the bad day each fault comes and goes; on others there are none.
func TestFaults(t *testing.T) {
	day := noon.Add(-12 * time.Hour)
	w := newWorld(t, newsroom.Config{Seed: 1, Day: day, Delay: time.Nanosecond})
	faults := newsroom.Faults()
	fails := map[string]int{}
	for step := range 6 * 4 {
		w.clock.Set(day.Add(16*time.Hour + time.Duration(step)*15*time.Minute))
		for _, f := range faults {
			if _, err := w.fetch(t, w.source(t, f.Source), ""); err != nil {
				fails[f.Source]++
			}
		}
	}
	for _, f := range faults {
		if n := fails[f.Source]; f.Fails != (n > 0) || n > 4 {
			t.Errorf("%s fails at %d quarters of an hour, want some but fewer than pause it: %v", f.Source, n, f.Fails)
		}
		w.clock.Set(day.Add(-time.Minute))
		if _, err := w.fetch(t, w.source(t, f.Source), ""); err != nil {
			t.Errorf("%s fails the day before: %v", f.Source, err)
		}
	}
	if len(faults) < 5 {
		t.Errorf("%d faults, want five kinds", len(faults))
	}
}

// The one that has too many requests says for how long.
func TestRetryAfter(t *testing.T) {
	day := noon.Add(-12 * time.Hour)
	w := newWorld(t, newsroom.Config{Seed: 1, Day: day})
	w.clock.Set(day.Add(19*time.Hour + 20*time.Minute))
	got := w.ask(t, "/feeds/margin-note", nil)
	if got.Code != http.StatusTooManyRequests || got.Header().Get("Retry-After") != "2401" {
		t.Errorf("%d, Retry-After %q, want 429 and 2401", got.Code, got.Header().Get("Retry-After"))
	}
}

// A slow outlet answers late, and not at all to those who have left.
func TestSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		day := noon.Add(-12 * time.Hour)
		clock := storetest.NewClock(day.Add(19 * time.Hour))
		n, err := newsroom.New(newsroom.Config{Day: day, Now: clock.Now, Delay: 3 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct{ patience, want time.Duration }{{time.Minute, 3 * time.Second}, {time.Second, time.Second}} {
			ctx, cancel := context.WithTimeout(t.Context(), tt.patience)
			began := time.Now()
			n.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/feeds/field-kitchen", http.NoBody))
			if took := time.Since(began); took != tt.want {
				t.Errorf("with a patience of %v it took %v, want %v", tt.patience, took, tt.want)
			}
			cancel()
		}
	})
}
