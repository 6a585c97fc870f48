package httpcache_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/twofold-go/twofold/cache/httpcache"
)

// A rule of HTTP holds for a Cache in front of a handler and for a Transport. Its test runs on both sides,
// in front of the same origin, by way of both, sides, on, watched or a script. TestRulesOfBothSides checks it for the
// rules that once differed:
//
//	a response that may not be stored is asked for once       TestAskedOnce
//	the origin sees the query as it was sent                  TestAskedOnce
//	a refused refresh leaves the stored page                  TestRefusedRefresh
//	no client's fault is remembered for others                TestNobodySwitchesTheCacheOff
//	a 304 may say that the page is not to be stored           TestRenewedAsPrivate
//	a failed revalidation leaves what stale-if-error needs    TestRefusedResponseEndsTheOldPage
//	the origin learns the scheme                              TestForcedTLS
//	what clients say of the scheme and the host is hidden     TestForwardedHeaders
//	a slow response is a response                             TestSlowIsNoFailure
//	a validator is enough to be stored                        TestConfirmedPages
//	a write ends the pages of its own host                    TestWriteOfOneHost
//	the cookie of a 304 goes to one client                    TestSharedCache
//	an encoded response is for those that can read it         TestEncodedWithoutVary
//	a miss that is flushed varies as the hits do              TestMissHasTheHeaderOfHits
//	a response is its client's as soon as it is sent          TestClientsChangeTheirResponses
//	panics reach all clients that wait, without a race        TestPanicReachesEverybody
//	what is announced is not allocated; the sum is bounded    TestSlowBodiesAreBounded
//	a body that is too long holds nothing                     TestLongBodyHoldsNothing
//	"stored" is said of what is stored                        TestStoredMeansStored
//	no response has the last 0 bytes                          TestNoLastBytes
//	a response is of one URI                                  TestURIs
//	the host is in every key                                  TestVaryOnTheHost
//	a part of a stale page is served as the page is           TestPartsOfStalePages
//	a HEAD of another page ends the stored one                TestHeadOfAnotherPage

// handled sends requests to a handler, as a client and a server do: a flushed response arrives as it is
// written, another one when it is whole. http.ErrAbortHandler breaks the connection. Another panic reaches the
// client, as that of a faulty RoundTripper, or of the body that it returned.
type handled struct{ http.Handler }

// RoundTrip implements http.RoundTripper.
func (h handled) RoundTrip(r *http.Request) (*http.Response, error) {
	body, out := io.Pipe()
	w := &wire{header: http.Header{}, out: out, arrived: make(chan *http.Response, 1)}
	ended := make(chan any, 1)
	ctx, cancel := context.WithCancel(r.Context())
	w.resp = &http.Response{Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r, Body: connection{body, cancel}, ContentLength: -1}
	context.AfterFunc(ctx, func() { _ = out.CloseWithError(context.Cause(ctx)) }) // the client has left
	go func() {
		defer cancel()
		defer func() {
			if p := recover(); p != nil {
				ended <- p
				_ = out.CloseWithError(fallen{p})
			}
		}()
		h.ServeHTTP(w, asServed(r.WithContext(ctx)))
		w.end()
	}()
	select {
	case resp := <-w.arrived:
		return resp, nil
	case <-ctx.Done(): // the handler has ended, or the client has left
	}
	select {
	case resp := <-w.arrived:
		return resp, nil
	default:
	}
	select {
	case p := <-ended:
		if !isAbort(p) {
			panic(p)
		}
		return nil, errDown
	default:
		return nil, r.Context().Err()
	}
}

// connection is a body that a panic of its handler ends. Its client may leave.
type connection struct {
	*io.PipeReader
	leave func()
}

func (c connection) Close() error {
	c.leave()
	return c.PipeReader.Close()
}

func (c connection) Read(b []byte) (int, error) {
	n, err := c.PipeReader.Read(b)
	f, ok := err.(fallen) //nolint:errorlint // itself
	switch {
	case !ok:
	case isAbort(f.value):
		err = io.ErrUnexpectedEOF
	default:
		panic(f.value)
	}
	return n, err
}

type fallen struct{ value any }

func (fallen) Error() string { return "the handler panicked" }

// asServed returns a client's request as a server's handler gets it.
func asServed(r *http.Request) *http.Request {
	s := r.Clone(r.Context())
	s.RequestURI, s.Host = r.URL.RequestURI(), cmp.Or(r.Host, r.URL.Host)
	if s.URL.Scheme == "https" {
		s.TLS = &tls.ConnectionState{}
	}
	s.URL.Scheme, s.URL.Host = "", ""
	return s
}

// wire is the writer of a server.
type wire struct {
	header  http.Header
	resp    *http.Response
	out     *io.PipeWriter
	buf     bytes.Buffer
	sent    bool
	arrived chan *http.Response
}

func (w *wire) Header() http.Header { return w.header }

func (w *wire) WriteHeader(status int) {
	if w.resp.StatusCode == 0 && status >= http.StatusOK {
		w.resp.StatusCode, w.resp.Status, w.resp.Header = status, strconv.Itoa(status), w.header.Clone()
		w.resp.ContentLength = -1
		if n, err := strconv.ParseInt(w.header.Get("Content-Length"), 10, 64); err == nil {
			w.resp.ContentLength = n
		}
	}
}

func (w *wire) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if w.sent {
		return w.out.Write(b)
	}
	return w.buf.Write(b)
}

func (w *wire) Flush() {
	w.WriteHeader(http.StatusOK)
	if !w.sent {
		w.sent = true
		w.arrived <- w.resp
		if w.buf.Len() > 0 {
			_, _ = w.out.Write(w.buf.Bytes()) // a reader that has left needs nothing
		}
	}
}

// end ends a response. One that was not flushed gets its length, but for a HEAD whose handler wrote nothing.
func (w *wire) end() {
	w.WriteHeader(http.StatusOK)
	if w.sent {
		_ = w.out.Close()
		return
	}
	body := w.buf.Len()
	head := w.resp.Request.Method == http.MethodHead
	if head {
		w.buf.Reset()
	}
	if _, said := w.resp.Header["Content-Length"]; !said && w.resp.StatusCode != http.StatusNotModified && (!head || body > 0) {
		w.resp.ContentLength = int64(body)
		w.resp.Header.Set("Content-Length", strconv.Itoa(body))
	}
	w.resp.Body = io.NopCloser(&w.buf)
	w.arrived <- w.resp
}

// send sends a request to one side: to the site example.com, unless the header has a Host. A failure of the
// origin has the status 0.
type send func(method, target string, header ...string) answer

// cached is what a Cache and a Transport have in common.
type cached interface {
	http.RoundTripper
	Purge(ctx context.Context, r *http.Request) error
	Held() int64
	Close(ctx context.Context) error
	Stats() httpcache.Stats
	invalidate(t testing.TB, tags ...string)
	expire(t testing.TB)
}

// fronted is a handler behind a Cache, as its clients see it.
type fronted struct {
	server
	*httpcache.Cache
}

func (f fronted) RoundTrip(r *http.Request) (*http.Response, error) {
	return handled{f.server}.RoundTrip(r)
}

// Purge takes the request of a client.
func (f fronted) Purge(ctx context.Context, r *http.Request) error {
	return f.Cache.Purge(ctx, asServed(r))
}

// side is a Cache in front of a handler, or a Transport in front of a server.
type side struct {
	name string
	open func(t *testing.T, origin http.Handler, cfg httpcache.Config) cached
}

var (
	handlerSide = side{"handler", func(t *testing.T, origin http.Handler, cfg httpcache.Config) cached {
		s := proxied(t, origin, cfg)
		return fronted{s, s.c}
	}}
	pagesSide = side{"pages", func(t *testing.T, origin http.Handler, cfg httpcache.Config) cached {
		cfg.Preset = httpcache.Pages
		return handlerSide.open(t, origin, cfg)
	}}
	sharedSide  = clientSide("shared client", true)
	privateSide = clientSide("private client", false)
)

// clientSide gives a Transport those settings of a Cache that it has too.
func clientSide(name string, shared bool) side {
	return side{name, func(t *testing.T, origin http.Handler, cfg httpcache.Config) cached {
		return transport(t, nil, httpcache.TransportConfig{
			Tiers: cfg.Tiers, Base: handled{origin}, Shared: shared, Fallback: cfg.Fallback, Policy: cfg.Policy,
			MaxBody: cmp.Or(cfg.MaxBody, httpcache.DefaultMaxBody), Keep: cmp.Or(cfg.Keep, httpcache.DefaultKeep),
		})
	}}
}

// sender sends requests to a side, and reads the responses.
func sender(t *testing.T, to http.RoundTripper) send {
	return func(method, target string, header ...string) answer {
		if strings.HasPrefix(target, "/") {
			target = "http://example.com" + target
		}
		return answered(t, to, outgoing(t, method, target, header...))
	}
}

// both runs a test with a Cache in front of a handler, and with a shared Transport in front of the
// same: one rule, one answer. Each side gets its own origin.
func both(t *testing.T, cfg httpcache.Config, origin func() http.Handler, f func(t *testing.T, do send)) {
	on(t, nil, cfg, origin, f)
}

// on is both for some sides; nil stands for both.
func on(t *testing.T, all []side, cfg httpcache.Config, origin func() http.Handler, f func(t *testing.T, do send)) {
	watched(t, all, cfg, origin, func(t *testing.T, do send, _ cached) { f(t, do) })
}

// watched is on for tests that look at the cache itself.
func watched(t *testing.T, all []side, cfg httpcache.Config, origin func() http.Handler, f func(t *testing.T, do send, c cached)) {
	if all == nil {
		all = []side{handlerSide, sharedSide}
	}
	for _, s := range all {
		t.Run(s.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := s.open(t, origin(), cfg)
				f(t, sender(t, c), c)
			})
		})
	}
}

// sides is both for tests that request "/" only.
func sides(t *testing.T, cfg httpcache.Config, origin func() http.Handler, f func(t *testing.T, get func(header ...string) answer)) {
	both(t, cfg, origin, func(t *testing.T, do send) {
		f(t, func(header ...string) answer { return do(http.MethodGet, "/", header...) })
	})
}
