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
)

// rendering is one run of the handler for everybody, in a goroutine of its own:
// the load it belongs to ends early when there will be no page, and then the
// handler may go on for its client alone.
type rendering struct {
	x      *exchange
	rec    *recorder
	made   time.Time
	req    http.Header     // what the handler sees, but for what is asked about prev
	prev   *page           // the handler is asked whether it still stands; nil: it is not
	other  []field         // what the handler sees in place of the client's own values; nil: nothing
	whole  bool            // the handler sees all of the client's request
	ctx    context.Context // the handler's
	cancel context.CancelCauseFunc
	unlink func() bool // from the load's context
	taken  bool        // by the handler's goroutine: the client is ours
	teed   atomic.Bool // it gets what is recorded as it comes
	tail   *tail       // by the handler's goroutine: its writer then

	// done is closed when it is known what becomes of the load; before that, the
	// rest is written.
	done    chan struct{}
	once    sync.Once
	verdict verdict
	page    *page
	err     error
}

// start runs the handler in the context of a load: what it reads from caches,
// or names by cache.Depend, the page depends on.
func (x *exchange) start(ctx context.Context, prev *page) *rendering {
	n := &rendering{x: x, made: x.c.cfg.Now(), done: make(chan struct{}), prev: prev, other: x.other}
	own, cancel := context.WithCancelCause(asOfServer(context.WithoutCancel(ctx)))
	n.ctx, n.cancel = own, cancel
	n.unlink = context.AfterFunc(ctx, func() { n.loadOver(ctx) })
	n.rec = &recorder{
		judge:  n.judge,
		max:    x.c.cfg.MaxBody,
		hide:   x.c.cfg.TagHeaders,
		live:   n.goOn,
		early:  n.early,
		header: make(http.Header),
	}
	if !x.c.cfg.until() {
		n.rec.tee = n.tee
	}
	r := n.request()
	x.c.renderings.Go(func() { n.run(r) })
	return n
}

// request returns what the handler sees, and notes it.
func (n *rendering) request() (r *http.Request) {
	x := n.x
	if x.c.cfg.KeyOnly {
		r = x.c.request(&x.t, x.req.Clone(n.ctx))
	} else {
		r, n.whole = x.shown(n.ctx)
	}
	if n.other != nil { // for those who have what is to be replaced
		wear(r.Header, n.other)
		n.whole = false
	}
	n.req = r.Header.Clone() // the handler may change its own
	if n.prev != nil {
		n.prev.ask(r.Header)
	}
	return r
}

func (n *rendering) judge(status int, h http.Header) verdict {
	c := n.x.c
	tags, ok := c.takeTags(h)
	cache.Depend(n.ctx, tags...)
	var v verdict
	if c.cfg.until() {
		v = c.judge(&n.x.t, status, h)
	} else {
		v = n.weigh(status, h)
	}
	v.held = v.fate == renew || v.fate == fail && n.x.renews.Load()
	if !ok && v.fate == store {
		v.fate, v.why = share, byTags
		if !c.cfg.KeyOnly {
			v.fate = refuse // nobody else may get what was made from the whole request of one
		}
	}
	return v
}

// newPage makes a page of what was recorded.
func (n *rendering) newPage(status int, h http.Header, body []byte) *page {
	c, v := n.x.c, &n.rec.verdict
	if v.fate == renew {
		if !c.stands(&n.x.t, n.prev, h) {
			return nil
		}
		p := n.prev.renewed(h, v.at)
		c.offer(p)
		h := p.header()
		v.life = c.rules.lifetimeOf(p.Status, h, n.made, v.at)
		v.fate = store
		p.dated(v.at, &v.life)
		if v.why = c.forbids(n, p.Status, h, &v.life); v.why != none {
			v.fate, p.only = share, n.x // it is not for everybody any more
			if !n.whole {
				p.refused = v.why
			}
		}
		return p
	}
	p := c.pageOf(&n.x.t, status, h, body, n.made)
	if !c.cfg.until() {
		names, _ := c.learned(&n.x.t, h["Vary"])
		p.Vary = selection(n.req, names)
		p.dated(v.at, &v.life)
	}
	return p
}

func (n *rendering) run(r *http.Request) {
	returned := false
	defer func() {
		if returned {
			return
		}
		// Without recover, a panic would end the program. A nil one is Goexit.
		n.fell(recover())
	}()
	n.x.next.ServeHTTP(n.rec, r)
	returned = true
	n.returned()
}

// returned makes a page of what was recorded. A handler that was told to stop may
// have left out half of it and still look content: that is no page.
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

// release gives the client back, if it was taken, when it has got all.
func (n *rendering) release(panicked any) {
	if !n.taken {
		return
	}
	if n.tail != nil {
		if _, fell := n.tail.settle(); panicked == nil {
			panicked = fell
		}
	}
	n.x.client.release(panicked)
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

// outlive makes the handler live as long as the client that it has.
func (n *rendering) outlive() {
	context.AfterFunc(n.x.client.ctx, func() { n.cancel(context.Cause(n.x.client.ctx)) })
}

// loadOver ends the handler with its load, which nobody waits for any more, or which took
// too long. In the second case a client who has begun to read may read on.
func (n *rendering) loadOver(ctx context.Context) {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) && n.teed.Load() {
		n.outlive()
		return
	}
	n.cancel(context.Cause(ctx))
}

// tee hands what is stored on as it comes: to the client for whom the rendering was begun,
// if it wants the whole of it.
func (n *rendering) tee() http.ResponseWriter {
	if n.taken {
		return n.rec.out
	}
	if n.other != nil {
		return nil // it is not for our client
	}
	for _, name := range conditions {
		if has(n.x.req.Header, name) {
			return nil
		}
	}
	w := n.x.client.take()
	if w == nil {
		return nil
	}
	n.taken, n.tail = true, newTail(w)
	n.teed.Store(true)
	w.Header().Add("Cache-Status", n.x.c.lines.miss(n.x.missed(none)))
	return n.tail
}

// early passes an informational response on to the client whose request it answers.
func (n *rendering) early(status int, h http.Header) (ok bool) {
	if n.x.c.cfg.KeyOnly || n.x.c.cfg.until() {
		return false
	}
	if n.whole {
		n.x.client.inform(status, h)
	}
	return true
}

func (n *rendering) end(v verdict, p *page, err error) {
	n.once.Do(func() {
		n.verdict, n.page, n.err = v, p, err
		close(n.done)
	})
}

// goOn is what becomes of a response that cannot be recorded: the client for whom
// it was begun gets it as it comes, if it may; else the handler is told that nobody
// listens, and everybody who waits asks for himself. Either way the load is over,
// so that nobody waits for the end of a stream, and LoadTimeout does not cut it.
func (n *rendering) goOn(why reason) http.ResponseWriter {
	c := n.x.c
	c.stats.refuse(why)
	cut := context.Cause(n.ctx)
	if cut == nil { // what a handler says after it was told to stop says nothing of the page
		c.memory.add(n.x.key, c.cfg.Now())
	}
	var w http.ResponseWriter
	// Once unlinked, the handler lives as long as its client.
	if n.taken {
		n.unlink()
		n.outlive()
		n.end(verdict{why: why}, nil, nil) // others do not wait for our client
		w, _ = n.tail.settle()
	} else if (n.whole || why.goesOn() && !n.rec.verdict.mine && n.other == nil) && n.unlink() {
		if w = n.x.client.take(); w != nil {
			n.taken = true
			n.outlive()
			w.Header().Add("Cache-Status", c.lines.miss(n.x.missed(why)))
		}
	}
	if w == nil {
		n.unlink()
		n.cancel(errNotRecorded)
	}
	n.end(verdict{why: why}, nil, cut) // with cut, nobody asks for himself: the handler had its time
	return w
}
