package origin_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"testing"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/examples/internal/fetch"
	"github.com/twofold-go/twofold/examples/rsstracker/origin"
	"github.com/twofold-go/twofold/examples/rsstracker/sitemap"
)

// largest serves a sitemap of 50,000 URLs and 50 MB, the largest that the protocol allows,
// while it generates it. A part of each URL is random, so that it compresses like the
// sitemaps of real sites.
func (p *peak) largest(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("If-None-Match") != "" {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Header().Set("ETag", `"1"`)
	noise := rand.NewChaCha8([32]byte{1})
	slug := make([]byte, 32)
	fmt.Fprint(w, "<urlset>")
	for i := range bigURLs {
		if i%5_000 == 0 {
			p.sample()
		}
		_, _ = noise.Read(slug) // never fails
		fmt.Fprintf(w, "<url><loc>https://example.com/%s/%0*d</loc><lastmod>2026-01-02T03:04:05Z</lastmod></url>\n", hex.EncodeToString(slug), padding, i)
	}
	fmt.Fprint(w, "</urlset>")
}

// TestMemory gets the largest sitemap over the network and reads it. It gets it again with
// a 304, and reads it from the cache. What is alive, the server's part included, stays
// small all the time.
func TestMemory(t *testing.T) {
	const limit = 16 << 20
	var heap peak
	server := httptest.NewServer(http.HandlerFunc(heap.largest))
	defer server.Close()
	tiers, err := cache.Open(cache.TiersConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer tiers.Close(context.WithoutCancel(t.Context()))
	client, err := fetch.New(fetch.Config{Tiers: tiers, UserAgent: "test/1", AllowPrivate: true, MaxBytes: 50 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	src, err := origin.New(client, tiers)
	if err != nil {
		t.Fatal(err)
	}
	for _, same := range []bool{false, true} {
		resp, err := src.Sitemap(t.Context(), server.URL)
		if err != nil || resp.NotModified != same {
			t.Fatalf("Sitemap: NotModified %v, want %v; %v", resp.NotModified, same, err)
		}
		text, err := resp.Text()
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		sum, err := sitemap.Read(text, sitemap.Options{}, func(sitemap.Entry) error {
			if n%5_000 == 0 {
				heap.sample()
			}
			n++
			return nil
		})
		if err != nil || sum.Partial != nil || sum.Entries != bigURLs {
			t.Fatalf("Read = %+v, %v", sum, err)
		}
		t.Logf("%d URLs, %.1f MiB kept", sum.Entries, float64(len(resp.Body))/(1<<20))
	}
	t.Logf("at most %.1f MiB live", float64(heap.most)/(1<<20))
	if heap.most > limit {
		t.Errorf("%d bytes are alive, want at most %d", heap.most, limit)
	}
	if bytes, want := client.Stats().Wire, int64(bigURLs*(padding+64)); bytes < want {
		t.Errorf("%d bytes came, want more than %d", bytes, want)
	}
}

// peak is the largest live heap at the measured moments.
type peak struct {
	mu   sync.Mutex // protects most
	most uint64
}

func (p *peak) sample() {
	var m runtime.MemStats
	runtime.GC() // how much garbage there is depends on when the collector runs
	runtime.ReadMemStats(&m)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.most = max(p.most, m.HeapAlloc)
}
