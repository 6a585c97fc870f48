package httpcache_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache/httpcache"
	"github.com/twofold-go/twofold/policy"
)

// slow is an origin whose body a test writes.
func slow(pairs ...string) (*upstream, *io.PipeWriter) {
	resp, out := bodyFrom(pairs...)
	return scripted(func(r *http.Request) *http.Response {
		context.AfterFunc(r.Context(), func() { _ = out.CloseWithError(r.Context().Err()) })
		return resp.Response
	}, replies(200, "again", pairs...)), out
}

// The caller whose request is sent reads the body as it comes. It is stored, however long that takes.
func TestTransportStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, out := slow("Cache-Control", minute)
		c := transport(t, o, httpcache.TransportConfig{Policy: policy.Patch{LoadTimeout: new(time.Second)}})
		resp, err := c.RoundTrip(outgoing(t, http.MethodGet, pageURL))
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 10)
		for _, part := range []string{"one", "two", "three"} {
			_, _ = io.WriteString(out, part)
			if n, err := resp.Body.Read(b); string(b[:n]) != part || err != nil {
				t.Errorf("read %q, %v; want %q", b[:n], err, part)
			}
			sleep(t, "1s") // longer than LoadTimeout
		}
		_ = out.Close()
		if n, err := resp.Body.Read(b); n != 0 || err != io.EOF {
			t.Errorf("at the end: %d bytes, %v", n, err)
		}
		if err := errors.Join(resp.Body.Close(), resp.Body.Close()); err != nil {
			t.Error(err)
		}
		if _, err := resp.Body.Read(b); err == nil || err == io.EOF {
			t.Errorf("a closed body says %v", err)
		}
		synctest.Wait()
		if a := c.get(t); a.body != "onetwothree" || !a.hit() || o.asked() != 1 {
			t.Errorf("%v, asked %d times", a, o.asked())
		}
	})
}

// A body that is cut short or too long is not stored. Its caller gets what arrived; waiting
// callers send their own requests.
func TestTransportStoresOnlyWholeBodies(t *testing.T) {
	const limit = 8
	for name, c := range map[string]struct {
		end    func(r *http.Response, out *io.PipeWriter)
		body   string
		stored bool
	}{
		"whole":           {func(_ *http.Response, out *io.PipeWriter) { _ = out.Close() }, "12345678", true},
		"cut":             {func(_ *http.Response, out *io.PipeWriter) { _ = out.CloseWithError(io.ErrUnexpectedEOF) }, "12345678 and then: unexpected EOF", false},
		"shorter than it": {func(r *http.Response, out *io.PipeWriter) { r.ContentLength = 20; _ = out.Close() }, "12345678", false},
		"too long": {func(_ *http.Response, out *io.PipeWriter) {
			_, _ = io.WriteString(out, "9")
			_, _ = io.WriteString(out, "and more")
			_ = out.Close()
		}, "123456789and more", false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				resp, out := bodyFrom("Cache-Control", minute)
				if name == "shorter than it" {
					resp.ContentLength = limit
				}
				o := scripted(func(*http.Request) *http.Response { return resp.Response }, replies(200, "again", "Cache-Control", minute))
				tr := transport(t, o, httpcache.TransportConfig{MaxBody: limit})
				first, waits := make(chan answer, 1), make(chan answer, 1)
				go func() { first <- tr.get(t) }()
				synctest.Wait()
				go func() { waits <- tr.get(t) }()
				synctest.Wait()
				body := "12345678"
				if name == "shorter than it" {
					body = "1234567"
				}
				_, _ = io.WriteString(out, body)
				c.end(&http.Response{}, out)
				if a := <-first; a.body != strings.Replace(c.body, "12345678", body, 1) {
					t.Errorf("the first caller gets %v", a)
				}
				want := "again"
				if c.stored {
					want = c.body
				}
				if a := <-waits; a.body != want {
					t.Errorf("the waiting caller gets %v", a)
				}
				if a := tr.get(t); a.hit() != c.stored || a.body != want {
					t.Errorf("then %v", a)
				}
			})
		})
	}
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
