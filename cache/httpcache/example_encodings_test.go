package httpcache_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache"
)

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

// A page is compressed once for each coding. Its handler writes the plain body.
func ExampleConfig_encodings() {
	ctx := context.Background()
	tiers, err := cache.Open(cache.TiersConfig{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = tiers.Close(ctx) }()
	pages, err := httpcache.New(httpcache.Config{
		Tiers:     tiers,
		Encodings: []httpcache.Encoding{httpcache.Zstd(0), httpcache.Gzip(9)}, // the first is preferred
	})
	if err != nil {
		log.Fatal(err)
	}
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
