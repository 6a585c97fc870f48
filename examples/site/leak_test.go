package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/service"
)

// audience sends requests to a handler in the place of the site's pages.
type audience struct {
	t *testing.T
	http.Handler
	wait chan struct{} // the handler waits until it is closed
}

// inAudience runs f in a bubble, with the site's caches in front of a handler.
func inAudience(t *testing.T, next http.HandlerFunc, f func(a *audience)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c, err := newCaches(new(onePost).reader(), memory(), siteConfig{log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		a := &audience{t: t, wait: make(chan struct{})}
		a.Handler = c.wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			<-a.wait
			next(w, r)
		}))
		f(a)
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// ask requests "/", with the identity that identify sets.
func (a *audience) ask(identify func(r *http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	identify(r)
	w := httptest.NewRecorder()
	a.ServeHTTP(w, r)
	return w
}

// all sends the requests of all clients: first concurrently, and then twice in sequence.
func (a *audience) all(clients []func(r *http.Request), got func(client int, w *httptest.ResponseRecorder)) {
	var wg sync.WaitGroup
	for i, c := range clients {
		wg.Go(func() { got(i, a.ask(c)) })
		synctest.Wait()
	}
	close(a.wait)
	wg.Wait()
	for n := range 2 * len(clients) {
		i := n % len(clients)
		got(i, a.ask(clients[i]))
	}
}

// ways are the ways in which a client can identify itself, and whether the site treats them
// as credentials. The pages do not see those that are not.
var ways = []struct {
	name        string
	identify    func(r *http.Request, who string)
	credentials bool
}{
	{"cookie", func(r *http.Request, who string) { r.Header.Set("Cookie", "session="+who) }, true},
	{"authorization", func(r *http.Request, who string) { r.Header.Set("Authorization", "Bearer "+who) }, true},
	{"proxy", func(r *http.Request, who string) { r.Header.Set("Proxy-Authorization", "Basic "+who) }, true},
	{"API key", func(r *http.Request, who string) { r.Header.Set("X-API-Key", who) }, false},
	{"address", func(r *http.Request, who string) { r.RemoteAddr, r.Header["X-Forwarded-For"] = who, []string{who} }, false},
	{"own header", func(r *http.Request, who string) { r.Header.Set("X-User", who) }, false},
	{"user agent", func(r *http.Request, who string) { r.Header.Set("User-Agent", who) }, false},
	{"query", func(r *http.Request, who string) { r.URL.RawQuery = "session=" + who }, false},
	{"context", func(r *http.Request, who string) { *r = *r.WithContext(context.WithValue(r.Context(), userKey{}, who)) }, false},
}

type userKey struct{}

// Data that identifies a client does not reach another one, whatever the order. A client
// with credentials gets its own answer.
func TestClientsAreNotMixedUp(t *testing.T) {
	people := []string{"alice", "bob", "nobody"}
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			gossip := func(w http.ResponseWriter, r *http.Request) {
				told := fmt.Sprint(r.RemoteAddr, r.Header, r.URL, r.Context().Value(userKey{}))
				for _, who := range people {
					if strings.Contains(told, who) {
						fmt.Fprintln(w, "for", who)
					}
				}
				fmt.Fprintln(w, "text")
			}
			var clients []func(r *http.Request)
			for _, who := range people[:2] {
				clients = append(clients, func(r *http.Request) { way.identify(r, who) })
			}
			clients = append(clients, func(*http.Request) {})
			inAudience(t, gossip, func(a *audience) {
				a.all(clients, func(client int, w *httptest.ResponseRecorder) {
					want := "text\n"
					if way.credentials && client < 2 {
						want = "for " + people[client] + "\n" + want
					}
					own := way.name == "context" && client < 2 && w.Body.String() == "for "+people[client]+"\n"+want // the handler asked for it
					if w.Code != http.StatusOK || w.Body.String() != want && !own {
						t.Errorf("client %d got %d %q, want %q", client, w.Code, w.Body, want)
					}
				})
			})
		})
	}
}

// Responses for one client go only to that client. Others are shared.
func TestResponsesForOneClientAreNotShared(t *testing.T) {
	for name, tt := range map[string]struct {
		mark   func(w http.ResponseWriter, ticket string)
		shared bool
	}{
		"plain":         {func(http.ResponseWriter, string) {}, true},
		"public":        {func(w http.ResponseWriter, _ string) { w.Header().Set("Cache-Control", "public, max-age=60") }, true},
		"cookie":        {func(w http.ResponseWriter, s string) { w.Header().Set("Set-Cookie", s) }, false},
		"oddly spelled": {func(w http.ResponseWriter, s string) { w.Header()["set-cookie"] = []string{s} }, false},
		"public cookie": {func(w http.ResponseWriter, s string) {
			w.Header()["Cache-Control"], w.Header()["Set-Cookie"] = []string{"public"}, []string{s}
		}, false},
		"private":      {func(w http.ResponseWriter, _ string) { w.Header().Set("Cache-Control", "max-age=60, Private") }, false},
		"no-store":     {func(w http.ResponseWriter, _ string) { w.Header().Set("Cache-Control", "no-store") }, false},
		"no-cache":     {func(w http.ResponseWriter, _ string) { w.Header().Set("Cache-Control", "no-cache") }, false},
		"vary":         {func(w http.ResponseWriter, _ string) { w.Header().Set("Vary", "Cookie") }, false},
		"login needed": {func(w http.ResponseWriter, _ string) { w.WriteHeader(http.StatusUnauthorized) }, false},
		"private failure": {func(w http.ResponseWriter, s string) {
			w.Header().Set("Set-Cookie", s)
			w.WriteHeader(http.StatusInternalServerError)
		}, false},
		"flushed": {func(w http.ResponseWriter, s string) {
			w.Header().Set("Set-Cookie", s)
			_ = http.NewResponseController(w).Flush()
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var tickets atomic.Int64
			inAudience(t, func(w http.ResponseWriter, _ *http.Request) {
				ticket := fmt.Sprint("ticket=", tickets.Add(1))
				tt.mark(w, ticket)
				fmt.Fprint(w, ticket)
			}, func(a *audience) {
				var mu sync.Mutex
				seen := map[string]int{}
				nobody := func(*http.Request) {}
				a.all([]func(r *http.Request){nobody, nobody, nobody}, func(_ int, w *httptest.ResponseRecorder) {
					mu.Lock()
					defer mu.Unlock()
					seen[w.Body.String()]++
					if cookie := w.Header().Get("Set-Cookie"); cookie != "" && cookie != w.Body.String() {
						t.Errorf("the cookie of %s came with %s", cookie, w.Body)
					}
				})
				if answers := 9; tt.shared && len(seen) != 1 || !tt.shared && len(seen) != answers {
					t.Errorf("%d answers for %d requests: %v", len(seen), answers, seen)
				}
			})
		})
	}
}

// Without a valid key, the API answers nothing, not even a cached answer or a 304.
func TestAPIAsksForTheKey(t *testing.T) {
	w := newTwins(t, control{})
	defer w.close()
	prefix, _, _ := strings.Cut(w.goodKey, "_")
	late := w.newKey(`"read"`)
	bad := map[string]http.Header{
		"no key": {}, "nonsense": {"X-Api-Key": {"x"}}, "unknown": {"X-Api-Key": {"nobody00_SECRET"}}, "wrong secret": {"X-Api-Key": {prefix + "_SECRET"}},
		"no secret": {"X-Api-Key": {prefix + "_"}}, "second line": {"X-Api-Key": {"", w.goodKey}}, "elsewhere": {"Authorization": {"Bearer " + w.goodKey}},
		"in a cookie": {"Cookie": {"X-API-Key=" + w.goodKey}}, "without scope": {"X-Api-Key": {w.newKey("")}},
	}
	for name, header := range bad {
		w.refuses(name, header, nil)
	}
	etags := w.answers(late, false)
	w.answers(late, true)
	for name, header := range bad {
		w.refuses(name, header, etags)
	}
	revoked, _, _ := strings.Cut(late, "_")
	if status, reply := w.call(http.MethodDelete, "/keys/"+revoked, nil); status != http.StatusNoContent {
		t.Errorf("revoking = %d: %s", status, reply)
	}
	w.refuses("revoked", http.Header{"X-Api-Key": {late}}, etags)
	w.answers(w.goodKey, true)
}

func (w *twins) newKey(scopes string) string {
	status, reply := w.call(http.MethodPost, "/keys", []byte(`{"label": "L", "scopes": [`+scopes+`]}`))
	_, key, ok := strings.Cut(reply, `"key":"`)
	if !ok {
		w.t.Fatalf("a new key = %d: %s", status, reply)
	}
	return strings.TrimRight(key, "\"}\n")
}

// apis are targets of the API that exist.
var apis = []string{"/api/v1/posts", "/api/v1/posts?tag=go", "/api/v1/posts/a", "/api/v1/pages/p", "/api/v1/tags", "/api/v1/months?lang=zh"}

// answers checks that the API answers a request with the key, and returns the validators.
func (w *twins) answers(key string, cached bool) (etags map[string]string) {
	w.t.Helper()
	etags = map[string]string{}
	for _, target := range apis {
		q := request{method: http.MethodGet, host: hosts[0], target: target, header: http.Header{"X-Api-Key": {key}}}
		r, cacheStatus := w.ask(w.cached, q)
		if etags[target] = r.Header.Get("ETag"); r.Status != http.StatusOK || strings.Contains(cacheStatus, hit) != cached || etags[target] == "" {
			w.t.Errorf("%s = %v, %s; want a hit: %v", q, r, cacheStatus, cached)
		}
	}
	return etags
}

// refuses checks that the API refuses a request with the header, even a conditional one.
func (w *twins) refuses(name string, header http.Header, etags map[string]string) {
	w.t.Helper()
	want := http.StatusUnauthorized
	if name == "without scope" {
		want = http.StatusForbidden
	}
	for _, target := range apis {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			q := request{method: method, host: hosts[0], target: target, header: header.Clone()}
			if etag := etags[target]; etag != "" {
				q.header.Set("If-None-Match", etag)
			}
			r, cacheStatus := w.ask(w.cached, q)
			if r.Status != want || cacheStatus != "" || r.Header.Get("ETag") != "" || !strings.HasPrefix(r.Body, `{"error":`) {
				w.t.Errorf("%s: %s = %v, %s; want %d", name, q, r, cacheStatus, want)
			}
		}
	}
}

// The admin API reads current data, and no cache stores it.
func TestAdminIsNotCached(t *testing.T) {
	w := newTwins(t, control{})
	defer w.close()
	for _, path := range []string{"/posts", "/posts/1", "/pages", "/tags", "/keys", "/settings", "/navigation", "/nope"} {
		for _, authorization := range []string{"Bearer k", "Bearer x", "Bearer k"} {
			r, cacheStatus := w.ask(w.cached, request{
				method: http.MethodGet, host: hosts[0], target: "/admin/api" + path, header: http.Header{"Authorization": {authorization}},
			})
			if r.Header.Get("Cache-Control") != "no-store" || cacheStatus != "" || r.Header.Get("ETag") != "" {
				t.Errorf("%s: %v, %s", path, r.Header, cacheStatus)
			}
			if unauthorized := r.Status == http.StatusUnauthorized; unauthorized != (authorization != "Bearer k") {
				t.Errorf("%s as %q = %d", path, authorization, r.Status)
			}
		}
	}
	// A write without invalidation: a cache would not show it.
	if _, err := w.plain.service.SavePost(t.Context(), 1, service.PostInput{
		Slug: "a", Title: "behind", Body: "b", Lang: content.English, Status: content.Published,
	}); err != nil {
		t.Fatal(err)
	}
	if status, reply := w.call(http.MethodGet, "/posts/1", nil); status != http.StatusOK || !strings.Contains(reply, "behind") {
		t.Errorf("the post is %d %s", status, reply)
	}
}
