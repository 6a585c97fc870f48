package httpcache_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache"
	"github.com/twofold-go/twofold/codec"
	"github.com/twofold-go/twofold/tier/local"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// Clients choose hosts, paths and queries. Their choices use no more memory than the tier's
// budget, and no extra counters.
func TestFloods(t *testing.T) {
	const budget = 256 << 10
	for name, target := range map[string]func(i int) (string, []string){
		"query":  func(i int) (string, []string) { return fmt.Sprint("/?q=", i), nil },
		"path":   func(i int) (string, []string) { return fmt.Sprint("/", i), nil },
		"host":   func(i int) (string, []string) { return "/", []string{"Host", fmt.Sprint("h", i)} },
		"header": func(i int) (string, []string) { return "/", []string{"X-Lang", fmt.Sprint(i)} },
	} {
		t.Run(name, func(t *testing.T) {
			tiers := openTiers(t, cache.TiersConfig{Local: local.New(local.Config{MaxBytes: budget})})
			s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				_, _ = w.Write(bytes.Repeat([]byte("x"), 4<<10))
			}, httpcache.Config{
				Tiers: tiers,
				Vary:  []httpcache.VaryRule{{Header: "X-Lang"}},
			})
			before := heap()
			for i := range 600 {
				target, header := target(i)
				s.get(t, target, header...)
			}
			if n := tiers.Stats().Local; n.Bytes > budget || n.Bytes < budget/4 || n.Entries > budget>>12 {
				t.Errorf("%d bytes in %d entries", n.Bytes, n.Entries)
			}
			if more := heap() - before; more > 8<<20 {
				t.Errorf("%d bytes more are in use", more)
			}
		})
	}
}

// The cost of a page is the size of its body and header.
func TestCost(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Long", strings.Repeat("h", len(r.URL.Query().Get("h"))))
		_, _ = w.Write(make([]byte, len(r.URL.Query().Get("b"))))
	}, httpcache.Config{})
	cost := func(target string) int64 {
		before := s.tiers.Stats().Local.Bytes
		s.get(t, target)
		return s.tiers.Stats().Local.Bytes - before
	}
	k := strings.Repeat("x", 400)
	base := cost("/?a=" + k)
	if got := cost("/?b="+k) - base; got < 400 || got > 600 {
		t.Errorf("400 bytes of body cost %d", got)
	}
	if got := cost("/?h="+k) - base; got < 400 || got > 450 {
		t.Errorf("400 bytes of header cost %d", got)
	}
}

// A page survives a remote tier byte by byte, with every codec.
func TestRemoteTier(t *testing.T) {
	for _, c := range []codec.Codec{nil, codec.JSON, codec.CBOR} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // a busy machine may take longer than the policy's RemoteTimeout
				remote := tiertest.NewMemory()
				body := make([]byte, 3000)
				for i := range body {
					body[i] = byte(i)
				}
				var servers [2]server
				var asked [2]int
				for i := range servers {
					servers[i] = serve(t, func(w http.ResponseWriter, _ *http.Request) {
						asked[i]++
						h := w.Header()
						h["X-Many"] = []string{"one", "", "two, three", "né"}
						h["Content-Type"] = nil
						h.Set("Last-Modified", "Tue, 03 Feb 2026 04:05:06 GMT")
						h.Set("Link", "</a>")
						_, _ = w.Write(body)
					}, httpcache.Config{Tiers: openTiers(t, cache.TiersConfig{Remote: remote}), Codec: c})
				}
				first := servers[0].get(t, "/?a&b")
				again := servers[1].get(t, "/?a&b")
				if !again.hit() || asked != [2]int{1, 0} || first.body != string(body) {
					t.Fatalf("%v renderings, %v", asked, again.how())
				}
				for _, name := range []string{"Cache-Status", "Age"} {
					first.header.Del(name)
					again.header.Del(name)
				}
				if fmt.Sprint(first.header) != fmt.Sprint(again.header) || first.body != again.body {
					t.Errorf("%v\nbecame\n%v", first.header, again.header)
				}
				if a := servers[1].get(t, "/?a&b", "If-None-Match", first.header.Get("ETag")); a.status != http.StatusNotModified {
					t.Error(a)
				}
			})
		})
	}
}

// A page may depend on any number of tags. Each of them invalidates it.
func TestManyDependencies(t *testing.T) {
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		for i := range 300 {
			cache.Depend(r.Context(), fmt.Sprint("post:", i))
		}
	}, httpcache.Config{})
	for _, i := range []int{0, 63, 64, 255, 256, 299} {
		if w, err := s.Warm(t.Context(), "http://example.com/", nil); err != nil || !w.Stored || w.Hit {
			t.Fatalf("before post %d: %+v, %v", i, w, err)
		}
		s.invalidate(t, fmt.Sprint("post:", i))
	}
}
