package httpcache_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache"
	"github.com/twofold-go/twofold/policy"
)

// aging is a policy under which pages become stale.
var aging = policy.Patch{TTL: new(10 * time.Second), Stale: new(10 * time.Second), StaleIfError: new(time.Hour)}

// A failure without an older page goes only to the clients that wait for it.
func TestFailureIsPassedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, h := newGate(), &counted{status: http.StatusBadGateway}
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			g.pass()
			h.ServeHTTP(w, r)
		}, httpcache.Config{})
		for _, a := range crowd(t, s, 10, func() { close(g.open) }, func(int) *http.Request { return request(t, http.MethodGet, "/") }) {
			if a.status != http.StatusBadGateway || a.body != "rendering 1" {
				t.Error(a)
			}
		}
		if a := s.get(t, "/"); a.body != "rendering 2" {
			t.Error(a)
		}
	})
}

// The policy decides how long the pages of a program are fresh, and when they are served stale.
func TestPagesByPolicy(t *testing.T) {
	t.Parallel()
	pages := []side{pagesSide}
	miss := visit{asked: 1, body: "body 1", how: "fwd=uri-miss;stored"}
	forever := []string{"Cache-Control", "public, max-age=1, s-maxage=0, must-revalidate", "Expires", "0", ":wait", "1500ms"}
	scripts := []script{
		// Age counts whole seconds since the rendering began. It includes the handler's own Age.
		{name: "for ever", on: pages, origin: [][]string{forever}, visits: []visit{
			miss, {asked: 1, how: "hit", with: []string{"Age", "1"}}, {after: "499ms", asked: 1, how: "hit", with: []string{"Age", "1"}},
			{after: "1ms", asked: 1, how: "hit", with: []string{"Age", "2"}}, {after: "72h", asked: 1, how: "hit", with: []string{"Age", "259202"}},
		}},
		{name: "an older page", on: pages, origin: [][]string{{"Age", "7", ":wait", "1500ms"}}, visits: []visit{
			{asked: 1, with: []string{"Age", "7"}}, {asked: 1, with: []string{"Age", "8"}}, {after: "500ms", asked: 1, how: "hit", with: []string{"Age", "9"}},
		}},
		{name: "stale while one rendering replaces it", on: pages, cfg: httpcache.Config{Policy: aging}, origin: [][]string{nil}, visits: []visit{
			miss, {after: "4s", asked: 1, how: "hit;ttl=6"}, {after: "8s", asked: 2, body: "body 1", how: "hit;detail=stale", with: []string{"Age", "12"}},
			{asked: 2, body: "body 2", how: "hit;ttl=10"}, {after: "25s", asked: 3, body: "body 3", how: "fwd=stale;stored"}, // served only in place of a failure
		}},
		{name: "in place of a slow one", on: pages, cfg: httpcache.Config{Policy: policy.Patch{TTL: new(time.Second), StaleIfError: new(time.Hour), LoadTimeout: new(time.Second)}}, origin: [][]string{nil, {":wait", "1h"}}, visits: []visit{
			miss, {after: "1m", asked: 2, body: "body 1", how: "fwd=stale;detail=stale-if-error", with: []string{"Age", "61"}},
		}},
		{name: "private now", on: pages, cfg: httpcache.Config{Policy: aging}, origin: [][]string{nil, {"Set-Cookie", "a=b"}}, visits: []visit{
			miss, {after: "30s", asked: 3, body: "body 3", with: []string{"Set-Cookie", "a=b"}},
		}},
		{name: "a failure is remembered", on: pages, cfg: httpcache.Config{Policy: policy.Patch{ErrorTTL: new(5 * time.Second)}}, origin: [][]string{{":status", "502"}}, visits: []visit{
			{asked: 1, status: 502, how: "fwd=uri-miss;detail=status"}, {after: "4s", asked: 1, status: 502, body: "body 1", how: "hit"}, {after: "2s", asked: 2, status: 502, how: "fwd=uri-miss;detail=status"},
		}},
		{name: "expired", on: pages, cfg: httpcache.Config{Policy: policy.Patch{Stale: new(time.Minute)}}, origin: [][]string{nil}, visits: []visit{
			miss, {act: expired, asked: 2, body: "body 1", how: "hit;detail=stale"}, {asked: 2, body: "body 2", how: "hit"},
		}},
		{name: "does not apply to a client", on: []side{privateSide}, origin: [][]string{{"Cache-Control", minute}}, cfg: httpcache.Config{Policy: policy.Patch{
			TTL: new(time.Second), Stale: new(time.Hour), StaleIfError: new(time.Hour), Jitter: new(0.5), ErrorTTL: new(time.Hour),
		}}, visits: []visit{miss, {after: "59s", asked: 1, how: "hit"}, {after: "1s", asked: 2, body: "body 2"}}},
	}
	play(t, scripts)
}

// When the handler fails, by a status or a broken connection, the old page replaces the failure. An invalidated
// page never does. The handler is spared for the policy's Throttle.
func TestStaleIfError(t *testing.T) {
	page := []string{":depend", "source"}
	for _, c := range []struct {
		how    string
		status int
		fail   []string
		fails  int    // the last time as its client's own
		later  string // a refusal is remembered for a moment, a failure is not
	}{
		{"fwd=stale;fwd-status=500;detail=stale-if-error", 500, []string{":status", "500"}, 4, ""},
		{"fwd=stale;fwd-status=503;detail=stale-if-error", 503, []string{":status", "503", "Cache-Control", "no-store"}, 5, "10s"},
		{"fwd=stale;detail=stale-if-error", broken, []string{":panic", ""}, 4, ""},
	} {
		s := script{
			name: c.how, on: []side{pagesSide}, cfg: httpcache.Config{Policy: aging}, origin: append(append([][]string{page}, slices.Repeat([][]string{c.fail}, c.fails-1)...), page),
			visits: []visit{
				{asked: 1}, {after: "30s", asked: 2, body: "body 1", how: c.how}, {asked: 2, body: "body 1", how: "hit;detail=stale"},
				{after: "1s", asked: 3, body: "body 1", how: c.how}, {act: invalid("source"), asked: c.fails, status: c.status}, {after: c.later, asked: c.fails + 1, how: "fwd="},
			},
		}
		s.run(t)
	}
}

// Stale-if-error counts for every failure, also for one that is too long to record, or cut short. With Pages
// the policy says the same.
func TestStaleIfLongError(t *testing.T) {
	long := strings.Repeat("x", 2000)
	for _, failure := range [][]string{{":body", long}, {":body", long, "Content-Length", "2000"}, {":body", "short", "Content-Length", "100"}} {
		origin := [][]string{{"Cache-Control", "max-age=1, stale-if-error=60"}, append(failure, ":status", "500")}
		visits := []visit{{asked: 1}, {after: "2s", asked: 2, body: "body 1", how: "fwd=stale;fwd-status=500;detail=stale-if-error"}, {after: "2m", asked: 3, status: 500}}
		name := strings.Join(failure[2:], " ")
		s := script{name: name, cfg: httpcache.Config{MaxBody: 1000}, origin: origin, visits: visits}
		s.run(t)
		visits = slices.Clone(visits)
		if len(failure) > 2 && len(failure[1]) < 100 {
			visits[2].asked = 4 // its client gets a response of its own
		}
		p := script{name: name, on: []side{pagesSide}, cfg: httpcache.Config{MaxBody: 1000, Policy: policy.Patch{TTL: new(time.Second), StaleIfError: new(time.Minute)}}, origin: origin, visits: visits}
		p.run(t)
	}
}

// The panic that an old page replaces is logged, without its value.
func TestReplacedPanicIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		asked := 0
		s := serve(t, func(http.ResponseWriter, *http.Request) {
			if asked++; asked > 1 {
				panic("secret")
			}
		}, httpcache.Config{Policy: aging, Logger: slog.New(slog.NewTextHandler(&said, nil))})
		s.get(t, "/")
		sleep(t, "30s")
		if a := s.get(t, "/"); a.status != http.StatusOK || !strings.Contains(said.String(), "panicked") || strings.Contains(said.String(), "secret") {
			t.Errorf("%v, the log says %q", a, &said)
		}
	})
}

// A client that gets an old page while it is refreshed is told so, also if the refresh has failed before the
// client is answered.
func TestFailedRefreshIsStillAHit(t *testing.T) {
	for _, cfg := range []httpcache.Config{{}, {Preset: httpcache.Pages, Policy: aging}} {
		synctest.Test(t, func(t *testing.T) {
			cfg.Now = func() time.Time {
				if bytes.Contains(debug.Stack(), []byte("httpcache.(*Handler).ServeHTTP")) {
					synctest.Wait() // a client's goroutine goes on only after all else is done
				}
				return time.Now()
			}
			runs := 0
			s := proxied(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Cache-Control", "max-age=10, stale-while-revalidate=10, stale-if-error=3600")
				if runs++; runs > 1 {
					w.WriteHeader(http.StatusBadGateway)
				}
			}), cfg)
			s.get(t, "/")
			sleep(t, "15s")
			if a := s.get(t, "/"); runs != 2 || a.status != http.StatusOK || !strings.HasPrefix(a.how(), "hit;detail=stale") {
				t.Errorf("preset %v, %d runs: %v", cfg.Preset, runs, a)
			}
		})
	}
}

// refusing renders a page that is served stale for ten seconds, and later, after a while, a response with a status
// that is for one client. Its refresh has just begun, and takes ten seconds.
func refusing(t *testing.T, preset httpcache.Preset, p policy.Patch, status int, life string) server {
	t.Helper()
	h := &counted{}
	cfg := httpcache.Config{Preset: preset, Policy: p}
	if preset == httpcache.Pages {
		cfg.Policy.TTL, cfg.Policy.Stale, life = aging.TTL, aging.Stale, ""
	}
	s := proxied(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n := h.Add(1)
		if w.Header().Set("Cache-Control", life); n > 1 {
			if n == 2 {
				<-time.After(10 * time.Second)
			}
			w.Header().Set("Cache-Control", "private")
			w.WriteHeader(status)
		}
		fmt.Fprintf(w, "body %d", n)
	}), cfg)
	s.get(t, "/")
	sleep(t, "15s")
	if a := s.get(t, "/"); a.body != "body 1" || !strings.HasPrefix(a.how(), "hit;detail=stale") {
		t.Error(a)
	}
	synctest.Wait()
	return s
}

// A response that is not for everybody is no failure, also if it answers a refresh. It is not remembered as a
// failure, no page that is too old replaces it, and Warm says why it is not stored.
func TestRefusedRefreshIsNoFailure(t *testing.T) {
	const life = "max-age=10, stale-while-revalidate=10"
	in := func(name string, f func(t *testing.T, preset httpcache.Preset)) {
		for _, preset := range []httpcache.Preset{httpcache.Shared, httpcache.Pages} {
			t.Run(fmt.Sprint(name, ", preset ", preset), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { f(t, preset) })
			})
		}
	}
	in("warmed", func(t *testing.T, preset httpcache.Preset) {
		s := refusing(t, preset, policy.Patch{}, http.StatusForbidden, life)
		sleep(t, "6s")
		if w, err := s.Warm(t.Context(), "http://example.com/", nil); err != nil || w.Stored || w.Why == "" {
			t.Error(w, err)
		}
	})
	in("remembered", func(t *testing.T, preset httpcache.Preset) {
		s := refusing(t, preset, policy.Patch{ErrorTTL: new(time.Minute)}, http.StatusForbidden, life)
		sleep(t, "11s")
		if a := s.get(t, "/"); a.status != http.StatusForbidden {
			t.Error(a)
		}
	})
	in("replaced", func(t *testing.T, preset httpcache.Preset) {
		p := policy.Patch{}
		if preset == httpcache.Pages {
			p = aging
		}
		s := refusing(t, preset, p, http.StatusForbidden, life+", stale-if-error=3600")
		sleep(t, "6s")
		for _, when := range []string{"while it is refreshed", "afterwards"} {
			if a := s.get(t, "/"); a.status != http.StatusForbidden {
				t.Errorf("%s: %v", when, a)
			}
		}
	})
}

// A page that is built from an object is fresh as long as the object: in the cache, for clients, and in Cache-Status.
// Without that the page stays until it is invalidated, and Cache-Status has no ttl.
func TestPagesOfObjects(t *testing.T) {
	for name, tt := range map[string]struct {
		says bool // the handler passes on how long the object is fresh
		want []string
	}{
		"with the object's lifetime": {true, []string{
			"1 max-age=40 fwd=uri-miss;stored", "1 max-age=40 hit;ttl=30", "1 max-age=40 hit;ttl=1", "2 max-age=59 fwd=uri-miss;stored",
		}},
		"without": {false, []string{"1  fwd=uri-miss;stored", "1  hit", "1  hit", "1  hit"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var prices cache.Cache[string, int]
				s := serve(t, func(w http.ResponseWriter, r *http.Request) {
					price, err := prices.Fetch(r.Context(), "EURUSD", nil)
					if err != nil {
						t.Error(err)
					}
					if tt.says {
						cache.Filling(r.Context()).SetLifetime(cache.Lifetime{TTL: &price.FreshFor})
						w.Header().Set("Cache-Control", fmt.Sprint("max-age=", int(price.FreshFor.Seconds())))
					}
					fmt.Fprint(w, price.Value)
				}, httpcache.Config{})
				n := 0
				var err error
				prices, err = cache.New(s.tiers, cache.Config[string, int]{
					Namespace: "prices", Policy: policy.Patch{TTL: new(time.Minute), Jitter: new(0.0)},
					Load: func(context.Context, string) (int, error) { n++; return n, nil },
				})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := prices.Get(t.Context(), "EURUSD"); err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, wait := range []string{"20s", "10s", "29s", "2s"} {
					sleep(t, wait)
					if n == 1 && len(got) == 3 { // the object is loaded again before the page
						if _, err := prices.Get(t.Context(), "EURUSD"); err != nil {
							t.Fatal(err)
						}
						sleep(t, "1s")
					}
					a := s.get(t, "/")
					got = append(got, fmt.Sprint(a.body, " ", a.header.Get("Cache-Control"), " ", a.how()))
				}
				if !slices.Equal(got, tt.want) {
					t.Errorf("got  %q\nwant %q", got, tt.want)
				}
			})
		})
	}
}

// A page that was made of an expired part is stale from the start and not stored, but the handler ran for its client.
func TestPageOfAnExpiredPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var part cache.Cache[string, string]
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			v, err := part.Get(r.Context(), "k")
			if err != nil {
				t.Error(err)
			}
			fmt.Fprint(w, v)
		}, httpcache.Config{})
		var err error
		part, err = cache.New(s.tiers, cache.Config[string, string]{
			Namespace: "part", Policy: policy.Patch{TTL: new(time.Hour), Stale: new(time.Hour)},
			Load: func(context.Context, string) (string, error) { return "part", nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := part.Get(t.Context(), "k"); err != nil {
			t.Fatal(err)
		}
		s.expire(t)
		if a := s.get(t, "/"); a.how() != "fwd=uri-miss" {
			t.Error(a)
		}
	})
}
