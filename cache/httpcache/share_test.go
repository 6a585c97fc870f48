package httpcache_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache"
	"github.com/twofold-go/twofold/policy"
)

// A response that must not be stored reaches no second client, later or concurrently. Its own
// client gets it in one rendering of its whole request.
func TestSharedCacheNeverShares(t *testing.T) {
	cases := map[string]func(http.ResponseWriter, *http.Request){
		"silent":     func(http.ResponseWriter, *http.Request) {},
		"set-cookie": set("Set-Cookie", "session=1"),
		"stored set-cookie": func(w http.ResponseWriter, r *http.Request) {
			set("Set-Cookie", "a=b")(w, r)
			set("Cache-Control", "max-age=9")(w, r)
		},
		"private":   set("Cache-Control", "private, max-age=9"),
		"no-store":  set("Cache-Control", "no-store"),
		"no-cache":  set("Cache-Control", "no-cache"),
		"max-age=0": set("Cache-Control", "max-age=0"),
		"max-age=0, etag": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Etag", `"`+who(r)+`"`)
			set("Cache-Control", "max-age=0")(w, r)
		},
		"no-cache, etag": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Etag", `"`+who(r)+`"`)
			set("Cache-Control", "no-cache")(w, r)
		},
		"vary *": func(w http.ResponseWriter, r *http.Request) {
			set("Vary", "*")(w, r)
			set("Cache-Control", "max-age=9")(w, r)
		},
		"vary": func(w http.ResponseWriter, r *http.Request) {
			set("Vary", "X-Who")(w, r)
			set("Cache-Control", "max-age=9")(w, r)
		},
		"vary on too much": func(w http.ResponseWriter, r *http.Request) {
			set("Vary", "X-Who, A, B, C, D, E, F, G, H")(w, r)
			set("Cache-Control", "max-age=9")(w, r)
		},
		"500":          status(500),
		"503, private": status(503, set("Cache-Control", "private")),
		"302":          status(302, set("Location", "/")),
		"event stream": set("Content-Type", "text/event-stream"),
		"flushed": func(w http.ResponseWriter, _ *http.Request) {
			_ = http.NewResponseController(w).Flush()
		},
	}
	for name, mark := range cases {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int64
			var g *gate
			next := func() http.Handler {
				asked.Store(0)
				g = newGate()
				return personal(func(w http.ResponseWriter, r *http.Request) {
					asked.Add(1)
					g.pass()
					mark(w, r)
				})
			}
			all := []side{handlerSide, sharedSide}
			if strings.Contains(name, "etag") {
				all = all[:1] // the callers of a Transport share a request that was sent after they came
			}
			on(t, all, httpcache.Config{}, next, func(t *testing.T, do send) {
				get := func(header ...string) answer { return do(http.MethodGet, "/", header...) }
				name := func(i int) string { return fmt.Sprint("client ", i) }
				for i, a := range together(8, func() { close(g.open) }, func(i int) answer { return get("X-Who", name(i)) }) {
					if a.body != "hello "+name(i) || a.hit() {
						t.Errorf("at once: %s got %v", name(i), a)
					}
				}
				if n := asked.Load(); n != 8 {
					t.Errorf("the handler was asked %d times by 8 clients", n)
				}
				for i := range 3 {
					if a := get("X-Who", name(10+i)); a.body != "hello "+name(10+i) || a.hit() {
						t.Errorf("in turn: %s got %v", name(10+i), a)
					}
				}
			})
		})
	}
}

// A client cannot use any header to change the page of others, because proxy headers are hidden from
// the handler. Nor can it use a parameter that is dropped from the key.
func TestPoisoning(t *testing.T) {
	poison := []string{"X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Prefix", "X-Forwarded-For", "Forwarded", "X-Original-URL", "X-Rewrite-URL", "X-HTTP-Method-Override"}
	s := proxied(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "max-age=9")
		for _, name := range poison {
			fmt.Fprint(w, r.Header.Get(name))
		}
		fmt.Fprint(w, r.URL.RawQuery, r.RequestURI)
	}), httpcache.Config{Tracking: httpcache.Tracking})
	for i, name := range poison {
		if a := s.get(t, fmt.Sprintf("/%d?a=1", i), name, "evil"); strings.Contains(a.body, "evil") {
			t.Errorf("%s: %v", name, a)
		}
		target := fmt.Sprintf("/%d?b=1", i)
		if a := s.get(t, target+"&utm_source=evil", name, "evil"); strings.Count(a.body, "evil") != 2 {
			t.Errorf("its own client: %v", a)
		}
		if a := s.get(t, target); strings.Contains(a.body, "evil") || !a.hit() {
			t.Error(a)
		}
	}
	open := proxied(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // a control: nothing is hidden, so the handler sees it
		w.Header().Set("Cache-Control", "max-age=9")
		fmt.Fprint(w, r.Header.Get("X-Forwarded-Host"))
	}), httpcache.Config{Hide: []string{"X-Other"}})
	if open.get(t, "/", "X-Forwarded-Host", "evil"); open.get(t, "/").body != "evil" {
		t.Error("the handler does not see a header that is not hidden")
	}
}

// For any sequence of variants, a client gets a page made for its values, and never one made
// before the last invalidation.
func TestVaryModel(t *testing.T) {
	for _, on := range []side{handlerSide, privateSide} {
		t.Run(on.name, func(t *testing.T) { rapid.Check(t, func(rt *rapid.T) { varyModel(t, rt, on) }) })
	}
}

func varyModel(t *testing.T, rt *rapid.T, on side) {
	names := []string{"X-A", "X-B", "Accept-Language"}
	vary, version := "X-A", 0
	see := func(get func(string) string) string {
		s := fmt.Sprint(vary, version)
		for name := range strings.SplitSeq(vary, ", ") {
			s += "|" + strings.ReplaceAll(get(name), " ", "")
		}
		return s
	}
	synctest.Test(t, func(t *testing.T) {
		x := on.open(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			cache.Depend(r.Context(), "all")
			w.Header()["Vary"] = []string{vary}
			w.Header().Set("Cache-Control", "max-age=60")
			fmt.Fprint(w, see(r.Header.Get))
		}), httpcache.Config{})
		do := sender(t, x)
		for range rapid.IntRange(1, 30).Draw(rt, "steps") {
			if rapid.IntRange(0, 9).Draw(rt, "what") == 0 {
				version++
				vary = strings.Join(rapid.SliceOfNDistinct(rapid.SampledFrom(names), 1, 3, rapid.ID).Draw(rt, "vary"), ", ")
				x.invalidate(t, "all")
				continue
			}
			var header []string
			for _, name := range names {
				if v := rapid.SampledFrom([]string{"", "a", "b", "a, b", "a=|x-b=b"}).Draw(rt, name); v != "" {
					header = append(header, name, v)
				}
			}
			if a, want := do(http.MethodGet, "/page", header...), see(headerOf(header...).Get); a.body != want {
				rt.Errorf("%q got %q, want %q", header, a.body, want)
			}
		}
	})
}

// A client whose revalidation outlasts LoadTimeout waits for it, and gets no stale page. Others get
// responses to their own requests.
func TestNoAnswer(t *testing.T) {
	var asked atomic.Int64
	next := func() http.Handler {
		asked.Store(0)
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			n := asked.Add(1)
			w.Header().Set("Cache-Control", "max-age=1, must-revalidate")
			w.Header().Set("Etag", `"a"`)
			if n == 2 {
				<-time.After(time.Minute)
				w.WriteHeader(http.StatusNotModified)
			}
		})
	}
	cfg := httpcache.Config{Policy: policy.Patch{LoadTimeout: new(10 * time.Second)}}
	sides(t, cfg, next, func(t *testing.T, get func(...string) answer) {
		get()
		sleep(t, "2s")
		var wg sync.WaitGroup
		for i, how := range []string{"fwd=stale;fwd-status=304;stored", "fwd=bypass;detail="} {
			wg.Go(func() {
				<-time.After(time.Duration(i) * time.Second)
				if a := get(); a.status != http.StatusOK || !strings.HasPrefix(a.how(), how) {
					t.Error(a)
				}
			})
		}
		wg.Wait()
		if asked.Load() != 3 {
			t.Errorf("asked %d times", asked.Load())
		}
	})
}
