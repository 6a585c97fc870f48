package httpcache_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/twofold-go/twofold/cache/httpcache"
)

// A 304 to a caller with credentials does not answer waiting callers.
func TestTransportRenewedForItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		o := scripted(replies(200, "one", "Cache-Control", "max-age=1", "Etag", `"v1"`), func(*http.Request) *http.Response {
			g.pass()
			return says(304, "", "Cache-Control", minute)
		}, replies(200, "own", "Cache-Control", "private"))
		tr := transport(t, o, httpcache.TransportConfig{Shared: true})
		tr.get(t)
		sleep(t, "2s")
		first, others := make(chan answer, 1), make(chan answer, 3)
		go func() { first <- tr.get(t, "Authorization", "Bearer 1") }()
		synctest.Wait()
		for range cap(others) {
			go func() { others <- tr.get(t) }()
		}
		synctest.Wait()
		close(g.open)
		if a := <-first; a.body != "one" || strings.Contains(a.how(), "stored") {
			t.Errorf("its caller got %v", a)
		}
		for range cap(others) {
			if a := <-others; a.body != "own" {
				t.Errorf("another caller got %v", a)
			}
		}
	})
}
