package workload

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzhttp"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache"
	"github.com/twofold-go/twofold/internal/bench/measure"
	"github.com/twofold-go/twofold/internal/bench/peers"
	"github.com/twofold-go/twofold/internal/bench/report"
	"github.com/twofold-go/twofold/internal/bench/setup"
)

// Workload J serves pages from cache/httpcache, and fetches pages through it. The writer keeps
// nothing, so only the handler is measured. Every answer is checked: its status, its length,
// and its Cache-Status.

const (
	pageSetting = "one request"
	missSetting = "each request another page"

	barePage     = "bare handler"
	hitUntil     = "hit, Pages"
	hitResponse  = "hit, Shared"
	hitLong      = "hit, Shared, 1 MiB"
	notModified  = "304"
	hitGzip      = "hit, gzip"
	gzipEach     = "bare handler in gzhttp"
	hitVariant   = "hit, second variant"
	hitRange     = "hit, 1 KiB of 1 MiB"
	passed       = "past the cache: credentials"
	missStored   = "miss, stored"
	pageSize     = 8 << 10
	longPageSize = 1 << 20
	pagePath     = "/posts/first?page=2"
	pageFresh    = "public, max-age=86400"
)

// pageText returns a page of n bytes, which gzip reduces to about a fourth.
func pageText(n int) []byte {
	text := bytes.Repeat([]byte("<p>the quick brown fox jumps over the lazy dog</p>\n"), n/50+1)[:n]
	for i := 0; i+8 < n; i += 16 {
		text[i] = 'a' + byte(i*7919>>5)%26
	}
	return text
}

// pageOf returns a handler that writes a page of n bytes. More is further headers, as pairs of
// names and values.
func pageOf(n int, more ...string) http.Handler {
	text, length := pageText(n), strconv.Itoa(n)
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Content-Length", length)
		h.Set("Cache-Control", pageFresh)
		h.Set("X-Content-Type-Options", "nosniff")
		for i := 0; i+1 < len(more); i += 2 {
			h.Set(more[i], more[i+1])
		}
		_, _ = w.Write(text) // the client's writer reports errors itself
	})
}

// quiet are the tiers of a cache of responses.
var quiet = cache.TiersConfig{Logger: slog.New(slog.DiscardHandler)}

// cached puts a cache in front of a handler.
func cached(t *setup.T, next http.Handler, cfg httpcache.Config) http.Handler {
	cfg.Tiers, cfg.Logger = openTiers(t, quiet), quiet.Logger
	c := setup.Must(httpcache.New(cfg))
	t.Closing(func() error { return c.Close(context.Background()) })
	return c.Handler(next)
}

// ask is a request that is repeated, and the expected answer.
type ask struct {
	name    string
	next    http.Handler
	cfg     *httpcache.Config // nil: next is called without a cache
	header  []string          // of the request, pairs of names and values
	status  int
	length  int    // of the body; -1: smaller than a page
	how     string // the start of the parameters in Cache-Status
	prepare []string
}

func asks() []ask {
	page, long := pageOf(pageSize), pageOf(longPageSize)
	tagged, variants := pageOf(pageSize, "Etag", `"v1"`), pageOf(pageSize, "Vary", "X-Audience")
	zero := &httpcache.Config{}
	const ok, part = http.StatusOK, http.StatusPartialContent
	gzip := []string{"Accept-Encoding", "gzip"}
	return []ask{
		{barePage, page, nil, nil, ok, pageSize, "", nil},
		{hitUntil, page, &httpcache.Config{Preset: httpcache.Pages}, nil, ok, pageSize, "hit", nil},
		{hitResponse, page, zero, nil, ok, pageSize, "hit", nil},
		{hitLong, long, zero, nil, ok, longPageSize, "hit", nil},
		{notModified, tagged, zero, []string{"If-None-Match", `"v1"`}, http.StatusNotModified, 0, "hit", nil},
		{hitGzip, page, &httpcache.Config{Encodings: []httpcache.Encoding{httpcache.Gzip(0)}}, gzip, ok, -1, "hit", nil},
		{gzipEach, gzhttp.GzipHandler(page), nil, gzip, ok, -1, "", nil},
		{hitVariant, variants, zero, []string{"X-Audience", "second"}, ok, pageSize, "hit", []string{"X-Audience", "first"}},
		{hitRange, long, zero, []string{"Range", "bytes=500000-501023"}, part, 1 << 10, "hit", nil},
		{passed, page, zero, []string{"Cookie", "session=1"}, ok, pageSize, "fwd=bypass", nil},
	}
}

// pageRequest returns a browser's request.
func pageRequest(header []string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, pagePath, http.NoBody)
	r.Header.Set("Accept", "text/html")
	r.Header.Set("User-Agent", "bench")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

// nowhere is a writer that counts bytes and keeps nothing.
type nowhere struct {
	header http.Header
	status int
	n      int64
}

func (w *nowhere) Header() http.Header { return w.header }

func (w *nowhere) WriteHeader(status int) { w.status = status }

func (w *nowhere) Write(b []byte) (int, error) {
	w.n += int64(len(b))
	return len(b), nil
}

// get makes the request once more.
func (w *nowhere) get(h http.Handler, r *http.Request) {
	clear(w.header)
	w.status = http.StatusOK
	h.ServeHTTP(w, r)
}

// check reports an answer other than the expected one.
func (w *nowhere) check(a *ask, each, ops int64) {
	_, how, _ := strings.Cut(w.header.Get("Cache-Status"), ";")
	whole := each == int64(a.length) || a.length < 0 && each > 0 && each < pageSize
	if w.status != a.status || !strings.HasPrefix(strings.TrimSpace(how), a.how) || !whole || w.n != each*ops {
		setup.Check(fmt.Errorf("%d requests answered by %d bytes, the last with status %d and Cache-Status %q; want %d bytes each, status %d and %q",
			ops, w.n, w.status, how, a.length, a.status, a.how))
	}
}

func (e *Env) http() {
	e.pages()
	e.pageMisses()
	e.fetches()
	e.loopback()
	e.fleet(&scenario{id: "J", setting: fleetSetting}, 3e9, []string{pagesPeer})
}

var pageSpan = [3]int64{400, 100, 4}

// contender makes the request of an ask once and again, and checks the answers.
func (a *ask) contender(h http.Handler, next func() *http.Request) contender {
	w := &nowhere{header: http.Header{}}
	each := int64(a.length)
	return contender{
		name: a.name,
		before: func() {
			w.n = 0
			if w.get(h, next()); a.length < 0 {
				each = w.n
			}
			w.n = 0
		},
		op:    func(context.Context, int) error { w.get(h, next()); return nil },
		after: func(_ report.Line, r measure.Result) { w.check(a, each, r.Ops) },
	}
}

// pages measures every kind of request.
func (e *Env) pages() {
	var cs []contender
	for _, a := range asks() {
		h := a.next
		if a.cfg != nil {
			h = cached(e.t, a.next, *a.cfg)
		}
		r := pageRequest(a.header)
		(&nowhere{header: http.Header{}}).get(h, pageRequest(a.prepare)) // stores the page; for the variant, the first one
		cs = append(cs, a.contender(h, func() *http.Request { return r }))
	}
	e.compare(&scenario{id: "J", setting: pageSetting, span: pageSpan, tables: []report.Comparison{{
		Title: "J: one request again and again, 1 goroutine", Reference: barePage, Unit: nsOp, More: []string{allocsOp, bytesOp},
		Note: "Pages have 8 KiB unless the row says otherwise. The response writer discards them. The preset is Shared unless the row names another.",
	}}}, cs)
}

// pageMisses measures requests for pages that were never requested before. The tier is soon full,
// so most stores evict a page.
func (e *Env) pageMisses() {
	page := pageOf(pageSize)
	h := cached(e.t, page, httpcache.Config{})
	n, r := 0, pageRequest(nil)
	next := func() *http.Request {
		n++
		another := *r // each request gets its own copy, as in a server
		another.RequestURI = "/posts/" + strconv.Itoa(n)
		another.URL = &url.URL{Path: another.RequestURI}
		return &another
	}
	bare := ask{name: barePage, status: http.StatusOK, length: pageSize}
	stored := ask{name: missStored, status: http.StatusOK, length: pageSize, how: "fwd=uri-miss;stored"}
	e.compare(&scenario{id: "J", setting: missSetting, span: pageSpan, tables: []report.Comparison{{
		Title: "J: a page that is not there, 1 goroutine", Reference: barePage, Unit: nsOp, More: []string{allocsOp, bytesOp},
		Note: "8 KiB. The local tier of 64 MiB is full, so each stored page evicts another.",
	}}}, []contender{bare.contender(page, next), stored.contender(h, next)})
}

// pagesPeer is the cache of responses as a peer of the fleet: a key is a path, and a load is a
// rendering.
const pagesPeer = "httpcache"

// specOf returns the peer that a process of the fleet must run.
func specOf(name string) (peers.Spec, error) {
	if name == pagesPeer {
		return peers.Spec{Name: name, Kind: peers.TwoTier, Loads: true, Open: openPages}, nil
	}
	return peers.ByName(name)
}

// pages serves the values of a peer as pages, from the tiers of that peer.
type pages struct {
	*peers.TwofoldPeer
	c *httpcache.Cache
	h http.Handler
}

func openPages(o peers.Options) peers.Peer {
	p := peers.NewTwofold(o, peers.Twofold{Log: true})
	c := setup.Must(httpcache.New(httpcache.Config{
		Tiers: p.Tiers, Preset: httpcache.Pages, Logger: slog.New(slog.DiscardHandler),
	}))
	render := func(w http.ResponseWriter, r *http.Request) {
		id, err := strconv.ParseInt(strings.TrimPrefix(r.URL.Path, "/"), 10, 64)
		if err == nil {
			_, err = o.Load(r.Context(), id)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		fmt.Fprintf(w, "%d", id)
	}
	return &pages{p, c, c.Handler(http.HandlerFunc(render))}
}

// Get requests the page of a key.
func (p *pages) Get(ctx context.Context, k *peers.Key) (peers.Value, bool) {
	w := httptest.NewRecorder()
	p.h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/"+strconv.FormatInt(k.ID, 10), http.NoBody))
	return peers.Small(k.ID), w.Code == http.StatusOK && w.Body.String() == strconv.FormatInt(k.ID, 10)
}

// Set fails: pages are only rendered.
func (*pages) Set(context.Context, *peers.Key, peers.Value) error {
	return errors.New("workload: a page cannot be set")
}

// Close ends the cache and its tiers.
func (p *pages) Close() {
	_ = p.c.Close(context.Background()) // the measurements are done
	p.TwofoldPeer.Close()
}
