package httpcache_test

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache"
)

// A stale page that a GET gets, a HEAD, a Range and a condition get too: without waiting while it is refreshed, and in
// place of a failure. The refresh asks for the whole page, once.
func TestPartsOfStalePages(t *testing.T) {
	t.Parallel()
	const swr, sie, etag = "max-age=10, stale-while-revalidate=60", "max-age=10, stale-if-error=60", `"a"`
	whole := []string{"Range", "-", "If-Match", "-", "If-None-Match", etag}
	var scripts []script
	for name, v := range map[string]visit{
		"HEAD":         {method: http.MethodHead},
		"Range":        {header: []string{"Range", "bytes=0-3"}, status: http.StatusPartialContent, body: "body"},
		"If-Range":     {header: []string{"Range", "bytes=0-3", "If-Range", `"b"`}, body: "body 1"},
		"condition":    {header: []string{"If-None-Match", etag}, status: http.StatusNotModified},
		"no condition": {header: []string{"If-None-Match", `"b"`}, body: "body 1"},
	} {
		first, get := visit{asked: 1}, v
		v.after, v.asked, v.sees = "11s", 2, whole
		stale, instead, down := v, v, v
		stale.how = "hit;detail=stale"
		instead.how, down.how = "fwd=stale;fwd-status=503;detail=stale-if-error", "fwd=stale;detail=stale-if-error"
		renewed := visit{asked: 2, body: "body 2", how: "hit"}
		get.asked, get.how = 2, "hit"
		scripts = append(scripts,
			script{name: "while it is refreshed, " + name, origin: [][]string{{"Cache-Control", swr, "Etag", etag}, {"Cache-Control", swr, "Etag", `"b"`}}, visits: []visit{first, stale, renewed}},
			script{name: "while it is confirmed, " + name, origin: [][]string{{"Cache-Control", swr, "Etag", etag}, {"Cache-Control", swr, "Etag", etag, ":status", "304"}}, visits: []visit{first, stale, get}},
			script{name: "in place of a failure, " + name, origin: [][]string{{"Cache-Control", sie, "Etag", etag}, {":status", "503"}}, visits: []visit{first, instead}},
			script{name: "in place of no answer, " + name, origin: [][]string{{"Cache-Control", sie, "Etag", etag}, {":panic", ""}}, visits: []visit{first, down}},
		)
	}
	for i := range scripts {
		scripts[i].on = []side{handlerSide, sharedSide, privateSide}
	}
	play(t, scripts)
}

// A HEAD that is answered with another validator, or another length, ends the stored page (RFC 9111 §4.3.5): it is
// neither served in place of a failure nor revalidated. One that says nothing new, or is for one client, ends nothing.
func TestHeadOfAnotherPage(t *testing.T) {
	t.Parallel()
	all := []side{handlerSide, sharedSide, privateSide}
	page := []string{"Cache-Control", "max-age=10", "Etag", `"a"`, "Content-Length", "6"}
	var scripts []script
	for name, c := range map[string]struct {
		head   []string
		ends   bool
		status int // 0: 200
	}{
		"another tag":     {[]string{"Etag", `"b"`}, true, 0},
		"another length":  {[]string{"Etag", `"a"`, "Content-Length", "7"}, true, 0},
		"the same":        {[]string{"Etag", `"a"`, "Content-Length", "6"}, false, 0},
		"a weak tag":      {[]string{"Etag", `W/"a"`}, false, 0},
		"nothing":         {nil, false, 0},
		"another coding":  {[]string{"Etag", `"a-gzip"`, "Content-Encoding", "gzip"}, false, 0},
		"for one client":  {[]string{"Etag", `"b"`, "Set-Cookie", "a=b"}, false, 0},
		"not to be kept":  {[]string{"Etag", `"b"`, "Cache-Control", "no-store"}, false, 0},
		"not found":       {[]string{"Etag", `"b"`, ":status", "404"}, false, 404},
		"too many, a bot": {[]string{"Etag", `"b"`, ":status", "429"}, false, 429},
	} {
		sees := []string{"If-None-Match", `"a"`}
		if c.ends {
			sees[1] = "-"
		}
		if c.head == nil {
			c.head = []string{"X", "y"}
		}
		scripts = append(scripts, script{name: name, on: all, origin: [][]string{page, append(c.head, ":body", "")}, visits: []visit{
			{asked: 1}, {after: "11s", method: http.MethodHead, asked: 2, status: c.status}, {asked: 3, status: c.status, sees: sees},
		}})
	}
	later := visit{after: "11s", asked: 4, status: http.StatusServiceUnavailable}
	scripts = append(scripts, script{name: "of a fresh page", on: []side{privateSide, sharedSide}, origin: [][]string{
		{"Cache-Control", "max-age=10, stale-if-error=100", "Etag", `"a"`}, {"Etag", `"b"`}, {":status", "503"},
	}, visits: []visit{
		{asked: 1}, {asked: 2, method: http.MethodHead, header: []string{"Cache-Control", "no-cache"}}, {asked: 3, status: http.StatusServiceUnavailable}, later,
	}})
	for _, c := range []struct{ at, way string }{{"Last-Modified", "-9s"}, {"Etag", `"b"`}} {
		scripts = append(scripts, script{name: fmt.Sprint("replaced, ", c.at), on: all, origin: [][]string{
			{"Cache-Control", "max-age=10, stale-if-error=100", "Last-Modified", "-99s"}, {"Cache-Control", "max-age=10, stale-if-error=100", c.at, c.way}, {":status", "503"},
		}, visits: []visit{{asked: 1}, {after: "11s", method: http.MethodHead, asked: 2}, {after: "11s", asked: 3, body: "body 2"}}})
	}
	play(t, scripts)
}

// A HEAD that looks for a stale page disturbs no GET: the GETs share one request. It counts as no failed load.
func TestHeadsBesideGets(t *testing.T) {
	for _, cc := range []string{"max-age=10", "max-age=10, stale-if-error=60", ""} {
		var gets atomic.Int64
		origin := func() http.Handler {
			gets.Store(0)
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					gets.Add(1)
					<-time.After(time.Second)
				}
				w.Header().Set("Cache-Control", cc)
				fmt.Fprint(w, "page")
			})
		}
		for _, s := range []side{handlerSide, sharedSide, privateSide} {
			t.Run(s.name+" "+cc, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					cfg := httpcache.Config{Tiers: openTiers(t, cache.TiersConfig{}), Fallback: httpcache.Fallback{TTL: 10 * time.Second}}
					do := sender(t, s.open(t, origin(), cfg))
					for range 2 { // without a page, then with a stale one
						before := gets.Load()
						var wg sync.WaitGroup
						for i := range 40 {
							wg.Go(func() {
								method, body := http.MethodGet, "page"
								if i%2 == 0 {
									method, body = http.MethodHead, ""
								}
								if a := do(method, "/"); a.status != http.StatusOK || a.body != body {
									t.Errorf("%s: %v", method, a)
								}
							})
						}
						wg.Wait()
						if n := gets.Load() - before; n != 1 {
							t.Errorf("the GETs made %d requests", n)
						}
						sleep(t, "11s")
					}
					for _, space := range cfg.Tiers.Stats().Spaces {
						if space.Loads.Errors != 0 {
							t.Errorf("%+v", space.Loads)
						}
					}
				})
			})
		}
	}
}
