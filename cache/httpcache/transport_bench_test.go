package httpcache_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/twofold-go/twofold/internal/testkit/race"

	"github.com/twofold-go/twofold/cache/httpcache"
)

// usual is a typical response of a server, with a body of size bytes.
func usual(size int, more ...string) *upstream {
	body := strings.Repeat("x", size)
	return scripted(replies(200, body, append(more, "Content-Type", "text/html; charset=utf-8",
		"Date", noonPlus(0), "Cache-Control", "max-age=2000000000", "Etag", `"v"`, "X-Content-Type-Options", "nosniff")...))
}

// BenchmarkTransport measures a hit and a stored miss, and both without a cache.
func BenchmarkTransport(b *testing.B) {
	ask := func(b *testing.B, rt http.RoundTripper, r *http.Request) {
		b.Helper()
		resp, err := rt.RoundTrip(r)
		if err != nil {
			b.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
	for _, size := range []int{8 << 10, 1 << 20} {
		o := usual(size)
		c := transport(b, o, httpcache.TransportConfig{})
		r := outgoing(b, http.MethodGet, pageURL+"?page=2", "Cookie", "session=1", "User-Agent", "u", "Accept", "text/html")
		for name, rt := range map[string]http.RoundTripper{"floor": o, "hit": c} {
			b.Run(fmt.Sprintf("%s %d KiB", name, size>>10), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					ask(b, rt, r)
				}
			})
		}
	}
	b.Run("variant 8 KiB", func(b *testing.B) {
		c := transport(b, usual(8<<10, "Vary", "Accept, User-Agent"), httpcache.TransportConfig{})
		r := outgoing(b, http.MethodGet, pageURL, "User-Agent", "u", "Accept", "text/html")
		b.ReportAllocs()
		for b.Loop() {
			ask(b, c, r)
		}
	})
	b.Run("miss 8 KiB", func(b *testing.B) {
		o := usual(8 << 10)
		c := transport(b, o, httpcache.TransportConfig{})
		r := outgoing(b, http.MethodGet, pageURL)
		n := 0
		b.ReportAllocs()
		for b.Loop() {
			n++
			r.URL.Path = fmt.Sprintf("/page%d", n)
			ask(b, c, r)
			o.seen = o.seen[:0]
		}
	})
}

// A hit allocates little, for any size of body.
func TestTransportHitAllocations(t *testing.T) {
	if race.Enabled {
		t.Log("the race detector makes the library look at its values")
		return
	}
	for _, size := range []int{1, 1 << 20} {
		c := transport(t, usual(size), httpcache.TransportConfig{})
		r := outgoing(t, http.MethodGet, pageURL+"?page=2", "Cookie", "session=1")
		c.do(t, r) // a body that is closed before its end may not be stored
		n := testing.AllocsPerRun(200, func() {
			resp, err := c.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
		})
		if n > 10 {
			t.Errorf("%d bytes: %v allocations", size, n)
		}
	}
}
