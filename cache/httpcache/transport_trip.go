package httpcache

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"

	"github.com/twofold-go/twofold/cache"
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
	x.client.w = &caller{x: x}
	x.client.ctx, x.leave = context.WithCancel(x.ctx)
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
	res      cache.Result[*page]
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
		got <- x.call(x.client.ctx)
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
	if x.client.quit() { // the load hands over a response meanwhile
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

func (x *trip) begin(ctx context.Context, old *previous, again bool) (leave bool, err error) {
	switch {
	case x.leaves(old):
		return true, nil
	case x.w.OnlyIfCached:
		return false, errNotHere
	case again && !x.client.waits():
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
func (x *trip) leaves(old *previous) bool {
	if old.page == nil || old.leave || x.w.OnlyIfCached {
		return old.page != nil
	}
	now := x.t.now().UnixMilli()
	return x.w.MaxStale >= 0 && x.client.waits() && x.w.Accepts(x.t.life(old.page, now), now)
}

func (x *trip) request(n *run, _ bool) *http.Request {
	n.own, n.flushes, n.rec.slow, n.req = true, true, true, x.h
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
	n.resp, n.rec.header, n.rec.announced = resp, resp.Header, resp.ContentLength
	n.rec.WriteHeader(resp.StatusCode)
	n.rec.header = nil
	if fate := n.rec.verdict.fate; fate == renew || fate == fail || n.ctx.Err() != nil {
		n.rec.brief = true
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

func (x *trip) judge(n *run) verdict {
	m := &n.msg
	v := x.weigh(m, n.old, n.prev != nil)
	switch {
	case v.fate == renew:
		x.status.Store(http.StatusNotModified)
	case v.fate == store && len(n.resp.Trailer) > 0:
		v.fate, v.why = refuse, byTrailer
	}
	return v
}

func (x *trip) page(n *run, h http.Header, body []byte) *page {
	v := &n.rec.verdict
	p := pageOf(n.msg.status, h, body)
	p.Format = formatOf(h)
	p.Vary = choices(n.req, v.names, true)
	p.dated(n.msg.received, &v.life)
	return p
}

func (x *trip) keeps(f *cache.Fill, n *run) (tags []string) {
	x.t.lives(f, n.page, x.t.keep)
	at := *x.req.URL
	at.Host = hostOf(x.req)
	return []string{x.t.tag(&at)}
}

// audit ends an audit: the response itself says how long it holds.
func (x *trip) audit(ctx context.Context) (*page, error) {
	cache.Filling(ctx).NoStore()
	return nil, nil
}

func (x *trip) refuses(int) reason { return none }

func (x *trip) keyed(string) bool { return false }

// caller is the writer of a Transport's caller. The caller gets the response of Base, with a body that
// it reads as it comes.
type caller struct {
	x    *trip
	resp *http.Response // nil: the caller has it
	body *callersBody
}

// begin takes the response of a run, and says in m that it is stored.
func (c *caller) begin(n *run, m *miss) {
	c.resp, n.resp = n.resp, nil
	m.asked = false // the caller sees the status
	if m.detail == none && !cache.Filling(n.ctx).Stores() {
		m.detail = byLoad
	}
	m.stored = m.detail == none
	c.x.t.stats.of(formatOf(n.msg.h)).misses.Add(1)
}

// Header returns the header of the response, until the caller has it.
func (c *caller) Header() http.Header {
	if c.resp == nil {
		return http.Header{}
	}
	return c.resp.Header
}

// WriteHeader hands the response over.
func (c *caller) WriteHeader(int) {
	resp, x := c.resp, c.x
	c.resp = nil
	in, out := io.Pipe()
	c.body = &callersBody{x: x, in: in, out: out}
	c.body.unwait = context.AfterFunc(x.ctx, func() { _ = out.CloseWithError(x.ctx.Err()) })
	resp.Body = c.body
	x.handed <- resp
}

// Write waits until the caller has read b.
func (c *caller) Write(b []byte) (int, error) { return c.body.out.Write(b) }

// end ends the body.
func (c *caller) end(err error, panicked any) {
	if p, ok := panicked.(*cache.PanicError); ok {
		panicked = p.Value
	}
	if c.body.panicked = panicked; panicked != nil {
		err = errBodyPanicked
	}
	_ = c.body.out.CloseWithError(err)
}

var (
	errBodyPanicked = errors.New("httpcache: reading the body panicked")
	errBodyClosed   = errors.New("httpcache: read of a closed body")
)

// callersBody is the body that the caller reads.
type callersBody struct {
	x        *trip
	in       *io.PipeReader
	out      *io.PipeWriter
	unwait   func() bool
	panicked any // before out is closed
}

// Read returns what has arrived, and waits if there is nothing. It reports the end of the body
// after the response is stored. So a caller that has read the body finds the response in the
// cache.
func (b *callersBody) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	n, err := b.in.Read(p)
	switch {
	case err == nil:
	case err == errBodyPanicked: //nolint:errorlint // as it is
		panic(b.panicked)
	case err == io.ErrClosedPipe: //nolint:errorlint // as it is
		err = errBodyClosed
	case err == io.EOF: //nolint:errorlint // as it is
		select {
		case <-b.x.stored:
		case <-b.x.ctx.Done():
		}
		b.x.leave()
	case b.x.ctx.Err() != nil:
		err = b.x.ctx.Err()
	}
	return n, err
}

// Close ends the caller's part. The body is still read for waiting callers.
func (b *callersBody) Close() error {
	b.unwait()
	b.x.leave()
	return b.in.Close()
}
