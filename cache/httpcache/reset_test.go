package httpcache_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache"
)

// pipes is a listener for connections in memory.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if c, ok := <-p; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

// Close is called once.
func (p pipes) Close() error {
	close(p)
	return nil
}

func (p pipes) Addr() net.Addr { return &net.IPAddr{} }

// frame returns a frame of HTTP/2.
func frame(kind, flags byte, stream uint32, payload string) string {
	head := binary.BigEndian.AppendUint32(nil, uint32(len(payload))<<8|uint32(kind)) //nolint:gosec // short
	return string(binary.BigEndian.AppendUint32(append(head, flags), stream)) + payload
}

// resetting sends n requests for n paths in one connection, and resets each of them when its handler runs. It reports
// whether the server closed the connection.
func resetting(t *testing.T, h http.Handler, n int) (closed bool) {
	t.Helper()
	server := &http.Server{Handler: h, Protocols: new(http.Protocols), ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0)}
	server.Protocols.SetUnencryptedHTTP2(true)
	conns, served := make(pipes, 1), make(chan error, 1)
	go func() { served <- server.Serve(conns) }()
	ours, theirs := net.Pipe()
	conns <- theirs
	go func() { _, _ = io.Copy(io.Discard, ours) }()
	_, err := io.WriteString(ours, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"+frame(4, 0, 0, ""))
	for i := 0; i < n && err == nil; i++ {
		path, stream := fmt.Sprint("/", i), uint32(2*i+1)                       //nolint:gosec // few
		fields := "\x82\x86\x04" + string(rune(len(path))) + path + "\x01\x01h" // GET, http, the path, and the host h
		_, err = io.WriteString(ours, frame(1, 5, stream, fields))
		if synctest.Wait(); err == nil { // the handler runs, if it may
			_, err = io.WriteString(ours, frame(3, 0, stream, "\x00\x00\x00\x08"))
		}
	}
	<-time.After(time.Hour)
	if err == nil {
		_, err = io.WriteString(ours, frame(4, 0, 0, "")) // it waits a second before it closes
	}
	_ = ours.Close()
	_ = server.Close()
	<-served //nolint:errcheck // why the server ended is not asked
	return err != nil
}

// busy is a handler that does not look at its context.
type busy struct{ calls, runs, peak atomic.Int64 }

func (b *busy) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	n := b.runs.Add(1)
	defer b.runs.Add(-1)
	b.calls.Add(1)
	b.peak.Store(max(b.peak.Load(), n))
	<-time.After(time.Second)
	w.Header().Set("Cache-Control", "max-age=60")
	_, _ = io.WriteString(w, "page")
}

// A client that resets its requests gets no more handlers to run than without the cache, and its server
// closes the connection.
func TestClientsThatReset(t *testing.T) {
	for name, behind := range map[string]func(t *testing.T, h http.Handler) http.Handler{
		"bare":   func(_ *testing.T, h http.Handler) http.Handler { return h },
		"Shared": func(t *testing.T, h http.Handler) http.Handler { return proxied(t, h, httpcache.Config{}) },
		"Pages":  func(t *testing.T, h http.Handler) http.Handler { return serve(t, h.ServeHTTP, httpcache.Config{}) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := new(busy)
				if !resetting(t, behind(t, h), 2000) {
					t.Error("the connection stays open")
				}
				if h.peak.Load() > 250 || h.calls.Load() == 0 {
					t.Errorf("%d handlers ran, at most %d at a time, want at most 250", h.calls.Load(), h.peak.Load())
				}
			})
		})
	}
}

// RoundTrip is the same for a Transport.
func (b *busy) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	b.ServeHTTP(w, r)
	return w.Result(), nil
}

// At most MaxLoads handlers render for everybody at a time, also if their clients have left. The same holds for
// the requests of a Transport.
func TestAbandonedRunsHoldTheirTurns(t *testing.T) {
	cfg := func(t *testing.T) *cache.Tiers { return openTiers(t, cache.TiersConfig{MaxLoads: 3}) }
	for name, behind := range map[string]func(t *testing.T, b *busy) http.RoundTripper{
		"Shared": func(t *testing.T, b *busy) http.RoundTripper {
			return handled{proxied(t, b, httpcache.Config{Tiers: cfg(t)})}
		},
		"Pages": func(t *testing.T, b *busy) http.RoundTripper {
			return handled{serve(t, b.ServeHTTP, httpcache.Config{Tiers: cfg(t)})}
		},
		"Transport": func(t *testing.T, b *busy) http.RoundTripper {
			return transport(t, nil, httpcache.TransportConfig{Tiers: cfg(t), Base: b})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := new(busy)
				c := behind(t, h)
				start := time.Now()
				for i := range 20 {
					ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
					_, _ = c.RoundTrip(outgoing(t, http.MethodGet, fmt.Sprint("http://example.com/", i)).WithContext(ctx)) //nolint:bodyclose // the client has left
					cancel()
				}
				if took := time.Since(start); took != 20*time.Millisecond {
					t.Errorf("20 clients that leave after 1ms took %v", took)
				}
				if h.calls.Load() != 3 {
					t.Errorf("%d handlers run, want 3", h.calls.Load())
				}
			})
		})
	}
}

// A client whose request has a deadline of the server's does not wait for the handler, which renders for others.
func TestDeadlineOfTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := proxied(t, new(busy), httpcache.Config{})
		start, done := time.Now(), make(chan struct{})
		go func() {
			defer close(done)
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()
			a := do(s, request(t, http.MethodGet, "/").WithContext(ctx))
			if took := time.Since(start); a.status != http.StatusServiceUnavailable || took != time.Millisecond {
				t.Errorf("after %v: %v", took, a)
			}
		}()
		synctest.Wait()
		if a := s.get(t, "/"); a.body != "page" || a.how() != "fwd=uri-miss;collapsed" {
			t.Error(a)
		}
		<-done
	})
}
