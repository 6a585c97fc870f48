package fetch_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/examples/internal/fetch"
)

// pipeTo returns a client with the real transport. serve serves each connection, on pipes,
// so that it works in a bubble.
func pipeTo(t *testing.T, cfg fetch.Config, serve func(net.Conn)) *fetch.Client {
	t.Helper()
	transport := fetch.PipeTransport(func() (net.Conn, error) {
		client, server := net.Pipe()
		go func() {
			defer server.Close()
			if _, err := http.ReadRequest(bufio.NewReader(server)); err == nil {
				serve(server)
			}
		}()
		return client, nil
	})
	cfg.Transport = transport
	return newClient(t, cfg)
}

// drip sends a byte now and then, until the client stops reading.
func drip(c net.Conn) {
	for {
		<-time.After(5 * time.Second)
		if _, err := c.Write([]byte("x")); err != nil {
			return
		}
	}
}

// hold waits until the other side has closed.
func hold(c net.Conn) { _, _ = c.Read(make([]byte, 1)) }

// A slow answer is complete within Timeout, or it is an error.
func TestSlowAnswers(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n"
	for name, serve := range map[string]func(net.Conn){
		"nothing":              hold,
		"a header that drips":  func(c net.Conn) { fmt.Fprint(c, ok+"X-Slow: "); drip(c) },
		"a header that stalls": func(c net.Conn) { fmt.Fprint(c, ok); hold(c) },
		"a body that drips":    func(c net.Conn) { fmt.Fprint(c, ok+"\r\nx"); drip(c) },
		"a body that stalls":   func(c net.Conn) { fmt.Fprint(c, ok+"\r\nx"); hold(c) },
		"gzip that stalls": func(c net.Conn) {
			fmt.Fprint(c, ok+"Content-Encoding: gzip\r\n\r\n", "\x1f\x8b\x08")
			hold(c)
		},
		"a status that stalls": func(c net.Conn) { fmt.Fprint(c, "HTTP/1.1 503 "); hold(c) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := pipeTo(t, fetch.Config{Timeout: 20 * time.Second}, serve)
				began := time.Now()
				_, err := c.Get(t.Context(), fetch.Request{URL: "http://slow.example/"})
				if took := time.Since(began); !errors.Is(err, fetch.ErrTimeout) || took != 20*time.Second {
					t.Errorf("Get = %v after %v, want %v after 20s", err, took, fetch.ErrTimeout)
				}
				if _, err := c.Get(t.Context(), fetch.Request{URL: "http://slow.example/"}); errors.Is(err, fetch.ErrDeadHost) {
					t.Error("it is taken for a dead host")
				}
				advance(10 * time.Second) // drip notices that the client has stopped; a connection left open would fail the bubble
			})
		})
	}
}

// The rest of an unwanted body is not awaited.
func TestUnwantedBodies(t *testing.T) {
	for name, tt := range map[string]struct {
		head string
		want error
	}{
		"by its own account":   {"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nx", fetch.ErrTooLarge},
		"over the limit":       {"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n" + strings.Repeat("x", 101), fetch.ErrTooLarge},
		"over, without length": {"HTTP/1.1 200 OK\r\n\r\n" + strings.Repeat("x", 101), fetch.ErrTooLarge},
		"of an error":          {"HTTP/1.1 404 Not Found\r\nContent-Length: 1000000\r\n\r\nx", &fetch.StatusError{}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := pipeTo(t, fetch.Config{}, func(conn net.Conn) {
					_, _ = conn.Write([]byte(tt.head))
					hold(conn)
				})
				began := time.Now()
				_, err := c.Get(t.Context(), fetch.Request{URL: "http://slow.example/", MaxBytes: 100})
				status := new(fetch.StatusError)
				if !errors.Is(err, tt.want) && !errors.As(err, &status) {
					t.Errorf("Get = %v, want %v", err, tt.want)
				}
				if took := time.Since(began); took > time.Second {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

// Invalid HTTP has its own error, whose text does not repeat it.
func TestRubbish(t *testing.T) {
	for name, sent := range map[string]string{
		"no HTTP":            "SSH-2.0-secret\r\n",
		"bad status":         "HTTP/1.1 secret\r\n\r\n",
		"bad header":         "HTTP/1.1 200 OK\r\nsecret\r\n\r\n",
		"gone":               "",
		"304 out of nowhere": "HTTP/1.1 304 Not Modified\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := pipeTo(t, fetch.Config{}, func(conn net.Conn) { fmt.Fprint(conn, sent) })
				_, err := c.Get(t.Context(), fetch.Request{URL: "http://odd.example/"})
				if !errors.Is(err, fetch.ErrProtocol) {
					t.Fatalf("Get = %v, want %v", err, fetch.ErrProtocol)
				}
				if strings.Contains(err.Error(), "secret") {
					t.Errorf("the error %q repeats the answer", err)
				}
			})
		})
	}
}

// The caller's context also ends a request. The host is not blamed for it.
func TestCallersPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := make(chan struct{})
		c := pipeTo(t, fetch.Config{}, func(conn net.Conn) { hold(conn); close(gone) })
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		_, err := c.Get(ctx, fetch.Request{URL: "http://slow.example/"})
		if !errors.Is(err, context.Canceled) || errors.Is(err, fetch.ErrTimeout) {
			t.Errorf("Get = %v, want %v", err, context.Canceled)
		}
		<-gone // the connection is closed
	})
}
