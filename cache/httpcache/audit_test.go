package httpcache_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// site is a handler whose pages a test changes without an invalidation.
type site struct {
	mu     sync.Mutex // protects the rest
	then   func(w http.ResponseWriter, r *http.Request) (done bool)
	audits int
	n      int
}

func (s *site) change(then func(w http.ResponseWriter, r *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.then = then
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.n++
	w.Header().Set("X-Request-Id", fmt.Sprint(s.n))
	w.Header().Set("Etag", `"1"`)
	w.Header().Set("Date", time.Now().UTC().Format(http.TimeFormat))
	if cache.Filling(r.Context()).Auditing() {
		s.audits++
		if r.Header.Get("If-None-Match") != "" {
			panic("the audit's request has a condition")
		}
	}
	then := s.then
	s.mu.Unlock()
	if then == nil || !then(w, r) {
		fmt.Fprintf(w, "%s in %s", r.URL, r.Header.Get("Accept-Language"))
	}
}

func (s *site) audited() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.audits
}

// auditTime is longer than an audit without a log takes.
const auditTime = "5s"

var auditAll = policy.Patch{Audit: new(1.0)}

// What an audit makes of a page, by what the handler answers then.
func TestAuditedPage(t *testing.T) {
	same, stale, failed := cache.Audits{Same: 1}, cache.Audits{Stale: 1}, cache.Audits{Failed: 1}
	write := func(s string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool {
			_, _ = w.Write([]byte(s))
			return true
		}
	}
	header := func(name, value string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set(name, value)
			return false
		}
	}
	for name, tt := range map[string]struct {
		then func(http.ResponseWriter, *http.Request) bool
		want cache.Audits
	}{
		"the same":       {nil, same},
		"another Date":   {header("Date", "Thu, 01 Jan 2026 00:00:00 GMT"), same},
		"an Age":         {header("Age", "7"), same},
		"another body":   {write("new"), stale},
		"another header": {header("Link", "</new>"), stale},
		"another type":   {header("Content-Type", "text/html"), stale},
		"gone": {func(w http.ResponseWriter, r *http.Request) bool {
			http.NotFound(w, r)
			return true
		}, stale},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, "/new", http.StatusMovedPermanently)
			return true
		}, stale},
		"private now": {header("Cache-Control", "private"), stale},
		"a cookie":    {header("Set-Cookie", "a=b"), stale},
		"streamed now": {func(w http.ResponseWriter, _ *http.Request) bool {
			_ = http.NewResponseController(w).Flush()
			return false
		}, stale},
		"broken": {func(w http.ResponseWriter, _ *http.Request) bool {
			http.Error(w, "no", http.StatusInternalServerError)
			return true
		}, failed},
		"a panic":          {func(http.ResponseWriter, *http.Request) bool { panic("no") }, failed},
		"panics for ever":  {func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) }, failed},
		"new in each call": {func(w http.ResponseWriter, _ *http.Request) bool { _, _ = fmt.Fprint(w, time.Now()); return true }, failed},
		"cut short": {func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Length", "1000")
			return false
		}, failed},
	} {
		for _, tier := range []string{"one tier", "two tiers"} {
			t.Run(name+", "+tier, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var found []cache.StaleHit
					tc := cache.TiersConfig{OnStale: func(s cache.StaleHit) { found = append(found, s) }}
					if tier == "two tiers" {
						tc.Remote = tiertest.NewMemory()
					}
					h := &site{}
					s := serve(t, h.ServeHTTP, httpcache.Config{Tiers: openTiers(t, tc), Policy: auditAll, AuditIgnore: []string{"x-request-id"}})
					old := s.get(t, "/a")
					hit := s.get(t, "/a")
					h.change(tt.then)
					sleep(t, auditTime)
					if got := s.tiers.Stats().Audits; got != tt.want {
						t.Errorf("%+v, want %+v", got, tt.want)
					}
					if !hit.hit() || hit.body != old.body {
						t.Errorf("the client of the hit got %v", hit)
					}
					if stale := tt.want.Stale == 1; stale != (len(found) == 1) || stale && !strings.Contains(found[0].Key, "/a") {
						t.Errorf("OnStale got %+v", found)
					}
					if tt.want.Stale == 1 && s.get(t, "/a").hit() {
						t.Error("the stale page is still there")
					}
				})
			})
		}
	}
}

// Which requests are audited, and that the handler sees the request of the key then. Each request is
// made twice; the second one is the hit.
func TestAuditedRequests(t *testing.T) {
	pages := httpcache.Config{Preset: httpcache.Pages, Policy: auditAll, AuditIgnore: []string{"X-Request-Id"}, Vary: []httpcache.VaryRule{{Header: "Accept-Language"}}}
	shared := httpcache.Config{Policy: auditAll, AuditIgnore: []string{"X-Request-Id"}}
	off := pages
	off.Policy = policy.Patch{}
	encoded := pages
	encoded.Encodings = []httpcache.Encoding{httpcache.Gzip(5)}
	varied := func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Cache-Control", "max-age=3600")
		w.Header().Set("Vary", "Accept-Language")
		return false
	}
	long := func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = w.Write([]byte(strings.Repeat("long ", 1000)))
		return true
	}
	get := http.MethodGet
	for name, tt := range map[string]struct {
		cfg     httpcache.Config
		then    func(http.ResponseWriter, *http.Request) bool
		method  string
		headers [][]string
		audits  int
	}{
		"off":               {cfg: off, method: get, headers: [][]string{nil}},
		"a page":            {cfg: pages, method: get, headers: [][]string{nil}, audits: 1},
		"two of a Vary":     {cfg: pages, method: get, headers: [][]string{{"Accept-Language", "de"}, {"Accept-Language", "fr"}}, audits: 2},
		"HEAD":              {cfg: pages, method: http.MethodHead, headers: [][]string{nil}, audits: 1},
		"Range":             {cfg: pages, method: get, headers: [][]string{{"Range", "bytes=0-1"}}, audits: 1},
		"If-None-Match":     {cfg: pages, method: get, headers: [][]string{{"If-None-Match", `"x"`}}, audits: 1},
		"Cookie":            {cfg: pages, method: get, headers: [][]string{{"Cookie", "a=b"}}},
		"a coding":          {cfg: encoded, then: long, method: get, headers: [][]string{{"Accept-Encoding", "gzip"}}, audits: 1},
		"shared":            {cfg: shared, then: varied, method: get, headers: [][]string{nil}, audits: 1},
		"shared, its Vary":  {cfg: shared, then: varied, method: get, headers: [][]string{{"Accept-Language", "de"}, {"Accept-Language", "fr"}}, audits: 2},
		"shared, its Range": {cfg: shared, then: varied, method: get, headers: [][]string{nil, {"Range", "bytes=0-1"}}, audits: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := &site{then: tt.then}
				tt.cfg.Tiers = openTiers(t, cache.TiersConfig{})
				front := proxied(t, h, tt.cfg)
				for _, header := range tt.headers {
					do(front, request(t, tt.method, "/a?b=c", header...))
					do(front, request(t, tt.method, "/a?b=c", header...))
				}
				sleep(t, auditTime)
				if got := tt.cfg.Tiers.Stats().Audits; got != (cache.Audits{Same: int64(tt.audits)}) || h.audited() != tt.audits {
					t.Errorf("%+v with %d renderings, want %d of each", got, h.audited(), tt.audits)
				}
			})
		})
	}
}

// A handler that answers by who asks first makes a page that is wrong for the next client. The request of an audit
// has nothing of a client, so the audit finds it.
func TestAuditFindsPersonalPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &site{then: func(w http.ResponseWriter, r *http.Request) bool {
			w.Header().Set("Cache-Control", "max-age=3600") // and no Vary
			_, _ = fmt.Fprint(w, "Hello from "+r.Header.Get("X-Country"))
			return true
		}}
		front := proxied(t, h, httpcache.Config{Policy: auditAll, AuditIgnore: []string{"X-Request-Id"}})
		do(front, request(t, http.MethodGet, "/", "X-Country", "Chile"))
		do(front, request(t, http.MethodGet, "/", "X-Country", "Japan"))
		sleep(t, auditTime)
		if got := front.tiers.Stats().Audits; got != (cache.Audits{Stale: 1}) {
			t.Errorf("%+v, want a stale hit", got)
		}
	})
}

// A page that shows how its first client spelled the request is not stale: an audit renders it in that spelling. A
// parameter that is not in the key is in no audit. With Pages all clients see the spelling of the key.
func TestAuditKeepsTheSpelling(t *testing.T) {
	cfg := httpcache.Config{Policy: auditAll, Query: func(string) ([]string, bool) { return []string{"a", "b"}, true }}
	pages := cfg
	pages.Preset = httpcache.Pages
	for name, tt := range map[string]struct {
		cfg           httpcache.Config
		first, second string
		stripped      bool
	}{
		"the key's":        {cfg, "/x?a=2&b=1", "/x?a=2&b=1", false},
		"order":            {cfg, "/x?b=1&a=2", "/x?a=2&b=1", false},
		"escapes":          {cfg, "/caf%c3%a9/%7e?a=%20", "/caf%C3%A9/~?a=+", false},
		"an empty query":   {cfg, "/x?", "/x", false},
		"behind a prefix":  {cfg, "/p/x?b=1&a=2", "/p/x?a=2&b=1", true},
		"one that differs": {cfg, "/x?b=1&a=2", "/x?b=1&a=2&", false},
		"a parameter":      {cfg, "/x?b=1&utm_source=e&a=2", "/x?a=2&b=1", false},
		"with Pages":       {pages, "/%7ex?b=1&a=2", "/~x?a=2&b=1", false},
	} {
		for changed, want := range map[bool]cache.Audits{false: {Same: 1}, true: {Stale: 1}} {
			t.Run(fmt.Sprint(name, ", changed=", changed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var again atomic.Bool
					h := func(w http.ResponseWriter, r *http.Request) {
						w.Header().Set("Cache-Control", "max-age=3600")
						fmt.Fprintf(w, "%s %s %s %v %v", r.RequestURI, r.URL, r.URL.RawPath, r.URL.ForceQuery, again.Load())
						if strings.Contains(r.RequestURI, "utm") && again.Load() {
							t.Error("the audit has a parameter that is not in the key")
						}
					}
					front := proxied(t, http.HandlerFunc(h), tt.cfg)
					of := func(target string) *http.Request {
						r := request(t, http.MethodGet, target)
						if tt.stripped {
							r.URL.Path, r.URL.RawPath = strings.TrimPrefix(r.URL.Path, "/p"), strings.TrimPrefix(r.URL.RawPath, "/p")
						}
						return r
					}
					do(front, of(tt.first))
					hit := false
					for !hit { // a page that shows the parameter is its client's own
						hit = do(front, of(tt.second)).hit()
					}
					again.Store(changed)
					sleep(t, auditTime)
					if got := front.tiers.Stats().Audits; got != want {
						t.Errorf("%+v, want %+v", got, want)
					}
				})
			})
		}
	}
}

// What the handler of a Shared cache answers only to the client of a hit, such as a bot, says nothing of the page of the
// others. Nor does an answer that may not be stored, whoever gets it.
func TestAuditOfOneClient(t *testing.T) {
	for name, tt := range map[string]struct {
		status int
		header []string
		all    bool // all clients get it
		stale  int64
	}{
		"another page":       {200, nil, false, 0},
		"not found":          {404, nil, false, 0},
		"gone":               {410, nil, false, 0},
		"a redirect":         {301, []string{"Location", "/"}, false, 0},
		"empty":              {204, nil, false, 0},
		"a challenge":        {302, []string{"Location", "/", "Cache-Control", "no-store"}, true, 0},
		"a cookie":           {200, []string{"Set-Cookie", "a=b"}, true, 0},
		"private":            {200, []string{"Cache-Control", "private"}, true, 0},
		"forbidden":          {403, []string{"Cache-Control", ""}, true, 0},
		"without a lifetime": {404, []string{"Cache-Control", ""}, true, 0},
		"not found by all":   {404, nil, true, 1},
		"new for all":        {200, nil, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var bots atomic.Bool
				front := proxied(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Cache-Control", "max-age=3600")
					w.Header().Set("Vary", "Accept-Language")
					other := bots.Load() && (tt.all || r.UserAgent() == "bot")
					if other {
						for i := 0; i < len(tt.header); i += 2 {
							w.Header().Set(tt.header[i], tt.header[i+1])
						}
						w.WriteHeader(tt.status)
					}
					_, _ = fmt.Fprint(w, "page in ", r.Header.Get("Accept-Language"), other)
				}), httpcache.Config{Policy: auditAll})
				front.get(t, "/", "Accept-Language", "en")
				front.get(t, "/", "Accept-Language", "de")
				bots.Store(true)
				front.get(t, "/", "Accept-Language", "de", "User-Agent", "bot")
				sleep(t, auditTime)
				if got := front.tiers.Stats().Audits; got.Stale != tt.stale || got.Stale+got.Same+got.Failed != 1 {
					t.Errorf("%+v", got)
				}
				if a := front.get(t, "/", "Accept-Language", "de"); a.hit() != (tt.stale == 0) {
					t.Error(a)
				}
			})
		})
	}
}

// A handler that hangs in an audit ends with LoadTimeout, and Close waits for it.
func TestHangingPageAudit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended atomic.Bool
		h := &site{}
		s := serve(t, h.ServeHTTP, httpcache.Config{Policy: policy.Patch{Audit: new(1.0), LoadTimeout: new(10 * time.Second)}})
		s.get(t, "/a")
		s.get(t, "/a")
		h.change(func(_ http.ResponseWriter, r *http.Request) bool {
			<-r.Context().Done()
			ended.Store(true)
			return true
		})
		sleep(t, "3s")
		if err := s.c.Close(context.WithoutCancel(t.Context())); err != nil || !ended.Load() {
			t.Errorf("Close = %v, and the handler has ended: %v", err, ended.Load())
		}
		synctest.Wait()
		if got := s.tiers.Stats().Audits; got != (cache.Audits{Failed: 1}) {
			t.Errorf("%+v, want a failed one", got)
		}
	})
}

// After Close no audit calls the handler.
func TestNoPageAuditAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &site{}
		s := serve(t, h.ServeHTTP, httpcache.Config{Policy: auditAll})
		s.get(t, "/a")
		s.get(t, "/a")
		if err := s.c.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		sleep(t, auditTime)
		if got := s.tiers.Stats().Audits; got != (cache.Audits{Failed: 1}) || h.audited() != 0 {
			t.Errorf("%+v with %d renderings, want none", got, h.audited())
		}
	})
}

func TestAuditIgnoreRefuses(t *testing.T) {
	_, err := httpcache.New(httpcache.Config{Tiers: openTiers(t, cache.TiersConfig{}), AuditIgnore: []string{"X-A", "no token"}})
	if err == nil || !strings.Contains(err.Error(), "field AuditIgnore: entry 1, ") {
		t.Errorf("New = %v, want an error about AuditIgnore", err)
	}
}

// A coding is made of its page, so only the page is audited.
func TestCodingIsNotAudited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		remote := tiertest.NewMemory()
		h := &site{then: func(w http.ResponseWriter, _ *http.Request) bool {
			_, _ = w.Write([]byte(strings.Repeat("long ", 1000)))
			return true
		}}
		for i := range 2 { // the second process reads both entries from the remote tier
			s := serve(t, h.ServeHTTP, httpcache.Config{
				Tiers:     openTiers(t, cache.TiersConfig{Remote: remote}),
				Encodings: []httpcache.Encoding{httpcache.Gzip(5)}, Policy: auditAll, AuditIgnore: []string{"X-Request-Id"},
			})
			if got := s.get(t, "/a", "Accept-Encoding", "gzip"); got.header.Get("Content-Encoding") != "gzip" {
				t.Errorf("got %v, want it encoded", got.header)
			}
			sleep(t, auditTime)
			if got := s.tiers.Stats().Audits; got != (cache.Audits{Same: int64(i)}) {
				t.Errorf("process %d: %+v, want %d audits", i, got, i)
			}
		}
	})
}

// A Transport is not audited: the response itself says how long it holds.
func TestTransportIsNotAudited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		remote, o := tiertest.NewMemory(), numbered("Cache-Control", "max-age=3600")
		for range 2 {
			c := transport(t, o, httpcache.TransportConfig{Tiers: openTiers(t, cache.TiersConfig{Remote: remote}), Policy: auditAll})
			for range 2 {
				c.get(t)
				synctest.Wait() // until it is stored
			}
			sleep(t, auditTime)
			if got := c.tiers.Stats().Audits; got.Stale+got.Same > 0 || o.asked() != 1 {
				t.Errorf("%+v after %d requests, want no verdict and one request", got, o.asked())
			}
		}
	})
}

// The control of AuditIgnore: a header that differs in each rendering looks like a volatile page.
func TestAuditWithoutIgnore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, (&site{}).ServeHTTP, httpcache.Config{Policy: auditAll})
		s.get(t, "/a")
		s.get(t, "/a")
		sleep(t, auditTime)
		if got := s.tiers.Stats().Audits; got != (cache.Audits{Failed: 1}) {
			t.Errorf("%+v, want a failed one", got)
		}
	})
}
