package httpcache_test

import (
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache/httpcache"
)

// cancellable is a server that takes ten seconds. As http.Transport does, it also obeys the field Cancel, by
// which an http.Client ends a request after its Timeout.
func cancellable() *upstream {
	return &upstream{answer: func(r *http.Request, _ int) (*http.Response, error) {
		select {
		case <-time.After(10 * time.Second):
			return says(200, "page", "Cache-Control", minute), nil
		case <-r.Context().Done():
			return nil, r.Context().Err()
		case <-r.Cancel: //nolint:staticcheck // deprecated, but http.Client sets it
			return nil, errors.New("the request is cancelled")
		}
	}}
}

// The Timeout of an http.Client bounds its own callers, and not those that wait for the same response.
func TestTransportTimeoutOfAClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := transport(t, cancellable(), httpcache.TransportConfig{})
		got := make(chan string, 2)
		ask := func(timeout time.Duration) {
			resp, err := (&http.Client{Transport: c, Timeout: timeout}).Get(pageURL)
			if err != nil {
				got <- err.Error()
				return
			}
			got <- readAll(t, resp).body
		}
		go ask(time.Second)
		synctest.Wait()
		go ask(time.Hour)
		if a := <-got; a == "page" {
			t.Error("no timeout")
		}
		if a := <-got; a != "page" {
			t.Errorf("another client gets %q", a)
		}
		if c.o.asked() != 1 {
			t.Errorf("%d requests", c.o.asked())
		}
	})
}
