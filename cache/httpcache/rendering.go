package httpcache

import (
	"context"
	"errors"
	"net/http"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
)

// rendering is one run of the handler for everybody, in its own goroutine. If there will be no
// page, its load ends early, and the handler may run on for one client.
type rendering struct {
	x      *exchange
	rec    recorder
	outer  outliving
	made   time.Time
	req    http.Header     // what the handler sees, without the conditions about prev
	prev   *page           // the page to revalidate; nil: none
	client *client         // which may get the response as it comes
	old    *page           // the page of the entry; nil: none
	own    bool            // a response that may not be stored is our client's own
	ctx    context.Context // the handler's
	cancel context.CancelCauseFunc
	apart  atomic.Bool // the end of the load does not end the handler, or has ended it
	taken  bool        // our client belongs to the handler; protected by rec.mu
	teed   atomic.Bool // our client reads the response as it comes
	late   atomic.Bool // the load has timed out

	// done is closed when the result of the load is known. The fields below are written before
	// that.
	done    chan struct{}
	once    sync.Once
	verdict verdict
	msg     message
	page    *page
	err     error
}

// start runs the handler in the context of a load. The page depends on what the handler reads
// from caches and on what it names by cache.Depend.
func (x *exchange) start(ctx context.Context, old *previous, bare bool) *rendering {
	n := &rendering{x: x, made: x.c.now(), done: make(chan struct{}), old: old.page, prev: old.check, client: &x.client}
	if old.behind {
		n.client = &client{ctx: x.ctx} // ours has the old page
	}
	n.outer.Context = ctx
	n.ctx, n.cancel = context.WithCancelCause(&n.outer)
	n.rec.c, n.rec.who, n.rec.header = x.c, n, make(http.Header)
	n.rec.begin(x.k)
	r := n.request(bare)
	x.c.running.add(1)
	go n.run(r)
	return n
}

// request returns the request for the handler, and stores its header in n.req.
func (n *rendering) request(bare bool) (r *http.Request) {
	x := n.x
	if x.c.cfg.pages() {
		r = x.c.request(&x.t, x.req.Clone(n.ctx))
	} else {
		r, n.own = x.shown(n.ctx, bare)
	}
	n.req = r.Header.Clone() // a clone: the handler may change its header
	if n.prev != nil {
		n.prev.ask(r.Header)
	}
	return r
}

func (n *rendering) judge(status int, h http.Header) verdict {
	c := n.x.c
	n.msg = message{status: status, h: h, asked: n.req, sent: n.made, received: c.now()}
	var v verdict
	if c.cfg.pages() {
		v = c.judge(&n.x.t, status, h)
	} else {
		v = n.x.weigh(&n.msg, n.old, n.prev != nil)
	}
	v.held = v.fate == renew || v.fate == fail && n.x.had.Load()
	return v
}

// newPage makes a page of the recorded response. It returns nil for a 304 about another page.
func (n *rendering) newPage(status int, h http.Header, body []byte) *page {
	c, v := n.x.c, &n.rec.verdict
	if v.fate != renew {
		p := c.pageOf(&n.x.t, status, h, body, n.made)
		if !c.cfg.pages() {
			p.Vary = choices(n.req, v.names, false)
			p.dated(n.msg.received, &v.life)
		}
		return p
	}
	if !n.prev.stands(h) {
		return nil
	}
	p, why := n.x.confirm(n.prev, &n.msg)
	c.offer(p)
	if v.fate, v.why = store, why; why == none {
		return p
	}
	if v.fate = refuse; n.own {
		n.x.own.Store(p)
	}
	return nil
}

func (n *rendering) run(r *http.Request) {
	returned := false
	defer n.x.c.running.add(-1)
	defer func() {
		if returned {
			return
		}
		// An unrecovered panic would end the program. A nil one is runtime.Goexit.
		n.fell(recover())
	}()
	n.x.next.ServeHTTP(&n.rec, r)
	returned = true
	n.returned()
}

// returned makes a page of the recorded response. If the context ended first, the handler may
// have left out half of the response without an error, so there is no page.
func (n *rendering) returned() {
	cut := context.Cause(n.ctx)
	defer n.cancel(nil)
	status, header, body, ok := n.rec.finish()
	switch {
	case ok && cut != nil:
		n.end(verdict{}, nil, cut)
	case ok:
		p := n.newPage(status, header, body)
		n.end(n.rec.verdict, p, nil)
	}
	n.release(nil)
}

// release returns the client, if the handler took it, after all of the response is sent.
func (n *rendering) release(panicked any) {
	n.rec.mu.Lock()
	taken, fell := n.taken, n.rec.settle()
	n.rec.mu.Unlock()
	if !taken {
		return
	}
	if panicked == nil {
		panicked = fell
	}
	n.client.release(panicked)
}

// fell ends a rendering whose handler panicked with p.
func (n *rendering) fell(p any) {
	defer n.cancel(nil)
	n.rec.close()
	err := cache.ErrGoexit
	if p != nil {
		err = &cache.PanicError{Value: p, Stack: debug.Stack()}
	}
	n.end(verdict{}, nil, err)
	n.release(repanic(err))
}

// outlive lets the handler run until its client leaves.
func (n *rendering) outlive() {
	context.AfterFunc(n.client.ctx, func() { n.cancel(context.Cause(n.client.ctx)) })
}

// unlink separates the handler from the load. It reports false if it was done before.
func (n *rendering) unlink() bool { return !n.apart.Swap(true) }

// loadOver ends the handler when its load ends, because no client waits or the load took too
// long. If it took too long, the handler runs on for a client that waits; see exchange.outlast.
func (n *rendering) loadOver(ctx context.Context) {
	if n.late.Load() && (n.teed.Load() || !n.x.answered.Load()) {
		n.outlive()
		return
	}
	n.cancel(context.Cause(ctx))
}

// wait waits for the rendering. It reports false if the load has ended before. After LoadTimeout it
// waits as long as our client does.
func (n *rendering) wait(ctx context.Context) bool {
	select {
	case <-n.done:
		return true
	case <-ctx.Done():
	}
	n.late.Store(errors.Is(ctx.Err(), context.DeadlineExceeded)) // before unlink; see live
	if n.unlink() {
		n.loadOver(ctx)
	}
	if n.late.Load() {
		n.x.failed.Store(true) // an older page may replace the response
		select {
		case <-n.done:
		case <-n.ctx.Done():
		}
	}
	select {
	case <-n.done:
		return true
	default:
		return false
	}
}

// unkeyed returns what the page could show of the parameters that are not in the key.
func (n *rendering) unkeyed() []string {
	if n.x.c.cfg.pages() || n.x.req.URL.RawQuery == "" {
		return nil // the handler has not seen them
	}
	return unkeyed(n.x.req.URL.RawQuery, n.x.c.cfg.keeps(n.x.t.path))
}

// stream lets our client read a response that takes long as it comes.
func (n *rendering) stream() {
	r := &n.rec
	r.mu.Lock()
	defer r.mu.Unlock()
	r.slow = true
	if r.status != 0 {
		r.share()
	}
}

// tees reports whether a response may be flushed and stored.
func (n *rendering) tees() bool { return !n.x.c.cfg.pages() }

// tee passes a response that will be stored on while it is recorded. The reader is the client
// that started the rendering, if it wants the whole response.
func (n *rendering) tee() http.ResponseWriter {
	for _, name := range conditions {
		if rules.Has(n.x.req.Header, name) {
			return nil
		}
	}
	w := n.client.take()
	if w == nil {
		return nil
	}
	n.taken = true
	n.teed.Store(true)
	w.Header().Add("Cache-Status", n.x.c.lines.miss(n.x.missed(none)))
	return w
}

// early passes an informational response on to our client, if the handler saw its whole request.
func (n *rendering) early(status int, h http.Header) (ok bool) {
	if n.x.c.cfg.pages() {
		return false
	}
	if n.own {
		n.client.inform(status, h)
	}
	return true
}

func (n *rendering) end(v verdict, p *page, err error) {
	n.once.Do(func() {
		n.verdict, n.page, n.err = v, p, err
		close(n.done)
	})
}

// live handles a response that cannot be recorded. If it may, the client that started the
// rendering gets the response as it comes. Otherwise the handler's context ends and all waiting
// clients get their own renderings. In both cases the load ends, so that no client waits for the
// end of a stream and LoadTimeout does not cut it.
//
// A 304 answers the cache's condition, so no client gets it.
func (n *rendering) live(why reason) http.ResponseWriter {
	c := n.x.c
	cut := context.Cause(n.ctx)
	if cut == nil && !n.mayBePersonal() && !standsIn(n.rec.status) { // the response of a stopped handler says nothing about the page
		c.memory.add(n.x.at(), c.now())
	}
	v := verdict{why: why}
	var w http.ResponseWriter
	own := n.own || why.goesOn() && !n.rec.verdict.mine
	// After unlink the handler runs until its client leaves.
	if n.taken {
		n.unlink()
		n.outlive()
		n.end(v, nil, nil) // other clients do not wait for ours
		n.rec.settle()
		w = n.rec.tail.w
	} else if own && n.rec.verdict.fate != renew && (n.unlink() || n.late.Load()) {
		if w = n.client.take(); w != nil {
			n.taken = true
			n.teed.Store(true)
			n.outlive()
			w.Header().Add("Cache-Status", c.lines.miss(n.x.missed(why)))
		}
	}
	if w == nil {
		n.unlink()
		n.cancel(errNotRecorded)
	}
	n.end(v, nil, cut) // if cut is set, waiting clients get 503: the handler had its time
	return w
}

// mayBePersonal reports whether a response may be refused for a reason that lies in our client's
// request. Another client may get a response that is stored.
func (n *rendering) mayBePersonal() bool {
	return rules.AboutClient(n.rec.status) || rules.Has(n.req, "Authorization")
}
