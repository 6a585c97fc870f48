package httpcache_test

import (
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/twofold-go/twofold/cache/httpcache"
)

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
