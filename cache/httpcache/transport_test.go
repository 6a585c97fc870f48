package httpcache_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache/httpcache"
)

const minute = "max-age=60"

// step is a request with its expected result.
type step struct {
	after  string // how much time passes before it; "": none
	method string // "": GET
	url    string // "": pageURL
	header []string
	status int    // 0: 200
	body   string // "-": any
	how    string // prefix of Cache-Status; "-": any
	asked  int    // how many requests the origin has had by then
}

type journey struct {
	name  string
	cfg   httpcache.TransportConfig
	o     *upstream
	steps []step
}

func (j journey) run(t *testing.T) {
	t.Run(j.name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := transport(t, j.o, j.cfg)
			for i, s := range j.steps {
				if s.after != "" {
					sleep(t, s.after)
				}
				method, url, status := s.method, s.url, s.status
				if method == "" {
					method = http.MethodGet
				}
				if url == "" {
					url = pageURL
				}
				if status == 0 {
					status = http.StatusOK
				}
				a := c.do(t, outgoing(t, method, url, s.header...))
				synctest.Wait()
				if a.status != status && a.body != s.body || s.body != "-" && a.body != s.body || s.how != "-" && !strings.HasPrefix(a.how(), s.how) || c.o.asked() != s.asked {
					t.Errorf("step %d: %v after %d requests; want %d %q, %q, %d", i, a, c.o.asked(), status, s.body, s.how, s.asked)
				}
			}
		})
	})
}

// RFC 9111 §3: which responses are stored.
func TestTransportStores(t *testing.T) {
	etag := `"v"`
	for name, c := range map[string]struct {
		cfg    httpcache.TransportConfig
		status int
		header []string
		asked  []string // of the request
		stored bool
	}{
		"max-age":                   {header: []string{"Cache-Control", minute}, stored: true},
		"private":                   {header: []string{"Cache-Control", "private, max-age=60"}, stored: true},
		"Expires":                   {header: []string{"Expires", "Fri, 31 Dec 2049 23:59:59 GMT"}, stored: true},
		"404":                       {status: 404, header: []string{"Cache-Control", minute}, stored: true},
		"500 with a lifetime":       {status: 500, header: []string{"Cache-Control", minute}, stored: true},
		"302 with a lifetime":       {status: 302, header: []string{"Cache-Control", minute}, stored: true},
		"silent":                    {},
		"silent, Fallback":          {cfg: httpcache.TransportConfig{Fallback: httpcache.Fallback{TTL: time.Minute}}, stored: true},
		"s-maxage":                  {header: []string{"Cache-Control", "s-maxage=60"}},
		"s-maxage, shared":          {cfg: httpcache.TransportConfig{Shared: true}, header: []string{"Cache-Control", "s-maxage=60"}, stored: true},
		"private, shared":           {cfg: httpcache.TransportConfig{Shared: true}, header: []string{"Cache-Control", "private, max-age=60"}},
		"authorized":                {header: []string{"Cache-Control", minute}, asked: []string{"Authorization", "a"}, stored: true},
		"authorized, shared":        {cfg: httpcache.TransportConfig{Shared: true}, header: []string{"Cache-Control", minute}, asked: []string{"Authorization", "a"}},
		"authorized, shared public": {cfg: httpcache.TransportConfig{Shared: true}, header: []string{"Cache-Control", "public, max-age=60"}, asked: []string{"Authorization", "a"}, stored: true},
		"no-store":                  {header: []string{"Cache-Control", "no-store, max-age=60", "Etag", etag}},
		"no directive":              {header: []string{"Cache-Control", "max-age=60; private"}},
		"Set-Cookie":                {header: []string{"Cache-Control", minute, "Set-Cookie", "a=b"}},
		"Vary *":                    {header: []string{"Cache-Control", minute, "Vary", "*"}},
		"Vary on too much":          {header: []string{"Cache-Control", minute, "Vary", "A,B,C,D,E,F,G,H,I"}},
		"206":                       {status: 206, header: []string{"Cache-Control", minute}},
		"Content-Range":             {header: []string{"Cache-Control", minute, "Content-Range", "bytes 0-1/2"}},
		"event stream":              {header: []string{"Cache-Control", minute, "Content-Type", "text/event-stream"}},
		"unasked 304":               {status: 304, header: []string{"Cache-Control", minute, "Etag", etag}},
		"stale on arrival":          {header: []string{"Cache-Control", minute, "Age", "60"}},
		"long header":               {header: []string{"Cache-Control", minute, "X", strings.Repeat("x", 65<<10)}},
		"request no-store":          {header: []string{"Cache-Control", minute}, asked: []string{"Cache-Control", "no-store"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				status := c.status
				if status == 0 {
					status = http.StatusOK
				}
				o := scripted(replies(status, "body", c.header...))
				tr := transport(t, o, c.cfg)
				if a := tr.get(t, c.asked...); a.status != status || a.body != "body" {
					t.Errorf("%v", a)
				}
				if a := tr.get(t, c.asked...); a.hit() != c.stored || a.status != status || a.body != "body" {
					t.Errorf("then %v", a)
				}
			})
		})
	}
}

// RFC 9111 §4.2: a fresh response is served with its age; others are not served.
func TestTransportFreshness(t *testing.T) {
	for _, j := range []journey{
		{name: "fresh, then not", o: numbered("Cache-Control", minute), steps: []step{
			{body: "answer 1", how: "fwd=uri-miss;stored", asked: 1},
			{body: "answer 1", how: "hit;ttl=60", asked: 1},
			{after: "59s", body: "answer 1", how: "hit;ttl=1", asked: 1},
			{after: "1s", body: "answer 2", how: "fwd=stale;stored", asked: 2},
		}},
		{name: "Age counts", o: numbered("Cache-Control", minute, "Age", "50"), steps: []step{
			{body: "answer 1", asked: 1},
			{after: "9s", body: "answer 1", how: "hit;ttl=1", asked: 1},
			{after: "1s", body: "answer 2", asked: 2},
		}},
		{name: "URLs", o: numbered("Cache-Control", minute), steps: []step{
			{body: "answer 1", asked: 1},
			{url: pageURL + "#fragment", body: "answer 1", how: "hit", asked: 1},
			{url: "http://EXAMPLE.com:80/page", body: "answer 1", how: "hit", asked: 1},
			{url: pageURL + "?a=1", body: "answer 2", asked: 2},
			{url: pageURL + "?a=2", body: "answer 3", asked: 3},
			{url: pageURL + "?a=1", body: "answer 2", how: "hit", asked: 3},
			{url: "https://example.com/page", body: "answer 4", asked: 4},
			{url: "http://example.com:8080/page", body: "answer 5", asked: 5},
			{url: "http://example.com/pag%65", body: "answer 6", asked: 6},
			{header: []string{"Host", "example.org"}, body: "answer 7", asked: 7},
			{url: "http://example.com", body: "answer 8", asked: 8},
			{url: "http://example.com/", body: "answer 8", how: "hit", asked: 8},
			{body: "answer 1", how: "hit", asked: 8},
		}},
		{name: "HEAD", o: numbered("Cache-Control", minute), steps: []step{
			{method: http.MethodHead, body: "answer 1", how: "fwd=", asked: 1},
			{body: "answer 2", asked: 2},
			{method: http.MethodHead, body: "", how: "hit", asked: 2},
		}},
		{name: "other methods", o: numbered("Cache-Control", minute), steps: []step{
			{method: http.MethodOptions, body: "answer 1", how: "fwd=method", asked: 1},
			{method: http.MethodOptions, body: "answer 2", how: "fwd=method", asked: 2},
			{body: "answer 3", asked: 3},
			{method: http.MethodTrace, body: "answer 4", asked: 4},
			{body: "answer 3", how: "hit", asked: 4},
		}},
	} {
		j.run(t)
	}
}

// RFC 9111 §5.2.1: directives of requests.
func TestTransportObeysRequests(t *testing.T) {
	cc := func(s string, more ...string) []string { return append([]string{"Cache-Control", s}, more...) }
	plain := func() *upstream { return numbered("Cache-Control", minute) }
	for _, j := range []journey{
		{name: "no-cache", o: plain(), steps: []step{
			{body: "answer 1", asked: 1},
			{header: cc("no-cache"), body: "answer 2", how: "fwd=", asked: 2},
			{body: "answer 2", how: "hit", asked: 2},
			{header: []string{"Pragma", "no-cache"}, body: "answer 3", asked: 3},
			{header: []string{"Pragma", "no-cache", "Cache-Control", "x"}, body: "answer 3", how: "hit", asked: 3},
		}},
		{name: "max-age", o: plain(), steps: []step{
			{body: "answer 1", asked: 1},
			{after: "10s", header: cc("max-age=10"), body: "answer 1", how: "hit", asked: 1},
			{after: "1s", header: cc("max-age=10"), body: "answer 2", asked: 2},
			{header: cc("max-age=0"), body: "answer 2", how: "hit", asked: 2},
			{after: "1s", header: cc("max-age=0"), body: "answer 3", asked: 3},
		}},
		{name: "min-fresh", o: plain(), steps: []step{
			{body: "answer 1", asked: 1},
			{after: "20s", header: cc("min-fresh=40"), body: "answer 1", how: "hit", asked: 1},
			{header: cc("min-fresh=41"), body: "answer 2", asked: 2},
		}},
		{name: "max-stale", o: plain(), steps: []step{
			{body: "answer 1", asked: 1},
			{after: "70s", header: cc("max-stale=10"), body: "answer 1", how: "hit;ttl=-10", asked: 1},
			{header: cc("max-stale"), body: "answer 1", how: "hit", asked: 1},
			{header: cc("max-stale, max-age=60"), body: "answer 2", asked: 2},
			{after: "70s", header: cc("max-stale=9"), body: "answer 3", asked: 3},
		}},
		{name: "max-stale and must-revalidate", o: numbered("Cache-Control", "max-age=60, must-revalidate"), steps: []step{
			{body: "answer 1", asked: 1},
			{after: "61s", header: cc("max-stale"), body: "answer 2", asked: 2},
		}},
		{name: "only-if-cached", o: plain(), steps: []step{
			{header: cc("only-if-cached"), status: 504, how: "fwd=bypass;detail=only-if-cached"},
			{body: "answer 1", asked: 1},
			{header: cc("only-if-cached"), body: "answer 1", how: "hit", asked: 1},
			{after: "60s", header: cc("only-if-cached"), status: 504, how: "-", asked: 1},
			{header: cc("only-if-cached, max-stale"), body: "answer 1", how: "hit", asked: 1},
			{header: cc("only-if-cached, no-cache"), status: 504, how: "-", asked: 1},
			{body: "answer 2", asked: 2},
		}},
		{name: "only-if-cached, of a request that bypasses the cache", o: plain(), steps: []step{
			{header: cc("only-if-cached", "If-Match", `"a"`), status: 504, how: "fwd=bypass;detail=only-if-cached"},
			{method: "HEAD", header: cc("only-if-cached", "Upgrade", "x"), status: 504, how: "fwd=bypass;detail=only-if-cached"},
			{method: "POST", header: cc("only-if-cached"), body: "answer 1", how: "fwd=method", asked: 1},
		}},
		{name: "no-store", o: plain(), steps: []step{
			{header: cc("no-store"), body: "answer 1", how: "fwd=bypass;detail=request-no-store", asked: 1},
			{body: "answer 2", asked: 2},
			{header: cc("no-store"), body: "answer 2", how: "hit", asked: 2},
		}},
		{name: "immutable", o: numbered("Cache-Control", "max-age=60, immutable"), steps: []step{
			{body: "answer 1", asked: 1},
			{after: "5s", header: cc("max-age=0"), body: "answer 1", how: "hit", asked: 1},
			{header: cc("no-cache"), body: "answer 2", asked: 2},
			{after: "60s", header: cc("max-age=0"), body: "answer 3", asked: 3},
		}},
	} {
		j.run(t)
	}
}

// The body of a request that is not sent is closed all the same.
func TestTransportClosesTheBody(t *testing.T) {
	c := transport(t, numbered("Cache-Control", minute), httpcache.TransportConfig{})
	body := &closable{Reader: strings.NewReader("x")}
	r := outgoing(t, http.MethodGet, pageURL, "Cache-Control", "only-if-cached")
	r.Body = body
	if a := c.do(t, r); a.status != http.StatusGatewayTimeout || !body.closed || c.o.asked() != 0 {
		t.Errorf("%v, body closed: %v, asked %d times", a, body.closed, c.o.asked())
	}
}

type closable struct {
	io.Reader
	closed bool
}

func (c *closable) Close() error {
	c.closed = true
	return nil
}

// RFC 9111 §4.3: stored responses are revalidated.
func TestTransportRevalidates(t *testing.T) {
	const etag = `"v1"`
	is := replies(200, "one", "Cache-Control", minute, "Etag", etag, "Last-Modified", noonPlus(0), "X", "1", "Content-Type", "text/plain")
	confirms := func(r *http.Request) *http.Response {
		if r.Header.Get("If-None-Match") != etag || r.Header.Get("If-Modified-Since") != noonPlus(0) {
			return says(500, fmt.Sprint("asked with ", r.Header))
		}
		return says(304, "", "Cache-Control", minute, "Etag", etag, "X", "2", "Content-Type", "other", "Set-Cookie", "a=b")
	}
	plain := func(r *http.Request) *http.Response {
		if r.Header.Get("If-None-Match") != "" {
			return says(500, "asked with a condition")
		}
		return says(200, "plain", "Cache-Control", minute)
	}
	for _, j := range []journey{
		{name: "still stands", o: scripted(is, confirms, down), steps: []step{
			{body: "one", asked: 1},
			{after: "60s", body: "one", how: "fwd=stale;fwd-status=304;stored", asked: 2},
			{body: "one", how: "hit;ttl=60", asked: 2},
		}},
		{name: "days later", o: scripted(is, confirms), steps: []step{
			{body: "one", asked: 1},
			{after: "190h", body: "one", how: "fwd=stale;fwd-status=304;stored", asked: 2},
		}},
		{name: "too late", o: scripted(is, plain), steps: []step{
			{body: "one", asked: 1},
			{after: "193h", body: "plain", how: "fwd=uri-miss", asked: 2},
		}},
		{name: "no-cache of the request", o: scripted(is, confirms), steps: []step{
			{body: "one", asked: 1},
			{header: []string{"Cache-Control", "no-cache"}, body: "one", how: "fwd=request;fwd-status=304;stored", asked: 2},
		}},
		{name: "no-cache of the response", o: scripted(
			replies(200, "one", "Cache-Control", "no-cache", "Etag", etag, "Last-Modified", noonPlus(0)), confirms, down), steps: []step{
			{body: "one", asked: 1},
			{body: "one", how: "fwd=stale;fwd-status=304", asked: 2},
			{body: "one", how: "hit", asked: 2},
		}},
		{name: "replaced", o: scripted(is, replies(200, "two", "Cache-Control", minute)), steps: []step{
			{body: "one", asked: 1},
			{after: "60s", body: "two", how: "fwd=stale;stored", asked: 2},
			{body: "two", how: "hit", asked: 2},
		}},
		{name: "about another response", o: scripted(is, replies(304, "", "Etag", `"v2"`), plain), steps: []step{
			{body: "one", asked: 1},
			{after: "60s", body: "plain", how: "fwd=stale;stored", asked: 3},
		}},
		{name: "gone", o: scripted(is, replies(404, "gone"), down), steps: []step{
			{body: "one", asked: 1},
			{after: "60s", body: "gone", status: 404, how: "fwd=stale;detail=no-lifetime", asked: 2},
			{header: []string{"Cache-Control", "max-stale, only-if-cached"}, status: 504, how: "-", asked: 2},
		}},
		{name: "not stored any more", o: scripted(is, replies(304, "", "Cache-Control", "no-store"), replies(200, "two")), steps: []step{
			{body: "one", asked: 1},
			{after: "60s", body: "one", how: "-", asked: 2},
			{body: "two", how: "-", asked: 3},
		}},
	} {
		j.run(t)
	}
	synctest.Test(t, func(t *testing.T) {
		c := transport(t, scripted(is, confirms), httpcache.TransportConfig{})
		c.get(t)
		sleep(t, "1m")
		a := c.get(t)
		if a.header.Get("X") != "2" || a.header.Get("Content-Type") != "text/plain" || a.header.Get("Set-Cookie") != "a=b" {
			t.Errorf("a 304 makes %v", a)
		}
		if a := c.get(t); a.header.Get("X") != "2" || a.header["Set-Cookie"] != nil || a.header.Get("Age") != "0" {
			t.Errorf("then %v", a)
		}
	})
}

// RFC 9111 §4.2.4, RFC 5861: which responses are served stale.
func TestTransportServesStale(t *testing.T) {
	lives := func(s string) *upstream { return numbered("Cache-Control", "max-age=60, "+s) }
	fails := func(s string, then reply) *upstream {
		return scripted(replies(200, "one", "Cache-Control", "max-age=60, "+s), then)
	}
	unavailable := replies(503, "unavailable")
	for _, j := range []journey{
		{name: "while it is asked for", o: lives("stale-while-revalidate=10"), steps: []step{
			{body: "answer 1", asked: 1},
			{after: "69s", body: "answer 1", how: "hit;detail=stale;ttl=-9", asked: 2},
			{body: "answer 2", how: "hit", asked: 2},
			{after: "71s", body: "answer 3", how: "fwd=stale", asked: 3},
		}},
		{name: "not when the request restricts", o: lives("stale-while-revalidate=10"), steps: []step{
			{body: "answer 1", asked: 1},
			{after: "61s", header: []string{"Cache-Control", "max-age=600"}, body: "answer 2", asked: 2},
		}},
		{name: "not with must-revalidate", o: lives("stale-while-revalidate=10, must-revalidate"), steps: []step{
			{body: "answer 1", asked: 1},
			{after: "61s", body: "answer 2", asked: 2},
		}},
		{name: "by the Fallback", cfg: httpcache.TransportConfig{Fallback: httpcache.Fallback{Stale: 10 * time.Second}}, o: lives("x"), steps: []step{
			{body: "answer 1", asked: 1},
			{after: "61s", body: "answer 1", how: "hit;detail=stale", asked: 2},
		}},
		{name: "by the preset", cfg: httpcache.TransportConfig{Fallback: httpcache.StaleWhileRevalidate()}, o: numbered(), steps: []step{
			{body: "answer 1", asked: 1},
			{after: "59s", body: "answer 1", how: "hit", asked: 1},
			{after: "60s", body: "answer 1", how: "hit;detail=stale", asked: 2},
			{body: "answer 2", how: "hit", asked: 2},
			{after: "121s", body: "answer 3", how: "fwd=stale", asked: 3},
		}},
		{name: "by the preset, after the lifetime that it names", cfg: httpcache.TransportConfig{Fallback: httpcache.StaleWhileRevalidate()}, o: numbered("Cache-Control", "max-age=5"), steps: []step{
			{body: "answer 1", asked: 1},
			{after: "6s", body: "answer 1", how: "hit;detail=stale", asked: 2},
		}},
		{name: "not by the preset with must-revalidate", cfg: httpcache.TransportConfig{Fallback: httpcache.StaleWhileRevalidate()}, o: lives("must-revalidate"), steps: []step{
			{body: "answer 1", asked: 1},
			{after: "61s", body: "answer 2", how: "fwd=stale", asked: 2},
		}},
		{name: "in place of an error", o: fails("stale-if-error=60", down), steps: []step{
			{body: "one", asked: 1},
			{after: "61s", body: "one", how: "fwd=stale;detail=stale-if-error", asked: 2},
			{after: "60s", body: errDown.Error(), how: "", asked: 3},
		}},
		{name: "in place of a 503", o: fails("stale-if-error=60", unavailable), steps: []step{
			{body: "one", asked: 1},
			{after: "61s", body: "one", how: "fwd=stale;fwd-status=503;detail=stale-if-error", asked: 2},
			{after: "60s", status: 503, body: "unavailable", how: "fwd=stale;detail=no-lifetime", asked: 3},
		}},
		{name: "not in place of a 404", o: fails("stale-if-error=60", replies(404, "gone")), steps: []step{
			{body: "one", asked: 1},
			{after: "61s", status: 404, body: "gone", how: "-", asked: 2},
		}},
		{name: "not when the request asks for better", o: fails("stale-if-error=60", unavailable), steps: []step{
			{body: "one", asked: 1},
			{after: "61s", header: []string{"Cache-Control", "no-cache"}, status: 503, body: "unavailable", how: "-", asked: 2},
		}},
		{name: "not without permission", o: fails("x", unavailable), steps: []step{
			{body: "one", asked: 1},
			{after: "61s", status: 503, body: "unavailable", how: "-", asked: 2},
		}},
	} {
		j.run(t)
	}
}
