package httpcache_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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

// The age of a response counts from its header, even if its body takes long.
func TestTransportSlowBodyIsNoYounger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		resp, out := bodyFrom("Cache-Control", "max-age=10, stale-while-revalidate=20")
		c := transport(t, scripted(func(*http.Request) *http.Response { return resp.Response }, replies(200, "two", "Cache-Control", minute)), httpcache.TransportConfig{})
		go func() {
			<-time.After(15 * time.Second)
			_, _ = io.WriteString(out, "one")
			_ = out.Close()
		}()
		c.get(t)
		sleep(t, "20s")
		if a := c.get(t); a.body != "two" {
			t.Errorf("35 seconds after: %v", a)
		}
	})
}
