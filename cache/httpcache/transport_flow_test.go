package httpcache_test

import (
	"context"
	"io"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/twofold-go/twofold/cache/httpcache"
)

// slow is an origin whose body a test writes.
func slow(pairs ...string) (*upstream, *io.PipeWriter) {
	resp, out := bodyFrom(pairs...)
	return scripted(func(r *http.Request) *http.Response {
		context.AfterFunc(r.Context(), func() { _ = out.CloseWithError(r.Context().Err()) })
		return resp.Response
	}, replies(200, "again", pairs...)), out
}

// Errors of Base reach all waiting callers as they are, and are not stored.
func TestTransportFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fail := make(chan struct{})
		o := scripted(func(*http.Request) *http.Response {
			<-fail
			return nil
		}, replies(200, "ok", "Cache-Control", minute))
		c := transport(t, o, httpcache.TransportConfig{})
		errs := make(chan error, 3)
		for range cap(errs) {
			go func() {
				resp, err := c.RoundTrip(outgoing(t, http.MethodGet, pageURL))
				if resp != nil {
					_ = resp.Body.Close()
				}
				errs <- err
			}()
		}
		synctest.Wait()
		close(fail)
		for range cap(errs) {
			if err := <-errs; err != errDown { //nolint:errorlint // as it is
				t.Errorf("the error is %v", err)
			}
		}
		if a := c.get(t); a.body != "ok" || o.asked() != 2 {
			t.Errorf("then %v after %d requests", a, o.asked())
		}
	})
}
