package httpcache

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/twofold-go/twofold/cache/httpcache/internal/exchange"
	"github.com/twofold-go/twofold/cache/httpcache/internal/page"
	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
)

// served is a response made of a page, in one allocation.
type served struct {
	resp http.Response
	body pageBody
	room [10]string // of most headers
}

var errBodyClosed = errors.New("httpcache: read of a closed body")

type pageBody struct {
	bytes.Reader
	closed bool
}

// Read implements io.Reader.
func (b *pageBody) Read(p []byte) (int, error) {
	if b.closed {
		return 0, errBodyClosed
	}
	return b.Reader.Read(p)
}

// WriteTo implements io.WriterTo.
func (b *pageBody) WriteTo(w io.Writer) (int64, error) {
	if b.closed {
		return 0, errBodyClosed
	}
	return b.Reader.WriteTo(w)
}

// Close implements io.Closer.
func (b *pageBody) Close() error {
	b.closed = true
	return nil
}

// respond makes a response of a page, with its Cache-Status. It answers the conditions and the Range
// of the request.
func (t *Transport) respond(r *http.Request, x *exchange.Reading, p *page.Page, line, old string) *http.Response {
	s := new(served)
	h := make(http.Header, len(p.Header)+2)
	p.Fill(h, s.room[:], line, old)
	resp := &s.resp // field by field: a copy of the whole costs more
	resp.Status, resp.StatusCode, resp.Proto, resp.ProtoMajor, resp.ProtoMinor = page.StatusLine(p.Status), p.Status, "HTTP/1.1", 1, 1
	resp.Header, resp.Request, resp.ContentLength, resp.Body = h, r, int64(len(p.Body)), http.NoBody
	n := t.k.Stats.Of(p.Format)
	ranges := ""
	if x.Saw.Any(rules.SawRange) {
		ranges = rules.RangeOf(p, time.UnixMilli(p.Made), http.MethodGet, x.Header)
	}
	switch {
	case x.Saw.Any(rules.SawIfNoneMatch) && rules.NotModified(p, x.Header):
		rules.Leave304(h)
		n.NotModified.Add(1)
		s.resp.Status, s.resp.StatusCode, s.resp.ContentLength = page.StatusLine(http.StatusNotModified), http.StatusNotModified, 0
	case r.Method == http.MethodHead:
	case ranges != "":
		return p.Ranged(&s.resp, ranges)
	case len(p.Body) > 0:
		s.body.Reset(p.Body)
		s.resp.Body = &s.body
		n.Bytes.Add(int64(len(p.Body)))
	}
	return &s.resp
}
