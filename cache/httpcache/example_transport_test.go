package httpcache_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache"
)

// clock is a server whose answers are fresh for a minute.
func clock() *httptest.Server {
	n := 0
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			return
		}
		n++
		w.Header().Set("Cache-Control", "max-age=60, stale-if-error=3600")
		fmt.Fprintf(w, "answer %d", n)
	}))
}

// read returns the body of a response.
func read(resp *http.Response, err error) string {
	if err != nil {
		return err.Error()
	}
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return err.Error()
	}
	_ = resp.Body.Close()
	return string(b)
}

// exampleTransport returns a transport with tiers, and what closes both.
func exampleTransport(cfg httpcache.TransportConfig) (transport *httpcache.Transport, done func()) {
	tiers, err := cache.Open(cache.TiersConfig{})
	if err != nil {
		log.Fatal(err)
	}
	cfg.Tiers = tiers
	if transport, err = httpcache.NewTransport(cfg); err != nil {
		log.Fatal(err)
	}
	return transport, func() { _, _ = transport.Close(context.Background()), tiers.Close(context.Background()) }
}

// A client that stores responses for as long as the server allows.
func ExampleNewTransport() {
	tiers, err := cache.Open(cache.TiersConfig{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = tiers.Close(context.Background()) }()
	transport, err := httpcache.NewTransport(httpcache.TransportConfig{Tiers: tiers})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = transport.Close(context.Background()) }()
	server, client := clock(), &http.Client{Transport: transport}
	defer server.Close()

	fmt.Println(read(client.Get(server.URL)))
	fmt.Println(read(client.Get(server.URL)))
	read(client.Post(server.URL, "text/plain", nil)) // may change the resource
	fmt.Println(read(client.Get(server.URL)))
	// Output:
	// answer 1
	// answer 1
	// answer 2
}

// A client of a service that does not say how long its answers last.
func ExampleStaleWhileRevalidate() {
	transport, done := exampleTransport(httpcache.TransportConfig{Fallback: httpcache.StaleWhileRevalidate()})
	defer done()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Println("asked")
		fmt.Fprint(w, "the weather")
	}))
	defer server.Close()

	client := &http.Client{Transport: transport}
	fmt.Println(read(client.Get(server.URL)))
	fmt.Println(read(client.Get(server.URL)))
	// Output:
	// asked
	// the weather
	// the weather
}

// A poll revalidates the stored response.
func ExampleTransport_RoundTrip() {
	transport, done := exampleTransport(httpcache.TransportConfig{Name: "example"})
	defer done()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "max-age=60")
		w.Header().Set("ETag", `"v1"`)
		if r.Header.Get("If-None-Match") == `"v1"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		fmt.Fprint(w, "the feed")
	}))
	defer server.Close()

	for range 2 {
		r, err := http.NewRequest(http.MethodGet, server.URL, nil)
		if err != nil {
			log.Fatal(err)
		}
		r.Header.Set("Cache-Control", "no-cache")
		resp, err := transport.RoundTrip(r)
		fmt.Println(read(resp, err), resp.Header["Cache-Status"])
	}
	// Output:
	// the feed [example;fwd=uri-miss;stored]
	// the feed [example;fwd=request;fwd-status=304;stored]
}

// The program invalidates a response that the server calls fresh.
func ExampleTransport_Purge() {
	transport, done := exampleTransport(httpcache.TransportConfig{})
	defer done()
	server, client := clock(), &http.Client{Transport: transport}
	defer server.Close()

	fmt.Println(read(client.Get(server.URL)))
	r, err := http.NewRequest(http.MethodGet, server.URL, nil)
	if err != nil {
		log.Fatal(err)
	}
	if err := transport.Purge(context.Background(), r); err != nil {
		log.Fatal(err)
	}
	fmt.Println(read(client.Get(server.URL)))
	fmt.Println(transport.Stats().Misses)
	// Output:
	// answer 1
	// answer 2
	// 2
}

// For responses that name no lifetime, a tenth of their age is usual.
func ExampleFallback() {
	tiers, err := cache.Open(cache.TiersConfig{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = tiers.Close(context.Background()) }()
	_, err = httpcache.NewTransport(httpcache.TransportConfig{
		Tiers:    tiers,
		Fallback: httpcache.Fallback{TTL: time.Minute, Heuristic: 0.1, StaleIfError: time.Hour},
	})
	fmt.Println(err)
	_, err = httpcache.NewTransport(httpcache.TransportConfig{Tiers: tiers, Fallback: httpcache.Fallback{TTL: -time.Second}})
	fmt.Println(err)
	// Output:
	// <nil>
	// httpcache: new transport: field Fallback.TTL of -1s is negative; 0 leaves it out
}
