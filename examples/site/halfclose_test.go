package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/twofold-go/twofold/examples/site/sitetest"
)

// A client that closes its half of the connection after the request gets the page, with and without
// caches. The server cancels such a request.
func TestHalfClosedClients(t *testing.T) {
	texts := map[string]string{"/": "</html>", "/posts/feet-first": "</html>", "/rss.xml": "</rss>", "/api/v1/posts": `"posts":[{`}
	for _, cfg := range []siteConfig{{}, {uncached: true}, {objectsOnly: true}} {
		s := build(t, sitetest.Seeded(t), cfg)
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
			s.ServeHTTP(w, r)
		})
		srv := httptest.NewServer(h)
		t.Cleanup(srv.Close)
		for path, want := range texts {
			c, err := net.Dial("tcp", srv.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: blog.example\r\nX-API-Key: %s\r\n\r\n", path, sitetest.APIKey)
			if err := c.(*net.TCPConn).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			w, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				t.Errorf("%s: %v", path, err)
				continue
			}
			body, err := io.ReadAll(w.Body)
			_ = w.Body.Close() // the connection is closed below
			if err != nil || w.StatusCode != http.StatusOK || !bytes.Contains(body, []byte(want)) {
				t.Errorf("uncached %t, objects only %t: %s = %d with %d bytes, ETag %q, %v",
					cfg.uncached, cfg.objectsOnly, path, w.StatusCode, len(body), w.Header.Get("ETag"), err)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
