package httpcache_test

import (
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache/httpcache"
)

// A read after Close says so, for a new response and for a stored one.
func TestReadAfterClose(t *testing.T) {
	c := transport(t, numbered("Cache-Control", "max-age=60"), httpcache.TransportConfig{})
	for range 2 {
		resp, err := c.RoundTrip(outgoing(t, http.MethodGet, pageURL))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(resp.Body.Close(), resp.Body.Close()); err != nil {
			t.Error(err)
		}
		_, err = resp.Body.Read(make([]byte, 1))
		if err == nil || err.Error() != "httpcache: read of a closed body" {
			t.Error(err)
		}
	}
}

// A caller that is cancelled does not wait for the body, whether it is stored, refused, or too large.
func TestTransportCancelledRead(t *testing.T) {
	for name, header := range map[string][]string{
		"refused": {"Cache-Control", "no-store"}, "stored": {"Cache-Control", minute}, "large": {"Cache-Control", minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o, out := slow(header...)
				c := transport(t, o, httpcache.TransportConfig{MaxBody: 1 << 10})
				ctx, cancel := context.WithCancel(t.Context())
				resp, err := c.RoundTrip(outgoing(t, http.MethodGet, pageURL).WithContext(ctx)) //nolint:bodyclose // below
				if err != nil {
					t.Fatal(err)
				}
				if name == "large" {
					go func() { _, _ = out.Write(make([]byte, 5<<10)) }()
					if _, err := io.ReadFull(resp.Body, make([]byte, 5<<10)); err != nil {
						t.Fatal(err)
					}
				}
				got := make(chan error, 1)
				go func() {
					_, err := resp.Body.Read(make([]byte, 1))
					got <- err
				}()
				synctest.Wait()
				cancel()
				synctest.Wait()
				select {
				case err := <-got:
					if !errors.Is(err, context.Canceled) {
						t.Error(err)
					}
				default:
					t.Error("the read waits for the origin")
				}
				_ = out.Close()
				_ = resp.Body.Close()
				synctest.Wait()
				if n := c.Held(); n != 0 {
					t.Errorf("the bodies hold %d bytes", n)
				}
			})
		})
	}
}

// miscounts claims to have read more than there is room for.
type miscounts struct{}

func (miscounts) Read(p []byte) (int, error) { return len(p) + 1<<30, nil }
func (miscounts) Close() error               { return nil }

// A body that miscounts panics in its reader, and locks nobody out.
func TestTransportBodyMiscounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := transport(t, scripted(func(*http.Request) *http.Response {
			resp := says(http.StatusOK, "", "Cache-Control", minute)
			resp.Body, resp.ContentLength = miscounts{}, -1
			return resp
		}), httpcache.TransportConfig{})
		resp, err := c.RoundTrip(outgoing(t, http.MethodGet, pageURL))
		if err != nil {
			t.Fatal(err)
		}
		if panicked(func() { _, _ = resp.Body.Read(make([]byte, 1)) }) == nil {
			t.Error("no panic")
		}
		_ = resp.Body.Close()
	})
}

// The largest MaxBody is no limit.
func TestTransportLargestMaxBody(t *testing.T) {
	c := transport(t, numbered("Cache-Control", minute), httpcache.TransportConfig{MaxBody: math.MaxInt})
	for range 2 {
		if a := c.get(t); a.body != "answer 1" {
			t.Errorf("%v", a)
		}
	}
}

// slow is an origin whose body a test writes.
func slow(pairs ...string) (*upstream, *io.PipeWriter) {
	resp, out := bodyFrom(pairs...)
	return scripted(func(r *http.Request) *http.Response {
		context.AfterFunc(r.Context(), func() { _ = out.CloseWithError(r.Context().Err()) })
		return resp.Response
	}, replies(200, "again", pairs...)), out
}

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

// Base may return a response without a header.
func TestTransportWithoutHeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := transport(t, nil, httpcache.TransportConfig{Base: bare{}})
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			resp, err := c.RoundTrip(outgoing(t, method, pageURL))
			if err != nil {
				t.Fatal(err)
			}
			if resp.StatusCode != http.StatusOK || resp.Header.Get("Cache-Status") == "" {
				t.Errorf("%s: %+v", method, resp)
			}
			_ = resp.Body.Close()
		}
	})
}

// bare is a RoundTripper whose responses have no header.
type bare struct{}

func (bare) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
}
