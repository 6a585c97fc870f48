package httpcache

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache/internal/address"
	"github.com/twofold-go/twofold/cache/httpcache/internal/page"
	"github.com/twofold-go/twofold/cache/httpcache/internal/reason"
	"github.com/twofold-go/twofold/cache/httpcache/internal/record"
)

// trip is an exchange of a Transport: one call of RoundTrip that may have to send its request.
type trip struct {
	exchange
	t     *Transport
	req   *http.Request // a clone: a refresh may need it after the caller has left
	fresh bool          // a stale page is not enough
	began int64         // in Unix milliseconds

	leave  context.CancelFunc  // ends the caller's part in the flight
	handed chan *http.Response // the response that the caller reads as it comes
	left   chan struct{}       // closed when the caller's part in the flight has ended
	stored chan struct{}       // closed when the caller's part has ended, or nothing more comes of it
	settle func()              // closes stored
}

// errNotHere is the result of a load for only-if-cached.
var errNotHere = errors.New("httpcache: no stored response, and only-if-cached forbids a request")

func (t *Transport) trip(r *http.Request, way reading, fresh bool) *trip {
	x := &trip{t: t, fresh: fresh, began: t.now().UnixMilli()}
	x.reading, x.source = way, x
	x.client.Writer = &caller{x: x}
	x.client.Ctx, x.leave = context.WithCancel(x.ctx)
	x.newer.Store(fresh)
	x.req = r.Clone(r.Context())
	x.req.Method, x.req.Body = http.MethodGet, nil
	if x.req.Header == nil {
		x.req.Header = http.Header{}
	}
	x.h, _ = lookAt(x.req.Header)
	x.handed, x.left, x.stored = make(chan *http.Response, 1), make(chan struct{}), make(chan struct{})
	x.settle = sync.OnceFunc(func() { close(x.stored) })
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
	x.t.running.Go(func() {
		defer x.settle()
		defer close(x.left)
		got <- x.call(x.client.Ctx)
	})
	select {
	case resp = <-x.handed:
		return resp, f
	case f = <-got:
		if errors.Is(f.err, cache.ErrLoadTimeout) && x.led.Load() { // our request goes on
			select {
			case resp = <-x.handed:
				return resp, fetched{}
			case <-x.end():
				f.res, f.err = x.outcome()
			case <-x.ctx.Done():
			}
		}
	case <-x.ctx.Done():
		f.err = x.ctx.Err()
	}
	if x.client.Quit() { // the load hands over a response meanwhile
		return <-x.handed, fetched{}
	}
	x.over()
	x.leave()
	if f.panicked != nil {
		panic(f.panicked)
	}
	return nil, f
}

func (x *trip) call(ctx context.Context) (f fetched) {
	defer func() {
		if p := recover(); p != nil { // it is raised in the caller's goroutine
			f.panicked = p
		}
	}()
	var opts []cache.Option
	if x.fresh {
		opts = anew
	}
	f.res, f.err = x.t.pages.Fetch(ctx, x.at(), x.load, opts...)
	return f
}

func (x *trip) begin(ctx context.Context, old previous, again bool) (leave bool, err error) {
	switch {
	case x.leaves(old):
		return true, nil
	case x.w.OnlyIfCached:
		return false, errNotHere
	case again && !x.client.Waits():
		// An invalidation overtook the first load. Our caller has its response; this load is for
		// the other callers.
		x.settle()
		x.leave()
		<-x.left
		return false, ctx.Err() // perhaps there are no other callers
	}
	return false, nil
}

// leaves reports whether the load leaves the old page as it is. Either our caller accepts it
// although it is stale, or the page is for other requests, or only-if-cached forbids a request.
func (x *trip) leaves(old previous) bool {
	if old.page == nil || old.leave || x.w.OnlyIfCached {
		return old.page != nil
	}
	now := x.t.now().UnixMilli()
	return x.w.MaxStale >= 0 && x.client.Waits() && x.w.Accepts(x.t.life(old.page, now), now)
}

func (x *trip) request(n *run, _ bool) *http.Request {
	n.own, n.flushes, n.rec.Slow, n.req = true, true, true, x.h
	r := x.req.WithContext(n.ctx)
	r.Header = x.req.Header.Clone()
	return r
}

// copying are buffers for bodies on their way.
var copying = sync.Pool{New: func() any { return new([16 << 10]byte) }}

// serve sends the request and records the response. Our caller may get the response itself, so nothing
// of it is read after its header is recorded, except for its body.
func (x *trip) serve(n *run, r *http.Request) error {
	resp, err := x.t.cfg.Base.RoundTrip(r) //nolint:bodyclose // below, as body
	if err != nil {
		return &failure{err: err}
	}
	body := resp.Body
	if body == nil {
		body = http.NoBody
	}
	defer func() { _ = body.Close() }() // no caller is left to get the error
	if resp.Header == nil {
		resp.Header = http.Header{}
	}
	n.resp, n.rec.Given, n.rec.Announced = resp, resp.Header, resp.ContentLength
	n.rec.WriteHeader(resp.StatusCode)
	n.rec.Given = nil
	if fate := n.rec.Verdict.Fate; fate == record.Renew || fate == record.Fail || n.ctx.Err() != nil {
		n.rec.Brief = true
		return nil
	}
	buf := copying.Get().(*[16 << 10]byte)
	defer copying.Put(buf)
	for {
		k, err := body.Read(buf[:])
		if k > 0 || k < 0 { // it panics here if the body miscounts
			if _, err := n.rec.Write(buf[:k]); err != nil {
				return err
			}
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}

func (x *trip) judge(n *run) record.Verdict {
	m := &n.msg
	v := x.weigh(m, n.old, n.prev != nil)
	switch {
	case v.Fate == record.Renew:
		x.status.Store(http.StatusNotModified)
	case v.Fate == record.Store && len(n.resp.Trailer) > 0:
		v.Fate, v.Why = record.Refuse, reason.Trailer
	}
	return v
}

func (x *trip) page(n *run, h http.Header, body []byte) *page.Page {
	v := &n.rec.Verdict
	p := page.Of(n.msg.status, h, body)
	p.Format = formatOf(h)
	p.Vary = page.Choices(n.req, v.Names, true)
	p.Dated(n.msg.received, &v.Life)
	return p
}

func (x *trip) keeps(f *cache.Fill, n *run) (tags []string) {
	x.t.lives(f, n.page, x.t.keep)
	return []string{x.t.siteTag(address.HostOf(x.req), cmp.Or(x.req.URL.Path, "/"))}
}

// audit ends an audit: the response itself says how long it holds.
func (x *trip) audit(ctx context.Context) (*page.Page, error) {
	cache.Filling(ctx).NoStore()
	return nil, nil
}

func (x *trip) refuses(int) reason.Reason { return reason.None }

func (x *trip) keyed(string) bool { return false }
