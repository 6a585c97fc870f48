package ops_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/examples/site/ops"
	"github.com/twofold-go/twofold/invalidate"
)

// purged is what a purge answers to a program.
type purged struct {
	What      string  `json:"what"`
	Value     string  `json:"value"`
	Objects   int     `json:"objects"`
	Responses int     `json:"responses"`
	Took      float64 `json:"took_ms"`
	Error     string  `json:"error"`
}

// visited are the pages that are cached when a purge comes: of two hosts, and one
// with two queries.
var visited = []string{
	"/", "/?page=2", "http://other.example/", "https://blog.example/", "/zh/", "/posts/the-cost-of-a-miss", "/p/1", "/pages/about", "/rss.xml",
	"/tags/caching", "/api/v1/posts/the-cost-of-a-miss",
}

// A purge reaches what it should and nothing else, in both layers, and counts it.
func TestPurge(t *testing.T) {
	for _, tt := range []struct {
		what, value string
		gone        []string // of those visited
		objects     int
	}{
		{"tag", "page:about", []string{"/pages/about"}, 1},
		{"tag", "post:1", []string{"/posts/the-cost-of-a-miss", "/p/1", "/api/v1/posts/the-cost-of-a-miss"}, 2},
		{"tag", "post:999", nil, 0},
		{"path", "/", []string{"/", "/?page=2", "http://other.example/", "https://blog.example/"}, 0},
		{"path", "/pages/about", []string{"/pages/about"}, 0},
		{"path", "/pages/%61bout", []string{"/pages/about"}, 0},
		{"path", "/page", nil, 0},
		{"prefix", "/p", []string{"/posts/the-cost-of-a-miss", "/p/1", "/pages/about"}, 0},
		{"prefix", "/pages/", []string{"/pages/about"}, 0},
		{"prefix", "/", []string{
			"/", "/?page=2", "https://blog.example/", "/zh/", "/posts/the-cost-of-a-miss", "/p/1", "/pages/about", "/rss.xml", "/tags/caching",
			"/api/v1/posts/the-cost-of-a-miss",
		}, 0},
		{"prefix", "http://other.example/", []string{"http://other.example/"}, 0},
		{"url", "/?page=2", []string{"/?page=2"}, 0},
		{"url", "/?page=2&utm_source=x", []string{"/?page=2"}, 0},
		{"url", "https://blog.example/", []string{"https://blog.example/"}, 0},
		{"url", "/?page=3", nil, 0},
		{"expire", "/rss.xml", []string{"/rss.xml"}, 0},
		{"all", "yes", visited, -1},
	} {
		t.Run(tt.what+" "+tt.value, func(t *testing.T) {
			b := newBlog(t)
			for _, target := range visited {
				b.visit(target)
			}
			if tt.objects < 0 {
				tt.objects = b.objects.Index().Stats().Entries
			}
			a := post(t, b.ops, "/_cache/api/purge", url.Values{tt.what: {tt.value}})
			got := decode[purged](t, a)
			if a.status != http.StatusOK || got.What != tt.what || got.Error != "" {
				t.Fatalf("= %d %s", a.status, a.body)
			}
			if got.Responses != len(tt.gone) || got.Objects != tt.objects {
				t.Errorf("it reached %d responses and %d objects, want %d and %d", got.Responses, got.Objects, len(tt.gone), tt.objects)
			}
			gone := map[string]bool{}
			for _, target := range tt.gone {
				gone[target] = true
			}
			for _, target := range visited {
				if _, hit := b.visit(target); hit == gone[target] {
					t.Errorf("%s is cached: %v, want %v", target, hit, !gone[target])
				}
			}
		})
	}
}

// An operator who purges by tag is served what is in the database: the objects go
// before the responses that are made of them.
func TestPurgeReachesObjectsFirst(t *testing.T) {
	b := newBlog(t)
	b.visit("/pages/about")
	queries := b.store.Queries()
	post(t, b.ops, "/_cache/api/purge", url.Values{"path": {"/pages/about"}})
	if b.visit("/pages/about"); b.store.Queries() != queries {
		t.Errorf("a purge by path costs %d queries: the objects have gone too", b.store.Queries()-queries)
	}
	post(t, b.ops, "/_cache/api/purge", url.Values{"tag": {"page:about"}})
	if b.visit("/pages/about"); b.store.Queries() == queries {
		t.Error("after a purge by tag the page was made of the old object")
	}
}

// A purge that makes no sense is refused as a whole: a parameter that is misspelled,
// missing or repeated must not make it a larger one.
func TestPurgeRefusesBadInput(t *testing.T) {
	b := newBlog(t)
	b.visit("/")
	before := len(b.index.KeysOf(invalidate.All()))
	long := strings.Repeat("x", 3000)
	for name, form := range map[string]url.Values{
		"nothing":                   {},
		"misspelled":                {"tga": {"post:1"}},
		"misspelled beside another": {"tag": {"post:1"}, "al": {"yes"}},
		"two":                       {"tag": {"post:1"}, "path": {"/"}},
		"twice":                     {"tag": {"post:1", "post:2"}},
		"all of what":               {"all": {""}},
		"all but":                   {"all": {"no"}},
		"empty tag":                 {"tag": {""}},
		"long tag":                  {"tag": {long}},
		"tag that is no text":       {"tag": {"\xff"}},
		"empty path":                {"path": {""}},
		"relative path":             {"path": {"posts/"}},
		"path with a query":         {"path": {"/?page=2"}},
		"path with an empty query":  {"path": {"/?"}},
		"path of a host":            {"path": {"http://blog.example/"}},
		"long path":                 {"path": {"/" + long}},
		"path that is no URL":       {"path": {"/%zz"}},
		"prefix with a query":       {"prefix": {"/?page=2"}},
		"prefix longer than a key":  {"prefix": {"/" + long[:1500]}},
		"empty prefix":              {"prefix": {""}},
		"url of another scheme":     {"url": {"ftp://blog.example/"}},
		"url without a path":        {"url": {"http://blog.example"}},
		"url with a user":           {"url": {"http://u:p@blog.example/"}},
		"url with a fragment":       {"url": {"/#a"}},
		"url that is never cached":  {"url": {"//"}},
	} {
		a := post(t, b.ops, "/_cache/api/purge", form)
		if a.status != http.StatusBadRequest || decode[purged](t, a).Error == "" {
			t.Errorf("%s = %d %s, want 400", name, a.status, a.body)
		}
		if strings.Contains(a.body, "xxxx") {
			t.Errorf("%s: the answer repeats the question: %s", name, a.body)
		}
	}
	a := post(t, b.ops, "/_cache/api/purge?all=yes", url.Values{"tag": {"post:1"}})
	if a.status != http.StatusBadRequest {
		t.Errorf("a parameter in the URL = %d %s, want 400", a.status, a.body)
	}
	a = call(t, b.ops, http.MethodPost, "/_cache/api/purge", nil, "Authorization", "Bearer "+adminKey, "Content-Type", "application/json")
	if a.status != http.StatusBadRequest {
		t.Errorf("no form = %d %s, want 400", a.status, a.body)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/_cache/api/purge", strings.NewReader("tag=settings"+strings.Repeat("&", 5000)))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Authorization", "Bearer "+adminKey)
	w := httptest.NewRecorder()
	if b.ops.ServeHTTP(w, r); w.Code != http.StatusBadRequest {
		t.Errorf("a long body = %d %s, want 400", w.Code, w.Body)
	}
	if after := len(b.index.KeysOf(invalidate.All())); after != before {
		t.Errorf("%d of %d entries are left", after, before)
	}
}

// A tag that can never be invalidated must not get into the pipeline, where it
// would be tried for ever, and hold up every write.
func TestBadTagDoesNotStopWrites(t *testing.T) {
	b := newBlog(t)
	for _, tag := range []string{strings.Repeat("x", 257), "\xff", ""} {
		post(t, b.ops, "/_cache/api/purge", url.Values{"tag": {tag}})
	}
	b.visit("/pages/about")
	if a := post(t, b.ops, "/_cache/api/purge", url.Values{"tag": {"page:about"}}); a.status != http.StatusOK {
		t.Errorf("a purge after bad ones = %d %s", a.status, a.body)
	}
	if s := b.changes.Stats(); s.FailedRounds != 0 || s.Queue.Last != 1 {
		t.Errorf("%d rounds have failed, and %d events were published", s.FailedRounds, s.Queue.Last)
	}
}

// A browser is sent back to the page, which tells what was done, for a while, and
// to nobody who does not know the name.
func TestPurgeForm(t *testing.T) {
	b := newBlog(t)
	b.visit("/pages/about")
	a := post(t, b.ops, "/_cache/purge", url.Values{"tag": {"page:about"}})
	to := a.header.Get("Location")
	if a.status != http.StatusSeeOther || !strings.HasPrefix(to, "/_cache?done=") {
		t.Fatalf("= %d to %q", a.status, to)
	}
	for range 2 { // it may be loaded again, and purges nothing then
		d := look(t, b.ops, to)
		if d.id("purged-objects") != "1" || d.id("purged-responses") != "1" || !strings.Contains(d.id("done"), "page:about") {
			t.Errorf("the page says %q", d.id("done"))
		}
	}
	if n := b.changes.Stats().Queue.Last; n != 1 {
		t.Errorf("%d events were published, want 1", n)
	}
	to = post(t, b.ops, "/_cache/purge", url.Values{"tga": {"page:about"}}).header.Get("Location")
	if d := look(t, b.ops, to); !strings.Contains(d.id("done"), "Nothing was purged") {
		t.Errorf("of a bad form, the page says %q", d.id("done"))
	}
	for _, forged := range []string{"/_cache?done=x", "/_cache?done=<b>", "/_cache?done=&what=all&responses=7", to + "x"} {
		if d := look(t, b.ops, forged); d.id("done") != "" {
			t.Errorf("%s makes the page say %q", forged, d.id("done"))
		}
	}
}

// Outcomes are told for ten minutes, and the last 32 of them.
func TestOutcomesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := handler(t, ops.Config{})
		purge := func() string {
			return post(t, h, "/_cache/purge", url.Values{"all": {"yes"}}).header.Get("Location")
		}
		said := func(at string) bool { return look(t, h, at).id("done") != "" }
		first := purge()
		<-time.After(10*time.Minute - time.Second)
		if !said(first) {
			t.Error("nothing is said before ten minutes have passed")
		}
		<-time.After(time.Second)
		if said(first) {
			t.Error("it is still said after ten minutes")
		}
		second := purge()
		for range 31 {
			purge()
		}
		if !said(second) {
			t.Error("the last but 31 is not said")
		}
		if purge(); said(second) {
			t.Error("the last but 32 is still said")
		}
	})
}

// What fails is told as such, and the log alone knows why. The pipeline keeps it.
func TestPurgeThatFails(t *testing.T) {
	b := newBlog(t)
	var log strings.Builder
	h := handler(t, ops.Config{Caches: b.caches, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	b.visit("/pages/about")
	b.down = errDown
	a := post(t, h, "/_cache/api/purge", url.Values{"tag": {"page:about"}})
	if a.status != http.StatusServiceUnavailable || strings.Contains(a.body, "secret") || !strings.Contains(a.body, "tried again") {
		t.Errorf("= %d %s", a.status, a.body)
	}
	if !strings.Contains(log.String(), errDown.Error()) {
		t.Errorf("the log does not say why:\n%s", &log)
	}
	to := post(t, h, "/_cache/purge", url.Values{"all": {"yes"}}).header.Get("Location")
	if d := look(t, h, to); !strings.Contains(d.id("done"), "Nothing was purged") {
		t.Errorf("the page says %q", d.id("done"))
	}
	b.down = nil
	if a := post(t, h, "/_cache/api/purge", url.Values{"tag": {"post:999"}}); a.status != http.StatusOK {
		t.Errorf("= %d %s", a.status, a.body)
	}
	if _, hit := b.visit("/pages/about"); hit {
		t.Error("what was kept by the pipeline was not purged by the next round")
	}
}

// A site without caches says so, and has nothing to purge or to look up.
func TestWithoutCaches(t *testing.T) {
	h := handler(t, ops.Config{Queries: func() int64 { return 4321 }})
	d := look(t, h, "/_cache")
	if !strings.Contains(d.id("off"), "-cache=false") || d.id("queries") != "4,321" {
		t.Errorf("the page says %q, and %q queries", d.id("off"), d.id("queries"))
	}
	if len(d.all("table"))+len(d.all("form")) > 0 {
		t.Error("there are tables or forms")
	}
	for _, a := range []answer{
		post(t, h, "/_cache/api/purge", url.Values{"all": {"yes"}}), get(t, h, "/_cache/api/lookup?tag=a"), get(t, h, "/_cache/lookup?url=/"),
	} {
		if a.status != http.StatusConflict || !strings.Contains(a.body, "without caches") {
			t.Errorf("= %d %s", a.status, a.body)
		}
	}
	if s := decode[struct{ On bool }](t, get(t, h, "/_cache/api/stats")); s.On {
		t.Error("the statistics say that it is on")
	}
	if a := get(t, h, "/metrics"); !strings.Contains(a.body, "site_database_queries_total 4321\n") || strings.Contains(a.body, "\ncache_") {
		t.Errorf("the metrics are:\n%s", a.body)
	}
}

// The log tells who purged what, and how much.
func TestPurgesAreLogged(t *testing.T) {
	b := newBlog(t)
	var log strings.Builder
	h := handler(t, ops.Config{Caches: b.caches, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	b.visit("/pages/about")
	post(t, h, "/_cache/api/purge", url.Values{"tag": {"page:about"}})
	if want := "what=tag objects=1 responses=1 from="; !strings.Contains(log.String(), want) {
		t.Errorf("there is no %q in the log:\n%s", want, fmt.Sprint(&log))
	}
}
