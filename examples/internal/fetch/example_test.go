package fetch_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/examples/internal/fetch"
)

// The program polls a feed twice. The second time it has not changed, and a 304 says so.
func Example() {
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"1"`)
		if r.Header.Get("If-None-Match") == `"1"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		fmt.Fprint(w, "<rss/>")
	}))
	defer origin.Close()
	ctx := context.Background()
	tiers, err := cache.Open(cache.TiersConfig{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = tiers.Close(ctx) }()
	client, err := fetch.New(fetch.Config{
		Tiers:        tiers,
		UserAgent:    "ExampleBot/1.0 (+https://example.org/bot)",
		AllowPrivate: true, // the origin is on this machine
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	for range 2 {
		resp, err := client.Get(ctx, fetch.Request{URL: origin.URL, Version: "rss:1"})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s, not modified: %v, %d bytes read so far\n", resp.Body, resp.NotModified, client.Stats().Wire)
	}
	// Output:
	// <rss/>, not modified: false, 6 bytes read so far
	// <rss/>, not modified: true, 6 bytes read so far
}
