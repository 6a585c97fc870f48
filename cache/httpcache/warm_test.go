package httpcache_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache"
	"github.com/twofold-go/twofold/policy"
)

func TestWarm(t *testing.T) {
	var asked int
	h := func(w http.ResponseWriter, r *http.Request) {
		asked++
		switch r.URL.Path {
		case "/private":
			w.Header().Set("Set-Cookie", "a=b")
		case "/broken":
			w.WriteHeader(http.StatusBadGateway)
		case "/missing":
			w.WriteHeader(http.StatusNotFound)
		case "/stream":
			w.(http.Flusher).Flush()
		}
		_, _ = w.Write([]byte("page"))
	}
	cfg := httpcache.Config{
		Hosts:    []string{"example.com"},
		Bypass:   func(r *http.Request) bool { return r.URL.Path == "/admin" },
		Statuses: []int{http.StatusOK},
		Vary:     []httpcache.VaryRule{{Header: "X-Lang"}},
	}
	s := serve(t, h, cfg)
	type w = httpcache.Warmed
	for _, c := range []struct {
		target string
		want   w
		asked  int
	}{
		{"/", w{Status: 200, Bytes: 4, Stored: true}, 1},
		{"/", w{Status: 200, Bytes: 4, Stored: true, Hit: true}, 0},
		{"http://example.com/", w{Status: 200, Bytes: 4, Stored: true, Hit: true}, 0},
		{"http://example.com", w{Status: 200, Bytes: 4, Stored: true, Hit: true}, 0},
		{"https://example.com", w{Status: 200, Bytes: 4, Stored: true}, 1},
		{"https://example.com/", w{Status: 200, Bytes: 4, Stored: true, Hit: true}, 0},
		{"https://example.com?page=2", w{Status: 200, Bytes: 4, Stored: true}, 1},
		{"https://example.com/?page=2", w{Status: 200, Bytes: 4, Stored: true, Hit: true}, 0},
		{"", w{Why: "path"}, 0},
		{"/?page=2", w{Status: 200, Bytes: 4, Stored: true}, 1},
		{"/a%2Fb", w{Status: 200, Bytes: 4, Stored: true}, 1},
		{"/private", w{Why: "set-cookie"}, 1},
		{"/private", w{Why: "not-cacheable-a-moment-ago"}, 0},
		{"/stream", w{Why: "flush"}, 1},
		{"/broken", w{Status: 502, Bytes: 4, Why: "status"}, 1},
		{"/missing", w{Status: 404, Bytes: 4, Why: "status-not-kept"}, 1},
		{"/admin", w{Why: "program"}, 0},
		{"http://evil.example/", w{Why: "host"}, 0},
		{"/a/../b", w{Why: "path"}, 0},
	} {
		asked = 0
		got, err := s.Warm(t.Context(), c.target, nil)
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil || asked != c.asked {
			t.Errorf("%s: %v, %d renderings, %s", c.target, err, asked, diff)
		}
	}
	if got, err := s.Warm(t.Context(), "/", http.Header{"X-Lang": {"de"}}); got.Hit || !got.Stored || err != nil {
		t.Errorf("another variant: %+v, %v", got, err)
	}
	if a := s.get(t, "/", "Host", "example.com"); !a.hit() {
		t.Errorf("the warmed page is not used: %v", a)
	}
	if _, err := serve(t, h, httpcache.Config{}).Warm(t.Context(), "/", nil); err == nil {
		t.Error("warmed without a host")
	}
	for _, bad := range []string{"ftp://example.com/", "%zz", "http://[/"} {
		if got, err := s.Warm(t.Context(), bad, nil); err == nil || strings.Contains(err.Error(), bad) {
			t.Errorf("%s: %+v, %v", bad, got, err)
		}
	}
	cfg.Off = true
	if got, err := serve(t, h, cfg).Warm(t.Context(), "/", nil); got.Why != "off" || err != nil {
		t.Errorf("off: %+v, %v", got, err)
	}
}

func TestWarmFails(t *testing.T) {
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/panic" {
			panic(errOops)
		}
		<-r.Context().Done()
	}, httpcache.Config{})
	if _, err := s.Warm(t.Context(), "http://x/panic", nil); !errors.Is(err, errOops) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Warm(ctx, "http://x/", nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

var errOops = errors.New("oops")

// New names every fault of a Config.
func TestConfig(t *testing.T) {
	_, err := httpcache.New(httpcache.Config{
		Preset:      httpcache.Pages,
		MaxBody:     -1,
		Name:        "not a token",
		Statuses:    []int{200, 206, 500, 99},
		Hosts:       []string{"Example.com", ""},
		Credentials: []string{"a b"},
		Vary:        []httpcache.VaryRule{{Header: "Cookie"}, {Header: "x y"}, {Header: "accept"}, {Header: "Accept"}, {Header: "Range"}, {Header: "host"}, {Header: "Accept-Encoding"}},
		Encodings:   []httpcache.Encoding{httpcache.Gzip(10), {}, httpcache.Zstd(-1), httpcache.Zstd(0), httpcache.Gzip(9)},
	})
	for _, want := range []string{
		"Tiers is nil", "MaxBody of -1", "Statuses has 206", "Statuses has 500", "Statuses has 99",
		`Hosts: entry 0, "Example.com", is not a host`, `Hosts: entry 1, "",`, `Credentials: entry 0, "a b",`, "Vary: Cookie", `Vary: the header of entry 1, "x y",`, "Vary: Host is in every key", "Vary has Accept twice", "Vary: Range",
		"Encodings: level 10 of entry 0 is not one of gzip", "Encodings: entry 1 is zero", "Encodings: level -1 of entry 2 is not one of zstd",
		"Encodings has zstd twice", "Encodings has gzip twice", "Vary has Accept-Encoding",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
	for name, cfg := range map[string]httpcache.Config{
		"Name":             {Off: true, Name: "not a token"},
		"Policy":           {Tiers: openTiers(t, cache.TiersConfig{}), Preset: httpcache.Pages, Policy: policy.Patch{Jitter: new(2.0)}},
		"Pages":            {Tiers: openTiers(t, cache.TiersConfig{}), Policy: policy.Patch{TTL: new(time.Second)}},
		"Fallback.TTL":     {Tiers: openTiers(t, cache.TiersConfig{}), Fallback: httpcache.Fallback{TTL: -1}},
		"Targets: entry 0": {Off: true, Targets: []string{"a b"}},
		"field Fallback":   {Off: true, Preset: httpcache.Pages, Fallback: httpcache.Fallback{TTL: 1}},
		"field Targets":    {Off: true, Preset: httpcache.Pages, Targets: []string{"CDN-Cache-Control"}},
		"namespace":        {Tiers: openTiers(t, cache.TiersConfig{}), Namespace: "::"},
		"tenant":           {Tiers: openTiers(t, cache.TiersConfig{}), Tenant: "a:b"},
	} {
		cfg.Logger = slog.New(slog.DiscardHandler)
		if _, err := httpcache.New(cfg); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A list of hosts that lacks a port is logged when such a request bypasses the cache, once. So is one with another
// port, and not a host that is not listed at all.
func TestPortOfHosts(t *testing.T) {
	for name, c := range map[string]struct {
		hosts []string
		host  string
		want  int
	}{
		"no port":      {[]string{"other.example", "example.com"}, "Example.com:8080", 1},
		"another port": {[]string{"example.com:80"}, "example.com:8080", 1},
		"a port":       {[]string{"example.com:80"}, "example.com", 1},
		"an address":   {[]string{"[::1]"}, "[::1]:8080", 1},
		"another host": {[]string{"example.com"}, "example.org:8080", 0},
		"its number":   {[]string{"10.0.0.1"}, "10.0.0.2", 0},
		"listed":       {[]string{"example.com:8080"}, "example.com:8080", 0},
	} {
		var out bytes.Buffer
		s := serve(t, http.NotFound, httpcache.Config{Hosts: c.hosts, Logger: slog.New(slog.NewTextHandler(&out, nil))})
		for range 3 {
			s.get(t, "/", "Host", c.host)
		}
		if n := strings.Count(out.String(), "without their port"); n != c.want || n > 0 && !strings.Contains(out.String(), "listed="+c.hosts[len(c.hosts)-1]) {
			t.Errorf("%s: %s", name, out.String())
		}
	}
}

// Requests are counted by result and by format.
func TestStats(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", r.URL.Query().Get("type"))
		_, _ = w.Write([]byte("12345"))
	}, httpcache.Config{})
	for _, typ := range []string{"text/html", "application/rss%2Bxml", "text/html", "text/html", "image/png"} {
		s.get(t, "/?type="+typ)
	}
	etag := s.get(t, "/?type=text/html").header.Get("ETag")
	s.get(t, "/?type=text/html", "If-None-Match", etag)
	do(s, request(t, http.MethodHead, "/?type=image/png"))
	do(s, request(t, http.MethodPost, "/"))
	s.get(t, "/", "Cookie", "a=b")
	s.get(t, "/", "Cookie", "a=b")
	want := httpcache.Stats{
		Counts: httpcache.Counts{Hits: 5, Misses: 3, NotModified: 1, Stored: 3, Bytes: 30},
		Formats: map[string]httpcache.Counts{
			"html":  {Hits: 4, Misses: 1, NotModified: 1, Stored: 1, Bytes: 20},
			"rss":   {Misses: 1, Stored: 1, Bytes: 5},
			"other": {Hits: 1, Misses: 1, Stored: 1, Bytes: 5},
		},
		Bypass:  map[string]int64{"method": 1, "credentials": 2},
		Refused: map[string]int64{},
	}
	if diff := cmp.Diff(want, s.c.Stats()); diff != "" {
		t.Error(diff)
	}
}

// Frameworks ask the writer of a stream for CloseNotify, whether it has one or not.
func TestCloseNotifyOnABypass(t *testing.T) {
	asked := false
	s := proxied(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n, ok := w.(http.CloseNotifier) //nolint:staticcheck // deprecated, but in use
		if asked = ok; ok {
			n.CloseNotify()
		}
	}), httpcache.Config{})
	if a := s.get(t, "/", "Accept", "text/event-stream"); !asked || a.how() != "fwd=bypass;detail=stream-asked-for" { // the handler writes nothing
		t.Errorf("the writer has CloseNotify: %t, %v", asked, a)
	}
}

// Warm makes the variant of its header, whatever variants there are.
func TestWarmVariants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &origin{script: [][]string{{"Cache-Control", "max-age=60", "Vary", "X-L"}}}
		s := proxied(t, o, httpcache.Config{Hosts: []string{"example.com"}})
		for i, c := range []struct {
			l   string
			hit bool
		}{{"a", false}, {"b", false}, {"b", true}, {"a", true}} {
			w, err := s.Warm(t.Context(), "/", http.Header{"X-L": {c.l}})
			if err != nil || w != (httpcache.Warmed{Status: http.StatusOK, Bytes: 6, Hit: c.hit, Stored: true}) {
				t.Errorf("%d: %+v, %v", i, w, err)
			}
		}
		for i, l := range []string{"a", "b"} {
			if a := s.get(t, "/", "X-L", l); a.body != fmt.Sprint("body ", i+1) || !a.hit() || o.asked() != 2 {
				t.Errorf("%s: %v, asked %d times", l, a, o.asked())
			}
		}
	})
}

// Warm tells when a variant cannot be stored.
func TestWarmVariantThatIsNotStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &origin{script: [][]string{
			{"Cache-Control", "max-age=60", "Vary", "X-L"},
			{"Cache-Control", "private", "Vary", "X-L"},
			{"Cache-Control", "max-age=60", "Vary", "X-L, X-M"},
			{"Cache-Control", "max-age=60", "Vary", "X-L, X-M"},
		}}
		s := proxied(t, o, httpcache.Config{Hosts: []string{"example.com"}})
		for i, c := range []struct{ l, why string }{{"a", ""}, {"b", "private"}, {"b", "not-cacheable-a-moment-ago"}, {"c", "vary"}, {"d", ""}} {
			w, err := s.Warm(t.Context(), "/", http.Header{"X-L": {c.l}})
			if err != nil || w.Why != c.why || w.Stored != (c.why == "") {
				t.Errorf("%d: %+v, %v", i, w, err)
			}
			synctest.Wait() // the old names are forgotten after the load
		}
		if a := s.get(t, "/", "X-L", "d"); !a.hit() {
			t.Errorf("after the names were learned again: %v", a)
		}
	})
}

// Warm does not wait for a handler that takes too long, and ends it.
func TestWarmOfASlowPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan struct{})
		s := proxied(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
			close(ended)
		}), httpcache.Config{Hosts: []string{"example.com"}, Policy: policy.Patch{LoadTimeout: new(time.Second)}})
		if w, err := s.Warm(t.Context(), "/", nil); err == nil {
			t.Errorf("%+v", w)
		}
		<-ended
	})
}
