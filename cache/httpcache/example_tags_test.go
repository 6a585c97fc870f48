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

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache"
)

// An origin that does not know the cache names the tags of its responses in a header. The proxy reads
// them.
func ExampleCache_PurgeTags() {
	ctx := context.Background()
	tiers, err := cache.Open(cache.TiersConfig{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = tiers.Close(ctx) }()
	pages, err := httpcache.New(httpcache.Config{Tiers: tiers, Hosts: []string{"example.com"}})
	if err != nil {
		log.Fatal(err)
	}
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Cache-Control", "max-age=60")
		w.Header().Set("Surrogate-Key", "post:7 author:3")
	}))
	defer origin.Close()
	target, err := url.Parse(origin.URL)
	if err != nil {
		log.Fatal(err)
	}
	site := pages.Handler(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ModifyResponse: func(res *http.Response) error {
			cache.Depend(res.Request.Context(), strings.Fields(res.Header.Get("Surrogate-Key"))...)
			res.Header.Del("Surrogate-Key")
			return nil
		},
	})
	get := func() {
		res := ask(site, http.MethodGet, "/posts/7")
		fmt.Printf("%s; the client sees the tags: %t\n", how(res), res.Header().Get("Surrogate-Key") != "")
	}

	get()
	get()
	fmt.Println(pages.PurgeTags(ctx, "author:3", "author:4"))
	get()
	fmt.Println(pages.PurgeTags(ctx, ""))
	// Output:
	// twofold;fwd=uri-miss;stored; the client sees the tags: false
	// twofold;hit; the client sees the tags: false
	// <nil>
	// twofold;fwd=uri-miss;stored; the client sees the tags: false
	// httpcache: purge tags: tag 1 of 1: invalidate: bad scope: tag is empty
}

// A successful write invalidates its path. With IgnoreWrites the handler must invalidate what it
// changes.
func ExampleConfig_ignoreWrites() {
	ctx := context.Background()
	tiers, err := cache.Open(cache.TiersConfig{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = tiers.Close(ctx) }()
	for _, ignore := range []bool{false, true} {
		pages, err := httpcache.New(httpcache.Config{Tiers: tiers, Namespace: fmt.Sprint("ignore-", ignore), IgnoreWrites: ignore})
		if err != nil {
			log.Fatal(err)
		}
		site := pages.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Cache-Control", "max-age=60")
		}))
		ask(site, http.MethodGet, "/posts/7")
		fmt.Println(how(ask(site, http.MethodPut, "/posts/7")))
		fmt.Println(how(ask(site, http.MethodGet, "/posts/7")))
	}
	// Output:
	// twofold;fwd=method
	// twofold;fwd=uri-miss;stored
	// twofold;fwd=method
	// twofold;hit
}
