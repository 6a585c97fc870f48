package httpcache_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// A stored key reveals no credential, no header value and no parameter.
func TestTransportKeysTellNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told strings.Builder
		remote := tiertest.NewMemory()
		tiers := openTiers(t, cache.TiersConfig{Remote: remote, OnStored: func(e cache.Entry) { fmt.Fprintf(&told, "%+v\n", e) }})
		c := transport(t, numbered("Cache-Control", minute, "Vary", "Authorization, X"), httpcache.TransportConfig{Tiers: tiers})
		for _, x := range []string{"hush1", "hush2"} {
			c.do(t, outgoing(t, http.MethodGet, "http://hush0@example.com/page?token=hush3", "Authorization", "hush4", "Cookie", "hush5", "X", x))
		}
		if told.Len() == 0 || strings.Contains(told.String(), "hush") || c.o.asked() != 2 {
			t.Errorf("the stored keys are %s", told.String())
		}
	})
}

// A real server, with gzip that net/http undoes.
func TestTransportOverLoopback(t *testing.T) {
	n := 0
	body := bytes.Repeat([]byte("page "), 10_000)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n++
		w.Header().Set("Cache-Control", "max-age=600")
		w.Header().Set("Vary", "Accept-Encoding")
		if r.URL.Path == "/zip" && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(gzipped)
			return
		}
		_, _ = w.Write(body)
	}))
	defer s.Close()
	c := transport(t, &upstream{}, httpcache.TransportConfig{Base: s.Client().Transport})
	for _, path := range []string{"/plain", "/zip"} {
		for i := range 2 {
			a := c.do(t, outgoing(t, http.MethodGet, s.URL+path))
			if path == "/plain" && a.body != string(body) || path == "/zip" && a.body != "hello" || a.hit() != (i == 1) {
				t.Errorf("%s: %v after %d requests", path, a, n)
			}
		}
	}
	// Only a caller that asks for gzip gets gzip.
	for i := range 2 {
		if a := c.do(t, outgoing(t, http.MethodGet, s.URL+"/zip", "Accept-Encoding", "gzip")); a.body != string(gzipped) || a.hit() != (i == 1) {
			t.Errorf("%v", a)
		}
	}
	if n != 3 {
		t.Errorf("%d requests", n)
	}
	if err := c.Close(context.Background()); err != nil {
		t.Error(err)
	}
	c.CloseIdleConnections()
}

var gzipped = func() []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte("hello"))
	_ = w.Close()
	return b.Bytes()
}()
