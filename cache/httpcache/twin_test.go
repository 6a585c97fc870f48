package httpcache_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache"
)

// behaviour is the behaviour of a random site at one path.
type behaviour struct {
	Status int
	Header http.Header
	Shows  []string // request headers in the page and in Vary
	Undue  bool     // Vary lacks them, but the response is private
	Chunks int
	Flush  bool
}

// twin is a random site. Its pages depend on a version that writes change, on the query, and on
// headers.
type twin struct {
	at       map[string]behaviour
	versions map[string]int
}

func (s *twin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	cache.Depend(r.Context(), "of "+r.URL.Path)
	b := s.at[r.URL.Path]
	h := w.Header()
	for k, v := range b.Header {
		h[k] = append([]string(nil), v...)
	}
	body := fmt.Sprintf("%s version %d of %q\n", r.URL.Path, s.versions[r.URL.Path], r.URL.Query())
	for _, name := range b.Shows {
		body += name + "=" + strings.TrimSpace(strings.Join(r.Header.Values(name), ", ")) + "\n"
		if !b.Undue {
			h.Add("Vary", name)
		}
	}
	if b.Undue {
		h.Set("Cache-Control", "private")
	}
	w.WriteHeader(b.Status)
	for range b.Chunks {
		_, _ = w.Write([]byte(body))
		if b.Flush {
			_ = http.NewResponseController(w).Flush()
		}
	}
}

func drawBehaviour(t *rapid.T) behaviour {
	header := http.Header{}
	for _, h := range []struct{ name, a, b string }{
		{"Cache-Control", "max-age=60", "no-store"}, {"Cache-Control", "private", `no-cache="x`}, {"ETag", `"v"`, `W/"v"`},
		{"Last-Modified", "Tue, 03 Feb 2026 04:05:06 GMT", "x"}, {"Set-Cookie", "a=b", "c=d"}, {"Content-Type", "text/html", "text/event-stream"},
		{"Content-Encoding", "gzip", ""}, {"X-Other", "1", "2"}, {"Vary", "*", "Accept"}, {"Connection", "x-other", "close"},
	} {
		switch rapid.IntRange(0, 18).Draw(t, h.name) { // small numbers are likelier, and shrinking prefers them
		case 17:
			header.Set(h.name, h.a)
		case 18:
			header.Set(h.name, h.b)
		}
	}
	rarely := func(name string) bool { return rapid.IntRange(0, 5).Draw(t, name) == 5 }
	return behaviour{
		Status: rapid.SampledFrom([]int{200, 200, 200, 200, 200, 301, 302, 404, 410, 401, 204, 203, 500}).Draw(t, "status"),
		Header: header,
		Shows:  rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"Accept", "X-Lang", "X-Who", "User-Agent"}), 0, 2, rapid.ID).Draw(t, "shows"),
		Undue:  rarely("undue"),
		Chunks: rapid.IntRange(0, 3).Draw(t, "chunks"),
		Flush:  rarely("flush"),
	}
}

func drawRequest(t *rapid.T) func(testing.TB) *http.Request {
	method := rapid.SampledFrom([]string{"GET", "GET", "GET", "GET", "HEAD", "HEAD", "POST"}).Draw(t, "method")
	target := rapid.SampledFrom([]string{"/a", "/b", "/c"}).Draw(t, "path")
	if q := rapid.SampledFrom([]string{"", "x=1", "y=2&x=1", "x=1&y=2", "x=%20", "x=+", "a;b", "%zz", "x"}).Draw(t, "query"); q != "" {
		target += "?" + q
	}
	var header []string
	for _, h := range []struct{ name, a, b string }{
		{"Accept", "application/json", "text/html, */*;q=0.1"}, {"X-Lang", "de", "en"}, {"X-Who", "alice", "bob"}, {"User-Agent", "u", "v"},
		{"Cookie", "a=b", "c=d"}, {"Authorization", "x", "y"}, {"If-None-Match", `"v"`, "*"}, {"If-Modified-Since", "Tue, 03 Feb 2026 04:05:06 GMT", "x"},
		{"Cache-Control", "no-store", "no-cache"}, {"Range", "bytes=0-1", "bytes=2-"},
		{"If-Match", `"v"`, "*"}, {"If-Range", `"v"`, "x"}, {"If-Unmodified-Since", "Tue, 03 Feb 2026 04:05:06 GMT", "x"}, {"X-Forwarded-Host", "evil", "evil2"}, {"Host", "one.example", "two.example"},
	} {
		switch rapid.IntRange(0, 17).Draw(t, h.name) {
		case 16:
			header = append(header, h.name, h.a)
		case 17:
			header = append(header, h.name, h.b)
		}
	}
	return func(t testing.TB) *http.Request { return request(t, method, target, header...) }
}

// Behind a cache a site answers as without one, to the byte, for any client, any answer and any
// writes in between.
func TestTwins(t *testing.T) {
	tiers, asked, hits := openTiers(t, cache.TiersConfig{}), 0, 0
	agree := func(rt *rapid.T) {
		site := &twin{at: map[string]behaviour{}, versions: map[string]int{}}
		for _, path := range []string{"/a", "/b", "/c"} {
			site.at[path] = drawBehaviour(rt)
		}
		cfg := httpcache.Config{
			Tiers:   tiers,
			MaxBody: 100,
			Vary:    []httpcache.VaryRule{{Header: "Accept"}, {Header: "X-Lang"}},
		}
		on := serve(t, site.ServeHTTP, cfg)
		if err := on.c.PurgeAll(t.Context()); err != nil { // pages of the last site
			rt.Fatal(err)
		}
		cfg.Off = true
		off := serve(t, site.ServeHTTP, cfg)
		var clients []func(testing.TB) *http.Request // clients that return
		for range 6 {
			clients = append(clients, drawRequest(rt))
		}
		for range rapid.IntRange(10, 40).Draw(rt, "steps") {
			if rapid.IntRange(0, 5).Draw(rt, "write") == 5 {
				path := rapid.SampledFrom([]string{"/a", "/b", "/c"}).Draw(rt, "written")
				site.versions[path]++
				on.invalidate(t, "of "+path)
			}
			ask := rapid.SampledFrom(clients).Draw(rt, "client")
			a, b := do(on, ask(t)), do(off, ask(t))
			asked++
			if a.hit() {
				hits++
			}
			for _, h := range []http.Header{a.header, b.header} {
				for _, name := range []string{"Age", "Date", "Cache-Status"} {
					h.Del(name)
				}
			}
			if diff := cmp.Diff(b, a, cmp.AllowUnexported(answer{})); diff != "" {
				rt.Fatalf("%s %s %v:\n%s", ask(t).Method, ask(t).URL, ask(t).Header, diff)
			}
		}
	}
	for rapid.Check(t, agree); hits < asked/100 && asked < 20_000; { // one in thirteen is a hit on average
		rapid.Check(t, agree)
	}
	if hits < asked/100 {
		t.Errorf("%d of %d answers were from the cache: too few to say anything", hits, asked)
	}
}
