package workload

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	gregjones "github.com/gregjones/httpcache"

	"github.com/twofold-go/twofold/cache/httpcache"
	"github.com/twofold-go/twofold/internal/bench/report"
	"github.com/twofold-go/twofold/internal/bench/setup"
)

const (
	bareStub      = "the stub alone"
	transportHit  = "Transport"
	gregjonesName = "gregjones/httpcache, memory"
)

var fetchSizes = []int{pageSize, longPageSize}

func fetchSetting(size int) string { return fmt.Sprintf("hit of %d KiB", size>>10) }

// stub answers every request with one page.
type stub struct{ text []byte }

// RoundTrip implements http.RoundTripper.
func (s stub) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Status: "200 OK", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{
			"Content-Type": {"text/html; charset=utf-8"}, "Cache-Control": {pageFresh}, "Etag": {`"v"`},
			"Date": {time.Now().UTC().Format(http.TimeFormat)}, "X-Content-Type-Options": {"nosniff"},
		},
		Body: io.NopCloser(bytes.NewReader(s.text)), ContentLength: int64(len(s.text)),
	}, nil
}

// fetches measures what a client gets from the cache, including the body.
func (e *Env) fetches() {
	for _, size := range fetchSizes {
		origin := stub{pageText(size)}
		ours := setup.Must(httpcache.NewTransport(httpcache.TransportConfig{Tiers: openTiers(e.t, quiet), Base: origin}))
		e.t.Closing(func() error { return ours.Close(context.Background()) })
		theirs := gregjones.NewMemoryCacheTransport()
		theirs.Transport = origin
		e.compare(&scenario{id: "J", setting: fetchSetting(size), span: pageSpan, tables: []report.Comparison{{
			Title: "J: a client's hit, body read, 1 goroutine", Reference: gregjonesName, Unit: nsOp, More: []string{allocsOp, bytesOp},
			Note: "Allocations and bytes are for 8 KiB.",
		}}}, []contender{
			fetcher(size, bareStub, origin, func(http.Header) bool { return true }),
			fetcher(size, transportHit, ours, func(h http.Header) bool { return strings.Contains(h.Get("Cache-Status"), ";hit") }),
			fetcher(size, gregjonesName, theirs, func(h http.Header) bool { return h.Get(gregjones.XFromCache) != "" }),
		})
	}
}

// fetcher requests one page from a RoundTripper. All answers except the first must be hits.
func fetcher(size int, who string, rt http.RoundTripper, hit func(http.Header) bool) contender {
	r := pageRequest([]string{"Cookie", "session=1"})
	r.RequestURI, r.URL.Scheme, r.URL.Host = "", "http", r.Host
	buf := make([]byte, 64<<10)
	fetch := func(context.Context, int) error {
		resp, err := rt.RoundTrip(r)
		if err != nil {
			return err
		}
		n := 0
		for err == nil { // only with Read, as a decoder does
			var k int
			k, err = resp.Body.Read(buf)
			n += k
		}
		if _ = resp.Body.Close(); !errors.Is(err, io.EOF) || n != size || !hit(resp.Header) {
			return fmt.Errorf("%d of %d bytes and %w, header %v; want a hit", n, size, err, resp.Header)
		}
		return nil
	}
	_ = fetch(context.Background(), 0) // the answer that is stored
	return contender{name: who, op: fetch}
}
