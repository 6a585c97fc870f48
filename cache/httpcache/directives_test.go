package httpcache_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/twofold-go/twofold/cache/httpcache"
)

const minute = "max-age=60"

// RFC 9111 §5.2.1: a Transport obeys the directives of its callers.
func TestTransportObeysRequests(t *testing.T) {
	t.Parallel()
	cc := func(s string, more ...string) []string { return append([]string{"Cache-Control", s}, more...) }
	plain := [][]string{cc(minute)}
	first := visit{asked: 1, body: "body 1", how: "fwd=uri-miss;stored"}
	for _, s := range []script{
		{name: "no-cache", origin: plain, visits: []visit{
			first,
			{header: cc("no-cache"), body: "body 2", how: "fwd=", asked: 2},
			{body: "body 2", how: "hit", asked: 2},
			{header: []string{"Pragma", "no-cache"}, body: "body 3", asked: 3},
			{header: []string{"Pragma", "no-cache", "Cache-Control", "x"}, body: "body 3", how: "hit", asked: 3},
		}},
		{name: "no-cache, and the response stands", origin: [][]string{cc(minute, "Etag", `"a"`), cc(minute, ":status", "304")}, visits: []visit{
			first,
			{header: cc("no-cache"), body: "body 1", how: "fwd=request;fwd-status=304;stored", asked: 2},
		}},
		{name: "no-cache, and the origin fails", origin: [][]string{cc("max-age=60, stale-if-error=60"), {":status", "503"}}, visits: []visit{
			first,
			{after: "61s", header: cc("no-cache"), status: http.StatusServiceUnavailable, asked: 2},
		}},
		{name: "no-cache, for a variant", origin: [][]string{cc(minute, "Vary", "A")}, visits: []visit{
			first,
			{header: []string{"A", "1"}, body: "body 2", asked: 2},
			{after: "30s", header: cc("no-cache", "A", "1"), body: "body 3", asked: 3},
			{after: "30s", body: "body 4", how: "fwd=stale", asked: 4},
			{header: []string{"A", "1"}, body: "body 3", how: "hit", asked: 4},
		}},
		{name: "max-age", origin: plain, visits: []visit{
			first,
			{after: "10s", header: cc("max-age=10"), body: "body 1", how: "hit", asked: 1},
			{after: "1s", header: cc("max-age=10"), body: "body 2", asked: 2},
			{header: cc("max-age=0"), body: "body 2", how: "hit", asked: 2},
			{after: "1s", header: cc("max-age=0"), body: "body 3", asked: 3},
		}},
		{name: "max-age, and a stale response", origin: [][]string{cc("max-age=60, stale-while-revalidate=10")}, visits: []visit{
			first,
			{after: "61s", header: cc("max-age=600"), body: "body 2", asked: 2},
		}},
		{name: "min-fresh", origin: plain, visits: []visit{
			first,
			{after: "20s", header: cc("min-fresh=40"), body: "body 1", how: "hit", asked: 1},
			{header: cc("min-fresh=41"), body: "body 2", asked: 2},
		}},
		{name: "max-stale", origin: plain, visits: []visit{
			first,
			{after: "70s", header: cc("max-stale=10"), body: "body 1", how: "hit;ttl=-10", asked: 1},
			{header: cc("max-stale"), body: "body 1", how: "hit", asked: 1},
			{header: cc("max-stale, max-age=60"), body: "body 2", asked: 2},
			{after: "70s", header: cc("max-stale=9"), body: "body 3", asked: 3},
		}},
		{name: "max-stale is a limit where the response would be served stale for longer", origin: [][]string{cc("max-age=60, stale-while-revalidate=100")}, visits: []visit{
			first,
			{after: "70s", header: cc("max-stale=5"), body: "body 2", asked: 2},
			{after: "70s", header: cc("max-stale=20"), body: "body 2", how: "hit", asked: 2},
			{header: cc("max-stale"), body: "body 2", how: "hit", asked: 2},
		}},
		{name: "max-stale is a limit if the origin fails", origin: [][]string{cc("max-age=60, stale-if-error=100"), {":status", "503"}}, visits: []visit{
			first,
			{after: "70s", header: cc("max-stale=5"), status: http.StatusServiceUnavailable, asked: 2},
			{header: cc("max-stale=20"), body: "body 1", how: "hit", asked: 2},
			{after: "1m", body: "body 1", how: "fwd=stale;fwd-status=503;detail=stale-if-error", asked: 3},
		}},
		{name: "max-stale and must-revalidate", origin: [][]string{cc("max-age=60, must-revalidate")}, visits: []visit{
			first,
			{after: "61s", header: cc("max-stale"), body: "body 2", asked: 2},
		}},
		{name: "only-if-cached", origin: plain, visits: []visit{
			{header: cc("only-if-cached"), status: 504, how: "fwd=bypass;detail=only-if-cached"},
			first,
			{header: cc("only-if-cached"), body: "body 1", how: "hit", asked: 1},
			{after: "60s", header: cc("only-if-cached"), status: 504, asked: 1},
			{header: cc("only-if-cached, max-stale"), body: "body 1", how: "hit", asked: 1},
			{header: cc("only-if-cached, no-cache"), status: 504, asked: 1},
			{body: "body 2", asked: 2},
		}},
		{name: "only-if-cached, of what is gone", origin: [][]string{cc(minute), {":status", "404"}}, visits: []visit{
			first,
			{after: "60s", status: 404, how: "fwd=stale;detail=no-lifetime", asked: 2},
			{header: cc("max-stale, only-if-cached"), status: 504, asked: 2},
		}},
		{name: "only-if-cached, of a request that bypasses the cache", origin: plain, visits: []visit{
			{header: cc("only-if-cached", "If-Match", `"a"`), status: 504, how: "fwd=bypass;detail=only-if-cached"},
			{method: "HEAD", header: cc("only-if-cached", "Upgrade", "x"), status: 504, how: "fwd=bypass;detail=only-if-cached"},
			{method: "POST", header: cc("only-if-cached"), body: "body 1", how: "fwd=method", asked: 1},
		}},
		{name: "no-store", origin: plain, visits: []visit{
			{header: cc("no-store"), body: "body 1", how: "fwd=bypass;detail=request-no-store", asked: 1},
			{body: "body 2", asked: 2},
			{header: cc("no-store"), body: "body 2", how: "hit", asked: 2},
		}},
		{name: "immutable", origin: [][]string{cc("max-age=60, immutable")}, visits: []visit{
			first,
			{after: "5s", header: cc("max-age=0"), body: "body 1", how: "hit", asked: 1},
			{header: cc("no-cache"), body: "body 2", asked: 2},
			{after: "60s", header: cc("max-age=0"), body: "body 3", asked: 3},
		}},
	} {
		s.on = []side{privateSide}
		s.run(t)
	}
}

// What of a URL selects a response.
func TestTransportURLs(t *testing.T) {
	s := script{name: "URLs", on: []side{privateSide}, origin: [][]string{{"Cache-Control", minute}}}
	for i, u := range []string{
		"http://example.com/page", "http://example.com/page?a=1", "http://example.com/page?a=2", "https://example.com/page",
		"http://example.com:8080/page", "http://example.com/page%2F", "http://example.com", "http://example.com/./page", "http://example.com/x/../page",
	} {
		s.visits = append(s.visits, visit{target: u, asked: i + 1, how: "fwd=uri-miss"})
	}
	for u, asked := range map[string]string{
		"http://example.com/page": "body 1", "http://example.com/page#fragment": "body 1", "http://example.com/pag%65": "body 1", "http://EXAMPLE.com:80/page": "body 1",
		"http://example.com/page?a=1": "body 2", "http://example.com/": "body 7",
	} {
		s.visits = append(s.visits, visit{target: u, asked: 9, how: "hit", body: asked})
	}
	s.visits = append(s.visits, visit{target: "http://example.com/page", header: []string{"Host", "example.org"}, asked: 10})
	s.run(t)
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
