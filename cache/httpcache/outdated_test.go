package httpcache_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache/httpcache"
	"github.com/twofold-go/twofold/invalidate/logtest"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// A whole response that may not be stored still says that the old page is over (RFC 9111 §4.3.3).
func TestRefusedResponseEndsTheOldPage(t *testing.T) {
	const old = "max-age=10, stale-while-revalidate=86400, stale-if-error=86400"
	one := func(more ...string) []string { return append([]string{"Cache-Control", old}, more...) }
	for name, c := range map[string]struct {
		first, then []string
		status      int
		stays       bool
	}{
		"404":                  {first: one(), then: []string{":status", "404"}, status: 404},
		"404 with a validator": {first: one("Etag", `"a"`), then: []string{":status", "404"}, status: 404},
		"private":              {first: one(), then: []string{"Cache-Control", "private"}, status: 200},
		"Set-Cookie":           {first: one(), then: one("Set-Cookie", "a=b"), status: 200},
		"too long":             {first: one(), then: one("Content-Length", "2000000"), status: 200},
		"302":                  {first: one(), then: []string{":status", "302"}, status: 302},
		"304 says private":     {first: one("Etag", `"a"`), then: []string{":status", "304", "Cache-Control", "private"}, status: 304},
		"503":                  {first: one(), then: []string{":status", "503"}, stays: true},
		"503 with a lifetime":  {first: one(), then: []string{":status", "503", "Cache-Control", "max-age=600"}, stays: true},
		"503 says private":     {first: one(), then: []string{":status", "503", "Cache-Control", "private"}, stays: true},
		"403":                  {first: one(), then: []string{":status", "403"}, stays: true},
		"429":                  {first: one(), then: []string{":status", "429"}, stays: true},
		"501":                  {first: one(), then: []string{":status", "501"}, status: 501, stays: true},
		"half":                 {first: one(), then: one("Content-Length", "100"), status: 200, stays: true},
	} {
		t.Run(name, func(t *testing.T) {
			origin := func() http.Handler { return &origin{script: [][]string{c.first, c.then}} }
			sides(t, httpcache.Config{}, origin, func(t *testing.T, get func(...string) answer) {
				get()
				sleep(t, "20s")
				get() // the old page, or the new response if that is faster
				synctest.Wait()
				sleep(t, "11s") // the cache has forgotten that the response was refused
				if a := get(); c.stays != strings.HasSuffix(a.body, "body 1") || !c.stays && a.status != c.status {
					t.Errorf("after the refresh: %v", a)
				}
			})
		})
	}
}

// A request that bypasses the cache ends no page, whatever its response says.
func TestBypassEndsNoPage(t *testing.T) {
	page, gone := []string{"Cache-Control", "max-age=10, stale-while-revalidate=86400"}, []string{":status", "404"}
	asks := []visit{{header: []string{"Cache-Control", "no-store"}}, {method: "HEAD", header: []string{"Cache-Control", "no-store"}}}
	match := []visit{{header: []string{"If-Match", `"b"`}}}                                               // a Transport passes it on
	credentials := []visit{{header: []string{"Cookie", "a=b"}}, {header: []string{"Authorization", "x"}}} // a Handler passes them on
	for on, asks := range map[*side][]visit{&sharedSide: slices.Concat(asks, match), &handlerSide: slices.Concat(asks, credentials)} {
		s := script{name: "bypass", on: []side{*on}, origin: [][]string{page}, visits: []visit{{asked: 1}}}
		for i, v := range asks {
			v.asked, v.status = i+2, 404
			if i == 0 {
				v.after = "20s"
			}
			s.origin, s.visits = append(s.origin, gone), append(s.visits, v)
		}
		s.origin = append(s.origin, page)
		s.visits = append(s.visits, visit{asked: len(s.origin), body: "body 1", how: "hit;detail=stale;ttl=-10"})
		s.run(t)
	}
}

// A body that was cut short is never stored, by any kind of request.
func TestWarmIsNotCutShort(t *testing.T) {
	proxy := proxyTo(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Cache-Control", "max-age=60")
		_, _ = io.WriteString(w, "the first half")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	s := proxied(t, proxy, httpcache.Config{Hosts: []string{"example.com"}})
	w, err := s.Warm(t.Context(), "/", nil)
	if err == nil || w.Stored {
		t.Errorf("%+v, %v", w, err)
	}
}

// A refresh may begin while the cache is closed.
func TestCloseDuringRefresh(t *testing.T) {
	o := func() http.Handler {
		return &origin{script: [][]string{{"Cache-Control", "max-age=1, stale-while-revalidate=60"}}}
	}
	for range 8 {
		watched(t, nil, httpcache.Config{}, o, func(t *testing.T, do send, x cached) {
			do(http.MethodGet, "/")
			sleep(t, "2s")
			do(http.MethodGet, "/")
			if err := x.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// After Expire a request of another variant leaves the page of the URL stale, also in another process.
func TestExpireOfVariants(t *testing.T) {
	for _, cc := range []string{"max-age=60, stale-while-revalidate=60", "max-age=60"} {
		for _, on := range []side{handlerSide, privateSide} {
			t.Run(fmt.Sprint(cc, on.name), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					remote, asked, l := tiertest.NewMemory(), 0, logtest.NewMemory(logtest.MemoryConfig{})
					process := func() (get func(lang string) string, x cached) {
						tiers := openFollowing(t, remote, l)
						x = on.open(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
							asked++
							w.Header().Set("Cache-Control", cc)
							w.Header().Set("Vary", "Accept-Language")
							fmt.Fprint(w, r.Header.Get("Accept-Language"), " ", asked)
						}), httpcache.Config{Tiers: tiers})
						do := sender(t, x)
						return func(l string) string { return do(http.MethodGet, "/", "Accept-Language", l).body }, x
					}
					a, x := process()
					b, _ := process()
					a("de")
					a("en")
					x.expire(t)
					sleep(t, "1s")
					b("en")
					sleep(t, "2s")
					b("de")
					sleep(t, "2s")
					got := []string{b("de"), b("en")}
					if fmt.Sprint(got) != "[de 4 en 3]" {
						t.Error(got)
					}
				})
			})
		}
	}
}

// Close waits for what runs, as long as its context allows, even if no client waits for it: for a refresh, and for
// a rendering for all that has turned out to be for one.
func TestClose(t *testing.T) {
	hold := make(chan struct{})
	ignorant := func(first, then http.Header) func() http.Handler {
		return func() http.Handler {
			hold = make(chan struct{})
			var asked atomic.Int64
			return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				n := asked.Add(1)
				maps.Copy(w.Header(), first)
				if n > 1 {
					maps.Copy(w.Header(), then)
				}
				if w.WriteHeader(http.StatusOK); n == 1 == (then == nil) {
					<-hold // ignores its context
				}
			})
		}
	}
	closes := func(t *testing.T, do send, x cached) {
		do(http.MethodGet, "/")
		sleep(t, "2s")
		do(http.MethodGet, "/")
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := x.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close says %v", err)
		}
		close(hold)
		if err := x.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	stale := http.Header{"Cache-Control": {"max-age=1, stale-while-revalidate=60"}}
	watched(t, nil, httpcache.Config{}, ignorant(stale, stale), closes)
	watched(t, []side{pagesSide}, httpcache.Config{}, ignorant(http.Header{"Set-Cookie": {"a=b"}}, nil), closes)
}
