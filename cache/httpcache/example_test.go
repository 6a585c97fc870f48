package httpcache_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache"
	"github.com/twofold-go/twofold/invalidate"
)

// how returns Cache-Status without the ttl.
func how(res *httptest.ResponseRecorder) string {
	s, _, _ := strings.Cut(res.Header().Get("Cache-Status"), ";ttl=")
	return s
}

// example returns a cache of responses, and tiers that done closes.
func example(cfg httpcache.Config) (pages *httpcache.Cache, tiers *cache.Tiers, done func()) {
	tiers, err := cache.Open(cache.TiersConfig{})
	if err != nil {
		log.Fatal(err)
	}
	cfg.Tiers = tiers
	if pages, err = httpcache.New(cfg); err != nil {
		log.Fatal(err)
	}
	return pages, tiers, func() { _ = tiers.Close(context.Background()) }
}

// A site's own pages stay until the data they were made of is invalidated.
func Example() {
	ctx := context.Background()
	pages, tiers, done := example(httpcache.Config{Preset: httpcache.Pages})
	defer done()
	title := "old"
	mux := http.NewServeMux()
	mux.HandleFunc("GET /posts/{id}", func(w http.ResponseWriter, r *http.Request) {
		cache.Depend(r.Context(), "post:"+r.PathValue("id"))
		fmt.Fprint(w, title)
	})
	site := pages.Middleware(mux)

	get := func() {
		res := ask(site, http.MethodGet, "/posts/1")
		b := res.Body
		fmt.Println(b, how(res))
	}
	get()
	title = "new"
	get()
	_ = tiers.Invalidate(ctx, invalidate.Tag(cache.DefaultTenant, "post:1"))
	get()
	// Output:
	// old twofold;fwd=uri-miss;stored
	// old twofold;hit
	// new twofold;fwd=uri-miss;stored
}

// In front of a reverse proxy, the zero Config is a shared cache.
func Example_reverseProxy() {
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/public" {
			w.Header().Set("Cache-Control", "max-age=60")
		} else {
			w.Header().Set("Cache-Control", "private, max-age=60")
		}
	}))
	defer origin.Close()
	to, err := url.Parse(origin.URL)
	if err != nil {
		log.Fatal(err)
	}
	shared, _, done := example(httpcache.Config{})
	defer done()
	front := shared.Handler(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }})

	for _, path := range []string{"/public", "/public", "/mine", "/mine"} {
		fmt.Println(path, how(ask(front, http.MethodGet, path)))
	}
	// Output:
	// /public twofold;fwd=uri-miss;stored
	// /public twofold;hit
	// /mine twofold;fwd=uri-miss;detail=private
	// /mine twofold;fwd=bypass;detail=not-cacheable-a-moment-ago
}

// The parts of a key: Query lists the parameters that matter, Vary the headers, with few values
// each.
func ExampleConfig_key() {
	pages, _, done := example(httpcache.Config{
		Preset: httpcache.Pages,
		Query:  func(path string) ([]string, bool) { return []string{"page"}, path == "/list" },
		Vary: []httpcache.VaryRule{{Header: "Accept-Language", Normalize: func(v string) string {
			if strings.HasPrefix(v, "de") {
				return "de"
			}
			return "en"
		}}},
	})
	defer done()
	for _, language := range []string{"de-AT,de;q=0.9", "fr"} {
		r, err := pages.Request(context.Background(), "https://example.com/list?page=2&utm_source=mail&x=1", http.Header{"Accept-Language": {language}})
		if err != nil {
			log.Fatal(err)
		}
		entry, ok := pages.Key(r)
		fmt.Println(entry.Text(), ok)
	}
	// Output:
	// default:http:v1:https//example.com/list?page=2|accept-language=de true
	// default:http:v1:https//example.com/list?page=2|accept-language=en true
}

// Requests with credentials bypass the cache, unless the program allows them.
func ExampleConfig_credentials() {
	pages, _, done := example(httpcache.Config{
		Preset:          httpcache.Pages,
		Credentials:     []string{"X-Api-Key"},
		IgnoreCookie:    func(name string) bool { return name == "_ga" },
		AllowAuthorized: func(r *http.Request) bool { return r.Header.Get("X-Api-Key") == "partner" }, // they may see all pages
	})
	defer done()
	site := pages.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for _, header := range [][]string{{"Cookie", "_ga=1"}, {"Cookie", "_ga=1; session=2"}, {"Authorization", "x"}, {"X-Api-Key", "other"}, {"X-Api-Key", "partner"}} {
		fmt.Println(header[0], how(ask(site, http.MethodGet, "/", header...)))
	}
	// Output:
	// Cookie twofold;fwd=uri-miss;stored
	// Cookie twofold;fwd=bypass;detail=credentials
	// Authorization twofold;fwd=bypass;detail=credentials
	// X-Api-Key twofold;fwd=bypass;detail=credentials
	// X-Api-Key twofold;hit
}

// Fallback gives a lifetime to responses that name none. A target field is for this cache, and
// Cache-Control is for caches further down.
func ExampleConfig_lifetimes() {
	shared, _, done := example(httpcache.Config{
		Fallback: httpcache.Fallback{TTL: time.Minute, StaleIfError: time.Hour},
		Targets:  []string{"CDN-Cache-Control"},
		Keep:     24 * time.Hour,
	})
	defer done()
	site := shared.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/targeted" {
			w.Header().Set("Cache-Control", "no-store")
			w.Header().Set("CDN-Cache-Control", "max-age=600")
		}
	}))
	for _, path := range []string{"/silent", "/silent", "/targeted", "/targeted"} {
		fmt.Println(path, how(ask(site, http.MethodGet, path)))
	}
	// Output:
	// /silent twofold;fwd=uri-miss;stored
	// /silent twofold;hit
	// /targeted twofold;fwd=uri-miss;stored
	// /targeted twofold;hit
}

// Warm stores a page before the first request. Purge and Expire end it or make it stale.
func ExampleHandler_Warm() {
	ctx := context.Background()
	pages, _, done := example(httpcache.Config{Preset: httpcache.Pages, Hosts: []string{"example.com"}})
	defer done()
	site := pages.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "page") }))

	for range 2 {
		w, err := site.Warm(ctx, "/posts/1", nil)
		fmt.Printf("%+v %v\n", w, err)
	}
	fmt.Println(pages.PurgePath(ctx, "/posts/1"))
	fmt.Println(how(ask(site, http.MethodGet, "/posts/1")))
	// Output:
	// {Status:200 Bytes:4 Hit:false Stored:true Why:} <nil>
	// {Status:200 Bytes:4 Hit:true Stored:true Why:} <nil>
	// <nil>
	// twofold;fwd=uri-miss;stored
}

// Conditional adds validators and 304 without a cache.
func ExampleConditional() {
	site := httpcache.Conditional(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "page") }))
	first := ask(site, http.MethodGet, "/")
	again := ask(site, http.MethodGet, "/", "If-None-Match", first.Header().Get("ETag"))
	fmt.Println(first.Code, again.Code)
	// Output: 200 304
}

// ask sends a request to h and returns the answer; header is pairs of names and values.
func ask(h http.Handler, method, path string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(context.Background(), method, path, http.NoBody)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}
