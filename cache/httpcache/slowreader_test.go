package httpcache_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"

	"github.com/twofold-go/twofold/cache/httpcache"
)

// stuck is a client that does not read.
type stuck struct {
	*httptest.ResponseRecorder
	reads chan struct{}
}

func (s *stuck) Write(b []byte) (int, error) {
	<-s.reads
	return s.ResponseRecorder.Write(b)
}

func (s *stuck) Flush() {}

// A client that reads slowly, or not at all, does not delay others that want the same flushed
// page.
func TestSlowReaderOfFlushed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		s := proxied(t, parts(http.Header{"Cache-Control": {"max-age=60"}}, g.pass, "one ", "two"), httpcache.Config{})
		first, done := &stuck{httptest.NewRecorder(), make(chan struct{})}, make(chan struct{})
		go func() {
			defer close(done)
			s.ServeHTTP(first, request(t, http.MethodGet, "/"))
		}()
		synctest.Wait()
		second := make(chan answer, 1)
		go func() { second <- s.get(t, "/") }()
		synctest.Wait()
		close(g.open)
		synctest.Wait()
		select {
		case a := <-second:
			if a.body != "one two" {
				t.Error(a)
			}
		default:
			t.Error("the second client waits for the first")
		}
		close(first.reads)
		<-done
		if first.Body.String() != "one two" {
			t.Errorf("the first client got %q", first.Body)
		}
	})
}
