package httpcache_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// echo answers with the credentials of the request.
func echo(pairs ...string) *upstream {
	return &upstream{answer: func(r *http.Request, _ int) (*http.Response, error) {
		user := ""
		if r.URL.User != nil {
			user = r.URL.User.String()
		}
		return says(200, fmt.Sprint(r.Header["Authorization"], r.Header[strings.ToLower("Authorization")], r.Header["Cookie"], r.Header["X-Token"], user), pairs...), nil
	}}
}

// leaks returns how many callers get a response that was made for another caller.
func leaks(t *testing.T, cfg httpcache.TransportConfig) int {
	t.Helper()
	c := transport(t, echo("Cache-Control", minute), cfg)
	seen := map[string]bool{}
	n := 0
	for _, pairs := range [][]string{
		nil,
		{"Authorization", "a"},
		{"Authorization", "b"},
		{"Authorization", "a", "Authorization", "b"},
		{"Authorization", "ab"},
		{"Cookie", "a"},
		{"Cookie", "a", "Authorization", "b"},
		{"X-Token", "a"},
		{"X-Token", "b"},
	} {
		for range 2 {
			a := c.get(t, pairs...)
			if a.hit() && !seen[fmt.Sprint(pairs)] {
				n++
			}
			seen[fmt.Sprint(pairs)] = true
		}
	}
	lower := outgoing(t, http.MethodGet, pageURL)
	lower.Header[strings.ToLower("Authorization")] = []string{"c"} // a name that is not canonical
	user := outgoing(t, http.MethodGet, pageURL)
	user.URL.User = url.UserPassword("d", "d")
	for _, r := range []*http.Request{lower, user} {
		if a := c.do(t, r); a.hit() {
			n++
		}
	}
	return n
}

// Callers with different credentials share nothing. A control shows that the test would notice.
func TestTransportPartitions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if n := leaks(t, httpcache.TransportConfig{Credentials: []string{"x-token"}}); n != 0 {
			t.Errorf("%d responses went to another caller", n)
		}
		if n := leaks(t, httpcache.TransportConfig{Partition: func(*http.Request) string { return "one" }}); n != 10 {
			t.Errorf("without partitions %d responses went to another caller: the test detects nothing", n)
		}
		if n := leaks(t, httpcache.TransportConfig{}); n == 0 {
			t.Error("X-Token is not in Credentials, and no response went to another caller: the test detects nothing")
		}
	})
}

// A stored key reveals no credential, no header value and no parameter.
func TestTransportKeysTellNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told strings.Builder
		remote := tiertest.NewMemory()
		tiers := openTiers(t, cache.TiersConfig{Remote: remote, OnStored: func(e cache.Entry) { fmt.Fprintf(&told, "%+v\n", e) }})
		c := transport(t, numbered("Cache-Control", minute, "Vary", "Authorization, X"), httpcache.TransportConfig{Tiers: tiers})
		for _, x := range []string{"hush1", "hush2"} {
			c.do(t, outgoing(t, http.MethodGet, "http://hush0@example.com/page?token=hush3", "Authorization", "hush4", "Cookie", "hush5", "X", x))
		}
		if told.Len() == 0 || strings.Contains(told.String(), "hush") || c.o.asked() != 2 {
			t.Errorf("the stored keys are %s", told.String())
		}
	})
}

// A fresh page answers a client's own conditions and Range. Otherwise Base does.
func TestTransportConditionsAndRanges(t *testing.T) {
	const etag = `"v"`
	body := strings.Repeat("0123456789", 10)
	ask := func(pairs ...string) []string { return pairs }
	for _, c := range []struct {
		name  string
		asks  []string
		fresh answer // from a fresh page; status 0: passed on
	}{
		{"the same", ask("If-None-Match", `"x", "v"`), answer{status: 304}},
		{"another", ask("If-None-Match", `"x"`), answer{status: 200, body: body}},
		{"since", ask("If-Modified-Since", noonPlus(0)), answer{status: 304}},
		{"not since", ask("If-Modified-Since", noonPlus(-1)), answer{status: 200, body: body}},
		{"If-Match", ask("If-Match", etag), answer{}},
		{"a part", ask("Range", "bytes=10-12"), answer{status: 206, body: "012"}},
		{"the end", ask("Range", "bytes=-1"), answer{status: 206, body: "9"}},
		{"too far", ask("Range", "bytes=100-"), answer{status: 416}},
		{"a part of this", ask("Range", "bytes=0-0", "If-Range", etag), answer{status: 206, body: "0"}},
		{"a part of that", ask("Range", "bytes=0-0", "If-Range", `"x"`), answer{status: 200, body: body}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := scripted(
					replies(200, "untouched"),
					replies(200, body, "Cache-Control", minute, "Etag", etag, "Last-Modified", noonPlus(0), "Content-Length", "100"),
					replies(200, "untouched"))
				tr := transport(t, o, httpcache.TransportConfig{})
				untouched := func(when string) {
					t.Helper()
					if a := tr.get(t, c.asks...); a.body != "untouched" || a.hit() {
						t.Errorf("%s: %v", when, a)
					}
					for i := 0; i < len(c.asks); i += 2 {
						if got := o.last().Header[c.asks[i]]; len(got) != 1 || got[0] != c.asks[i+1] {
							t.Errorf("%s: %s is sent as %q", when, c.asks[i], got)
						}
					}
				}
				untouched("without a page")
				tr.get(t)
				if c.fresh.status == 0 {
					untouched("with one")
				} else if a := tr.get(t, c.asks...); a.status != c.fresh.status || c.fresh.status != 416 && a.body != c.fresh.body || !a.hit() || o.asked() != 2 {
					t.Errorf("with one: %v", a)
				} else if a.status != 416 && a.header.Get("Etag") != etag {
					t.Errorf("the validator is %q", a.header["Etag"])
				}
				sleep(t, "1m")
				untouched("with one that is not fresh")
			})
		})
	}
}

// An http.Client follows stored redirects, and responses with different cookies stay apart.
func TestTransportInAClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &upstream{answer: func(r *http.Request, n int) (*http.Response, error) {
			if r.URL.Path == "/old" {
				return says(301, "", "Location", "/page", "Cache-Control", minute), nil
			}
			return says(200, fmt.Sprintf("%d %s", n, r.Header.Get("Cookie")), "Cache-Control", minute), nil
		}}
		c := transport(t, o, httpcache.TransportConfig{})
		jar := &http.Client{Transport: c, Timeout: time.Minute}
		for range 2 {
			resp, err := jar.Get("http://example.com/old")
			if err != nil {
				t.Fatal(err)
			}
			if a := readAll(t, resp); a.body != "2 " || resp.Request.URL.Path != "/page" {
				t.Errorf("%v", a)
			}
		}
		jar.CloseIdleConnections()
	})
}

// A real server, with gzip that net/http undoes.
func TestTransportOverLoopback(t *testing.T) {
	n := 0
	body := bytes.Repeat([]byte("page "), 10_000)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n++
		w.Header().Set("Cache-Control", "max-age=600")
		w.Header().Set("Vary", "Accept-Encoding")
		if r.URL.Path == "/zip" && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(gzipped)
			return
		}
		_, _ = w.Write(body)
	}))
	defer s.Close()
	c := transport(t, &upstream{}, httpcache.TransportConfig{Base: s.Client().Transport})
	for _, path := range []string{"/plain", "/zip"} {
		for i := range 2 {
			a := c.do(t, outgoing(t, http.MethodGet, s.URL+path))
			if path == "/plain" && a.body != string(body) || path == "/zip" && a.body != "hello" || a.hit() != (i == 1) {
				t.Errorf("%s: %v after %d requests", path, a, n)
			}
		}
	}
	// Only a caller that asks for gzip gets gzip.
	for i := range 2 {
		if a := c.do(t, outgoing(t, http.MethodGet, s.URL+"/zip", "Accept-Encoding", "gzip")); a.body != string(gzipped) || a.hit() != (i == 1) {
			t.Errorf("%v", a)
		}
	}
	if n != 3 {
		t.Errorf("%d requests", n)
	}
	if err := c.Close(context.Background()); err != nil {
		t.Error(err)
	}
	c.CloseIdleConnections()
}

var gzipped = func() []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte("hello"))
	_ = w.Close()
	return b.Bytes()
}()
