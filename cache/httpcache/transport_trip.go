package httpcache

import (
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache/internal/address"
	"github.com/twofold-go/twofold/cache/httpcache/internal/exchange"
	"github.com/twofold-go/twofold/cache/httpcache/internal/page"
	"github.com/twofold-go/twofold/cache/httpcache/internal/record"
	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
)

// trip is an exchange of a Transport: one call of RoundTrip that may have to send its request.
type trip struct {
	exchange.Exchange
	t     *Transport
	req   *http.Request // a clone: a refresh may need it after the caller has left
	began int64         // in Unix milliseconds

	leave  context.CancelFunc  // ends the caller's part in the flight
	left   chan struct{}       // closed when that part has ended
	handed chan *http.Response // the response that the caller reads as it comes
}

// errNotHere is the result of a load for only-if-cached.
var errNotHere = errors.New("httpcache: no stored response, and only-if-cached forbids a request")

func (t *Transport) trip(r *http.Request, way exchange.Reading, fresh bool) *trip {
	x := &trip{t: t, began: t.k.Now().UnixMilli()}
	x.Reading, x.Source = way, x
	x.Client.Writer = &caller{x: x}
	x.Client.Ctx, x.leave = context.WithCancel(x.Ctx)
	x.Newer = fresh // a stale page is not enough
	x.req = r.Clone(r.Context())
	if r.Method == http.MethodHead || way.Saw.Any(rules.SawRange|rules.SawIfNoneMatch) {
		x.Client.Writer = nil // it gets a part of the page, when that is whole
	}
	x.req.Method, x.req.Body = http.MethodGet, nil
	x.req.Cancel = nil //nolint:staticcheck // the Timeout of our caller's http.Client must not end it for others
	if x.req.Header == nil {
		x.req.Header = http.Header{}
	}
	x.Header, _ = lookAt(x.req.Header)
	x.Host, x.Path = address.HostOf(r), cmp.Or(r.URL.Path, "/")
	x.handed, x.left = make(chan *http.Response, 1), make(chan struct{})
	return x
}

// fetched is the result of a read through the cache.
type fetched struct {
	res      cache.Result[*page.Page]
	err      error
	panicked any
}

// fetch reads through the cache. It returns when there is a response to read or a result of the
// cache, whichever comes first. After a response the read goes on.
func (x *trip) fetch() (resp *http.Response, f fetched) {
	got := make(chan fetched, 1)
	x.t.k.Running.Go(func() {
		var f fetched
		defer close(x.left)
		defer func() {
			f.panicked = recover() // it is raised in the caller's goroutine
			got <- f
		}()
		var opts []cache.Option
		switch {
		case x.Newer:
			opts = exchange.Anew
		case x.Wants.OnlyIfCached:
			opts = exchange.FreshOnly // its load refreshes nothing
		}
		f.res, f.err = x.Outlast(x.Fetch(x.Client.Ctx, opts...))
	})
	select {
	case resp = <-x.handed:
		return resp, f
	case f = <-got:
	case <-x.Ctx.Done():
		f.err = x.Ctx.Err()
	}
	if x.Client.Quit() { // the load hands over a response meanwhile
		return <-x.handed, fetched{}
	}
	x.Over()
	x.leave()
	if f.panicked != nil {
		panic(f.panicked)
	}
	return nil, f
}

func (x *trip) Begin(old exchange.Previous) (leave bool, err error) {
	leave = x.leaves(old)
	if !leave && x.Wants.OnlyIfCached {
		err = errNotHere
	}
	return leave, err
}

// leaves reports whether the load leaves the old page as it is. Either our caller accepts it
// although it is stale, or the page is for other requests, or only-if-cached forbids a request.
func (x *trip) leaves(old exchange.Previous) bool {
	if old.Page == nil || old.Leave || x.Wants.OnlyIfCached {
		return old.Page != nil
	}
	now := x.t.k.Now().UnixMilli()
	if now < old.Page.Made+old.Page.Fresh {
		return false // Expire has made it stale at an unknown time, or our caller wants a newer one
	}
	return x.Wants.MaxStale >= 0 && x.Client.Waits() && x.Wants.Accepts(x.t.k.Life(old.Page, now), now)
}

func (x *trip) Request(n *exchange.Run, _ bool) *http.Request {
	n.Own = true
	r := x.req.WithContext(n.Ctx)
	r.Header = x.req.Header.Clone()
	maps.DeleteFunc(r.Header, func(name string, _ []string) bool { return slices.Contains(conditions, http.CanonicalHeaderKey(name)) })
	return r
}

// copying are buffers for bodies on their way.
var copying = sync.Pool{New: func() any { return new([16 << 10]byte) }}

// Serve sends the request and records the response. Our caller may get its header itself. So the header is
// not read after it is recorded.
func (x *trip) Serve(n *exchange.Run, r *http.Request) error {
	resp, err := x.t.cfg.Base.RoundTrip(r) //nolint:bodyclose // below, as body
	if err != nil {
		return &exchange.Failure{Err: err}
	}
	body := resp.Body
	if body == nil {
		body = http.NoBody
	}
	defer func() { _ = body.Close() }() // no caller is left to get the error
	if resp.Header == nil {
		resp.Header = http.Header{}
	}
	n.Resp, n.Rec.Given, n.Rec.Announced = resp, resp.Header, resp.ContentLength
	if len(resp.Trailer) > 0 {
		n.Rec.Given = resp.Header.Clone()
		n.Rec.Given.Set("Trailer", "") // net/http has removed it
	}
	n.Rec.WriteHeader(resp.StatusCode)
	n.Rec.Given = nil
	if fate := n.Rec.Verdict.Fate; fate == record.Renew || fate == record.Fail || n.Ctx.Err() != nil {
		n.Rec.Brief = true
		return nil
	}
	buf := copying.Get().(*[16 << 10]byte)
	defer copying.Put(buf)
	for {
		k, err := body.Read(buf[:])
		if k > 0 || k < 0 { // it panics here if the body miscounts
			if _, err := n.Rec.Write(buf[:k]); err != nil {
				return err
			}
		}
		switch {
		case err == io.EOF:
			n.Rec.Trailed = len(resp.Trailer) > 0 // also those that were not announced
			return nil
		case err != nil:
			return err
		}
	}
}

// Audit ends an audit: the response itself says how long it holds.
func (x *trip) Audit(ctx context.Context) (*page.Page, error) {
	cache.Filling(ctx).NoStore()
	return nil, nil
}

func (x *trip) Keyed(string) bool { return false }

func (x *trip) Sees(name string) []string { return x.Header[name] }
