package httpcache_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"

	"github.com/twofold-go/twofold/cache/httpcache"
)

// A page that a 304 has made private reaches only the client whose request the 304 answered. Neither does the
// 304 to a caller with credentials answer others.
func TestRenewedAsPrivate(t *testing.T) {
	for _, c := range []struct {
		said  string
		first []string
		on    []side
	}{
		{said: "private, max-age=60"}, {said: "no-store"}, {said: minute, first: []string{"Authorization", "Bearer 1"}, on: []side{sharedSide}},
	} {
		t.Run(c.said, func(t *testing.T) {
			var g *gate
			next := func() http.Handler {
				g = newGate()
				o := &origin{script: [][]string{
					{"Cache-Control", "max-age=10", "Etag", `"a"`},
					{":status", "304", "Cache-Control", c.said, "Etag", `"a"`},
					{"Cache-Control", "private"},
				}}
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if o.asked() > 0 {
						g.pass()
					}
					o.ServeHTTP(w, r)
				})
			}
			on(t, c.on, httpcache.Config{}, next, func(t *testing.T, do send) {
				get := func(header ...string) answer { return do(http.MethodGet, "/", header...) }
				get()
				sleep(t, "11s")
				first, others := make(chan answer, 1), make(chan answer, 3)
				go func() { first <- get(c.first...) }()
				synctest.Wait()
				for range cap(others) {
					go func() { others <- get() }()
				}
				synctest.Wait()
				close(g.open)
				if a := <-first; a.body != "body 1" || strings.Contains(a.how(), "stored") {
					t.Errorf("its client got %v", a)
				}
				got := map[string]bool{"body 1": true}
				for range cap(others) {
					a := <-others
					if got[a.body] {
						t.Errorf("another client got %v", a)
					}
					got[a.body] = true
				}
			})
		})
	}
}

// The header of a page does not grow by 304s over what is stored with a new page. The origin is then asked for the
// whole page.
func TestConfirmedHeaderIsBounded(t *testing.T) {
	origin := func() http.Handler {
		n, whole := 0, 0
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			n++
			w.Header().Set("Cache-Control", "max-age=10")
			w.Header().Set("Etag", `"a"`)
			if r.Header.Get("If-None-Match") != "" {
				w.Header().Set(fmt.Sprint("X-", n), strings.Repeat("x", 20<<10))
				w.WriteHeader(http.StatusNotModified)
				return
			}
			whole++
			_, _ = fmt.Fprint(w, "body ", whole)
		})
	}
	sides(t, httpcache.Config{}, origin, func(t *testing.T, get func(header ...string) answer) {
		for i := range 12 {
			a := get()
			size := 0
			for name, values := range a.header {
				size += len(name) + len(strings.Join(values, ""))
			}
			if want := fmt.Sprint("body ", 1+i/4); a.body != want || size > 65<<10 || size < i%4*20<<10 {
				t.Errorf("answer %d is %q with a header of %d bytes, want %q", i, a.body, size, want)
			}
			if why := "fwd=stale;stored"; i%4 == 0 && i > 0 && a.how() != why {
				t.Errorf("answer %d: %s, want %s", i, a.how(), why)
			}
			sleep(t, "11s")
		}
	})
}

// What a 304 confirms, and what the page is after it (RFC 9111 §4.3.4).
func TestConfirmedPages(t *testing.T) {
	t.Parallel()
	cc := func(more ...string) []string { return append([]string{"Cache-Control", validated}, more...) }
	is304 := func(more ...string) []string { return cc(append(more, ":status", "304")...) }
	miss, two := visit{asked: 1, body: "body 1"}, visit{after: "11s", asked: 2, body: "body 1", how: "fwd=stale;fwd-status=304;stored"}
	scripts := []script{
		{name: "about another, and nobody has asked", origin: [][]string{cc("Etag", `"one"`), is304("Etag", `"two"`), is304("Etag", `"two"`), cc("Etag", `"two"`)},
			visits: []visit{miss, {after: "11s", asked: 3, status: 304}, {asked: 4, body: "body 4"}}},
		{name: "a tag is enough to be stored", origin: [][]string{{"Etag", `"a"`}, {"Etag", `"a"`, ":status", "304"}}, visits: []visit{
			miss, {asked: 2, body: "body 1", sees: []string{"If-None-Match", `"a"`}}, {asked: 3, body: "body 1", sees: []string{"If-None-Match", `"a"`}},
		}},
		{name: "a date is enough", origin: [][]string{{"Last-Modified", "x"}, {":status", "304"}}, visits: []visit{
			miss, {asked: 2, body: "body 1", sees: []string{"If-Modified-Since", "x"}}, {asked: 3, body: "body 1", sees: []string{"If-Modified-Since", "x"}},
		}},
		{name: "its header is too long", origin: [][]string{cc("Etag", `"a"`), is304("Etag", `"a"`, "X-Long", strings.Repeat("x", 1<<20)), cc()},
			visits: []visit{miss, {after: "11s", asked: 3, body: "body 3"}}},
		{name: "it has a trailer", on: []side{handlerSide}, origin: [][]string{cc("Etag", `"a"`), is304("Etag", `"a"`, http.TrailerPrefix+"X-T", "1"), cc()},
			visits: []visit{miss, {after: "11s", asked: 3, body: "body 3"}}},
		{name: "it is flushed", origin: [][]string{cc("Etag", `"a"`), is304(":flush", "0s")}, visits: []visit{miss, two}},
		{name: "a write ends the page", origin: [][]string{cc("Etag", `"a"`), is304(), cc()},
			visits: []visit{miss, two, {method: "PUT", asked: 3}, {asked: 4, body: "body 4", how: "fwd=uri-miss"}}},
	}
	for _, length := range []string{"6", "1234", fmt.Sprint(httpcache.DefaultMaxBody + 1)} { // of the body that it does not have (RFC 9110 §8.6)
		renewed := two
		renewed.with = []string{"Content-Length", "6"}
		scripts = append(scripts, script{name: "its length is " + length, origin: [][]string{cc("Etag", `"a"`), is304("Etag", `"a"`, "Content-Length", length)},
			visits: []visit{miss, renewed, {asked: 2, body: "body 1", how: "hit;ttl=10"}, {header: []string{"If-None-Match", `"a"`}, status: 304, asked: 2, how: "hit"}}})
	}
	play(t, scripts)
}

// A 304 confirms a page by the validators of that page. One about another time of change confirms nothing: the
// old body would get the new date, and would be confirmed for ever.
func TestConfirmedByItsOwnDate(t *testing.T) {
	const hourAgo, tenAgo, twentyAgo = "Fri, 31 Dec 1999 23:00:00 GMT", "Fri, 31 Dec 1999 14:00:00 GMT", "Fri, 31 Dec 1999 04:00:00 GMT"
	for _, c := range []struct {
		name        string
		first, then []string
		confirmed   bool
	}{
		{"the same date", []string{"Last-Modified", tenAgo}, []string{"Last-Modified", tenAgo}, true},
		{"no date", []string{"Last-Modified", tenAgo}, nil, true},
		{"another date", []string{"Last-Modified", tenAgo}, []string{"Last-Modified", hourAgo}, false},
		{"an older date", []string{"Last-Modified", tenAgo}, []string{"Last-Modified", twentyAgo}, false},
		{"a date for one", []string{"Etag", `"a"`}, []string{"Last-Modified", hourAgo}, true},
		{"another date for a tag", []string{"Etag", `"a"`, "Last-Modified", tenAgo}, []string{"Last-Modified", hourAgo}, true},
	} {
		after := visit{asked: 3, body: "body 3"}
		if c.confirmed {
			after = visit{asked: 2, body: "body 1"}
		}
		hit := after
		after.after = "11s"
		s := script{name: c.name, origin: [][]string{
			append(c.first, "Cache-Control", validated), append(c.then, "Cache-Control", validated, ":status", "304"), {"Cache-Control", validated, "Last-Modified", hourAgo},
		}, visits: []visit{{asked: 1, body: "body 1"}, after, hit}}
		s.run(t)
	}
}

// A weak validator stays weak when a 304 spells it as a strong one, as nginx does for what it has
// compressed: the stored bytes are not those of the strong validator, and no part of them may complete
// others.
func TestWeakValidatorStaysWeak(t *testing.T) {
	for _, c := range []struct {
		first, then, want string
		part              int
	}{{`W/"a"`, `"a"`, `W/"a"`, 200}, {`"a"`, `W/"a"`, `W/"a"`, 200}, {`"a"`, `"a"`, `"a"`, 206}} {
		s := script{name: c.first + " and " + c.then, origin: [][]string{
			{"Cache-Control", validated, "Etag", c.first}, {":status", "304", "Cache-Control", "max-age=60", "Etag", c.then, "X-New", "1"},
		}, visits: []visit{
			{asked: 1}, {after: "11s", asked: 2, body: "body 1", with: []string{"Etag", c.want, "X-New", "1"}},
			{header: []string{"Range", "bytes=0-1", "If-Range", `"a"`}, status: c.part, asked: 2},
		}}
		s.run(t)
	}
}

// A page that a 304 has renewed keeps its dependencies, and has those of the 304, too. All of them still
// invalidate it.
func TestRenewedPagesInherit(t *testing.T) {
	for _, tag := range []string{"old", "new"} {
		s := script{name: tag, origin: [][]string{
			{"Cache-Control", validated, "Etag", `"a"`, ":depend", "old"}, {":status", "304", "Cache-Control", validated, ":depend", "new"}, {":depend", "other"},
		}, visits: []visit{{asked: 1}, {after: "11s", asked: 2, body: "body 1"}, {act: invalid(tag), asked: 3, body: "body 3"}}}
		s.run(t)
	}
}

// The origin decides for http.FileServer without any configuration.
func TestFileServer(t *testing.T) {
	files := http.FileServerFS(fstest.MapFS{"a.txt": {Data: []byte("file"), ModTime: longAgo.AddDate(-50, 0, 0)}})
	again := visit{target: "/a.txt", body: "file", how: "fwd=stale;fwd-status=304;stored", asked: 2}
	last := again
	last.asked++
	s := script{name: "file", origin: [][]string{nil}, serve: files.ServeHTTP, visits: []visit{{target: "/a.txt", body: "file", asked: 1}, again, last}}
	s.run(t)
}
