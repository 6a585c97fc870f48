package cachez_test

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/cache/cachez"
	"github.com/twofold-go/twofold/cache/httpcache"
)

// A lookup of one entry shows its state, its age and its tags.
func TestLookUpOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProgram(t)
		p.read("ada", "acme/ada")
		p.visit("/a?x=1", "https://"+host+"/s")
		<-time.After(90 * time.Second)
		p.read("bob")
		for _, tt := range []struct{ by, value, state, key, tags string }{
			{"key", "default:users:v1:ada", "stale", "default:users:v1:ada", "default/initial:a default/users"},
			{"key", "default:users:v1:bob", "fresh", "default:users:v1:bob", "default/initial:b default/users"},
			{"key", "acme:users:v1:ada", "stale", "acme:users:v1:ada", "acme/initial:a acme/users"},
			{"key", "acme:users:v1:bob", "absent", "acme:users:v1:bob", ""},
			{"url", "/a?x=1", "fresh", "default:http:v1:http//shop.example/a?x=1", "default/http:v1 path /a default/shop default/shop.example http:v1 path /a"},
			{"url", "http://SHOP.example/a?x=1", "fresh", "default:http:v1:http//shop.example/a?x=1", "default/http:v1 path /a default/shop default/shop.example http:v1 path /a"},
			{"url", "/a", "absent", "default:http:v1:http//shop.example/a", ""},
			{"url", "https://other.example/a?x=1", "absent", "default:http:v1:https//other.example/a?x=1", ""},
			{"url", "https://shop.example/s", "fresh", "default:http:v1:https//shop.example/s", "default/http:v1 path /s default/shop default/shop.example http:v1 path /s"},
			{"url", "/a//b", "bypass", "", ""},
		} {
			e := p.ask(tt.by, tt.value).Entry
			var tags []string
			for _, tag := range e.Tags {
				tags = append(tags, tag.Tenant+"/"+tag.Name)
			}
			if got := strings.Join(tags, " "); e.State != tt.state || e.Key != tt.key || got != tt.tags {
				t.Errorf("%s %s = %s %s [%s], want %s %s [%s]", tt.by, tt.value, e.State, e.Key, got, tt.state, tt.key, tt.tags)
			}
			age := map[string]float64{"default:users:v1:bob": 0}
			want, there := 90.0, tt.tags != ""
			if v, ok := age[tt.key]; ok {
				want = v
			}
			if there != (e.Age != nil) || there && *e.Age != want {
				t.Errorf("%s %s: age %v, want %v", tt.by, tt.value, e.Age, want)
			}
		}
		before := p.tiers.Stats().Total
		p.get("?key=default:users:v1:nobody")
		p.get("?url=/a")
		if diff := cmp.Diff(before, p.tiers.Stats().Total); diff != "" {
			t.Errorf("a lookup counts as a read:\n%s", diff)
		}
	})
}

// A lookup of several entries shows the keys of the tenant.
func TestLookUpSeveral(t *testing.T) { synctest.Test(t, testLookUpSeveral) }

func testLookUpSeveral(t *testing.T) {
	p := newProgram(t)
	p.read("ada", "alan", "bob", "acme/ada")
	p.visit("/a?x=1", "/a?x=2", "/ab", "/b", "http://other.example/a", "https://"+host+"/a")
	const pages = "default:http:v1:"
	for query, want := range map[string][]string{
		"tag=initial:a":             {"default:users:v1:ada", "default:users:v1:alan"},
		"tag=initial:a&tenant=acme": {"acme:users:v1:ada"},
		"tag=nothing":               nil,
		"prefix=default:users:v1:a": {"default:users:v1:ada", "default:users:v1:alan"},
		"prefix=acme:":              {"acme:users:v1:ada"},
		"under=/a": {
			pages + "http//shop.example/a?x=1", pages + "http//shop.example/a?x=2", pages + "http//shop.example/ab", pages + "https//shop.example/a",
		},
		"under=https://shop.example/": {pages + "https//shop.example/a"},
		"under=/c":                    nil,
	} {
		f := found(t, p.get("?format=json&"+query))
		if diff := cmp.Diff(want, f.Keys); diff != "" || f.More > 0 {
			t.Errorf("%s (-want +got):\n%s", query, diff)
		}
	}
	if n := len(p.keys()); n != 10 {
		t.Errorf("all=yes lists %d keys, want 10", n)
	}
	all, _ := elements(t, p.get("?tag=initial:a&tenant=acme").Body.String())
	for _, e := range all { // each link leads to the entry that it names
		if to := e.attrs["href"]; strings.Contains(to, "key=") {
			if _, text := elements(t, p.get(to).Body.String()); !strings.Contains(text, "acme:initial:a") {
				t.Errorf("%s does not show the tags", to)
			}
			return
		}
	}
	t.Error("no key has a link")
}

// Lists have a limit.
func TestListsAreBounded(t *testing.T) { synctest.Test(t, testListsAreBounded) }

func testListsAreBounded(t *testing.T) {
	p := newProgram(t)
	for i := range 250 {
		p.read(fmt.Sprintf("u%03d", i))
	}
	if f := p.ask("tag", "users"); len(f.Keys) != 200 || f.More != 50 {
		t.Errorf("%d keys and %d more, want 200 and 50", len(f.Keys), f.More)
	}
	if _, text := elements(t, p.get("?tag=users").Body.String()); !strings.Contains(text, "and 50 more") {
		t.Error("the page does not say how many more there are")
	}
}

// Without an index or a cache of responses, features that need them say so, and the rest works.
func TestLess(t *testing.T) { synctest.Test(t, testLess) }

func testLess(t *testing.T) {
	p := newProgram(t, func(c *cachez.Config) { c.Index = nil })
	p.read("ada")
	p.visit("/a")
	if e := p.ask("url", "/a").Entry; e.State != "unknown" || e.Key == "" {
		t.Errorf("a URL without an index is %+v", e)
	}
	if w := p.get("?key=default:users:v1:ada&format=json"); w.Code != http.StatusConflict || !strings.Contains(read(t, w).Error, "Config.Index") {
		t.Errorf("a key without an index = %d %s", w.Code, w.Body)
	}
	if done := read(t, p.post("do=purge&tag=users")).Done; done == nil || done.Entries != nil {
		t.Errorf("a purge without an index = %+v", done)
	}
	p = newProgram(t, func(c *cachez.Config) { c.Pages = nil })
	for _, field := range []string{"url=/a", "under=/a"} {
		if w := p.get("?format=json&" + field); w.Code != http.StatusBadRequest || !strings.Contains(read(t, w).Error, "no cache of responses") {
			t.Errorf("%s without responses = %d %s", field, w.Code, w.Body)
		}
	}
	if body := p.get("").Body.String(); strings.Contains(body, `name="url"`) || strings.Contains(body, "Responses") {
		t.Error("the page without responses shows them")
	}
	off, err := httpcache.New(httpcache.Config{Off: true})
	if err != nil {
		t.Fatal(err)
	}
	p = newProgram(t, func(c *cachez.Config) { c.Pages = off })
	if w := p.get("?under=/a"); w.Code != http.StatusBadRequest {
		t.Errorf("under of responses that are off = %d %s", w.Code, w.Body)
	}
}

// Any name is shown as text.
func TestNamesAreText(t *testing.T) { synctest.Test(t, testNamesAreText) }

func testNamesAreText(t *testing.T) {
	const evil = `"'><script>alert(1)</script><img/src=x onerror=alert(1)>`
	p := newProgram(t, func(c *cachez.Config) { c.Title = evil })
	p.read(evil)
	p.read(evil + "2")
	p.visit("/" + url.PathEscape(evil))
	shown := 0
	for _, q := range []string{
		"", "?all=yes", "?tag=users", "?key=" + url.QueryEscape(p.keys()[1]), "?tag=" + url.QueryEscape(evil), "?prefix=" + url.QueryEscape("a:"+evil),
		"?url=" + url.QueryEscape("/"+evil), "?" + url.QueryEscape(evil) + "=1", "?tag=a&tenant=" + url.QueryEscape(evil), "?tag=javascript:alert(1)",
	} {
		all, text := elements(t, p.get(q).Body.String())
		harmless(t, q, all)
		if strings.Contains(text, "<script>alert") {
			shown++
		}
	}
	w := p.call(http.MethodPost, "", "do=purge&tag="+url.QueryEscape(evil))
	all, text := elements(t, w.Body.String())
	harmless(t, "a purge", all)
	if !strings.Contains(text, evil) || shown < 8 {
		t.Errorf("the name is shown on %d pages, and after a purge: %t; too few to test", shown, strings.Contains(text, evil))
	}
}

// harmless checks that a page has no script and no element that could run one.
func harmless(t *testing.T, what string, all []element) {
	t.Helper()
	for _, e := range all {
		if !strings.Contains(" html head meta title style body h1 h2 p b a ul li dl div dt dd code span table thead tbody tr th td form label input button svg rect details summary section small i ", " "+e.name+" ") {
			t.Errorf("%s has <%s>", what, e.name)
		}
		for name, value := range e.attrs {
			if strings.HasPrefix(name, "on") || name == "style" || (name == "href" || name == "action") && !strings.HasPrefix(value, "?") {
				t.Errorf("%s has %s=%q", what, name, value)
			}
		}
	}
}

// No value is shown anywhere.
func TestValuesAreNotShown(t *testing.T) { synctest.Test(t, testValuesAreNotShown) }

func testValuesAreNotShown(t *testing.T) {
	p := newProgram(t)
	p.read("ada")
	p.visit("/a")
	for _, query := range every {
		method, rest, _ := strings.Cut(query, " ")
		if method != http.MethodGet {
			continue
		}
		for _, format := range []string{"html", "json"} {
			if w := p.get(rest + "&format=" + format); strings.Contains(w.Body.String(), secret) {
				t.Errorf("%s shows a value: %s", query, w.Body)
			}
		}
	}
}

// slow is an entry that a look-up takes a second to check.
type slow struct {
	key       string
	now, most *atomic.Int32
}

func (e slow) Key() string                     { return e.key }
func (e slow) Tags() iter.Seq2[uint64, string] { return func(func(uint64, string) bool) {} }
func (e slow) Age() time.Duration              { return 0 }
func (e slow) Stale() bool                     { return false }

func (e slow) Alive() bool {
	e.most.Store(max(e.most.Load(), e.now.Add(1)))
	<-time.After(time.Second)
	e.now.Add(-1)
	return true
}

// One look-up lists keys at a time. A request that ends before its turn does nothing.
func TestOneLookUpAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProgram(t)
		e := slow{"default:users:v1:ada", new(atomic.Int32), new(atomic.Int32)}
		p.index.Stored(e)
		var all sync.WaitGroup
		for _, query := range []string{"?prefix=default:", "?prefix=default:users", "?all=yes", "?tag=users"} {
			all.Go(func() { p.get(query) })
		}
		all.Go(func() { p.post("do=purge&prefix=default:users") })
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/caches?all=yes", http.NoBody)
		w := httptest.NewRecorder()
		if p.page.ServeHTTP(w, r); w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "one look-up runs at a time") {
			t.Errorf("a request that ended = %d %s", w.Code, w.Body)
		}
		all.Wait()
		if most := e.most.Load(); most != 1 {
			t.Errorf("%d look-ups ran at a time, want 1", most)
		}
	})
}
