package httpcache

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/twofold-go/twofold/cache"
)

// trip is one call of RoundTrip that may have to send its request.
type trip struct {
	inquiry
	t     *Transport
	req   *http.Request // a clone: a refresh may need it after the caller has left
	fresh bool          // a stale page is not enough
	began int64         // in Unix milliseconds

	leave  context.CancelFunc  // ends the caller's part in the flight
	handed chan *http.Response // the response that the caller reads as it comes
	left   chan struct{}       // closed when the caller's part in the flight has ended
	stored chan struct{}       // closed when the caller's part has ended, or nothing more comes of it
	settle func()              // closes stored

	mu    sync.Mutex
	taken bool // the caller has its answer
}

// tripError is a failed request. An older page may replace it.
type tripError struct {
	err    error // of Base; nil: failed by status
	status int
}

func (e *tripError) Error() string {
	if e.err != nil {
		return e.err.Error()
	}
	return "httpcache: the origin answered " + http.StatusText(e.status)
}

func (e *tripError) Unwrap() error { return e.err }

// errNotHere is the result of a load for only-if-cached.
var errNotHere = errors.New("httpcache: no stored response, and only-if-cached forbids a request")

func (t *Transport) trip(r *http.Request, way reading, fresh bool) *trip {
	x := &trip{inquiry: inquiry{reading: way}, t: t, fresh: fresh, began: t.now().UnixMilli()}
	x.newer.Store(fresh)
	x.req = r.Clone(r.Context())
	x.req.Method, x.req.Body = http.MethodGet, nil
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
func (x *trip) fetch() (*http.Response, fetched) {
	ctx, leave := context.WithCancel(x.ctx)
	x.leave = leave
	got := make(chan fetched, 1)
	x.t.running.Go(func() {
		defer x.settle()
		defer close(x.left)
		defer leave()
		got <- x.call(ctx)
	})
	select {
	case resp := <-x.handed:
		return resp, fetched{}
	case f := <-got:
		if errors.Is(f.err, cache.ErrLoadTimeout) && x.led.Load() { // our request goes on
			select {
			case resp := <-x.handed:
				return resp, fetched{}
			case <-x.end():
				f.res, f.err = x.outcome()
			case <-x.ctx.Done():
			}
		}
		if !x.take() { // the load has handed over a response meanwhile
			return <-x.handed, fetched{}
		}
		if f.panicked != nil {
			panic(f.panicked)
		}
		return nil, f
	case <-x.ctx.Done():
		if !x.take() {
			_ = (<-x.handed).Body.Close() // the caller has left
		}
		leave()
		return nil, fetched{err: x.ctx.Err()}
	}
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

// take reports whether the caller still waits for an answer. If so, the answer is now taken.
func (x *trip) take() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	was := x.taken
	x.taken = true
	return !was
}

func (x *trip) answered() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.taken
}

// load is the cache's loader. It sends the request with the validators of the old page. Our
// caller reads the response as it comes; other waiting callers get it when it is whole. A
// response that is not for them ends the load with a page that says so.
//
// After LoadTimeout the load goes on as long as our caller waits for the response, or reads it. The
// response is then stored, too.
func (x *trip) load(ctx context.Context, _ string) (p *page, err error) {
	if cache.Auditing(ctx) { // the response itself says how long it holds
		cache.Filling(ctx).NoStore()
		return nil, nil
	}
	again := x.begun()
	defer func() { x.ended(p, err) }()
	old := x.previous(ctx)
	if x.leaves(&old) {
		return x.unchanged(ctx, old.page)
	}
	if x.w.OnlyIfCached {
		return nil, errNotHere
	}
	if again && x.answered() {
		// An invalidation overtook the first load. Our caller has its response; this load is for
		// the other callers.
		x.settle()
		x.leave()
		<-x.left
		if ctx.Err() != nil { // there are no other callers
			return nil, ctx.Err()
		}
	}
	e, err := x.send(ctx, old.check, old.behind)
	if err != nil {
		x.failed.Store(true)
		return nil, err
	}
	return x.receive(ctx, e, &old)
}

// leaves reports whether the load leaves the old page as it is. Either our caller accepts it
// although it is stale, or the page is for other requests, or only-if-cached forbids a request.
func (x *trip) leaves(old *previous) bool {
	if old.page == nil || old.leave || x.w.OnlyIfCached {
		return old.page != nil
	}
	now := x.t.now().UnixMilli()
	return x.w.MaxStale >= 0 && !x.answered() && x.w.Accepts(x.t.life(old.page, now), now)
}

// receive turns a response into the result of the load.
func (x *trip) receive(ctx context.Context, e *exchanged, old *previous) (*page, error) {
	t, resp := x.t, e.resp
	m := &message{status: e.status, h: e.h, asked: x.h, sent: e.asked, received: e.received}
	v := x.weigh(m, old.page, e.conditional)
	switch v.fate {
	case renew:
		e.drop()
		x.status.Store(http.StatusNotModified)
		p, why := x.confirm(old.check, m)
		if why != none {
			x.own.Store(p)
			return x.refused(ctx, old, m, why, x.stored) // other callers send their own requests
		}
		return x.store(ctx, p, true)
	case fail:
		x.status.Store(int32(e.status)) //nolint:gosec // three digits
		x.failed.Store(true)
		e.drop()
		return nil, &tripError{status: e.status}
	case store:
		v.why = t.unfit(resp, e.h)
	case refuse, share:
	}
	if v.why != none { // the response is for our caller only
		if !x.hand(e, func() { resp.Body = newOwnBody(x.ctx, e, x.leave) }, v.why) {
			e.drop()
		}
		return x.refused(ctx, old, m, v.why, x.stored)
	}
	why := none
	f := newPump(x.k, resp.Body, resp.ContentLength, e.cancel)
	if !cache.Filling(ctx).Stores() {
		why = byLoad
	}
	if !x.hand(e, func() { resp.Body = newPumpBody(x.ctx, f, x.stored, x.leave) }, why) {
		f.release()
	}
	t.running.Go(f.run)
	defer f.release()
	select {
	case <-f.done:
	case <-ctx.Done():
		if !errors.Is(ctx.Err(), context.DeadlineExceeded) || x.ctx.Err() != nil || !f.outlast() {
			return nil, ctx.Err() // our caller reads on
		}
	}
	body, why := f.whole()
	if why != none {
		return x.refused(ctx, old, m, why, x.stored)
	}
	p := pageOf(e.status, e.h, body)
	p.Format = formatOf(e.h)
	p.Vary = choices(x.h, v.names, true)
	p.dated(e.received, &v.life)
	return x.store(ctx, p, false)
}

// store ends the load with a page that is stored.
func (x *trip) store(ctx context.Context, p *page, confirmed bool) (*page, error) {
	x.t.lives(ctx, p, x.t.keep)
	at := *x.req.URL
	at.Host = hostOf(x.req)
	return x.keep(ctx, p, confirmed, x.t.tag(&at))
}
