package httpcache

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache/internal/address"
	"github.com/twofold-go/twofold/cache/httpcache/internal/exchange"
	"github.com/twofold-go/twofold/cache/httpcache/internal/page"
	"github.com/twofold-go/twofold/cache/httpcache/internal/reason"
	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
)

// maxTries is how often one request reads through the cache before it bypasses it: the entry of
// the URL, a variant, and each again if another caller's response is not good enough.
const maxTries = 4

// ask answers a request that the pages of this process cannot answer. Fresh means that a page, if there is
// one, is not good enough.
func (t *Transport) ask(r *http.Request, way exchange.Reading, fresh bool) (*http.Response, error) {
	for range maxTries {
		x := t.trip(r, way, fresh)
		resp, f := x.fetch()
		if resp != nil {
			resp.Request = r
			return resp, nil
		}
		res, why, err := x.Result(f.res, f.err)
		p := res.Value
		switch {
		case err != nil:
			return t.failed(r, x, err)
		case why != reason.None:
			return t.alone(r, way.Wants, reason.Memory)
		case p == x.Own.Load():
			return t.fetched(r, x, res), nil
		case !p.Selects(way.Header, t.k.Hashed):
			if !way.Turn(p) {
				return t.alone(r, way.Wants, reason.Memory)
			}
			continue
		case x.accepts(res):
			return t.fetched(r, x, res), nil
		case way.Wants.OnlyIfCached:
			return t.notHere(r), nil
		}
		fresh = fresh || !p.IsLeft() // a page that another caller's load has left is read again
	}
	return t.alone(r, way.Wants, reason.Memory)
}

// accepts reports whether a result answers our caller.
func (x *trip) accepts(res cache.Result[*page.Page]) bool {
	p, now := res.Value, x.t.k.Now().UnixMilli()
	switch {
	case p.IsLeft() && now < p.Made+p.Fresh:
		return false // Expire has made it stale
	case p.IsLeft(): // perhaps Expire has: only max-stale accepts it
	case res.Source == cache.Load && !x.Kept.Load() && (x.Led.Load() || p.Checked >= x.began && (x.Newer || p.Shareable())):
		return true // the origin has sent or confirmed it for our caller, or while our caller waited
	case (res.Stale || p.Refreshes(now)) && !x.Wants.Restricts() && x.Wants.MaxStale < 0 && !x.Wants.OnlyIfCached:
		return true
	case now < p.Made+p.Fresh && res.Stale:
		return false // Expire has made it stale
	}
	return x.Wants.Accepts(x.t.k.Life(p, now), now)
}

// failed answers after a read through the cache has failed.
func (t *Transport) failed(r *http.Request, x *trip, err error) (*http.Response, error) {
	if e, ok := errors.AsType[*exchange.Failure](err); ok && e.Err != nil {
		t.k.Stats.Of("other").Misses.Add(1)
		return nil, e.Err
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if errors.Is(err, errNotHere) && x.Wants.OnlyIfCached {
		return t.notHere(r), nil
	}
	return t.alone(r, x.Wants, reason.Failure)
}

// alone lets Base answer a caller whose response cannot be shared.
func (t *Transport) alone(r *http.Request, w rules.Request, why reason.Reason) (*http.Response, error) {
	if w.OnlyIfCached {
		return t.notHere(r), nil
	}
	return t.pass(r, why)
}

// fetched answers by the result of a read through the cache, and counts it.
func (t *Transport) fetched(r *http.Request, x *trip, res cache.Result[*page.Page]) *http.Response {
	line, old := x.Account(res, t.k.Now().UnixMilli())
	resp := t.respond(r, &x.Reading, res.Value, line, cmp.Or(old, "0"))
	x.AddCookies(resp.Header, res.Source)
	return resp
}

// head lets Base answer a HEAD that the stored page p does not answer.
func (t *Transport) head(r *http.Request, x *exchange.Reading, p *page.Page) (*http.Response, error) {
	sent := t.k.Now()
	resp, err := t.alone(r, x.Wants, reason.Head)
	if err == nil && resp != nil {
		x.Headed(p, resp.StatusCode, resp.Header, sent)
	}
	return resp, err
}

// notHere answers only-if-cached (RFC 9111 §5.2.1.7).
func (t *Transport) notHere(r *http.Request) *http.Response {
	t.k.Stats.Bypass(reason.Only)
	if r.Body != nil {
		_ = r.Body.Close() // Base does not get it
	}
	return &http.Response{
		Status: page.StatusLine(http.StatusGatewayTimeout), StatusCode: http.StatusGatewayTimeout,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Body: http.NoBody, Request: r,
		Header: http.Header{"Cache-Status": {t.k.Lines.Passed(reason.Only)}},
	}
}

// pass lets Base answer. It invalidates what an unsafe request may have changed.
func (t *Transport) pass(r *http.Request, why reason.Reason) (*http.Response, error) {
	t.k.Stats.Bypass(why)
	resp, err := t.cfg.Base.RoundTrip(r)
	if err != nil || resp == nil {
		return resp, err
	}
	if resp.Header == nil {
		resp.Header = http.Header{}
	}
	resp.Header.Add("Cache-Status", t.k.Lines.Passed(why))
	if why == reason.Method && resp.StatusCode >= 200 && resp.StatusCode < 400 && !rules.Safe(r.Method) {
		t.k.Wrote(exchange.Write{
			Ctx: context.WithoutCancel(r.Context()), Host: address.HostOf(r), Path: cmp.Or(r.URL.Path, "/"),
			Line: r.URL.RequestURI(), Scheme: r.URL.Scheme,
		}, resp.Header)
	}
	return resp, nil
}

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
