package httpcache_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/twofold-go/twofold/cache/httpcache"
)

// The bodies in transit hold a bounded number of bytes. What finds no room goes through to its
// caller and is not stored.
func TestTransportBodiesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const maxBody, n = 1 << 20, 100
		var outs []*io.PipeWriter
		c := transport(t, scripted(func(*http.Request) *http.Response {
			resp, out := bodyFrom("Cache-Control", minute)
			outs = append(outs, out)
			return resp.Response
		}), httpcache.TransportConfig{MaxBody: maxBody})
		var bodies []io.ReadCloser
		part := make([]byte, maxBody*3/4)
		for i := range n { // nobody reads
			resp, err := c.RoundTrip(outgoing(t, http.MethodGet, pageURL+strings.Repeat("x", i))) //nolint:bodyclose // below
			if err != nil {
				t.Fatal(err)
			}
			bodies = append(bodies, resp.Body)
			go func() {
				_, _ = outs[i].Write(part)
				_ = outs[i].Close()
			}()
			synctest.Wait()
		}
		if held := c.Held(); held > httpcache.MaxHeld(maxBody) || held < int64(len(part)) {
			t.Errorf("%d bytes are held, want at most %d", held, httpcache.MaxHeld(maxBody))
		}
		for i, b := range bodies {
			if got, err := io.ReadAll(b); len(got) != len(part) || err != nil {
				t.Fatalf("body %d: %d bytes, %v", i, len(got), err)
			}
			_ = b.Close()
		}
		synctest.Wait()
		if held := c.Held(); held != 0 {
			t.Errorf("%d bytes are held at the end", held)
		}
		if s := c.Stats(); s.Stored == 0 || s.Refused["no-room"] == 0 || s.Stored+s.Refused["no-room"] != n {
			t.Errorf("%d stored, refused %v", s.Stored, s.Refused)
		}
	})
}

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
