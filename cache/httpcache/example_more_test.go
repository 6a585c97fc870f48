package httpcache_test

import (
	"context"
	"fmt"
	"io"
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
	pages, _, done := example(httpcache.Config{})
	defer done()
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
	for _, ignore := range []bool{false, true} {
		pages, _, done := example(httpcache.Config{IgnoreWrites: ignore})
		defer done()
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

// A page is compressed once for each coding. Its handler writes the plain body.
func ExampleConfig_encodings() {
	pages, _, done := example(httpcache.Config{
		Encodings: []httpcache.Encoding{httpcache.Zstd(0), httpcache.Gzip(9)}, // the first is preferred
	})
	defer done()
	site := pages.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Println("render")
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Cache-Control", "max-age=60")
		w.Header().Set("ETag", `"v1"`)
		_, _ = io.WriteString(w, strings.Repeat("hello ", 1000))
	}))

	for _, accept := range []string{"", "gzip", "gzip, deflate, br, zstd"} {
		res := ask(site, http.MethodGet, "/", "Accept-Encoding", accept)
		fmt.Printf("%q %s, less than 6000 bytes: %t\n", res.Header().Get("Content-Encoding"), res.Header().Get("ETag"), res.Body.Len() < 6000)
	}
	res := ask(site, http.MethodGet, "/", "Accept-Encoding", "gzip", "If-None-Match", `"v1-gzip"`)
	fmt.Println(res.Code)
	res = ask(site, http.MethodGet, "/", "Range", "bytes=0-4") // of the plain body
	fmt.Println(res.Code, res.Body)
	// Output:
	// render
	// "" "v1", less than 6000 bytes: false
	// "gzip" "v1-gzip", less than 6000 bytes: true
	// "zstd" "v1-zstd", less than 6000 bytes: true
	// 304
	// 206 hello
}
