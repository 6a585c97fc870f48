package fetch_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/twofold-go/twofold/examples/internal/fetch"
)

// guardedLog collects the output of package log during a test.
type guardedLog struct {
	mu  sync.Mutex // protects buf
	buf bytes.Buffer
}

// Write implements io.Writer.
func (g *guardedLog) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.buf.Write(p)
}

func (g *guardedLog) text() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.buf.String()
}

func captureLog(t *testing.T) *guardedLog {
	t.Helper()
	g := &guardedLog{}
	old := log.Writer()
	log.SetOutput(g)
	t.Cleanup(func() { log.SetOutput(old) })
	return g
}

// A server that answers before the request, or twice, causes no output on the program's stderr.
func TestUnsolicitedAnswers(t *testing.T) {
	const answer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
	cert := httptest.NewUnstartedServer(http.NotFoundHandler())
	cert.StartTLS()
	defer cert.Close()
	for name, tt := range map[string]struct {
		serve func(net.Conn)
		tls   bool
		want  error
	}{
		"a banner":              {serve: func(c net.Conn) { fmt.Fprint(c, "SSH-2.0-secret\r\n"); ended(c) }, want: fetch.ErrProtocol},
		"an answer beforehand":  {serve: func(c net.Conn) { fmt.Fprint(c, answer); ended(c) }},
		"a second answer":       {serve: func(c net.Conn) { asked(c); fmt.Fprint(c, answer+answer); ended(c) }},
		"a second answer later": {serve: func(c net.Conn) { asked(c); fmt.Fprint(c, answer); _, _ = fmt.Fprint(c, answer); ended(c) }},
		"in TLS, beforehand":    {serve: func(c net.Conn) { fmt.Fprint(c, answer); ended(c) }, tls: true},
	} {
		t.Run(name, func(t *testing.T) {
			printed := captureLog(t)
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			var wg sync.WaitGroup
			wg.Go(func() {
				for {
					conn, err := l.Accept()
					if err != nil {
						return
					}
					wg.Go(func() {
						defer conn.Close()
						if tt.tls {
							conn = tls.Server(conn, cert.TLS)
						}
						tt.serve(conn)
					})
				}
			})
			cfg := fetch.Config{AllowPrivate: true, UserAgent: "TestBot/1.0"}
			scheme := "http://"
			if tt.tls {
				scheme = "https://"
				cfg.Transport = fetch.TrustingTransport(cfg, cert.Certificate())
			}
			c := newClient(t, cfg)
			for i := range 20 {
				resp, err := c.Get(t.Context(), fetch.Request{URL: fmt.Sprintf("%s%s/%d", scheme, l.Addr(), i)})
				if !errors.Is(err, tt.want) || err == nil && string(resp.Body) != "hello" {
					t.Errorf("Get = %q, %v; want %v", resp.Body, err, tt.want)
				}
			}
			_ = l.Close()
			wg.Wait()
			if s := printed.text(); s != "" {
				t.Errorf("package log printed %q", s)
			}
		})
	}
}

func asked(c net.Conn) { _, _ = http.ReadRequest(bufio.NewReader(c)) }

// ended waits until the client has closed the connection.
func ended(c net.Conn) {
	_ = c.SetReadDeadline(time.Now().Add(10 * time.Second)) // a client that keeps the connection open fails the test above
	_, _ = io.Copy(io.Discard, c)
}
